"""Stationary policies of runs with another sampler, reference or reward than the standard ones.

They sample at a temperature or from a truncated vocabulary, reset the reference, reward more than
correctness, mask truncated answers, or use a verifier that can be hacked. A sampler maps the policy's
next-token tables to those from which rollouts are drawn, such as `tempered` and `truncated`;
`finite_training.flow` follows training under any sampler. Source: entries `samplers`.
"""

from typing import Any

import numpy as np
from scipy.special import wrightomega

from ..numeric.arrays import (
    Array,
    Mask,
    Scalars,
    distribution,
    integers,
    mask,
    positive,
    probability,
    real,
    require_common_shape,
    scalar,
)
from ..numeric.elementary import Values, add_axes, normalised
from ..support.errors import argument_error
from .sequence import sequence_policy
from .token import PolicySolver, Tables, next_token_tables


def tempered(tables: Tables, temperature: float) -> list[np.ndarray]:
    """Divide logits by the temperature T > 0: pi(.|s)^(1/T), normalised; shapes are unchanged."""
    power = 1 / scalar("temperature", positive("temperature", temperature))
    return [_powered(table, power) for table in next_token_tables("tables", tables, None)]


def _powered(table: np.ndarray, power: float) -> np.ndarray:
    # Relative to the likeliest token, whose power is one at every temperature.
    return normalised((table / table.max(axis=-1, keepdims=True)) ** power)


def truncated(tables: Tables, *, top_p: float = 1.0, top_k: int = 0, min_p: float = 0.0) -> list[np.ndarray]:
    """Restrict tables to the tokens that a truncated sampler leaves at each prefix, normalised.

    The cuts apply in the order of transformers: the top_k likeliest (0: all); of these the fewest of mass
    top_p; of these the tokens of at least min_p times the largest probability. Among equal tokens the first
    counts as likelier. Shapes are unchanged. Raises ValueError for a top_p outside (0, 1], a min_p outside
    [0, 1] or a top_k below 0.
    """
    share = scalar("top_p", real("top_p", top_p, above=0, at_most=1))
    least = scalar("min_p", probability("min_p", min_p))
    count = int(scalar("top_k", integers("top_k", top_k, at_least=0)))
    return [_cut(table, share, count, least) for table in next_token_tables("tables", tables, None)]


def _cut(table: np.ndarray, share: float, count: int, least: float) -> np.ndarray:
    order = np.argsort(-table, axis=-1, kind="stable")
    ranked = np.take_along_axis(table, order, axis=-1)
    if count:
        ranked = normalised(np.where(np.arange(table.shape[-1]) < count, ranked, 0.0))
    before = ranked.cumsum(axis=-1) - ranked
    # The first token stays; others go once the mass before them reaches top_p, up to rounding.
    retained = (before < max(share - 1e-12, 1e-300)) & (ranked >= least * ranked[..., :1])
    masses = np.empty_like(table)
    np.put_along_axis(masses, order, normalised(np.where(retained, ranked, 0.0)), axis=-1)
    return masses


def policy_at_temperature(
    base: Tables,
    valid: Array,
    beta: Scalars,
    temperature: float,
    *,
    solver: PolicySolver = sequence_policy,
    **options: object,
) -> list[np.ndarray]:
    """Stationary policy, read at T = 1, if logits are divided by T in rollouts, log-probabilities and KL.

    Training acts on pi_T ~ pi^(1/T) against a_T, so `solver` (with `options`) gives pi_T. For one decision
    under the reverse KL this is a e^{T v/beta}, the base's proportions at beta/T. On trees with the KL in the
    reward pi(t|s) ~ a(t|s) Z_T(s,t)^T, which no beta gives. Shapes are those of `solver`.

    >>> (policy,) = policy_at_temperature([[0.2, 0.3, 0.5]], [1, 0, 0], 0.4, 0.5)
    >>> policy.round(4)
    array([0.466 , 0.2003, 0.3338])

    Source: ours, entries `samplers`.
    """
    end: Any = options.get("end")
    base = next_token_tables("base", base, end)
    return tempered(solver(tempered(base, temperature), valid, beta, **options), 1 / temperature)


