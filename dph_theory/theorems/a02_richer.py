"""A2: under the plain policy gradient the ratio of a likelier to a less likely valid outcome only grows."""

import numpy as np
import sympy

from ..flows import integrate, plain_gradient
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex
from ..statement.neighbours import near
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour


def at_the_start(base: Values, valid: Values) -> Values:
    return _richer_over_poorer(base, np.log(base), valid)


def later(base: Values, valid: Values, time: Values) -> Values:
    return _richer_over_poorer(base, integrate(plain_gradient, base, valid, time), valid)


def invalid_at_the_start(base: Values, valid: Values) -> Values:
    return _richer_over_poorer(base, np.log(base), ~valid)


def invalid_later(base: Values, valid: Values, time: Values) -> Values:
    return _richer_over_poorer(base, integrate(plain_gradient, base, valid, time), ~valid)


def _richer_over_poorer(base: Values, theta: Values, part: Values) -> Values:
    """The log of q_y/q_y' for every pair of the part with a_y > a_y' (zero for the other pairs)."""
    pairs = part[:, :, None] & part[:, None, :] & (base[:, :, None] > base[:, None, :])
    return np.where(pairs, theta[:, :, None] - theta[:, None, :], 0.0)


def derivation() -> Claims:
    # On the orbit (A2.orbit) q_y/q_y' = (1/a_y' - s1)/(1/a_y - s1), and s1 rises from 0, its slope being
    # (1-V)/Z (A2.limit): the ratio is never below its start a_y/a_y'.
    poorer, more, s = sympy.symbols("poorer more s", positive=True)
    richer = poorer + more
    ratio = (1 / poorer - s) / (1 / richer - s)
    yield Claim("the ratio on the orbit has grown", ratio - richer / poorer, ">0", where=(s * richer < 1,))


THEOREM = Theorem(
    name="A2.richer",
    title="Plain policy gradient: a likelier valid output gains on every less likely one",
    source=Source("ours", "implicit bias"),
    statement=r"y, y' \in Y_1,\; a_y > a_{y'} \;\Rightarrow\;"
    r" \log \frac{a_y}{a_{y'}} \le \log \frac{q_t(y)}{q_t(y')}",
    relation=Relation.AT_MOST,
    lhs=at_the_start,
    rhs=later,
    instances=chart(base=simplex(4, spread=2), valid=masks(4), time=log_uniform(1e-2, 10)),
    expected=Verdict.PROVED,
    given=("A2.orbit", "A2.limit"),
    examples=(example(base=".3 .2 .1 .4", valid=[True, True, True, False], time="10"),),
    symbolic=derivation,
    certified=False,
    tight=True,
    false_neighbours=(
        neighbour("the ratios stay", relation=Relation.EQUAL),
        neighbour("among invalid outputs too", lhs=invalid_at_the_start, rhs=invalid_later),
        near(-0.01, time=(0.61, 0.0005)),
    ),
)
