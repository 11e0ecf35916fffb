"""Binary rewards: filtered and tilted models, mu <-> beta, the frontier of KL and pass rate, excess KL.

Notation: base a > 0 on finite outcomes, verifier v in {0,1}, valid set Y1 = {v=1}, base rate
A1 = a(Y1), A0 = 1 - A1. All batches over leading axes and works in log space. Source: dymetman2026binary.
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
    """KL(policy || base) in parts, each (...), `pass_rate` that of the pass rate; see `excess_kl`."""

    def __repr__(self) -> str:
        return readable(self)

    total: Values
    pass_rate: Values
    valid: Values
    invalid: Values

    @property
    def excess(self) -> Values:
        """The collapse meter: the KL beyond the least at that pass rate."""
        return self.valid + self.invalid


def _model(
    base: Distribution, valid: Mask, *, both: bool = False, name: str = "base"
) -> tuple[Values, Values]:
    base = distribution(name, base)
    valid = mask("valid", valid, base, both=both)
    require_common_shape(**{name: base, "valid": valid})
    return base, valid


def pass_rate(policy: Distribution, valid: Mask) -> Values:
    """q(Y1) = E_q[v]: the pass rate of a policy, shapes (..., outcomes) give (...)."""
    policy, valid = _model(policy, valid, name="policy")
    return masked(policy, valid).sum(axis=-1)


def filtered(base: Distribution, valid: Mask) -> Values:
    """The filtered model p_* = a(. | Y1): the base conditioned on being correct.

    Parameters: base, probabilities (..., outcomes); valid, 1 where correct, of the same shape.
    Returns probabilities (..., outcomes). Raises ValueError where the base gives the valid outcomes no mass.
    Source: dymetman2026binary.

    >>> filtered([0.2, 0.3, 0.5], [1, 1, 0])
    array([0.4, 0.6, 0. ])
    """
    base, valid = _model(base, valid)
    correct = masked(base, valid)
    # Scaling by the largest entry first keeps masses near the smallest float from losing bits.
    top = correct.max(axis=-1, keepdims=True)
    if (top == 0).any():
        raise argument_error("base", base, "must give the valid outcomes some mass")
    return normalised(correct / top)


def tilted(base: Distribution, valid: Mask, beta: Scalars) -> Values:
    """The tilted policy p_b ~ a e^{v/b}, the only maximiser of E_q[v] - b KL(q || a).

    Parameters: base, probabilities (..., outcomes); valid, 1 where correct, of the same shape; beta > 0 in
    units of reward, shape (...). Returns probabilities (..., outcomes). Raises ValueError for what is no
    distribution, other shapes, beta not positive. Source: dymetman2026binary.

    >>> tilted([0.2, 0.3, 0.5], [1, 1, 0], beta=0.5).round(4)
    array([0.3523, 0.5285, 0.1192])
    """
    base, valid = _model(base, valid)
    beta = positive("beta", beta)
    require_common_shape(base=base[..., 0], valid=valid[..., 0], beta=beta)
    # Measured from the valid outcomes, whose ratios a large 1/beta must not blur.
    with np.errstate(over="ignore"):
        gain = np.where(valid, add_axes(0 * beta, 1), add_axes(np.maximum(-1 / beta, -1e308), 1))
    with np.errstate(divide="ignore"):
        logits = np.log(base) + gain
    return normalised(np.exp(logits - logits.max(axis=-1, keepdims=True)))


def with_pass_rate(mu: Scalars, base: Distribution, valid: Mask) -> Values:
    """The policy nearest to the base of pass rate mu: mu p_* on Y1 and (1-mu) a(.|Y0), mu of shape (...)."""
    base, valid = _model(base, valid, both=True)
    mu = add_axes(probability("mu", mu), 1)
    require_common_shape(mu=mu, base=base, valid=valid)
    return mu * filtered(base, valid) + (1 - mu) * filtered(base, ~valid)


def mu_from_beta(base_rate: Scalars, beta: Scalars) -> Values:
    """The pass rate of the tilted model: logit mu = logit A1 + 1/beta.

    Parameters: base_rate A1 in (0, 1); beta > 0; shapes broadcast. Returns mu of that shape.
    Raises ValueError for numbers out of range. Source: dymetman2026binary.

    >>> float(mu_from_beta(0.25, beta=0.5).round(4))
    0.7112
    """
    base_rate, beta = open_rate("base_rate", base_rate), positive("beta", beta)
    require_common_shape(base_rate=base_rate, beta=beta)
    return expit(logit(base_rate) + 1 / beta)


def mu_by_forward_kl(base_rate: Scalars, eta: Scalars) -> Values:
    """The pass rate of the maximiser of E_q[v] - eta KL(a || q): the root in (A1, 1) of a quadratic.

    mu^2 + (eta-1) mu = eta A1; shapes broadcast. Raises ValueError unless 0 < base_rate < 1 and eta > 0.
    Source: ours, entries `forms_and_curvature`.
    """
    base_rate, eta = open_rate("base_rate", base_rate), positive("eta", eta)
    require_common_shape(base_rate=base_rate, eta=eta)
    # Of the two forms of the root the one whose terms have one sign.
    b = 1 - eta
    root = np.sqrt(b**2 + 4 * base_rate * eta)
    return np.where(b > 0, (b + root) / 2, 2 * base_rate * eta / (root - np.where(b > 0, 0 * b, b)))


def beta_from_mu(base_rate: Scalars, mu: Scalars) -> Values:
    """The beta whose tilted model has pass rate mu: 1/(logit mu - logit A1), the inverse of `mu_from_beta`.

    Shapes broadcast. Raises ValueError unless 0 < base_rate < mu < 1. Source: dymetman2026binary.
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
    """The least KL(q || a) at pass rate mu: kl(mu || A1) of two Bernoullis, kappa'(mu) = 1/beta.

    Parameters: mu in [0, 1], base_rate in (0, 1); shapes broadcast. Returns nats of that shape.
    Raises ValueError for numbers out of range. Source: dymetman2026binary.

    >>> float(kappa(0.7112, 0.25).round(4))
    0.4679
    """
    mu, base_rate = probability("mu", mu), open_rate("base_rate", base_rate)
    require_common_shape(mu=mu, base_rate=base_rate)
    return bernoulli_kl(mu, base_rate)