def policy_after_resets(
    base: Tables, valid: Array, beta: Scalars, rounds: int, *, solver: PolicySolver = sequence_policy,
    mixup: float = 1.0, **options: object,
) -> list[np.ndarray]:  # fmt: skip
    """Policy after `rounds` trainings to the stationary policy, each followed by a reset of the reference.

    mixup in (0, 1] is how far the reference's logits move (in TRL, ref_model_mixup_alpha moves weights). With
    the KL in the reward and mixup 1 the result is `solver` at beta/rounds on every tree; for one decision it
    is `solver` at beta / (1 + mixup (rounds - 1)). With the token reverse KL at beta times many rounds the
    limit is the filtered policy, not the locally filtered one. Shapes are those of `solver`. Source: ours,
    entries `samplers`.
    """
    end: Any = options.get("end")
    base = next_token_tables("base", base, end)
    trainings = int(scalar("rounds", integers("rounds", rounds, at_least=1)))
    share = scalar("mixup", real("mixup", mixup, above=0, at_most=1))
    policy = solver(base, valid, beta, **options)
    for _ in range(trainings - 1):
        pairs = zip(base, policy, strict=True)
        base = [normalised(np.asarray(old) ** (1 - share) * new**share) for old, new in pairs]
        policy = solver(base, valid, beta, **options)
    return policy


def masked_policy(
    base: Scalars, valid: Mask, finished: Mask, beta: Scalars, *, in_loss: bool = False
) -> Values:
    """Stationary policy of a decision whose unfinished answers are masked out of the loss, (..., outcomes).

    The policy gradient acts in logits; the mass of unfinished answers is unconstrained. With the KL in the
    reward and the mean reward of the finished answers as baseline, these become p_beta among themselves, at
    odds Z e^{-k/(n beta)} / (a's unfinished mass), where Z = sum of a e^{v/beta} over the n finished answers,
    k of them correct. in_loss: k2 or k3 with importance weight in the loss and the mean of all rewards as
    baseline, as in TRL: V = A1 e^{(1-V)/beta}, and an incorrect finished answer has a e^{-V/beta}. Either way
    masking can increase truncation. Raises ValueError if an unfinished answer is correct, none is unfinished,
    or no correct one has mass.

    >>> masked_policy([0.1, 0.05, 0.3, 0.25, 0.3], [1, 1, 0, 0, 0], [1, 1, 1, 1, 0], 0.25)[-1].round(4)
    np.float64(0.2023)

    Source: ours, entries `samplers`.
    """
    base, beta = distribution("base", base), positive("beta", beta)
    valid, finished = mask("valid", valid, base, both=True), mask("finished", finished, base, both=True)
    require_common_shape(base=base, valid=valid, finished=finished)
    if (valid & ~finished).any():
        raise argument_error("finished", finished, "true for every correct answer")
    right = np.where(valid, base, 0.0).sum(axis=-1)
    if (right == 0).any():
        raise argument_error("base", base, "some mass on correct answers")
    require_common_shape(base=base[..., 0], beta=beta)
    if in_loss:
        # V e^{V/b} = A1 e^{1/b}, by Wright's omega, which never overflows.
        rate = beta * wrightomega(np.log(right / beta) + 1 / beta)
        inside = np.where(finished, base * np.exp((valid - add_axes(rate, 1)) / add_axes(beta, 1)), 0.0)
        cut = np.where(finished, 0.0, base)
        return inside + cut * add_axes((1 - inside.sum(axis=-1)) / cut.sum(axis=-1), 1)
    share = add_axes(valid.sum(axis=-1) / finished.sum(axis=-1), 1)
    gain = np.where(finished, (valid - share) / add_axes(beta, 1), 0.0)
    return normalised(base * np.exp(gain - gain.max(axis=-1, keepdims=True)))


def best_beta(base_rate: Scalars, hacks: Scalars, false_positive: Scalars, false_negative: Scalars) -> Values:
    """The beta of highest *true* pass rate under a verifier that some incorrect answers (hacks) always pass.

    b* = (1 - phi) / log(J A0 / (nu h)) with J = 1 - phi - nu and A0 = 1 - A1 - h; below b* the hacks grow.
    Arguments in [0, 1]: base_rate A1 > 0 and the base's mass h of hacks, together below 1; phi, the
    probability that another incorrect answer passes, and nu, that a correct one fails. Returns beta, shapes
    broadcast: 0 if no beta is too small (nu h = 0), inf if training at any beta lowers the pass rate.

    >>> float(best_beta(0.2, 0.001, 0.05, 0.1).round(6))
    0.107668

    Source: ours, entries `samplers`.
    """
    named = {"base_rate": base_rate, "hacks": hacks}
    named |= {"false_positive": false_positive, "false_negative": false_negative}
    right, hack, phi, nu = (probability(name, value) for name, value in named.items())
    require_common_shape(base_rate=right, hacks=hack, false_positive=phi, false_negative=nu)
    if np.any((right == 0) | (right + hack >= 1)):
        raise argument_error("base_rate", base_rate, "above 0, and with hacks below 1")
    if np.any(phi + nu >= 1):
        raise argument_error("false_negative", false_negative, "less than 1 - false_positive")
    with np.errstate(divide="ignore"):
        odds = np.log((1 - phi - nu) * (1 - right - hack)) - np.log(nu * hack)
        return np.where(odds > 0, (1 - phi) / np.where(odds > 0, odds, 1.0), np.inf)
