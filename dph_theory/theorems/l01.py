"""L1. Lemmas from textbooks that derivations lean on.

Each is a theorem of the textbook named, with its short proof: the scalar steps are decided, the sentences
rest on the completeness of the reals and on continuity alone. The numbers check it on examples.
"""

from functools import partial
from math import comb
from typing import Any

import numpy as np
import sympy

from ..divergences import SMOOTH, each
from ..estimators import k2_of_ratio
from ..numeric.balls import Values, lowest, xlogy
from ..references import Source
from ..statement.charts import chart, example, log_uniform, simplex, uniform
from ..statement.theorem import Claim, FalseStep, Kernel, Steps, derived, neighbour, proved, scaled
from ._lemmas import smooth_functions


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


def rising_function(start: Values, step: Values, a: Values, b: Values) -> dict[str, Any]:
    """The function of the example in the kernel's theorem of every function."""
    slope = {"f": partial(height, a=a, b=b), "f1": lambda x: (a + b * x) ** 2}
    return {"v": start, "w": start + step, **slope}


def rising_steps() -> Steps:
    length, slope = sympy.symbols("length slope", nonnegative=True)
    yield (
        "By the mean value theorem f(w) - f(v) is w - v, here called length, times f'(c) for a c in between."
    )
    yield Claim("the rise", length * slope, ">=0")
    yield FalseStep("with a slope that may fall below zero", length * (slope - 1), ">=0")
    yield "Where f' is zero throughout, so is the rise."


RISING = proved(
    "L1.rising",
    "A function whose slope is not negative does not fall",
    statement=r"f' \ge 0 \text{ on } [v, w] \;\Rightarrow\; f(v) \le f(w),\quad"
    r" f' = 0 \Rightarrow f(v) = f(w) \quad (\text{here } f'(x) = (a + bx)^2)",
    source=Source("rudin1976principles", "theorem 5.11"),
    on=chart(start=uniform(-3, 3), step=log_uniform(1e-3, 3), a=uniform(-3, 3), b=uniform(-3, 3)),
    at_most=(at_start, at_end),
    examples=(example(start="-1", step="2", a=".5", b="1"),),
    kernel=Kernel("rising", where=rising_function),
    derivation=rising_steps,
    false=(
        neighbour(
            "a slope that may fall to -1/1000",
            at=example(start="2", step=".01", a="-.4", b=".2"),
            rhs=with_slope_below_zero,
        ),
        neighbour(
            "a convex function",
            at=example(start="-3", step="3", a="2", b="3"),
            lhs=lambda start: start**2,
            rhs=lambda start, step: (start + step) ** 2,
        ),
    ),
)


def tangent(v: Values, w: Values, excess: float = 0) -> Values:
    """f(w) + (1 + excess) f'(w) (v - w) of every smooth generator."""
    return each(lambda f: f.generator(w) + (1 + excess) * f.generator_derivative(w) * (v - w), SMOOTH)


def curve(v: Values) -> Values:
    return each(lambda f: f.generator(v), SMOOTH)


def tangent_steps() -> Steps:
    yield (
        "The gap between the function and its tangent at w has the slope f'(v) - f'(w), which by L1.rising "
        "has the sign of v - w as f'' >= 0: the gap falls up to w, where it is 0, and rises from there."
    )
    v, w, height, slope = sympy.symbols("v w f_w slope_w", real=True)
    f = sympy.Function("f")(v)
    gap = f - (height + slope * (v - w))
    yield Claim("the gap's slope", sympy.Derivative(gap, v), equals=sympy.Derivative(f, v) - slope)
    yield Claim(
        "and its second derivative", sympy.Derivative(gap, (v, 2)), equals=sympy.Derivative(f, (v, 2))
    )
    yield Claim("the tangent meets it at w", sympy.Subs(height + slope * (v - w), v, w), equals=height)
    yield FalseStep(
        "a line that is steeper", sympy.Derivative(gap, v), equals=sympy.Derivative(f, v) - 2 * slope
    )


