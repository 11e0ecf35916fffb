"""Exact mathematics of reinforcement learning with binary rewards; imports neither torch nor transformers.

Convention: D_f(pi || ref) = E_ref[f(pi/ref)], policy first. Logs are natural. Leading axes are batches.
"""

from .binary_reward import ExcessKL as ExcessKL
from .binary_reward import beta_for_mean_validity as beta_for_mean_validity
from .binary_reward import beta_from_mu as beta_from_mu
from .binary_reward import excess_kl as excess_kl
from .binary_reward import filtered as filtered
from .binary_reward import kappa as kappa
from .binary_reward import log_partition as log_partition
from .binary_reward import mean_validity as mean_validity
from .binary_reward import mu_by_forward_kl as mu_by_forward_kl
from .binary_reward import mu_from_beta as mu_from_beta
from .binary_reward import tilted as tilted
from .binary_reward import valid_mass as valid_mass
from .binary_reward import with_validity as with_validity
from .coverage import exact_pass_at_k as exact_pass_at_k
from .coverage import expected_distinct_valid as expected_distinct_valid
from .coverage import pass_at_k as pass_at_k
from .divergences import CHI_SQUARED as CHI_SQUARED
from .divergences import DIVERGENCES as DIVERGENCES
from .divergences import FORWARD_KL as FORWARD_KL
from .divergences import HELLINGER as HELLINGER
from .divergences import JENSEN_SHANNON as JENSEN_SHANNON
from .divergences import NEYMAN_CHI_SQUARED as NEYMAN_CHI_SQUARED
from .divergences import REVERSE_KL as REVERSE_KL
from .divergences import TOTAL_VARIATION as TOTAL_VARIATION
from .divergences import alpha_divergence as alpha_divergence
from .fdivergence import FDivergence as FDivergence
from .flows import natural_gradient as natural_gradient
from .flows import orbit as orbit
from .flows import plain_gradient as plain_gradient
from .flows import uniform_on_likeliest as uniform_on_likeliest
from .grpo import grpo_round as grpo_round
from .grpo import next_log_odds as next_log_odds
from .improvement import rehearsal_guarantee as rehearsal_guarantee
from .mdp import TabularMDP as TabularMDP
from .restricted import critical_beta as critical_beta
from .restricted import projection as projection
from .strategies import shared_pass_at_k as shared_pass_at_k
from .strategies import trained_pass_at_k as trained_pass_at_k
from .tokens import sequence_divergence as sequence_divergence
from .tokens import token_divergence as token_divergence
