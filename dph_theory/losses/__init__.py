"""Losses in torch: pure functions of log-probabilities, advantages and masks, for models of any size.

Logs are natural, u = pi/ref with the policy first. A loss is a scalar to minimise, float64 where its input
is and float32 otherwise; gradients have the input's dtype. What stands under a mask contributes exactly zero.
"""

from ..trainers.restated import kl_term as kl_term
from ..trainers.restated import released_alpha as released_alpha
from ..trainers.restated import released_forward as released_forward
from ..trainers.restated import released_half_js as released_half_js
from ..trainers.restated import released_js as released_js
from .alpha_dpg import alpha_dpg_rewards as alpha_dpg_rewards
from .alpha_dpg import clipped_ratio_count as clipped_ratio_count
from .exploration import ADVANTAGE_BASELINES as ADVANTAGE_BASELINES
from .exploration import group_advantages as group_advantages
from .exploration import informative_groups as informative_groups
from .exploration import ppo_clip_loss as ppo_clip_loss
from .generator import generator_loss as generator_loss
from .inputs import LEVELS as LEVELS
from .inputs import REDUCTIONS as REDUCTIONS
from .meter import ExcessKLEstimate as ExcessKLEstimate
from .meter import excess_kl_estimate as excess_kl_estimate
from .methods import MAXRL as MAXRL
from .methods import METHODS as METHODS
from .methods import TARGETED as TARGETED
from .methods import Exploration as Exploration
from .methods import Method as Method
from .methods import Penalty as Penalty
from .methods import Rehearsal as Rehearsal
from .methods import dph_loss as dph_loss
from .pass_rates import PassRates as PassRates
from .penalty import ESTIMATORS as ESTIMATORS
from .penalty import FORMS as FORMS
from .penalty import kl_penalty as kl_penalty