TANGENT = proved(
    "L1.tangent",
    "A function whose second derivative is not negative lies above its tangents",
    statement=r"f'' \ge 0 \;\Rightarrow\; f(w) + f'(w)(v - w) \le f(v),"
    r"\quad \text{strictly for } v \ne w \text{ if } f'' > 0",
    source=Source("rudin1976principles", "exercise 5.14"),
    on=chart(v=log_uniform(1e-3, 1e3), w=log_uniform(1e-3, 1e3)),
    at_most=(tangent, curve),
    given=("L1.rising",),
    examples=(example(v=".4", w="2.5"),),
    kernel=Kernel("tangent", where=smooth_functions),
    derivation=tangent_steps,
    false=(
        neighbour(
            "a tangent 0.001% steeper", at=example(v="900", w="500"), lhs=partial(tangent, excess=1e-5)
        ),
        neighbour(
            "k2 = (log u)^2/2, whose second derivative changes sign",
            at=example(v="1", w="80"),
            lhs=lambda v, w: k2_of_ratio(w) + np.log(w) / w * (v - w),
            rhs=lambda v: k2_of_ratio(v),
        ),
    ),
)


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


def jensen_steps() -> Steps:
    yield (
        "f lies above its tangent at the mean m (L1.tangent), strictly away from m if f'' > 0; so the mean "
        "of f is at least that of the tangent, which is f(m). Two points are a chord."
    )
    weights = sympy.symbols("w1 w2", positive=True)
    points = sympy.symbols("x1 x2 x3", real=True)
    law = (*weights, 1 - sum(weights))
    height, slope = sympy.symbols("f_m slope_m", real=True)
    m = sum(w * x for w, x in zip(law, points, strict=True))
    tangent = sum(w * (height + slope * (x - m)) for w, x in zip(law, points, strict=True))
    yield Claim("three points: the mean of the tangent at the mean", tangent, equals=height)
    yield FalseStep("not of the tangent elsewhere", tangent.subs(height, height + slope), equals=height)
    yield "Any number of points, one after the other: those so far have the sums W of w and X of w x."
    W, X, w, x = sympy.symbols("W X w x", real=True)
    so_far, point = W * height + slope * (X - m * W), w * (height + slope * (x - m))
    yield Claim("one point more", so_far + point, equals=(W + w) * height + slope * (X + w * x - m * (W + w)))
    yield "In the end W = 1 and X = m, and the mean of the tangent is f(m)."


JENSEN = proved(
    "L1.jensen",
    "Jensen: a convex function of the mean is at most the mean of the function",
    statement=r"f'' \ge 0 \;\Rightarrow\; f\big(\textstyle\sum_i w_i x_i\big) \le \sum_i w_i f(x_i),"
    r"\quad \text{strictly if } f'' > 0 \text{ and two } x_i \text{ of positive weight differ}",
    source=Source("cover2006elements", "theorem 2.6.2"),
    on=chart(law=simplex(3), x=log_uniform(1e-3, 1e3, 3)),
    at_most=(at_the_mean, mean_value),
    given=("L1.tangent",),
    examples=(example(law=".2 .3 .5", x=".5 1 4"),),
    kernel=Kernel("jensen", where=lambda law: [{**f, "w": law} for f in smooth_functions()]),
    derivation=jensen_steps,
    false=(
        neighbour(
            "a value 1/1000 off the mean",
            at=example(law=".0001 .0001 .9998", x="2 .6 1"),
            lhs=short_of_the_mean,
        ),
        neighbour(
            "k2 = (log u)^2/2, not convex",
            at=example(law=".02 .01 .97", x="7 500 .8"),
            lhs=lambda law, x: k2_of_ratio(mean(law, x)),
            rhs=lambda law, x: mean(law, k2_of_ratio(x)),
        ),
    ),
)


def bound(s: Values) -> Values:
    return (s - 1) / s


def logarithm_steps() -> Steps:
    x = sympy.Symbol("x", positive=True)
    gap = sympy.log(x) - 1 + 1 / x
    yield (
        "The gap log s - (1 - 1/s) falls up to s = 1 and rises from there (L1.rising), strictly: it is least "
        "at 1."
    )
    yield Claim("it vanishes at 1", sympy.Subs(gap, x, 1))
    yield Claim("its slope has the sign of s - 1", sympy.Derivative(gap, x) * x**2, equals=x - 1)
    yield FalseStep("and not of 1 - s", sympy.Derivative(gap, x) * x**2, equals=1 - x)


