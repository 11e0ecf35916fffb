"""L1: Jensen's inequality, for functions whose second derivative is not negative."""

import sympy

from ..divergences import SMOOTH, each
from ..estimators import k2_of_ratio
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, log_uniform, simplex
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour


def mean(law: Values, x: Values) -> Values:
    return (law * x).sum(axis=-1)


def at_the_mean(law: Values, x: Values) -> Values:
    return each(lambda f: f.generator(mean(law, x)), SMOOTH)


def mean_value(law: Values, x: Values) -> Values:
    return each(lambda f: mean(law, f.generator(x)), SMOOTH)


def short_of_the_mean(law: Values, x: Values) -> Values:
    """f at a point 1/1000 off the mean, on the side where f is larger."""
    m = mean(law, x)
    return each(lambda f: f.generator(m) + abs(f.generator_derivative(m)) * m / 1000, SMOOTH)


def derivation() -> Claims:
    # f lies above its tangent at the mean m (L1.tangent), and the mean of the tangent is f(m). Two points
    # with the weights 1 - t and t are a chord.
    weights = sympy.symbols("w1 w2", positive=True)
    points = sympy.symbols("x1 x2 x3", real=True)
    law = (*weights, 1 - sum(weights))
    height, slope = sympy.symbols("f_m slope_m", real=True)
    m = sum(w * x for w, x in zip(law, points, strict=True))
    tangent = sum(w * (height + slope * (x - m)) for w, x in zip(law, points, strict=True))
    yield Claim("three points: the mean of the tangent at the mean", tangent, equals=height)
    # Any number of points, of the sums W = sum w and X = sum w x, here 1 and m.
    W, X = sympy.symbols("W X", real=True)
    any_number = W * height + slope * (X - m * W)
    yield Claim("any number of points", any_number.subs({W: 1, X: m}), equals=height)


THEOREM = Theorem(
    name="L1.jensen",
    title="Jensen: a convex function of the mean is at most the mean of the function",
    source=Source("cover2006elements", "theorem 2.6.2"),
    statement=r"f'' \ge 0 \;\Rightarrow\; f\big(\textstyle\sum_i w_i x_i\big) \le \sum_i w_i f(x_i),"
    r"\quad \text{strictly if } f'' > 0 \text{ and two } x_i \text{ of positive weight differ}",
    relation=Relation.AT_MOST,
    lhs=at_the_mean,
    rhs=mean_value,
    instances=chart(law=simplex(3), x=log_uniform(1e-3, 1e3, 3)),
    expected=Verdict.PROVED,
    given=("L1.tangent",),
    examples=(example(law=".2 .3 .5", x=".5 1 4"),),
    symbolic=derivation,
    false_neighbours=(
        neighbour("a value 1/1000 off the mean", lhs=short_of_the_mean),
        neighbour(
            "k2 = (log u)^2/2, not convex",
            lhs=lambda law, x: k2_of_ratio(mean(law, x)),
            rhs=lambda law, x: mean(law, k2_of_ratio(x)),
        ),
        masses_clamped("law", 1e-9),
    ),
)
