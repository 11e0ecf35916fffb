"""Strategies that prompts share.

Of a policy over strategies for all prompts, trained without a KL on advantages that are not divided, one is
left: on average the one that solves most prompts. What a rare one gains beside it, what two prompts that
prefer different answers share apart, and how far the seeds are apart under a KL. What is left: `retention`.
"""

from collections.abc import Callable
from functools import partial, wraps
from inspect import signature
from typing import Any

import numpy as np

from ...references import Source
from ...stationary.groups import SCALES, group_weight, success_weights
from ...verification.charts import chart, example, integers, log_uniform, simplex, uniform
from ...verification.statement import neighbour, theorem

Values = np.ndarray
SOURCE = Source("ours", "strategies that prompts share")
MOST = 10
FORMS = ("none", "std", "mean")


def one_by_one(side: Callable[..., Any]) -> Callable[..., Values]:
    """A side of one instance as a side of a batch."""

    @wraps(side)
    def batched(*args: Any, **kwargs: Any) -> Values:
        arguments = signature(side).bind(*args, **kwargs).arguments
        kinds = {name: parameter.annotation for name, parameter in signature(side).parameters.items()}

        def argument(name: str, i: int) -> Any:
            value = arguments[name][i] if np.ndim(arguments[name]) else arguments[name]
            return kinds[name](value) if kinds[name] in (int, float) else value

        batch = max(len(values) for values in arguments.values() if np.ndim(values))
        return np.array([side(*(argument(name, i) for name in arguments)) for i in range(batch)])

    return batched


@one_by_one
def gain_over_groups(kinds: Values, size: int, eps: float) -> Values:
    """The expected update of a rare r's logit over its mass eps, by the counts c of a group's answers."""
    c, (r_only, s_only, _) = np.arange(size + 1), kinds

    def gain(form: str) -> Values:
        # On prompts that r alone solves c are correct, on prompts that s alone solves G - c.
        won, lost = (np.maximum(SCALES[form](np.clip(k, 1, size - 1), size), 1e-9) for k in (c, size - c))
        moves = c * (size - c) / size**2 * (r_only / won - s_only / lost)
        return np.asarray(success_weights(size, np.array(eps)) @ moves / eps)

    return np.array([gain(form) for form in FORMS])


def gain_by_weights(kinds: Values, size: Values, less: int = 1) -> Values:
    """alpha_G(0) rho(r only) - alpha_G(1) rho(s only) in the three forms, MaxRL's alpha_G(0) = G - `less`."""
    gap, ends = kinds[:, 0] - kinds[:, 1], (1 - 1 / size, (size - 1) / np.sqrt(size))
    return np.stack([*(end * gap for end in ends), (size - less) * kinds[:, 0] - kinds[:, 1]], axis=-1)


GROWTH = theorem(
    "Beside a strategy s that has all, r gains at alpha_G(0) rho(r only) - alpha_G(1) rho(s only)",
    statement=r"\lim_{q_r \to 0} \dot\theta_r/q_r = \alpha_G(0)\,\rho(r \text{ only})"
    r" - \alpha_G(1)\,\rho(s \text{ only}), \quad \alpha_G(0), \alpha_G(1) = 1 - \tfrac1G \text{ (not"
    r" divided)},\; \tfrac{G-1}{\sqrt G} \text{ (deviation)},\; G - 1 \text{ and } 1 \text{ (MaxRL)}",
    source=SOURCE,
    on=chart(kinds=simplex(3, spread=2), size=integers(2, MOST)),
    tends=(gain_over_groups, gain_by_weights),
    examples=(example(kinds=".1 .9 0", size="12", value="-.7333333333333 -2.5403411844344 .2"),),
    coq="rare_beside",
    tolerance=1e-4,
    floor=1.0,
    note="Not divided, or std-normalised, the strategy of most merit is stable alone; under the std mixtures"
    " can be stable beside it (retention.coexist), and MaxRL keeps a rarer one that solves what the other"
    " does not.",
    share=0.02,
    false=(
        neighbour("MaxRL's G - 1 is G", rhs=partial(gain_by_weights, less=0)),
        neighbour(
            "by whole merits under MaxRL, prompts that both solve counted",
            at=example(kinds=".1 .5 .4", size="12"),
            rhs=lambda kinds, size: gain_by_weights(kinds + kinds[:, 2:], size),
        ),
    ),
)


