"""Optimal policies for binary rewards: Gibbs (tilted) and filtered policies, mu and beta, the KL frontier.

Notation: base policy a > 0 on finite outcomes, verifier v in {0, 1}, valid set Y1 = {v = 1}, base rate A1 =
a(Y1), A0 = 1 - A1. Every function batches over leading axes and computes in log space. Restricted policy
families are in `restricted`, sequences of tokens in `stationary`. Source: dymetman2026binary.
"""

from typing import NamedTuple

import numpy as np

from .divergences import REVERSE_KL
from .numeric.arrays import (
    Distribution,
    Mask,
    Scalars,
    distribution,
    first_bad,
    mask,
    open_rate,
    positive,
    probability,
    require_common_shape,
)
from .numeric.elementary import Values, add_axes, expit, logit, masked, normalised
from .numeric.roots import rising_root
from .support.errors import argument_error
from .support.record import readable


class ExcessKL(NamedTuple):
    """KL(policy || base) in nats, split into parts of shape (...) by `excess_kl`."""

    def __repr__(self) -> str:
        return readable(self)

    total: Values
    pass_rate: Values
    valid: Values
    invalid: Values

    @property
    def excess(self) -> Values:
        """KL in nats above the minimum at that pass rate, shape (...): the value of the collapse meter."""
        return self.valid + self.invalid


def _model(
    base: Distribution, valid: Mask, *, both: bool = False, name: str = "base"
) -> tuple[Values, Values]:
    base = distribution(name, base)
    valid = mask("valid", valid, base, both=both)
    require_common_shape(**{name: base, "valid": valid})
    return base, valid


def pass_rate(policy: Distribution, valid: Mask) -> Values:
    """Pass rate E_q[v] = q(Y1) of a policy.

    Args:
        policy: Probabilities q, shape (..., outcomes).
        valid: 1 where an outcome is correct, same shape.

    Returns:
        Probability of a correct outcome, shape (...).
    """
    policy, valid = _model(policy, valid, name="policy")
    return masked(policy, valid).sum(axis=-1)


def filtered(base: Distribution, valid: Mask) -> Values:
    """Filtered policy p_* = a(. | Y1): the base conditioned on a correct outcome.

    Args:
        base: Probabilities of the base policy, shape (..., outcomes).
        valid: 1 where an outcome is correct, same shape as `base`.

    Returns:
        Probabilities of the filtered policy, shape (..., outcomes).

    Raises:
        ValueError: If the base gives the correct outcomes no mass.

    Example:
        >>> filtered([0.2, 0.3, 0.5], [1, 1, 0])
        array([0.4, 0.6, 0. ])

    Source: dymetman2026binary.
    """
    base, valid = _model(base, valid)
    correct = masked(base, valid)
    # Scaling by the largest entry first preserves the bits of masses near the smallest float.
    top = correct.max(axis=-1, keepdims=True)
    if (top == 0).any():
        raise argument_error("base", base, "must give the valid outcomes some mass")
    return normalised(correct / top)


def tilted(base: Distribution, valid: Mask, beta: Scalars) -> Values:
    """Optimal (Gibbs) policy under a KL penalty: base * exp(valid / beta), normalised.

    This tilted policy is the unique maximiser of E_q[valid] - beta KL(q || base).

    Args:
        base: Probabilities of the base policy, shape (..., outcomes).
        valid: 1 where an outcome is correct, same shape as `base`.
        beta: KL coefficient in units of reward, positive, shape (...).

    Returns:
        Probabilities of the tilted policy, shape (..., outcomes).

    Raises:
        ValueError: If `base` is not a distribution, shapes differ, or `beta` is not positive.

    Example:
        >>> tilted([0.2, 0.3, 0.5], [1, 1, 0], beta=0.5).round(4)
        array([0.3523, 0.5285, 0.1192])

    Source: dymetman2026binary.
    """
    base, valid = _model(base, valid)
    beta = positive("beta", beta)
    require_common_shape(base=base[..., 0], valid=valid[..., 0], beta=beta)
    # Measured from the valid outcomes, so that a large 1/beta does not blur their ratios.
    with np.errstate(over="ignore"):
        gain = np.where(valid, add_axes(0 * beta, 1), add_axes(np.maximum(-1 / beta, -1e308), 1))
    with np.errstate(divide="ignore"):
        logits = np.log(base) + gain
    return normalised(np.exp(logits - logits.max(axis=-1, keepdims=True)))


def with_pass_rate(mu: Scalars, base: Distribution, valid: Mask) -> Values:
    """Policy nearest to the base in KL at pass rate mu (...): mu p_* on Y1 and (1-mu) a(.|Y0) on Y0."""
    base, valid = _model(base, valid, both=True)
    mu = add_axes(probability("mu", mu), 1)
    require_common_shape(mu=mu, base=base, valid=valid)
    return mu * filtered(base, valid) + (1 - mu) * filtered(base, ~valid)


