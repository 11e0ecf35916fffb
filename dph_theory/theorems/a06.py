"""A6. The limit of small beta, in four modes.

How the tilted model tends to the filtered one: at every outcome, in total variation by the invalid mass, in
forward KL by -log mu; but its reverse KL to it is infinite at every beta, so p_* cannot be a reverse-KL
target.
"""

from typing import Any

import numpy as np
import sympy
from flint import arb

from ..binary_reward import filtered, mu_from_beta, tilted, valid_mass
from ..divergences import FORWARD_KL, REVERSE_KL, TOTAL_VARIATION
from ..numeric.balls import Values, is_ball, trailing
from ..numeric.enclosures import Scalar
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex
from ..statement.theorem import (
    Claim,
    FalseStep,
    Kernel,
    ScalarForm,
    Steps,
    derived,
    neighbour,
    proved,
    scaled,
)
from ._boxes import GAIN, LOG_ODDS, SHARE, base_of, over_two_verdicts, tilted_law, tilted_odds


def deviation(base: Values, valid: Values, beta: Values) -> Values:
    return abs(tilted(base, valid, beta) - filtered(base, valid))


def exponential(base: Values, valid: Values, beta: Values) -> Values:
    return trailing(valid_mass(base, ~valid) / valid_mass(base, valid) * np.exp(-1 / beta), 1)


def pointwise_steps() -> Steps:
    yield (
        "By A5.mixture p_b - p_* = (1-mu)(p_0 - p_*), and two masses differ by at most one, so the distance "
        "is at most 1 - mu = A0/(A0 + A1 e^(1/b)) < (A0/A1) e^(-1/b), which vanishes as b -> 0."
    )
    x, y = sympy.symbols("x y", nonnegative=True)
    yield Claim("two masses differ by at most one", 1 - sympy.Abs(x - y), ">=0", where=(x <= 1, y <= 1))
    A1, A0, beta = sympy.symbols("A1 A0 beta", positive=True)
    rate = A0 / A1 * sympy.exp(-1 / beta)
    yield Claim("1 - mu is below the rate", rate - A0 / (A0 + A1 * sympy.exp(1 / beta)), ">0")
    yield Claim("the rate vanishes, as it is below (A0/A1) b", A0 / A1 * beta - rate, ">0")
    yield FalseStep("with e^(+1/b)", A0 / A1 * beta - A0 / A1 * sympy.exp(1 / beta), ">0")


def two_valid(log_odds: Scalar, gain: Scalar, share: Scalar) -> dict[str, Any]:
    valid, invalid = base_of(log_odds)
    base = [valid * share, valid * (1 - share), invalid]
    return {"base": base, "valid": [True, True, False], "beta": 1 / gain}


def room(log_odds: Scalar, gain: Scalar, share: Scalar) -> list[Scalar]:
    # The deviations are share (1-mu), (1 - share) (1-mu) and 1-mu, the bound is (1-mu) (1 + z).
    z = tilted_odds(log_odds, gain)
    return [1 + z - share, z + share, 1 + 0 * z]


def scales(log_odds: Scalar, gain: Scalar) -> list[Scalar]:
    z = tilted_odds(log_odds, gain)
    invalid = 1 - 1 / (1 + z)
    return [invalid, invalid, invalid * z]