def bernoulli_kl(mu: Scalars, rate: Scalars) -> Values:
    """kl(mu || rate) = mu log(mu/rate) + (1-mu) log((1-mu)/(1-rate)), both in [0, 1], inf where it is."""
    mu, rate = probability("mu", mu), probability("rate", rate)
    return REVERSE_KL(np.stack([mu, 1 - mu], axis=-1), np.stack([rate, 1 - rate], axis=-1))


def log_partition(base_rate: Scalars, beta: Scalars) -> Values:
    """log Z_b = log(A0 + A1 e^{1/beta}): beta times it is the optimal KL-regularised reward.

    Shapes broadcast. Raises ValueError unless 0 < base_rate < 1 and beta > 0. Source: dymetman2026binary.
    """
    base_rate, beta = open_rate("base_rate", base_rate), positive("beta", beta)
    require_common_shape(base_rate=base_rate, beta=beta)
    gain = 1 / beta
    mild = np.minimum(gain, 30.0)
    # log1p keeps relative accuracy when the gain is small, logaddexp the range when it is large.
    large = np.logaddexp(np.log1p(-base_rate), np.log(base_rate) + gain)
    return np.where(gain <= 30.0, np.log1p(base_rate * np.expm1(mild)), large)


def excess_kl(policy: Distribution, base: Distribution, valid: Mask) -> ExcessKL:
    """The decomposition KL(q||a) = kl(q(Y1)||A1) + q(Y1) KL(q(.|Y1)||p_*) + q(Y0) KL(q(.|Y0)||p_0).

    Parameters: policy and base, probabilities (..., outcomes); valid, 1 where correct, of the same shape.
    Returns (`total`, `pass_rate`, `valid`, `invalid`) in nats, each (...) and computed on its own; `.excess`
    is the sum of the last two, the diversity lost beyond what the pass rate had to cost. Raises ValueError
    where the policy has mass on valid (or on invalid) outcomes and the base has none.

    >>> excess_kl([0.3, 0.25, 0.25, 0.2], [0.15, 0.1, 0.45, 0.3], [1, 1, 0, 0])
    ExcessKL(total=0.208977, pass_rate=0.20378, valid=0.00336529, invalid=0.00183184)

    Source: ours (chain rule), entries `frontier`.
    """
    policy = distribution("policy", policy)
    base, valid = _model(base, valid, both=True)
    require_common_shape(policy=policy, base=base, valid=valid)
    # Both masses are summed on their own: 1 - mu would lose the digits of a small invalid mass.
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
    """q(part) KL(q(. | part) || a(. | part)), zero where the policy does not visit the part."""
    policy, base, part = np.broadcast_arrays(policy, base, part)
    mass = masked(policy, part).sum(axis=-1)
    # Where the policy does not visit the part any distribution on it does for both: its weight is zero.
    empty = add_axes(mass == 0, 1)
    anything = normalised(masked(1 + 0 * base, part))
    inside, target = (filtered(np.where(empty, anything, q), part) for q in (policy, base))
    return mass * REVERSE_KL(inside, target)


def mean_pass_rate(base_rates: Scalars, beta: Scalars) -> Values:
    """E_x p_b(Y1|x) over prompts, from the tilted policy of each; base_rates (..., prompts) in [0, 1]."""
    rates = _of_prompts(base_rates)
    prompts = np.stack([rates, 1 - rates], axis=-1)
    policies = tilted(prompts, [True, False], add_axes(positive("beta", beta), 1))
    return pass_rate(policies, [True, False]).mean(axis=-1)


def solvable_share(base_rates: Values) -> Values:
    """P(A1 > 0) over prompts, what the mean pass rate tends to as beta -> 0; exact in both arithmetics."""
    return masked(1 + 0 * base_rates, base_rates > 0).mean(axis=-1)


def beta_for_mean_pass_rate(base_rates: Scalars, mu: Scalars) -> Values:
    """The one beta at which the mean of mu_from_beta(base_rates, beta) over prompts is mu.

    Parameters: base_rates (..., prompts) in [0, 1], where those never or always solved stay so; mu (...).
    Returns beta (...). Raises ValueError unless mu lies between E[A1] and P(A1 > 0), the means that some
    beta reaches.

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
    """The root of mean expit(logit A1 + gain) = mu, batched.

    At the gain logit m - logit A1 a prompt reaches m, the mean asked of the open prompts; so the root
    lies between the least and the greatest of these.
    """
    open_ = (base_rates > 0) & (base_rates < 1)
    with np.errstate(divide="ignore"):
        start = logit(base_rates)  # -inf and inf where a prompt is never or always solved.
    share = (mu - (base_rates == 1).mean(axis=-1)) / open_.mean(axis=-1)
    needed = add_axes(logit(share), 1) - start
    low = np.maximum(np.where(open_, needed, np.inf).min(axis=-1), 0.0)
    high = np.where(open_, needed, -np.inf).max(axis=-1)

    def beyond(gain: Values, start: Values, mu: Values) -> Values:
        return expit(start + add_axes(gain, 1)).mean(axis=-1) - mu[..., 0]

    return rising_root(beyond, low, high, start, add_axes(mu, 1))
