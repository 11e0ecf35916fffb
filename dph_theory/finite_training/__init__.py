"""Finite training: noise at a stationary policy, drift between correct answers, schedules of beta.

A stationary policy (`dph_theory.stationary`) is the limit of infinitely many steps of the expected gradient.
This package describes actual runs: N answers per step, gradient steps of size eta *in logits*, and time tau =
eta times steps. `drift_deviation` and `stationary_spread` are closed forms of first order in the noise;
`flow` is the expected-gradient run itself, with any penalty, schedule of beta, baseline and sampler, and
`decision` has its closed cases. `training` (torch) carries the noise of each step of any training to its end.
"""

from .answers import BASELINES as BASELINES
from .answers import FORMS as FORMS
from .drift import SmallNoiseWarning as SmallNoiseWarning
from .drift import drift_deviation as drift_deviation
from .drift import excess_by_noise as excess_by_noise
from .drift import pass_rate_along as pass_rate_along
from .drift import saturation as saturation
from .drift import stationary_spread as stationary_spread
from .flow import flow as flow
from .rollouts import CORRECTIONS as CORRECTIONS
from .rollouts import Rollouts as Rollouts
from .rollouts import largest_stable_step as largest_stable_step
