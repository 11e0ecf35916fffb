"""L1. Lemmas from textbooks that derivations lean on.

Each is a theorem of the textbook named, with its short proof: the scalar steps are decided, the sentences
rest on the completeness of the reals and on continuity alone. The numbers check it on examples.
"""

from math import comb

import numpy as np

from ..divergences import SMOOTH, each
from ..estimators import k2_of_ratio
from ..numeric.balls import Values, lowest, xlogy
from ..references import Source
from ..statement.charts import chart, example, log_uniform, simplex, uniform
from ..statement.theorem import neighbour, theorem


def height(x: Values, a: Values, b: Values) -> Values:
    """The function of slope (a + b x)^2 that vanishes at 0."""
    return a**2 * x + a * b * x**2 + b**2 * x**3 / 3


RISING = theorem(
    "L1.rising",
    "A function whose slope is not negative does not fall",
    statement=r"f' \ge 0 \text{ on } [v, w] \;\Rightarrow\; f(v) \le f(w),\quad"
    r" f' = 0 \Rightarrow f(v) = f(w) \quad (\text{here } f'(x) = (a + bx)^2)",
    source=Source("rudin1976principles", "theorem 5.11"),
    on=chart(start=uniform(-3, 3), step=log_uniform(1e-3, 3), a=uniform(-3, 3), b=uniform(-3, 3)),
    at_most=(lambda start, a, b: height(start, a, b), lambda start, step, a, b: height(start + step, a, b)),
    examples=(example(start="-1", step="2", a=".5", b="1", lhs="-.0833333333333", rhs="1.0833333333333"),),
    coq="rising",
    false=(
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


TANGENT = theorem(
    "L1.tangent",
    "A function whose second derivative is not negative lies above its tangents",
    statement=r"f'' \ge 0 \;\Rightarrow\; f(w) + f'(w)(v - w) \le f(v),"
    r"\quad \text{strictly for } v \ne w \text{ if } f'' > 0",
    source=Source("rudin1976principles", "exercise 5.14"),
    on=chart(v=log_uniform(1e-3, 1e3), w=log_uniform(1e-3, 1e3)),
    at_most=(tangent, curve),
    examples=(
        example(
            v=".4",
            w="2.5",
            lhs=(
                "-.0762907318742 -1.7334837072503 -.4169458103599 -.4341210428977 -4.05 "
                "-.864 -.9900022619174 -.8682420857953 -.7646528503974"
            ),
            rhs=(
                ".9162907318742 -.3665162927497 .1328286287646 .1350889359326 .36 .9 "
                ".2508086833431 .2701778718653 .2918894465757"
            ),
        ),
    ),
    coq="tangent",
    false=(
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


JENSEN = theorem(
    "L1.jensen",
    "Jensen: a convex function of the mean is at most the mean of the function",
    statement=r"f'' \ge 0 \;\Rightarrow\; f\big(\textstyle\sum_i w_i x_i\big) \le \sum_i w_i f(x_i),"
    r"\quad \text{strictly if } f'' > 0 \text{ and two } x_i \text{ of positive weight differ}",
    source=Source("cover2006elements", "theorem 2.6.2"),
    on=chart(law=simplex(3), x=log_uniform(1e-3, 1e3, 3)),
    at_most=(at_the_mean, mean_value),
    examples=(
        example(
            law=".2 .3 .4 .1",
            x=".5 1 4 2",
            lhs=(
                "-.7884573603643 1.7346061928014 .230594579215 .2335206051617 1.44 "
                ".6545454545455 .4991315409546 .4670412103235 .4379558099685"
            ),
            rhs=(
                "-.485203026392 2.2873856958478 .4194693214026 .4343145750508 3.75 1.05 "
                ".9681554962694 .8686291501015 .785144429332"
            ),
        ),
    ),
    coq="jensen",
    false=(
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


LOGARITHM = theorem(
    "L1.logarithm",
    "log s >= 1 - 1/s, with equality at s = 1 only",
    statement=r"1 - \frac1s \le \log s, \quad \text{with equality} \iff s = 1",
    source=Source("cover2006elements", "equation 2.85"),
    on=chart(s=log_uniform(1e-6, 1e6)),
    at_most=(bound, lambda s: np.log(s)),
    examples=(example(s=".5", lhs="-1", rhs="-.6931471805599"),),
    coq="logarithm",
    false=(neighbour("s - 1, the tangent from above", lhs=lambda s: s - 1),),
)


def likelihood_of_other(q: Values, p: Values) -> Values:
    return xlogy(q, p).sum(axis=-1)


GIBBS = theorem(
    "L1.gibbs",
    "Gibbs: KL(q||p) >= 0, with equality only at p = q",
    statement=r"\sum_y q \log p \le \sum_y q \log q, \quad \text{with equality} \iff p = q",
    source=Source("cover2006elements", "theorem 2.6.3"),
    on=chart(q=simplex(3, zeros=True), p=simplex(3)),
    at_most=(likelihood_of_other, lambda q: xlogy(q, q).sum(axis=-1)),
    examples=(example(q=".4 .3 .2 .1", p=".1 .35 .25 .3", lhs="-1.6336368272038", rhs="-1.2798542258337"),),
    coq="gibbs",
    false=(neighbour("weights that do not sum to one", lhs=lambda q, p: likelihood_of_other(q, 2 * p)),),
)


def squared_product(law: Values, a: Values, b: Values) -> Values:
    return np.square((law * a * b).sum(axis=-1))


def product_of_squares(law: Values, a: Values, b: Values) -> Values:
    return (law * np.square(a)).sum(axis=-1) * (law * np.square(b)).sum(axis=-1)


CAUCHY = theorem(
    "L1.cauchy",
    "Cauchy-Schwarz: (E ab)^2 <= E a^2 E b^2",
    statement=r"\big(\textstyle\sum_i w_i a_i b_i\big)^2 \le \sum_i w_i a_i^2 \,\sum_i w_i b_i^2",
    source=Source("rudin1976principles", "theorem 1.35"),
    on=chart(law=simplex(3, spread=2.0), a=uniform(-2, 2, 3), b=uniform(-2, 2, 3)),
    at_most=(squared_product, product_of_squares),
    examples=(example(law=".2 .3 .4 .1", a="1 2 -1 3", b="2 1 1 -1", lhs=".09", rhs="4.32"),),
    coq="cauchy",
    false=(
        neighbour(
            "the means of a and b",
            at=example(law=".2 .3 .5", a="1 2 -1", b="2 1 1"),
            rhs=lambda law, a, b: squared_product(law, a, 1 + 0 * b),
        ),
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


BINOMIAL = theorem(
    "L1.binomial",
    "The binomial theorem",
    statement=r"\sum_{k=0}^n \binom nk a^k b^{n-k} = (a + b)^n",
    source=Source("rudin1976principles", "exercise 1.1"),
    on=chart(a=uniform(0.001, 3), b=uniform(0.001, 3)),
    equal=(expansion, powers),
    examples=(example(a=".3", b=".5", value=".8 .64 .32768 .16777216"),),
    coq="binomial_theorem",
    false=(neighbour("its last term left out", lhs=lambda a, b: expansion(a, b, most=POWERS[-1] - 1)),),
)


def least(centre: Values) -> Values:
    """The least value on [0, 1], at the centre cut to the interval."""
    below, above = -centre, centre - 1
    outside = (abs(below) + below) / 2 + (abs(above) + above) / 2
    return outside**2


LEAST = theorem(
    "L1.least",
    "A continuous function on a closed interval has a least value there, positive if the function is",
    statement=r"f \text{ continuous on } [0, 1] \;\Rightarrow\; \exists x^*:\, f(x^*) \le f(x)"
    r" \text{ for every } x \quad (\text{here } f(x) = (x - c)^2)",
    source=Source("rudin1976principles", "theorem 4.16"),
    on=chart(x=uniform(0, 1), centre=uniform(-2, 3)),
    at_most=(least, lambda x, centre: (x - centre) ** 2),
    # Where x is the centre both sides are zero, a tie that balls do not decide.
    exact=False,
    examples=(
        example(x=".3", centre="1.5", lhs=".25", rhs="1.44"),
        example(x=".3", centre=".5", lhs="0", rhs="0.04"),
    ),
    coq="least_value",
    false=(
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


BETWEEN = theorem(
    "L1.between",
    "A continuous function that changes sign has a zero in between",
    statement=r"f \text{ continuous},\; f(0) < 0 < f(b) \;\Rightarrow\; \exists x \in (0, b):\, f(x) = 0"
    r" \quad (\text{here } f(x) = x^3 + sx - h)",
    source=Source("rudin1976principles", "theorem 4.23"),
    on=chart(slope=uniform(0, 2), height=log_uniform(1e-2, 10)),
    equal=(value_where_halving_ends, lambda height: 0 * height),
    examples=(example(slope="1", height="2", value="0"),),
    exact=False,
    floor=1.0,
    coq="zero_between",
    false=(neighbour("one that stays negative", lhs=lambda slope, height: -height - slope * height),),
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


LIMIT = theorem(
    "L1.limit",
    "A bounded rising sequence converges: iterates of a rising continuous map to its first fixed point",
    statement=r"x_n \le x_{n+1} = F(x_n) \le b,\; F \text{ continuous and rising} \;\Rightarrow\;"
    r" x_n \to \min\{x \ge x_0 : F(x) = x\} \quad (\text{here } F(x) = \sqrt{c + x})",
    source=Source("rudin1976principles", "theorem 3.14"),
    on=chart(c=uniform(0.5, 20)),
    tends=(iterate, first_fixed_point),
    examples=(example(c="2", lhs="2", rhs="2"),),
    tolerance=1e-6,
    coq="first_fixed_point",
    false=(neighbour("the limit is the bound 1 + sqrt(c)", rhs=lambda c: 1 + np.sqrt(c)),),
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


CURVATURE = theorem(
    "L1.curvature",
    "The symmetric second difference over the squared step tends to the second derivative",
    statement=r"\frac{f(x + h\epsilon) + f(x - h\epsilon) - 2 f(x)}{(h\epsilon)^2} \to f''(x)"
    r" \quad (\text{here } f = \exp, \log, \sin)",
    source=Source("rudin1976principles", "exercise 5.11"),
    on=chart(x=uniform(0.5, 3), h=uniform(0.1, 0.4)),
    tends=(quotient, second_derivative),
    examples=(
        example(
            x="1", h=".25", lhs="2.718281828459 -1 -.8414709848079", rhs="2.718281828459 -1 -.8414709848079"
        ),
    ),
    ladder=(1.0, 0.3, 0.1, 0.03),
    tolerance=1e-3,
    floor=1.0,
    coq="second_difference",
    false=(neighbour("a one-sided difference", lhs=one_sided),),
)
