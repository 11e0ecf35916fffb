"""Strategies that prompts share.

A policy over strategies for all prompts, trained without a KL on advantages that are not divided, is left
with the one that solves most prompts. Here is what a rare strategy gains beside it, by the form of the
advantage; mixtures at the end of training are in `retention`.
"""

from functools import partial

import numpy as np

from ...references import Source
from ...stationary.groups import SCALES, group_weight, success_weights
from ...verification.charts import chart, example, integers, log_uniform, simplex, uniform
from ...verification.statement import neighbour, theorem
from .._strategies import by_instance

Values = np.ndarray
SOURCE = Source("ours", "strategies that prompts share")
MOST = 10
FORMS = ("none", "std", "mean")


def gain_over_groups(kinds: Values, size: Values, eps: float) -> Values:
    return by_instance(lambda rho, number: gain_over_group(rho, int(number), eps), kinds, size)


def gain_over_group(kinds: Values, size: int, eps: float) -> Values:
    """Expected logit update of a strategy r of share eps, divided by eps, per form of advantage; (forms,).

    `kinds` (3,) are the weights of the prompts that r alone solves, that the rival s alone solves, and
    others.
    """
    c, (r_only, s_only, _) = np.arange(size + 1), kinds

    def gain(form: str) -> Values:
        # On prompts that r alone solves c are correct, on prompts that s alone solves G - c.
        won, lost = (np.maximum(SCALES[form](np.clip(k, 1, size - 1), size), 1e-9) for k in (c, size - c))
        moves = c * (size - c) / size**2 * (r_only / won - s_only / lost)
        return np.asarray(success_weights(size, np.array(eps)) @ moves / eps)

    return np.array([gain(form) for form in FORMS])


def gain_by_weights(kinds: Values, size: Values, less: int = 1) -> Values:
    """alpha_G(0) rho(r only) - alpha_G(1) rho(s only), three forms, (batch, 3); MaxRL's alpha is G - less.

    `kinds` (batch, 3) are the weights of the prompts that r alone solves, that s alone solves, and others.
    """
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


def maxrl_drive(share: Values, rare: Values, common: Values, size: Values) -> Values:
    """Drive (batch,) of two strategies' log odds, rho(r only) alpha_G(q) - rho(s only) alpha_G(1-q)."""
    rates = np.stack([share, 1 - share], axis=-1)
    weights = by_instance(lambda number, q: group_weight(int(number), q, "mean"), size, rates)
    return rare * weights[:, 0] - common * weights[:, 1]


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
