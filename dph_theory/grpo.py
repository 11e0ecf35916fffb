"""GRPO on one prompt with a fixed reference: each round tilts the base by the current policy's advantage.

pi_{n+1} = argmax E_pi[A_n] - beta KL(pi || a), with A_n the reward less its mean, over its deviation. The
validity then moves by logit p' = logit p_ref + 1/(beta sqrt(p(1-p))). Source: mroueh2025grpo, theory A11.
Policies and masks are (..., outcomes), base rates, validities and beta (...).
"""

import numpy as np

from .binary_reward import valid_mass
from .numeric.arrays import Distribution, Mask, Scalars, distribution, finite, mask, positive, together
from .numeric.elementary import Values, highest, logit, normalised, trailing
from .support.errors import argument_error


def advantage(policy: Values, valid: Values) -> Values:
    """The centred reward v - E_q v: the failures' mass where valid, minus the successes' mass elsewhere."""
    failures, successes = (trailing(valid_mass(policy, part), 1) for part in (~valid, valid))
    return np.where(valid, failures, -successes)


def deviation(policy: Values, valid: Values) -> Values:
    """The population standard deviation of v under the policy, shape (...)."""
    return np.sqrt((policy * np.square(advantage(policy, valid))).sum(axis=-1))


def tilted_by(reward: Values, base: Values, beta: Values) -> Values:
    """argmax_pi E_pi[reward] - beta KL(pi || base), the base tilted by e^{reward/beta}."""
    gain = reward / trailing(beta, 1)
    return normalised(base * np.exp(gain - trailing(highest(gain), 1)))


def grpo_round(policy: Distribution, base: Distribution, valid: Mask, beta: Scalars) -> Values:
    """The next policy, from the advantage divided by its deviation, shape (..., outcomes).

    Raises ValueError for what are no laws, shapes that do not fit, a policy whose verdicts all agree, and
    beta that is not positive.
    """
    policy, base, beta = distribution("policy", policy), distribution("base", base), positive("beta", beta)
    valid = mask("valid", valid, policy)
    together(policy=policy, base=base, valid=valid, beta=trailing(beta, 1))
    if np.asarray(deviation(policy, valid) == 0).astype(bool).any():
        raise argument_error("policy", policy, "some mass on valid and some on invalid outcomes")
    return tilted_by(advantage(policy, valid), base, beta * deviation(policy, valid))


def next_log_odds(start: Scalars, beta: Scalars, log_odds: Scalars) -> Values:
    """The next round's log odds L' = start + 2 cosh(L/2)/beta, start = logit p_ref.

    2 cosh(L/2) is 1/sqrt(p(1-p)) at L = logit p. Shapes broadcast; raises ValueError for log odds that are
    not finite and beta that is not positive.
    """
    start, beta, log_odds = finite("start", start), positive("beta", beta), finite("log_odds", log_odds)
    together(start=start, beta=beta, log_odds=log_odds)
    return start + (np.exp(log_odds / 2) + np.exp(-log_odds / 2)) / beta


def least_rise(base_rate: Values, beta: Values) -> Values:
    """The least rise of the log odds in a round, logit p_ref + 2 sqrt(1 + 1/beta^2) - 2 arsinh beta.

    Negative, zero, positive: the iteration has two, one, no fixed points between p_ref and 1.
    """
    root = np.sqrt(1 + beta**2)
    return logit(base_rate) + 2 * root / beta - 2 * np.log(beta + root)