LOGARITHM = proved(
    "L1.logarithm",
    "log s >= 1 - 1/s, with equality at s = 1 only",
    statement=r"1 - \frac1s \le \log s, \quad \text{with equality} \iff s = 1",
    source=Source("cover2006elements", "equation 2.85"),
    on=chart(s=log_uniform(1e-6, 1e6)),
    at_most=(bound, lambda s: np.log(s)),
    given=("L1.rising",),
    examples=(example(s=".5"), example(s="1.25")),
    kernel=Kernel("logarithm"),
    derivation=logarithm_steps,
    tight=example(s="1.01"),
    false=(
        neighbour("a bound 0.2% higher", at=example(s="1.001"), lhs=scaled(bound, 1.002)),
        neighbour("s - 1, the tangent from above", lhs=lambda s: s - 1),
    ),
)


def likelihood_of_other(q: Values, p: Values) -> Values:
    return xlogy(q, p).sum(axis=-1)


def own_likelihood(q: Values) -> Values:
    return xlogy(q, q).sum(axis=-1)


def gibbs_steps() -> Steps:
    yield (
        "Term by term the gap is q log(q/p) >= q (1 - p/q), L1.logarithm at s = q/p, strictly unless q = p; "
        "and the q - p sum to zero. Where q = 0 the gap is zero and the bound negative."
    )
    q, p, s = sympy.symbols("q p s", positive=True)
    yield Claim("one outcome's gap", q * sympy.log(q) - q * sympy.log(p), equals=q * sympy.log(q / p))
    yield Claim("its bound", q * (1 - 1 / s).subs(s, q / p), equals=q - p)
    yield FalseStep("with the ratio turned over", q * (1 - 1 / s).subs(s, p / q), equals=q - p)


GIBBS = proved(
    "L1.gibbs",
    "Gibbs: KL(q||p) >= 0, with equality only at p = q",
    statement=r"\sum_y q \log p \le \sum_y q \log q, \quad \text{with equality} \iff p = q",
    source=Source("cover2006elements", "theorem 2.6.3"),
    on=chart(q=simplex(3, zeros=True), p=simplex(3)),
    at_most=(likelihood_of_other, own_likelihood),
    given=("L1.logarithm",),
    examples=(example(q=".5 .3 .2", p=".2 .2 .6"),),
    kernel=Kernel("gibbs"),
    derivation=gibbs_steps,
    false=(
        neighbour(
            "0.2% of it to spare", at=example(q=".4 .3 .3", p=".4 .3 .3"), rhs=scaled(own_likelihood, 1.002)
        ),
        neighbour("weights that do not sum to one", lhs=lambda q, p: likelihood_of_other(q, 2 * p)),
    ),
)


def squared_product(law: Values, a: Values, b: Values) -> Values:
    return np.square((law * a * b).sum(axis=-1))


def product_of_squares(law: Values, a: Values, b: Values) -> Values:
    return (law * np.square(a)).sum(axis=-1) * (law * np.square(b)).sum(axis=-1)


def cauchy_steps() -> Steps:
    yield (
        "Lagrange: the gap is a sum over pairs i < j of w_i w_j times a square; both products are double "
        "sums, and an outcome paired with itself adds nothing to the gap."
    )
    v, w = sympy.symbols("w_i w_j", nonnegative=True)
    a, b, c, d = sympy.symbols("a_i b_i a_j b_j", real=True)
    pair = v * w * (a**2 * d**2 + c**2 * b**2) - 2 * (v * a * b) * (w * c * d)
    yield Claim("a pair's part of the gap", pair, equals=v * w * (a * d - c * b) ** 2)
    yield Claim("is not negative", pair, ">=0")
    yield FalseStep("with the sign of the product", pair, equals=v * w * (a * d + c * b) ** 2)


