"""A6. The limit of small beta, in four modes.

How the tilted model tends to the filtered one: at every outcome, in total variation by the invalid mass, in
forward KL by -log mu; but its reverse KL to it is infinite at every beta, so p_* cannot be a reverse-KL
target.
"""

import numpy as np

from ..binary_reward import filtered, mu_from_beta, tilted, valid_mass
from ..divergences import FORWARD_KL, REVERSE_KL, TOTAL_VARIATION
from ..numeric.elementary import Values, trailing
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex
from ..statement.theorem import neighbour, scaled, theorem
from ._laws import FOUR


def deviation(base: Values, valid: Values, beta: Values) -> Values:
    return abs(tilted(base, valid, beta) - filtered(base, valid))


def exponential(base: Values, valid: Values, beta: Values) -> Values:
    return trailing(valid_mass(base, ~valid) / valid_mass(base, valid) * np.exp(-1 / beta), 1)


POINTWISE = theorem(
    "A6.pointwise",
    "As beta -> 0, p_beta -> p_* at every outcome, within (A0/A1) e^(-1/beta)",
    statement=r"|p_\beta(y) - p_*(y)| \le \frac{A_0}{A_1}\, e^{-1/\beta} \to 0 \text{ as } \beta \to 0",
    source=Source("dymetman2026binary", "limits"),
    on=chart(base=simplex(4), valid=masks(4), beta=log_uniform(1e-2, 1e3)),
    at_most=(deviation, exponential),
    examples=(
        FOUR.giving(lhs=".1732592434634 .115506162309 .1732592434634 .115506162309", rhs=".4060058497098"),
    ),
    coq="pointwise",
    false=(
        neighbour(
            "a rate of e^(-1.02/beta)",
            at=example(base="9e-6 .399991 .3 .3", valid=[True, False, False, False], beta=".06"),
            rhs=lambda base, valid, beta: exponential(base, valid, beta / 1.02),
        ),
    ),
)


def distance_to_filtered(base: Values, valid: Values, beta: Values) -> Values:
    return TOTAL_VARIATION(tilted(base, valid, beta), filtered(base, valid))


def invalid_left(base: Values, valid: Values, beta: Values) -> Values:
    return 1 - mu_from_beta(valid_mass(base, valid), beta)


VARIATION = theorem(
    "A6.variation",
    "TV(p_beta, p_*) = 1 - mu",
    statement=r"\mathrm{TV}(p_\beta, p_*) = 1 - \mu \to 0 \text{ as } \beta \to 0",
    source=Source("dymetman2026binary", "limits"),
    on=chart(base=simplex(5), valid=masks(5), beta=log_uniform(1e-3, 1e3)),
    equal=(distance_to_filtered, invalid_left),
    examples=(FOUR.giving(value=".2887654057724"),),
    coq="variation",
    false=(
        neighbour("the L1 distance in place of half of it", lhs=scaled(distance_to_filtered, 2)),
        neighbour(
            "the gain in pass rate, mu - A1",
            rhs=lambda base, valid, beta: 1 - valid_mass(base, valid) - invalid_left(base, valid, beta),
        ),
    ),
)


def filtered_to_tilted(base: Values, valid: Values, beta: Values) -> Values:
    return trailing(FORWARD_KL(tilted(base, valid, beta), filtered(base, valid)), 1)


def both_forms(base: Values, valid: Values, beta: Values) -> Values:
    A1, A0 = valid_mass(base, valid), valid_mass(base, ~valid)
    surprise = -np.log(mu_from_beta(A1, beta))
    return np.stack([surprise, np.log1p(A0 / A1 * np.exp(-1 / beta))], axis=-1)


def base_odds_exchanged(base: Values, valid: Values, beta: Values) -> Values:
    A1, A0 = valid_mass(base, valid), valid_mass(base, ~valid)
    return trailing(np.log1p(A1 / A0 * np.exp(-1 / beta)), 1)


FORWARD = theorem(
    "A6.forward",
    "KL(p_*||p_beta) = -log mu = log(1 + (A0/A1) e^(-1/beta)), which vanishes",
    statement=r"\mathrm{KL}(p_*\|p_\beta) = -\log\mu = \log\big(1 + \tfrac{A_0}{A_1} e^{-1/\beta}\big) \to 0"
    r" \text{ as } \beta \to 0",
    source=Source("dymetman2026binary", "limits"),
    on=chart(base=simplex(5), valid=masks(5), beta=log_uniform(1e-3, 1e3)),
    equal=(filtered_to_tilted, both_forms),
    examples=(FOUR.giving(value=".3407529539131"),),
    coq="forward_value",
    false=(
        neighbour(
            "to first order, 1 - mu",
            rhs=lambda base, valid, beta: trailing(1 - mu_from_beta(valid_mass(base, valid), beta), 1),
        ),
        neighbour("the base's odds exchanged", rhs=base_odds_exchanged),
    ),
)


def to_filtered(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    """e^(-KL) from the tilted model, and from any policy of full support."""
    target = filtered(base, valid)
    return np.exp(-np.stack([REVERSE_KL(q, target) for q in (tilted(base, valid, beta), policy)], axis=-1))


def zero(beta: Values) -> Values:
    return 0 * beta[:, None]


def from_filtered(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    target = filtered(base, valid)
    return np.exp(-np.stack([FORWARD_KL(q, target) for q in (tilted(base, valid, beta), policy)], axis=-1))


def from_conditional(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    """Policies whose invalid mass has been removed."""
    cleaned = (filtered(q, valid) for q in (tilted(base, valid, beta), policy))
    return np.exp(-np.stack([REVERSE_KL(q, filtered(base, valid)) for q in cleaned], axis=-1))


REVERSE = theorem(
    "A6.reverse",
    "KL(p_beta||p_*) is infinite for every beta: p_* cannot be a reverse-KL target",
    statement=r"e^{-\mathrm{KL}(p_\beta\|p_*)} = 0 \text{ for every } \beta > 0, \quad"
    r" e^{-\mathrm{KL}(q\|p_*)} = 0 \text{ for every } q > 0",
    source=Source("dymetman2026binary", "limits"),
    # Below beta = 1/700 the tilted model's invalid mass is under the smallest float.
    on=chart(policy=simplex(4), base=simplex(4), valid=masks(4), beta=log_uniform(2e-3, 1e3)),
    equal=(to_filtered, zero),
    examples=(FOUR.giving(value="0"),),
    coq="never_a_reverse_target",
    false=(
        neighbour("the directions exchanged", lhs=from_filtered),
        neighbour("for policies without invalid mass", lhs=from_conditional),
    ),
)