def mu_from_beta(base_rate: Scalars, beta: Scalars) -> Values:
    """Pass rate of the tilted policy: logit mu = logit A1 + 1/beta.

    Args:
        base_rate: Pass rate A1 of the base, in (0, 1).
        beta: KL coefficient in units of reward, positive; shapes broadcast.

    Returns:
        Pass rate mu, of the broadcast shape.

    Raises:
        ValueError: If an argument is out of range.

    Example:
        >>> float(mu_from_beta(0.25, beta=0.5).round(4))
        0.7112

    Source: dymetman2026binary.
    """
    base_rate, beta = open_rate("base_rate", base_rate), positive("beta", beta)
    require_common_shape(base_rate=base_rate, beta=beta)
    return expit(logit(base_rate) + 1 / beta)


def beta_from_mu(base_rate: Scalars, mu: Scalars) -> Values:
    """KL coefficient at which the tilted policy has pass rate mu: 1/(logit mu - logit A1).

    This is the inverse of `mu_from_beta`.

    Args:
        base_rate: Pass rate A1 of the base, in (0, 1).
        mu: Pass rate to reach, between `base_rate` and 1; shapes broadcast.

    Returns:
        beta in units of reward, of the broadcast shape.

    Raises:
        ValueError: Unless 0 < base_rate < mu < 1.

    Source: dymetman2026binary.
    """
    base_rate, mu = open_rate("base_rate", base_rate), open_rate("mu", mu)
    require_common_shape(base_rate=base_rate, mu=mu)
    lower = mu <= base_rate
    if lower.any():
        raise argument_error(
            "mu", first_bad(mu, lower), "must exceed the base rate: no positive beta lowers the pass rate"
        )
    return 1 / (logit(mu) - logit(base_rate))


def kappa(mu: Scalars, base_rate: Scalars) -> Values:
    """Minimum of KL(q || a) over policies of pass rate mu: kl(mu || A1) between two Bernoullis.

    Its derivative is kappa'(mu) = 1/beta, so this is the frontier of KL and pass rate.

    Args:
        mu: Pass rate, in [0, 1].
        base_rate: Pass rate A1 of the base, in (0, 1); shapes broadcast.

    Returns:
        Nats, of the broadcast shape.

    Raises:
        ValueError: If an argument is out of range.

    Example:
        >>> float(kappa(0.7112, 0.25).round(4))
        0.4679

    Source: dymetman2026binary.
    """
    mu, base_rate = probability("mu", mu), open_rate("base_rate", base_rate)
    require_common_shape(mu=mu, base_rate=base_rate)
    return bernoulli_kl(mu, base_rate)


def bernoulli_kl(mu: Scalars, rate: Scalars) -> Values:
    """Bernoulli KL, mu log(mu/rate) + (1-mu) log((1-mu)/(1-rate)), for rates in [0, 1]; may be inf."""
    mu, rate = probability("mu", mu), probability("rate", rate)
    return REVERSE_KL(np.stack([mu, 1 - mu], axis=-1), np.stack([rate, 1 - rate], axis=-1))


def log_partition(base_rate: Scalars, beta: Scalars) -> Values:
    """Log normaliser log Z_b = log(A0 + A1 e^{1/beta}); beta log Z_b is the optimal regularised reward.

    Shapes broadcast. Raises ValueError unless 0 < base_rate < 1 and beta > 0. Source: dymetman2026binary.
    """
    base_rate, beta = open_rate("base_rate", base_rate), positive("beta", beta)
    require_common_shape(base_rate=base_rate, beta=beta)
    gain = 1 / beta
    mild = np.minimum(gain, 30.0)
    # log1p is accurate for a small gain; logaddexp does not overflow for a large one.
    large = np.logaddexp(np.log1p(-base_rate), np.log(base_rate) + gain)
    return np.where(gain <= 30.0, np.log1p(base_rate * np.expm1(mild)), large)


