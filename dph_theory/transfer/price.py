"""The price of an advantage that retains: noise, a verifier's errors, steps, rates from counts.

`retention` has what is left at the end, by the weight alpha(V) of a prompt of pass rate V. A weight that is
large where V is small is large too where nothing is correct and the verifier errs, and is read from few
successes. Source: ours, entries `price`.
"""

import numpy as np
from scipy.integrate import quad
from scipy.special import expit, logit

from ..numeric.arrays import Scalars, integers, one, positive, probability, rate, real
from ..numeric.elementary import Values
from ..stationary.groups import LARGEST_GROUP, SCALES, group_weight, success_weights
from ..support.errors import argument_error
from .retention import Weighting


def update_moments(group_size: int, validity: Scalars, scale: str = "std") -> tuple[Values, Values]:
    """Mean and variance of a group's update of a prompt's log odds, (1/G) sum_i A_i (v_i - V); by all counts.

    The mean is alpha_G(V) V (1-V). Over its square the second moment is about 1/(G V) where successes are
    rare, whatever advantages are divided by: a division adds no relative noise to such a prompt, and decides
    how much of the noise of all prompts is of the rare. Shapes and errors as in `stationary.group_weight`.

    >>> moments = [update_moments(8, 0.05, form) for form in ("none", "std", "mean")]
    >>> [round(float(variance / mean**2), 3) for mean, variance in moments]
    [2.167, 2.012, 1.983]
    """
    mean = group_weight(group_size, validity, scale) * np.multiply(validity, np.subtract(1, validity))
    correct = np.arange(1, group_size)
    updates = correct * (group_size - correct) / group_size**2 / SCALES[scale](correct, group_size)
    chances = success_weights(group_size, probability("validity", validity))[..., 1:-1]
    return mean, (chances * updates**2).sum(axis=-1) - mean**2


def observed_drive(
    validity: Scalars, weighting: Weighting, *, accepted: Scalars = 0.0, refused: Scalars = 0.0
) -> Values:
    """The drive of a prompt's log odds where each reward errs by itself: alpha(W) (1-e-d) V (1-V).

    An incorrect answer passes with chance e = `accepted`, a correct one does not with chance d = `refused`:
    W = V (1-d) + (1-V) e pass. So errors cap the weight of what is rare at alpha(e), and all advantages lose
    the factor 1 - e - d. ValueError for rates outside [0, 1].
    """
    rates = probability("validity", validity)
    false_accepts, false_refusals = probability("accepted", accepted), probability("refused", refused)
    passing = rates * (1 - false_refusals) + (1 - rates) * false_accepts
    weights = weighting.weight(np.where(passing > 0, passing, 1.0))  # Nothing moves where nothing passes.
    return np.asarray(weights * (1 - false_accepts - false_refusals) * rates * (1 - rates))


def useful_share(
    pass_rate: Scalars, error_rate: Scalars, weighting: Weighting, *, unsolvable: Scalars = 0.5
) -> Values:
    """The share of the drive that goes to correct answers, where a verifier errs on the same answers always.

    Prompts of pass rate V, and a share `unsolvable` of others, on which nothing is correct and an answer of
    probability e passes; each drives its log odds by alpha(V) V (1-V). Where alpha falls, the share is
    smaller than the undivided advantage's for e < V and larger for e > V. ValueError for rates not in (0, 1).

    >>> from dph_theory.transfer.retention import group_weighting
    >>> forms = [group_weighting(16, form) for form in ("none", "std", "mean")]
    >>> [[round(float(useful_share(0.25, e, form)), 3) for form in forms] for e in (0.01, 0.4)]
    [[0.95, 0.918, 0.842], [0.439, 0.466, 0.552]]
    """
    part = probability("unsolvable", unsolvable)
    rates = rate("pass_rate", pass_rate), rate("error_rate", error_rate)
    useful, useless = (weighting.weight(v) * v * (1 - v) for v in rates)
    return np.asarray((1 - part) * useful / ((1 - part) * useful + part * useless))


def steps_to_reach(base_rate: float, reached: float, weighting: Weighting) -> float:
    """The time in which a prompt's expected-gradient run goes from a pass rate to another, in logit steps.

    The integral of dz/(alpha(V) V (1-V)), z the log odds. ValueError for rates not in (0, 1), or that fall.

    >>> from dph_theory.transfer.retention import power_weighting
    >>> [round(steps_to_reach(0.01, 0.5, power_weighting(p)), 2) for p in (0.0, 0.5, 1.0, 2.0)]
    [108.18, 20.83, 5.59, 0.99]
    """
    low, high = one("base_rate", rate("base_rate", base_rate)), one("reached", rate("reached", reached))
    if high < low:
        raise argument_error("reached", reached, f"at least base_rate = {base_rate}")

    def pace(z: float) -> float:
        return float(1 / (weighting.weight(np.asarray(expit(z))) * expit(z) * expit(-z)))

    return float(quad(pace, logit(low), logit(high), epsabs=0, epsrel=1e-11, limit=500)[0])


def weight_of_counts(
    answers: int, validity: Scalars, *, correct: float = 1.0, incorrect: float = 0.0
) -> Values:
    """The expected weight 1/V, V taken as (c + a)/(n + a + b) from n stored answers, of which c are correct.

    With a = `correct` = 1 and b = `incorrect` = 0 it is [1 - (1-V)^(n+1)]/V, MaxRL's in groups of n + 2,
    whatever the groups that are trained on. ValueError for a not above 0, b or a number of answers below 0.

    >>> rates = [0.001, 0.01, 0.1]
    >>> weight_of_counts(64, rates).round(2), group_weight(8, rates, "mean").round(2)
    (array([62.96, 47.97,  9.99]), array([6.98, 6.79, 5.22]))
    """
    n = int(one("answers", integers("answers", answers, at_least=0)))
    if n > LARGEST_GROUP:
        raise argument_error("answers", answers, f"at most {LARGEST_GROUP:,}")
    first = one("correct", positive("correct", correct))
    size = n + first + one("incorrect", real("incorrect", incorrect, at_least=0, below=np.inf))
    chances = success_weights(n, probability("validity", validity))
    return np.asarray((chances * size / (np.arange(n + 1) + first)).sum(axis=-1))
