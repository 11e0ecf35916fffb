"""Where training ends: the stationary laws of KL-regularised reinforcement learning with binary rewards.

A *law* is the distribution over answers at which the expected update of an unrestricted policy vanishes,
as next-token tables on a prefix tree (`trees`). Which law it is depends on where the penalty stands: of
the whole answer (`sequence`) or of each token at the prefixes sampled (`token`); `limits` holds what each
selects as beta -> 0, `validity` the pass rate at a given beta, `groups` and `normalised` what a
group-normalised advantage changes.
"""

from .groups import SCALES as SCALES
from .groups import group_objective as group_objective
from .groups import group_weight as group_weight
from .limits import answer_mean_limit as answer_mean_limit
from .limits import filtered_law as filtered_law
from .limits import locally_filtered as locally_filtered
from .limits import token_forward_limit as token_forward_limit
from .normalised import StationaryValidity as StationaryValidity
from .normalised import normalised_law as normalised_law
from .normalised import normalised_validities as normalised_validities
from .normalised import normalised_validity_at as normalised_validity_at
from .normalised import several_laws_below as several_laws_below
from .response import best_response as best_response
from .sequence import beta_at as beta_at
from .sequence import effective_beta as effective_beta
from .sequence import sequence_law as sequence_law
from .sequence import validity_at as validity_at
from .token import answer_probabilities as answer_probabilities
from .token import law_divergence as law_divergence
from .token import law_excess_kl as law_excess_kl
from .token import law_validity as law_validity
from .token import token_law as token_law
from .token import valid_answer_shares as valid_answer_shares