POINTWISE = derived(
    "A6.pointwise",
    "As beta -> 0, p_beta -> p_* at every outcome, within (A0/A1) e^(-1/beta)",
    statement=r"|p_\beta(y) - p_*(y)| \le \frac{A_0}{A_1}\, e^{-1/\beta} \to 0 \text{ as } \beta \to 0",
    source=Source("dymetman2026binary", "limits"),
    on=chart(base=simplex(4), valid=masks(4), beta=log_uniform(1e-2, 1e3)),
    at_most=(deviation, exponential),
    given=("A5.mixture",),
    examples=(example(base=".3 .2 .1 .4", valid=[True, True, False, False], beta=".1"),),
    derivation=pointwise_steps,
    reductions=(
        ScalarForm(
            "two valid outcomes, one invalid",
            {"log_odds": LOG_ODDS, "gain": GAIN, "share": SHARE},
            two_valid,
            gap=room,
            factor=scales,
        ),
    ),
    tight=example(base=".3 .3 .2 .2", valid=[True, True, True, False], beta=".2"),
    false=(
        neighbour(
            "a constant 2% smaller",
            at=example(base=".2 .2 .4 .2", valid=[True, True, True, False], beta=".2"),
            rhs=scaled(exponential, 0.98),
        ),
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


def variation_steps() -> Steps:
    yield (
        "p_b - p_* = (1-mu)(p_0 - p_*) (A5.mixture) and p_0, p_* have disjoint supports: half the L1 norm is "
        "(1-mu)/2 (1 + 1). An outcome's share, with a/A1 = s on Y1 and a/A0 = s on Y0, sums s to one."
    )
    s, odds, x = sympy.symbols("s odds x", positive=True)
    yield "mu = odds x/(1 + odds x), x = e^(1/beta)."
    mu = odds * x / (1 + odds * x)
    invalid = 1 / (1 + odds * x)
    yield Claim("1 - mu", 1 - mu, equals=invalid)
    yield Claim("a valid outcome's share", sympy.Abs(mu * s - s), equals=invalid * s)
    yield "An invalid outcome's share is (1-mu) s likewise."
    yield FalseStep("a valid one's, with the validity", sympy.Abs(mu * s - s), equals=mu * s)
    yield Claim("it vanishes with beta, as it is below 1/(odds x)", 1 / (odds * x) - invalid, ">0")


def variations(log_odds: Scalar, gain: Scalar) -> list[tuple[Scalar, Scalar]]:
    valid, invalid = tilted_law(log_odds, gain)
    return [((1 - valid + invalid) / 2, 1 - 1 / (1 + tilted_odds(log_odds, gain)))]


VARIATION = derived(
    "A6.variation",
    "TV(p_beta, p_*) = 1 - mu",
    statement=r"\mathrm{TV}(p_\beta, p_*) = 1 - \mu \to 0 \text{ as } \beta \to 0",
    source=Source("dymetman2026binary", "limits"),
    on=chart(base=simplex(5), valid=masks(5), beta=log_uniform(1e-3, 1e3)),
    equal=(distance_to_filtered, invalid_left),
    given=("A5.mixture",),
    examples=(example(base=".25 .75", valid=[True, False], beta=".5"),),
    derivation=variation_steps,
    reductions=over_two_verdicts(variations),
    false=(
        neighbour("the L1 distance in place of half of it", lhs=scaled(distance_to_filtered, 2)),
        neighbour(
            "the gain in validity, mu - A1",
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


def log_of_invalid_left(base: Values, valid: Values, beta: Values) -> Values:
    return trailing(1 - mu_from_beta(valid_mass(base, valid), beta), 1)


def base_odds_exchanged(base: Values, valid: Values, beta: Values) -> Values:
    A1, A0 = valid_mass(base, valid), valid_mass(base, ~valid)
    return trailing(np.log1p(A1 / A0 * np.exp(-1 / beta)), 1)


def forward_steps() -> Steps:
    yield "On Y1 p_*/p_b = (a/A1)/(a x/Z) = 1/mu throughout, x = e^(1/b), and p_* sums to one there."
    a, A1, A0, x = sympy.symbols("a A1 A0 x", positive=True)
    mu = A1 * x / (A0 + A1 * x)
    odds = A1 / A0 * x
    yield Claim("the ratio on a valid outcome", (a / A1) / (a * x / (A0 + A1 * x)), equals=(1 + odds) / odds)
    yield Claim("1/mu", 1 / mu, equals=1 + A0 / (A1 * x))
    yield "-log mu is at most 1/mu - 1 (L1.logarithm), which vanishes as x grows."
    yield Claim("1/mu - 1", 1 / mu - 1, equals=A0 / A1 / x)
    yield FalseStep("the inverse odds", 1 / mu - 1, equals=A0 * x / A1)


def surprises(log_odds: Scalar, gain: Scalar) -> list[tuple[Scalar, Scalar]]:
    # log Z - 1/beta - log A1, and the two forms of its surprise.
    (valid, invalid), odds, less = base_of(log_odds), (-log_odds).exp(), (-gain).exp()
    divergence = (valid + invalid * less).log() + (1 + odds).log()
    return [(divergence, (1 + tilted_odds(log_odds, gain)).log()), (divergence, (1 + odds * less).log())]


FORWARD = proved(
    "A6.forward",
    "KL(p_*||p_beta) = -log mu = log(1 + (A0/A1) e^(-1/beta)), which vanishes",
    statement=r"\mathrm{KL}(p_*\|p_\beta) = -\log\mu = \log\big(1 + \tfrac{A_0}{A_1} e^{-1/\beta}\big) \to 0"
    r" \text{ as } \beta \to 0",
    source=Source("dymetman2026binary", "limits"),
    on=chart(base=simplex(5), valid=masks(5), beta=log_uniform(1e-3, 1e3)),
    equal=(filtered_to_tilted, both_forms),
    given=("L1.logarithm",),
    examples=(example(base=".25 .75", valid=[True, False], beta=".5"),),
    kernel=Kernel("forward_value"),
    derivation=forward_steps,
    reductions=over_two_verdicts(surprises),
    false=(
        neighbour("to first order, 1 - mu", rhs=log_of_invalid_left),
        neighbour("the base's odds exchanged", rhs=base_odds_exchanged),
    ),
)


def to_filtered(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    """From the tilted model, and from any policy of full support."""
    target = filtered(base, valid)
    return np.stack([REVERSE_KL(q, target) for q in (tilted(base, valid, beta), policy)], axis=-1)


def infinity(beta: Values) -> Values:
    return np.full((len(beta), 1), arb.pos_inf() if is_ball(beta) else np.inf)


def finite_near_one(beta: Values) -> Values:
    return np.where(abs(beta[:, None] - 1) > 0.01, infinity(beta), 0 * beta[:, None])


def from_filtered(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    target = filtered(base, valid)
    return np.stack([FORWARD_KL(q, target) for q in (tilted(base, valid, beta), policy)], axis=-1)


def from_conditional(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    """Policies whose invalid mass has been removed."""
    cleaned = (filtered(q, valid) for q in (tilted(base, valid, beta), policy))
    return np.stack([REVERSE_KL(q, filtered(base, valid)) for q in cleaned], axis=-1)


def reverse_steps() -> Steps:
    yield (
        "On Y0 p_* = 0 while p_b = a/Z > 0. One term q log(q/r) exceeds any bound B as r -> 0, and all "
        "others are at least q - r (L1.logarithm), together at least -1: the sum is infinite. The same for "
        "any q > 0."
    )
    q, r, more = sympy.symbols("q r more", positive=True)
    B = sympy.Symbol("B", real=True)
    Z, a = sympy.symbols("Z a", positive=True)
    yield Claim("an invalid outcome keeps mass at every beta", a / Z, ">0")
    small = q * sympy.exp(-(B + more) / q)
    yield Claim("its term exceeds B from r = q e^(-B/q) down", q * sympy.log(q / small) - B, ">0")
    yield FalseStep("from r = q e^(-B) down", q * sympy.log(q / (q * sympy.exp(-B))) - B, ">0")
    s = q / r
    yield Claim("each other term is at least q - r", q * (1 - 1 / s), equals=q - r)


REVERSE = derived(
    "A6.reverse",
    "KL(p_beta||p_*) is infinite for every beta: p_* cannot be a reverse-KL target",
    statement=r"\mathrm{KL}(p_\beta\|p_*) = +\infty \text{ for every } \beta > 0, \quad"
    r" \mathrm{KL}(q\|p_*) = +\infty \text{ for every } q > 0",
    source=Source("dymetman2026binary", "limits"),
    # Below beta = 1/700 the tilted model's invalid mass is under the smallest float.
    on=chart(policy=simplex(4), base=simplex(4), valid=masks(4), beta=log_uniform(2e-3, 1e3)),
    equal=(to_filtered, infinity),
    given=("L1.logarithm",),
    examples=(example(policy=".98 .02", base=".25 .75", valid=[True, False], beta=".01"),),
    derivation=reverse_steps,
    false=(
        neighbour("the directions exchanged", lhs=from_filtered),
        neighbour("for policies without invalid mass", lhs=from_conditional),
    ),
)
