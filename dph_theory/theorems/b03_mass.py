"""B3, token level: how far a small token loss (k2) can leave the valid mass from A1."""

from functools import partial

import numpy as np
import sympy

from ..binary_reward import filtered, valid_mass
from ..estimators import k2_of_ratio
from ..numeric.balls import Values, lowest
from ..references import Source
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour, scaled
from ..tokens import filtered_token_loss
from ._tokens import RUNS, RUNS_PAIR


def off_the_base_rate(pi: Values, base: Values, valid: Values) -> Values:
    law = filtered(base, valid)
    rarest = lowest(np.where(valid, law, 0 * law + 1))
    return rarest * np.square(np.log(valid_mass(pi, valid) / valid_mass(base, valid))) / 6


def off_one(pi: Values, base: Values, valid: Values) -> Values:
    law = filtered(base, valid)
    rarest = lowest(np.where(valid, law, 0 * law + 1))
    return rarest * np.square(np.log(valid_mass(pi, valid))) / 6


def derivation() -> Claims:
    # pi(Y1)/A1 = E_{p_*}[u] lies between the least and the greatest ratio of a correct sequence, so its
    # squared log is at most that of one of them, log u = x_1 + x_2 + x_3 over its tokens; its term of the
    # loss is (x_1^2 + x_2^2 + x_3^2)/2 >= (x_1+x_2+x_3)^2/6, with a weight p_* of at least the rarest one's.
    # T tokens: 2T for 6, and what is shorter goes on with x = 0.
    low, high, t = sympy.symbols("low high t", positive=True)
    ends = (t < 1, low <= high)
    mean = (1 - t) * low + t * high
    yield Claim("a mean is not below the least ratio", mean - low, ">=0", where=ends)
    yield Claim("nor above the greatest", high - mean, ">=0", where=ends)
    least, middle, most = sympy.symbols("least middle most", real=True)
    highest = sympy.Max(least**2, most**2) - middle**2
    yield Claim("the squared log between two logs", highest, ">=0", where=(least <= middle, middle <= most))
    x, y, z = sympy.symbols("x_1 x_2 x_3", real=True)
    gap = (x**2 + y**2 + z**2) / 2 - (x + y + z) ** 2 / 6
    yield Claim("Cauchy", gap, equals=((x - y) ** 2 + (y - z) ** 2 + (z - x) ** 2) / 6)
    yield Claim("not negative", gap, ">=0")


THEOREM = Theorem(
    name="B3.mass",
    title="A small token loss k2 on correct samples holds the mass on Y1 near A1",
    source=Source("ours", "token level"),
    statement=r"\frac{\min_{Y_1} p_*}{2T} \log^2\frac{\pi(Y_1)}{A_1}"
    r" \le E_{p_*}\Big[\sum_{t\le T} \tfrac12\log^2 u_t\Big],\quad T = 3",
    relation=Relation.AT_MOST,
    lhs=off_the_base_rate,
    rhs=partial(filtered_token_loss, k2_of_ratio),
    instances=RUNS,
    expected=Verdict.PROVED,
    examples=(RUNS_PAIR,),
    symbolic=derivation,
    tight=True,
    false_neighbours=(
        neighbour("a bound 2% higher", lhs=scaled(off_the_base_rate, 1.02)),
        neighbour("near one in place of A1", lhs=off_one),
        neighbour("a right side 0.2% smaller", rhs=scaled(partial(filtered_token_loss, k2_of_ratio), 0.998)),
    ),
)