CAUCHY = proved(
    "L1.cauchy",
    "Cauchy-Schwarz: (E ab)^2 <= E a^2 E b^2",
    statement=r"\big(\textstyle\sum_i w_i a_i b_i\big)^2 \le \sum_i w_i a_i^2 \,\sum_i w_i b_i^2",
    source=Source("rudin1976principles", "theorem 1.35"),
    on=chart(law=simplex(3, spread=2.0), a=uniform(-2, 2, 3), b=uniform(-2, 2, 3)),
    at_most=(squared_product, product_of_squares),
    examples=(example(law=".2 .3 .5", a="1 2 -1", b="2 1 1"),),
    kernel=Kernel("cauchy", where=lambda law: {"w": law}),
    derivation=cauchy_steps,
    tight=example(law=".4 .3 .3", a="2 2 2", b="2 2 2"),
    false=(
        neighbour(
            "0.1% less",
            at=example(law=".1 .02 .88", a="2 2 2", b="2 2 2"),
            rhs=scaled(product_of_squares, 0.999),
        ),
        neighbour("the means of a and b", rhs=lambda law, a, b: squared_product(law, a, 1 + 0 * b)),
    ),
)


POWERS = (1, 2, 5, 8)


def expansion(a: Values, b: Values, most: int = POWERS[-1]) -> Values:
    """The sums over k <= most of C(n, k) a^k b^(n-k)."""
    sums = []
    for n in POWERS:
        total = b**n
        for k in range(1, min(n, most) + 1):
            total = total + comb(n, k) * a**k * b ** (n - k)
        sums.append(total)
    return np.stack(sums, axis=-1)


def powers(a: Values, b: Values) -> Values:
    return np.stack([(a + b) ** n for n in POWERS], axis=-1)


def binomial_steps() -> Steps:
    yield "By induction: (a + b) times the expansion of order n has C(n, k-1) + C(n, k) before a^k b^(n+1-k)."
    n, k = sympy.symbols("n k", integer=True, positive=True)
    pascal = sympy.binomial(n, k - 1) + sympy.binomial(n, k)
    yield Claim("Pascal's rule", pascal, equals=sympy.binomial(n + 1, k), where=(k <= n,))
    yield FalseStep("one place further", pascal, equals=sympy.binomial(n + 1, k + 1), where=(k <= n,))
    a, b, before, here = sympy.symbols("a b before here", positive=True)
    j, m = sympy.symbols("j m", positive=True)
    step = a * before * a ** (j - 1) * b ** (m - j + 1) + b * here * a**j * b ** (m - j)
    yield Claim("one power of a in the product", step, equals=(before + here) * a**j * b ** (m + 1 - j))


BINOMIAL = proved(
    "L1.binomial",
    "The binomial theorem",
    statement=r"\sum_{k=0}^n \binom nk a^k b^{n-k} = (a + b)^n",
    source=Source("rudin1976principles", "exercise 1.1"),
    on=chart(a=uniform(0.001, 3), b=uniform(0.001, 3)),
    equal=(expansion, powers),
    examples=(example(a=".25", b=".75"),),
    kernel=Kernel("binomial_theorem", where=lambda a: [{"n": n} for n in POWERS]),
    derivation=binomial_steps,
    false=(
        neighbour("its last term left out", lhs=lambda a, b: expansion(a, b, most=POWERS[-1] - 1)),
        neighbour("without the products", rhs=lambda a, b: np.stack([a**n + b**n for n in POWERS], axis=-1)),
    ),
)


def parabola(x: Values, centre: Values) -> Values:
    return (x - centre) ** 2


def least(centre: Values) -> Values:
    """The least value on [0, 1], at the centre cut to the interval."""
    below, above = -centre, centre - 1
    outside = (abs(below) + below) / 2 + (abs(above) + above) / 2
    return outside**2


def least_steps() -> Steps:
    yield (
        "The values have a greatest lower bound, and points x_n whose values tend to it; of these a part "
        "tends to a point x* of the interval (Bolzano and Weierstrass), whose value is the bound by "
        "continuity."
    )
    x, c, more = sympy.symbols("x c more", nonnegative=True)
    yield (
        "Of (x - c)^2 it is at 0 for a centre -c below, at 1 for a centre 1 + c above; else it is 0, at the "
        "centre."
    )
    yield Claim("a centre below", (x + c) ** 2 - c**2, ">=0")
    yield Claim("a centre above, at 1 - more", (1 - more - (1 + c)) ** 2 - c**2, ">=0")
    yield FalseStep("always at 0", (x - c) ** 2 - c**2, ">=0")


