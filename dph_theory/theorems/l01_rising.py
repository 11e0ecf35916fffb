"""L1: a function whose slope is not negative does not fall, the mean value theorem in the form used here."""

from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, log_uniform, uniform
from ..statement.theorem import Relation, Theorem, Verdict, neighbour


def height(x: Values, a: Values, b: Values) -> Values:
    """The function of slope (a + b x)^2 that vanishes at 0."""
    return a**2 * x + a * b * x**2 + b**2 * x**3 / 3


def at_start(start: Values, a: Values, b: Values) -> Values:
    return height(start, a, b)


def at_end(start: Values, step: Values, a: Values, b: Values) -> Values:
    return height(start + step, a, b)


def with_slope_below_zero(start: Values, step: Values, a: Values, b: Values) -> Values:
    """The end's height where 0.001 is taken off the slope."""
    return at_end(start, step, a, b) - step / 1000


THEOREM = Theorem(
    name="L1.rising",
    title="A function whose slope is not negative does not fall",
    source=Source("rudin1976principles", "theorem 5.11"),
    statement=r"f' \ge 0 \text{ on } [v, w] \;\Rightarrow\; f(v) \le f(w),\quad"
    r" f' = 0 \Rightarrow f(v) = f(w) \quad (\text{here } f'(x) = (a + bx)^2)",
    relation=Relation.AT_MOST,
    lhs=at_start,
    rhs=at_end,
    instances=chart(start=uniform(-3, 3), step=log_uniform(1e-3, 3), a=uniform(-3, 3), b=uniform(-3, 3)),
    expected=Verdict.CERTIFIED,
    examples=(example(start="-1", step="2", a=".5", b="1"),),
    false_neighbours=(
        neighbour("a slope that may fall to -1/1000", rhs=with_slope_below_zero),
        neighbour(
            "a convex function", lhs=lambda start: start**2, rhs=lambda start, step: (start + step) ** 2
        ),
    ),
    note="A textbook lemma, not proved here: derivations lean on it to pass from a slope to a difference.",
)
