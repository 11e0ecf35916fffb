"""A9, fifth claim: the marginal KL cost of validity is 1/beta, the same for all prompts."""

from functools import partial
from typing import Any

import sympy

from ..binary_reward import bernoulli_kl, mu_from_beta
from ..numeric.balls import Values, trailing
from ..numeric.boxes import Scalar
from ..references import Source
from ..statement.charts import chart, example, log_uniform, rates
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._boxes import DROP, GAIN, TILTED_ODDS, Law, both_ways, kl_to_first, mass, rate_before


def priced_cost(base_rates: Values, targets: Values, beta: Values, price: float = 1) -> Values:
    mu = mu_from_beta(base_rates, trailing(beta, 1))
    return bernoulli_kl(mu, base_rates).mean(axis=-1) + price * (targets - mu).mean(axis=-1) / beta


def cost(base_rates: Values, targets: Values) -> Values:
    return bernoulli_kl(targets, base_rates).mean(axis=-1)


def reversed_cost(base_rates: Values, targets: Values) -> Values:
    return bernoulli_kl(base_rates, targets).mean(axis=-1)


def derivation() -> Claims:
    # Per prompt: the cost of m exceeds the priced cost by kl(m || mu) exactly, and kl >= 0 (L1.gibbs).
    a, t, o = sympy.symbols("a t o", positive=True)
    A1, mu, m = 1 / (1 + a), t / (t + a), 1 / (1 + o)

    def kl(p: sympy.Expr, q: sympy.Expr) -> sympy.Expr:
        return p * sympy.log(p / q) + (1 - p) * sympy.log((1 - p) / (1 - q))

    gap = kl(m, A1) - kl(mu, A1) - (m - mu) * sympy.log(t)
    yield Claim("kl(m||A1) - kl(mu||A1) - (m-mu)/beta, e^{1/beta} = t, is kl(m||mu)", gap, equals=kl(m, mu))


def one_prompt(tilted: Law, targets: Law, gain: Scalar) -> dict[str, Any]:
    return {"base_rates": [rate_before(tilted, gain)], "targets": targets[:1], "beta": 1 / gain}


THEOREM = Theorem(
    name="A9.dual",
    title="No rates cost less than the tilted ones plus 1/beta per unit of mean validity",
    source=Source("ours", "many prompts"),
    statement=r"\mathrm{E}\,\mathrm{kl}(m(x)\|A_1(x)) \ge \mathrm{E}\,\mathrm{kl}(\mu_\beta(x)\|A_1(x))"
    r" + \tfrac1\beta\,\mathrm{E}[m(x) - \mu_\beta(x)]",
    relation=Relation.AT_MOST,
    lhs=priced_cost,
    rhs=cost,
    # Below beta = 1e-2 a tilted rate differs from 1 by less than 192 bits resolve.
    instances=chart(base_rates=rates(3), targets=rates(3), beta=log_uniform(1e-2, 1e3)),
    expected=Verdict.PROVED,
    given=("L1.gibbs",),
    examples=(example(base_rates=".1 .3 .6", targets=".8 .8 .8", beta=".38622661634118"),),
    symbolic=derivation,
    tight=True,
    digits=8,  # fewer would round rates near 1 to 1
    reductions=both_ways(
        "one prompt, of which the mean is taken: the gap is kl(m || mu), whatever the gain",
        {"odds": TILTED_ODDS, "drop": DROP},
        one_prompt,
        gap=lambda odds, drop: [kl_to_first(odds, drop)],
        factor=mass,
        zero=("drop", 2),
        free={"gain": GAIN},
    ),
    false_neighbours=(
        neighbour("a price 2% higher", lhs=partial(priced_cost, price=1.02)),
        neighbour("kl with its arguments exchanged on the right", rhs=reversed_cost),
    ),
)
