"""B9: penalties eta D_f are comparable at equal eta f''(1): Jensen-Shannon needs twice the coefficient."""

from ..divergences import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, alpha_divergence, each
from ..numeric.balls import Values, trailing
from ..references import Source
from ..statement.charts import chart, example, log_uniform, simplex
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled
from ._lemmas import stepped

COEFFICIENTS = ((REVERSE_KL, 1), (JENSEN_SHANNON, 2), (alpha_divergence(0.5), 1))
"""How much of each divergence stands for one unit of the forward KL: 1/f''(1)."""


def difference(ref: Values, q: Values, step: Values) -> Values:
    pi, scale = stepped(ref, q, step), step**2
    forward = FORWARD_KL(pi, ref)
    return each(lambda pair: abs(forward - pair[1] * pair[0](pi, ref)) / scale, COEFFICIENTS)


def equal_coefficients(ref: Values, q: Values, step: Values) -> Values:
    pi, scale = stepped(ref, q, step), step**2
    return each(lambda pair: abs(FORWARD_KL(pi, ref) - pair[0](pi, ref)) / scale, COEFFICIENTS)


def third_order(ref: Values, q: Values, step: Values) -> Values:
    # The second derivatives agree at u = 1, and the third ones differ by at most 1/min(1, xi)^4: for the
    # reverse KL by |2 - xi|/xi^3, for the other two by less.
    cube = (ref * abs(q / ref - 1) ** 3).sum(axis=-1)
    return trailing(step / (1 - step) ** 4 * cube / 6, 1)


THEOREM = Theorem(
    name="B9.coefficients",
    title="Fair comparison: equal eta f''(1), so twice the eta for Jensen-Shannon, the same for alpha",
    source=Source("ours"),
    statement=r"\Big|\mathrm{KL}(\pi_{ref}\|\pi) - \tfrac{1}{f''(1)} D_f(\pi\|\pi_{ref})\Big| \le"
    r" \tfrac16\,\tfrac{\epsilon^3}{(1-\epsilon)^4}\,E_{ref}\big|\tfrac{q}{\pi_{ref}} - 1\big|^3,"
    r"\quad \pi = (1-\epsilon)\pi_{ref} + \epsilon q",
    relation=Relation.AT_MOST,
    lhs=difference,
    rhs=third_order,
    instances=chart(ref=simplex(3, spread=3), q=simplex(3, spread=2.5), step=log_uniform(1e-4, 0.9)),
    expected=Verdict.CERTIFIED,
    tight=True,
    digits=6,  # As in B9.curvature.
    examples=(example(ref=".2 .2 .6", q=".5 .3 .2", step=".01"),),
    false_neighbours=(
        neighbour("the same eta for Jensen-Shannon, whatever the curvature", lhs=equal_coefficients),
        neighbour("a remainder 2% smaller", rhs=scaled(third_order, 0.98)),
        neighbour("a left side 0.5% larger", lhs=scaled(difference, 1.005)),
    ),
)
