"""A9, first claim: the mean validity over prompts rises strictly with 1/beta."""

from typing import Any

import sympy

from ..binary_reward import mu_from_beta
from ..numeric.balls import Values, trailing
from ..numeric.boxes import Scalar, logarithmic
from ..references import Source
from ..statement.charts import chart, example, log_uniform, rates
from ..statement.neighbours import rates_clamped
from ..statement.reduction import Reduction
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._boxes import GAIN, LOG_ODDS, base_of, tilted_odds


def mean_validity(base_rates: Values, beta: Values) -> Values:
    return mu_from_beta(base_rates, trailing(beta, 1)).mean(axis=-1)


def with_more_gain(base_rates: Values, beta: Values, rise: Values) -> Values:
    return mean_validity(base_rates, beta / (1 + rise))


def mean_of_ends(base_rates: Values, beta: Values, rise: Values) -> Values:
    return (mean_validity(base_rates, beta) + with_more_gain(base_rates, beta, rise)) / 2


def derivation() -> Claims:
    # Each prompt's validity rises with t = e^{1/beta}, hence so does their mean.
    odds, t, more = sympy.symbols("odds t more", positive=True)

    def mu(at: sympy.Expr) -> sympy.Expr:
        return odds * at / (1 + odds * at)

    yield Claim("mu is larger at a larger t = e^{1/beta}", mu(t + more) - mu(t), ">0")
    first, later = sympy.symbols("first later", real=True)
    yield Claim("e^{1/beta} rises", sympy.exp(later) - sympy.exp(first), ">0", where=(first < later,))


def one_prompt(log_odds: Scalar, gain: Scalar, rise: Scalar) -> dict[str, Any]:
    return {"base_rates": base_of(log_odds)[:1], "beta": 1 / gain, "rise": rise}


def slope(log_odds: Scalar, gain: Scalar, rise: Scalar) -> list[Scalar]:
    # 1/(1+y) - 1/(1+z) = (z-y)/((1+y)(1+z)) for the odds of failure y and z, y = z e^(-gain rise).
    before, after = tilted_odds(log_odds, gain), tilted_odds(log_odds, gain * (1 + rise))
    return [before / ((1 + before) * (1 + after))]


THEOREM = Theorem(
    name="A9.increasing",
    title="The mean validity under one beta is strictly increasing in 1/beta",
    source=Source("ours", "many prompts"),
    statement=r"1/\beta < 1/\beta' \;\Rightarrow\;"
    r" \mathrm{E}_x\,\sigma(\operatorname{logit} A_1(x) + 1/\beta)"
    r" < \mathrm{E}_x\,\sigma(\operatorname{logit} A_1(x) + 1/\beta')",
    relation=Relation.AT_MOST,
    lhs=mean_validity,
    rhs=with_more_gain,
    instances=chart(base_rates=rates(3), beta=log_uniform(1e-3, 1e3), rise=log_uniform(1e-3, 1e2)),
    expected=Verdict.PROVED,
    examples=(example(base_rates=".1 .3 .6", beta=".5", rise=".5"),),
    symbolic=derivation,
    tight=True,
    digits=8,  # fewer would round rates near 1 to 1
    reductions=(
        Reduction(
            "one prompt, of which the mean is taken",
            {"gain": GAIN, "rise": logarithmic("1e-2", "1e2")},
            one_prompt,
            gap=lambda gain, rise: [1 - (-gain * rise).exp()],
            factor=slope,
            free={"log_odds": LOG_ODDS},
        ),
    ),
    false_neighbours=(
        neighbour("increasing in beta", lhs=with_more_gain, rhs=mean_validity),
        neighbour(
            "concave in 1/beta: half the gain gives half the rise",
            lhs=mean_of_ends,
            rhs=lambda base_rates, beta, rise: mean_validity(base_rates, beta / (1 + rise / 2)),
        ),
        rates_clamped("base_rates", 1e-11, "lhs"),
    ),
)