LEAST = derived(
    "L1.least",
    "A continuous function on a closed interval has a least value there, positive if the function is",
    statement=r"f \text{ continuous on } [0, 1] \;\Rightarrow\; \exists x^*:\, f(x^*) \le f(x)"
    r" \text{ for every } x \quad (\text{here } f(x) = (x - c)^2)",
    source=Source("rudin1976principles", "theorem 4.16"),
    on=chart(x=uniform(0, 1), centre=uniform(-2, 3)),
    at_most=(least, parabola),
    # Where x is the centre both sides are zero, a tie that balls do not decide.
    certified=False,
    examples=(example(x=".3", centre="1.5"), example(x=".3", centre=".5")),
    derivation=least_steps,
    false=(
        neighbour(
            "a least value higher by 1e-6",
            at=example(x="1", centre="1"),
            lhs=lambda centre: least(centre) + 1e-6,
        ),
        neighbour(
            "always at an end", lhs=lambda centre: lowest(np.stack([centre**2, (1 - centre) ** 2], axis=-1))
        ),
    ),
)


HALVINGS = 60


def cubic(x: Values, slope: Values, height: Values) -> Values:
    return x**3 + slope * x - height


def value_where_halving_ends(slope: Values, height: Values) -> Values:
    """The cubic, negative at 0 and positive at 1 + height, where halving the interval ends."""
    low, high = 0 * height, 1 + height
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        negative = cubic(middle, slope, height) < 0
        low, high = np.where(negative, middle, low), np.where(negative, high, middle)
    return cubic((low + high) / 2, slope, height)


def jump(slope: Values, height: Values) -> Values:
    """The same of a function that jumps over zero: 0.001 of the height is added where it is positive."""
    value = value_where_halving_ends(slope, height)
    return value + 0.001 * height


def between_steps() -> Steps:
    h = sympy.Symbol("h", positive=True)
    s = sympy.Symbol("s", nonnegative=True)
    yield (
        "Halve the interval, again and again, and keep the half at whose ends f has the two signs. The lower "
        "ends rise, the upper ends fall, both to one point x, where f is at most and at least 0 by "
        "continuity. The cubic is -h at 0 and positive at 1 + h."
    )
    yield Claim("at 1 + h", (1 + h) ** 3 + s * (1 + h) - h, ">0")
    yield FalseStep("at h already", h**3 + s * h - h, ">0")


BETWEEN = derived(
    "L1.between",
    "A continuous function that changes sign has a zero in between",
    statement=r"f \text{ continuous},\; f(0) < 0 < f(b) \;\Rightarrow\; \exists x \in (0, b):\, f(x) = 0"
    r" \quad (\text{here } f(x) = x^3 + sx - h)",
    source=Source("rudin1976principles", "theorem 4.23"),
    on=chart(slope=uniform(0, 2), height=log_uniform(1e-2, 10)),
    equal=(value_where_halving_ends, lambda height: 0 * height),
    examples=(example(slope="1", height="2"),),
    certified=False,
    floor=1.0,
    derivation=between_steps,
    false=(
        neighbour("a function that jumps over zero", lhs=jump),
        neighbour("one that stays negative", lhs=lambda slope, height: -height - slope * height),
    ),
)


ROUNDS_PER_DIGIT = 8


def iterate(c: Values, eps: float) -> Values:
    """The iterates of x -> sqrt(c + x) from 0: more of them the smaller eps."""
    x = 0 * c
    for _ in range(round(-ROUNDS_PER_DIGIT * np.log10(eps))):
        x = np.sqrt(c + x)
    return x


def first_fixed_point(c: Values) -> Values:
    return (1 + np.sqrt(1 + 4 * c)) / 2