def excess_kl(policy: Distribution, base: Distribution, valid: Mask) -> ExcessKL:
    """KL(q || a) split into the cost of the pass rate and the diversity lost on either side.

    KL(q||a) = kl(q(Y1)||A1) + q(Y1) KL(q(.|Y1)||p_*) + q(Y0) KL(q(.|Y0)||p_0), by the chain rule.

    Args:
        policy: Probabilities q, shape (..., outcomes).
        base: Probabilities a of the base policy, same shape.
        valid: 1 where an outcome is correct, same shape.

    Returns:
        `total`, `pass_rate`, `valid` and `invalid` in nats, each of shape (...) and computed on its own. The
        property `excess` is the sum of the last two: the KL above the minimum at that pass rate.

    Raises:
        ValueError: If the policy has mass on correct (or incorrect) outcomes and the base has none.

    Example:
        >>> excess_kl([0.3, 0.25, 0.25, 0.2], [0.15, 0.1, 0.45, 0.3], [1, 1, 0, 0])
        ExcessKL(total=0.208977, pass_rate=0.20378, valid=0.00336529, invalid=0.00183184)

    Source: ours, entries `frontier`.
    """
    policy = distribution("policy", policy)
    base, valid = _model(base, valid, both=True)
    require_common_shape(policy=policy, base=base, valid=valid)
    # Both masses are summed separately: 1 - mu would lose the digits of a small invalid mass.
    masses, base_masses = (
        np.stack([pass_rate(q, valid), pass_rate(q, ~valid)], axis=-1) for q in (policy, base)
    )
    if np.any((base_masses == 0) & (masses > 0)):
        raise argument_error("base", base, "needs valid (and invalid) mass where the policy has some")
    return ExcessKL(
        REVERSE_KL(policy, base),
        REVERSE_KL(masses, base_masses),
        _within(policy, base, valid),
        _within(policy, base, ~valid),
    )


def _within(policy: Values, base: Values, part: Values) -> Values:
    """q(part) KL(q(.|part) || a(.|part)), (...), for a mask `part`; zero if q gives the part no mass."""
    policy, base, part = np.broadcast_arrays(policy, base, part)
    mass = masked(policy, part).sum(axis=-1)
    # A part without policy mass has weight zero, so any distribution may stand for both conditionals.
    empty = add_axes(mass == 0, 1)
    anything = normalised(masked(1 + 0 * base, part))
    inside, target = (filtered(np.where(empty, anything, q), part) for q in (policy, base))
    return mass * REVERSE_KL(inside, target)


def mean_pass_rate(base_rates: Scalars, beta: Scalars) -> Values:
    """Mean over prompts of the tilted pass rates, from base_rates (..., prompts) in [0, 1]."""
    rates = _of_prompts(base_rates)
    prompts = np.stack([rates, 1 - rates], axis=-1)
    policies = tilted(prompts, [True, False], add_axes(positive("beta", beta), 1))
    return pass_rate(policies, [True, False]).mean(axis=-1)


def beta_for_mean_pass_rate(base_rates: Scalars, mu: Scalars) -> Values:
    """The unique beta at which the tilted policies have mean pass rate mu over prompts.

    Prompts that the base never or always solves stay so. Takes base_rates (..., prompts) in [0, 1] and mu
    (...), returns beta (...). Raises ValueError unless E[A1] < mu < P(A1 > 0), the range that some beta
    reaches.

    >>> float(beta_for_mean_pass_rate([0.1, 0.5, 0.9], 0.8).round(4))
    0.448

    Source: ours, entries `many_prompts`.
    """
    base_rates, mu = _of_prompts(base_rates), open_rate("mu", mu)
    require_common_shape(base_rates=base_rates[..., 0], mu=mu)
    least, most = base_rates.mean(axis=-1), (base_rates > 0).mean(axis=-1)
    outside = np.asarray((mu <= least) | (mu >= most))
    if outside.any():
        index = tuple(np.argwhere(outside)[0])
        target, low, high = (float(np.broadcast_to(a, outside.shape)[index]) for a in (mu, least, most))
        raise argument_error(
            "mu", target, f"one beta reaches mean pass rates in ({low:.12g}, {high:.12g}) only"
        )
    return 1 / _solve_gain(base_rates, np.broadcast_to(mu, outside.shape))


def _of_prompts(base_rates: Scalars) -> Values:
    rates = probability("base_rates", base_rates)
    if rates.ndim == 0 or rates.shape[-1] == 0:
        raise argument_error("base_rates", base_rates, "needs a last axis of prompts")
    return rates


def _solve_gain(base_rates: Values, mu: Values) -> Values:
    """Gain (...) at which the mean over prompts of expit(logit A1 + gain) is mu."""
    # It lies between the extremes over prompts of logit m - logit A1, m the mean asked of the open prompts.
    open_ = (base_rates > 0) & (base_rates < 1)
    with np.errstate(divide="ignore"):
        start = logit(base_rates)  # Prompts that are never or always solved have log odds -inf and inf.
    share = (mu - (base_rates == 1).mean(axis=-1)) / open_.mean(axis=-1)
    needed = add_axes(logit(share), 1) - start
    low = np.maximum(np.where(open_, needed, np.inf).min(axis=-1), 0.0)
    high = np.where(open_, needed, -np.inf).max(axis=-1)

    def beyond(gain: Values, start: Values, mu: Values) -> Values:
        return expit(start + add_axes(gain, 1)).mean(axis=-1) - mu[..., 0]

    return rising_root(beyond, low, high, start, add_axes(mu, 1))
