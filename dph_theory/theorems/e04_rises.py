"""E4, fifth claim: from one half up the weight of groups of four and more rises with the validity."""

from flint import arb, arb_series

from ..numeric.balls import Values
from ..numeric.boxes import Scalar, series_of_order
from ..references import Source
from ..statement.charts import chart, example, rates
from ..statement.neighbours import near
from ..statement.reduction import Reduction
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ._boxes import SHARE, scalar_weight
from ._laws import expected_weights

SIZES = (4, 8, 16)


def lower(away: Values, share: Values) -> Values:
    return expected_weights(SIZES, 0.5 + share * away / 2)


def higher(away: Values) -> Values:
    return expected_weights(SIZES, 0.5 + away / 2)


def mirrored(away: Values) -> Values:
    return 1.01 * expected_weights(SIZES, 0.5 - away / 2)


def steepness(away: Scalar, share: Scalar) -> list[Scalar]:
    """(alpha(W) - alpha(V))/(Y - X), X and Y the squares of V - 1/2 and W - 1/2."""
    high = away * away / 4
    low = high * share * share
    return [
        sum(c * sum(high**i * low ** (j - 1 - i) for i in range(j)) for j, c in list(enumerate(powers))[1:])
        for powers in map(_in_squares, SIZES)
    ]


def _in_squares(size: int) -> list[arb]:
    """The coefficients of alpha_G(1/2 + x) in x^2; alpha_G(V) = alpha_G(1-V) has no odd powers."""
    with series_of_order(size):
        return scalar_weight(size, arb_series([arb(0.5), 1])).coeffs()[::2]


THEOREM = Theorem(
    name="E4.rises",
    title="alpha_G rises on [1/2, 1) for G >= 4, so one beta can have several laws",
    source=Source("ours", "group normalisation"),
    statement=r"\tfrac12 \le V < W < 1,\; G \ge 4 \;\Rightarrow\; \alpha_G(V) \le \alpha_G(W)",
    relation=Relation.AT_MOST,
    lhs=lower,
    rhs=higher,
    instances=chart(away=rates(low=1e-3, high=1e-3), share=rates(low=1e-3, high=1e-3)),
    expected=Verdict.ENCLOSED,
    examples=(example(away=".8", share=".5"),),
    digits=6,
    reductions=(
        Reduction(
            "all of the chart's scalars: the weight is a polynomial in the square of V - 1/2",
            {"away": SHARE, "share": SHARE},
            lambda away, share: {"away": away, "share": share},
            gap=steepness,
            factor=lambda away, share: [away * away * (1 - share * share) / 4],
        ),
    ),
    false_neighbours=(
        neighbour("1% more below one half than above", lhs=mirrored),
        near(-0.01, share=(0.51, 0.0002)),
    ),
    note="Where logit mu - logit A1 = alpha_G(mu)/beta has two roots mu < nu, 1/beta = (logit nu - logit mu)/"
    "(alpha_G(nu) - alpha_G(mu)): any pair above one half is a pair of laws of some beta and base rate, if a"
    " small one (`dph_theory.laws.several_laws_below`).",
)