def limit_steps() -> Steps:
    c, x = sympy.symbols("c x", positive=True)
    yield (
        "The least upper bound of the x_n is their limit; F is continuous, so it is a fixed point. F rises: "
        "from x_n below a fixed point x* follows F(x_n) <= F(x*) = x*, so no fixed point above x_0 is "
        "passed."
    )
    yield Claim("sqrt(c + x) rises", sympy.Derivative(sympy.sqrt(c + x), x), ">0")
    fixed = (1 + sympy.sqrt(1 + 4 * c)) / 2
    yield Claim("its fixed point, squared", fixed**2, equals=c + fixed)
    yield FalseStep("not its bound", (1 + sympy.sqrt(c)) ** 2, equals=c + 1 + sympy.sqrt(c))


LIMIT = derived(
    "L1.limit",
    "A bounded rising sequence converges: iterates of a rising continuous map to its first fixed point",
    statement=r"x_n \le x_{n+1} = F(x_n) \le b,\; F \text{ continuous and rising} \;\Rightarrow\;"
    r" x_n \to \min\{x \ge x_0 : F(x) = x\} \quad (\text{here } F(x) = \sqrt{c + x})",
    source=Source("rudin1976principles", "theorem 3.14"),
    on=chart(c=uniform(0.5, 20)),
    tends=(iterate, first_fixed_point),
    examples=(example(c="2"),),
    tolerance=1e-6,
    derivation=limit_steps,
    false=(
        neighbour("the limit is the bound 1 + sqrt(c)", rhs=lambda c: 1 + np.sqrt(c)),
        neighbour("2% past it", rhs=lambda c: 1.02 * first_fixed_point(c)),
    ),
)


def quotient(x: Values, h: Values, eps: float) -> Values:
    step = h * eps
    return np.stack(
        [(f(x + step) + f(x - step) - 2 * f(x)) / step**2 for f in (np.exp, np.log, np.sin)], axis=-1
    )


def second_derivative(x: Values) -> Values:
    return np.stack([np.exp(x), -1 / x**2, -np.sin(x)], axis=-1)


def one_sided(x: Values, h: Values, eps: float) -> Values:
    step = h * eps
    return np.stack([(f(x + step) - f(x)) / step**2 for f in (np.exp, np.log, np.sin)], axis=-1)


def curvature_steps() -> Steps:
    x, s = sympy.symbols("x s", positive=True)
    yield (
        "The second difference d(s) = f(x+s) + f(x-s) - 2 f(x) and its slope vanish at s = 0, so d(s)/s^2 "
        "tends to d''(0)/2 (Taylor), and d''(0) = 2 f''(x): for the three functions here,"
    )
    for f in (sympy.exp, sympy.log, sympy.sin):
        second = f(x + s) + f(x - s) - 2 * f(x)
        wanted = 2 * sympy.diff(f(x), x, 2)
        yield Claim(f"{f.__name__}: d''(0)", sympy.Subs(sympy.diff(second, s, 2), s, 0), equals=wanted)
    one_sided = sympy.exp(x + s) - sympy.exp(x)
    wanted = 2 * sympy.exp(x)
    yield FalseStep("one-sided", sympy.Subs(sympy.diff(one_sided, s, 2), s, 0), equals=wanted)


CURVATURE = derived(
    "L1.curvature",
    "The symmetric second difference over the squared step tends to the second derivative",
    statement=r"\frac{f(x + h\epsilon) + f(x - h\epsilon) - 2 f(x)}{(h\epsilon)^2} \to f''(x)"
    r" \quad (\text{here } f = \exp, \log, \sin)",
    source=Source("rudin1976principles", "exercise 5.11"),
    on=chart(x=uniform(0.5, 3), h=uniform(0.1, 0.4)),
    tends=(quotient, second_derivative),
    examples=(example(x="1", h=".25"),),
    ladder=(1.0, 0.3, 0.1, 0.03),
    tolerance=1e-3,
    floor=1.0,
    derivation=curvature_steps,
    false=(
        neighbour("2% more", rhs=lambda x: 1.02 * second_derivative(x)),
        neighbour("a one-sided difference", lhs=one_sided),
    ),
)
