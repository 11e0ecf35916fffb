"""A5, fourth claim: kappa'(mu) = 1/beta, as the supporting lines of the convex frontier."""

from functools import partial
from typing import Any

import sympy

from ..binary_reward import kappa, mu_from_beta
from ..numeric.balls import Values
from ..numeric.boxes import Scalar
from ..references import Source
from ..statement.charts import chart, example, log_uniform, rates
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._boxes import DROP, GAIN, TILTED_ODDS, Law, both_ways, kl_to_first, mass, rate_before


def supporting_line(base_rate: Values, beta: Values, mu: Values, steeper: float = 1) -> Values:
    """The line through (mu_b, kappa(mu_b)) with slope 1/beta, at mu."""
    contact = mu_from_beta(base_rate, beta)
    return kappa(contact, base_rate) + (mu - contact) * steeper / beta


def derivation() -> Claims:
    # kappa - line = kl(mu || mu_b), outcome by outcome: r stands for A1, then for A0, m and c for mu and
    # mu_b, then for their complements, and 1/beta is the difference of log(c/r) between the two. That gap
    # is not negative, and zero at mu = mu_b only (L1.gibbs): the line supports there.
    m, c, r = sympy.symbols("m c r", positive=True)
    bregman = m * sympy.log(m / r) - c * sympy.log(c / r) - (m - c) * sympy.log(c / r)
    yield Claim("kappa less its line is kl(mu||mu_b), termwise", bregman, equals=m * sympy.log(m / c))
    odds, x = sympy.symbols("odds x", positive=True)
    A1 = odds / (1 + odds)
    mu = odds * x / (1 + odds * x)
    gain = sympy.log(mu / A1) - sympy.log((1 - mu) / (1 - A1))
    yield Claim("the slope at mu_b is 1/beta, x = e^(1/beta)", gain, equals=sympy.log(x))
    M, R = sympy.symbols("M R", positive=True)
    kl = M * sympy.log(M / R) + (1 - M) * sympy.log((1 - M) / (1 - R))
    slope = sympy.log(M / R) - sympy.log((1 - M) / (1 - R))
    domain = (M < 1, R < 1)
    yield Claim("kappa'(mu) = logit mu - logit A1", sympy.Derivative(kl, M), equals=slope, where=domain)


def from_contact(contact: Law, mu: Law, gain: Scalar) -> dict[str, Any]:
    return {"base_rate": rate_before(contact, gain), "beta": 1 / gain, "mu": mu[0]}


THEOREM = Theorem(
    name="A5.slope",
    title="kappa'(mu) = 1/beta: the line of slope 1/beta at p_beta supports the frontier",
    source=Source("dymetman2026binary", "mu-beta"),
    statement=r"\kappa'(\mu_\beta) = 1/\beta: \quad"
    r" \kappa(\mu) \ge \kappa(\mu_\beta) + \tfrac{1}{\beta} (\mu - \mu_\beta) \text{ for every } \mu",
    relation=Relation.AT_MOST,
    lhs=supporting_line,
    rhs=kappa,
    instances=chart(base_rate=rates(), beta=log_uniform(1e-3, 1e3), mu=rates()),
    expected=Verdict.PROVED,
    given=("L1.gibbs",),
    examples=(example(base_rate=".25", beta=".5", mu=".7"),),
    symbolic=derivation,
    tight=True,
    # Three digits would round a base rate near 1 to 1.
    digits=9,
    reductions=both_ways(
        "the gap is kl(mu || mu_b), whatever the gain",
        {"odds": TILTED_ODDS, "drop": DROP},
        from_contact,
        gap=lambda odds, drop: [kl_to_first(odds, drop)],
        factor=mass,
        zero=("drop", 2),
        free={"gain": GAIN},
    ),
    false_neighbours=(
        neighbour("a slope 2% larger", lhs=partial(supporting_line, steeper=1.02)),
        neighbour("a slope 2% smaller", lhs=partial(supporting_line, steeper=0.98)),
    ),
)