@one_by_one
def maxrl_drive(share: float, rare: float, common: float, size: int) -> float:
    """rho(r only) alpha_G(q) - rho(s only) alpha_G(1-q), the drive of the log odds of two strategies."""
    gain, loss = group_weight(int(size), np.array([share, 1 - share]), "mean")
    return float(rare * gain - common * loss)


MAXRL = theorem(
    "MaxRL: the drive of r's log odds beside s is at most (G-1) rho(r only) - rho(s only) at every share",
    statement=r"\rho_r\,\alpha_G(q) - \rho_s\,\alpha_G(1-q) \;\le\; (G-1)\,\rho_r - \rho_s,"
    r" \quad \alpha_G(V) = \frac{1-(1-V)^{G-1}}{V},\; 0 < q < 1",
    source=SOURCE,
    note="Where that is not positive r gains at no share.",
    on=chart(share=log_uniform(1e-4, 0.99), rare=uniform(0, 1), common=uniform(0, 1), size=integers(2, MOST)),
    at_most=(maxrl_drive, lambda rare, common, size: (size - 1) * rare - common),
    examples=(
        example(share=".1", rare=".1", common=".9", size="8", lhs="-.4782968", rhs="-.2"),
        example(share=".1", rare=".1", common=".9", size="12"),
    ),
    coq="maxrl_drive",
    share=0.2,
    false=(
        neighbour(
            "G - 2 in the place of G - 1",
            at=example(share=".01", rare=".5", common=".5", size="8"),
            rhs=lambda rare, common, size: (size - 2) * rare - common,
        ),
    ),
)


@one_by_one
def exponent_apart(odds: float, rate: float, invalid: int, eps: float) -> float:
    """d log delta over d log O along E v, of two prompts that prefer other correct answers by the odds."""
    first = np.array([odds, 1.0]) / (1 + odds) * rate
    base = np.array([[*first, 1 - rate], [*first[::-1], 1 - rate]])
    policy = base * np.exp([eps / 2, -eps / 2, 0.0])
    policy /= policy.sum(axis=1, keepdims=True)
    mass = policy[:, :2].sum(axis=1, keepdims=True)
    move = (policy * np.where(np.arange(3) < 2, 1 - mass, -mass)).mean(axis=0)
    # The incorrect mass is that of equal answers, whose logits share its move.
    rise = (policy[:, :2] / mass @ move[:2]).mean() - move[2] / invalid
    return float((move[0] - move[1]) / eps / rise)


def spread(odds: Values) -> Values:
    return np.square((odds - 1) / (odds + 1))


APART = theorem(
    "Near equal shares, what two prompts share apart moves as a power of the odds of being right",
    statement=r"\frac{d\log\delta}{d\log O} = \frac{n_0}{n_0+2}\bigl(1 - 2 V d^2\bigr),\quad"
    r" d = \frac{o-1}{o+1}, \; \delta = \varphi_1 - \varphi_2 \to 0",
    source=SOURCE,
    on=chart(odds=log_uniform(1, 100), rate=uniform(0.05, 0.95), invalid=integers(1, 40)),
    tends=(
        exponent_apart,
        lambda odds, rate, invalid: invalid / (invalid + 2) * (1 - 2 * rate * spread(odds)),
    ),
    examples=(example(odds="5", rate=".9", invalid="8", rhs=".16"),),
    tolerance=1e-5,
    floor=1.0,
    ladder=(1e-1, 1e-2, 1e-3),
    share=0.05,
    false=(
        neighbour(
            "at every pass rate as near one",
            rhs=lambda odds, invalid: invalid / (invalid + 2) * (1 - 2 * spread(odds)),
        ),
        neighbour("each prompt alone", rhs=lambda odds, invalid: invalid / (invalid + 2) + 0 * odds),
    ),
)
