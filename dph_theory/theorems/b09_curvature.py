"""B9: near pi = ref every f-divergence is f''(1)/2 times chi-squared, with an explicit error."""

from ..divergences import CHI_SQUARED, COMPARED, each
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, log_uniform, simplex
from ..statement.neighbours import near
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled
from ._lemmas import stepped


def distance_to_chi_squared(ref: Values, q: Values, step: Values) -> Values:
    # Divided by e^2, so that the two sides stay visible as e -> 0.
    pi, scale = stepped(ref, q, step), step**2
    return each(lambda d: abs(d(pi, ref) - d.curvature / 2 * CHI_SQUARED(pi, ref)) / scale, COMPARED)


def same_coefficient(ref: Values, q: Values, step: Values) -> Values:
    pi, scale = stepped(ref, q, step), step**2
    return each(lambda d: abs(d(pi, ref) - CHI_SQUARED(pi, ref) / 2) / scale, COMPARED)


def third_order(ref: Values, q: Values, step: Values) -> Values:
    # Taylor to second order with Lagrange's remainder f'''(xi) (u-1)^3/6: for the whole family
    # |f'''(xi)| <= 2 f''(1)/min(1, xi)^3, and u - 1 = e (q/ref - 1) >= -e, so that xi >= 1 - e.
    cube = (ref * abs(q / ref - 1) ** 3).sum(axis=-1)
    return each(lambda d: d.curvature / 3 * step / (1 - step) ** 3 * cube, COMPARED)


THEOREM = Theorem(
    name="B9.curvature",
    title="Near pi = ref every f-divergence is f''(1)/2 chi-squared",
    source=Source("ours"),
    statement=r"\Big|D_f(\pi\|\pi_{ref}) - \tfrac{f''(1)}{2}\chi^2(\pi\|\pi_{ref})\Big| \le"
    r" \tfrac{f''(1)}{3}\,\tfrac{\epsilon^3}{(1-\epsilon)^3}\,E_{ref}\big|\tfrac{q}{\pi_{ref}} - 1\big|^3,"
    r"\quad \pi = (1-\epsilon)\pi_{ref} + \epsilon q",
    relation=Relation.AT_MOST,
    lhs=distance_to_chi_squared,
    rhs=third_order,
    instances=chart(ref=simplex(3, spread=3), q=simplex(3, spread=2.5), step=log_uniform(1e-4, 0.9)),
    expected=Verdict.CERTIFIED,
    tight=True,
    digits=6,  # With the unequal spreads: q = ref, where both sides vanish and balls cannot decide, is rare.
    examples=(example(ref=".2 .2 .6", q=".5 .3 .2", step=".01"),),
    false_neighbours=(
        neighbour("a remainder 2% smaller", rhs=scaled(third_order, 0.98)),
        neighbour("coefficient 1/2 for all, as if f''(1) = 1 for Jensen-Shannon", lhs=same_coefficient),
        near(-0.01, step=(0.023, 0.0001)),
    ),
)
