"""C3: on the way from the anchor to the old policy, the anchor bound beats J_old up to a known share."""

from dataclasses import replace

from ..improvement import anchor_bound
from ..mdp import TabularMDP
from ..numeric.balls import Values, highest, lowest, trailing
from ..references import Source
from ..statement.charts import Chart, example, rates
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ._mdps import TRIPLE, TRIPLES

_WITHOUT_PI = {name: part for name, part in TRIPLES.parts.items() if name != "pi"}
BETWEEN: Chart = replace(TRIPLES, parts={**_WITHOUT_PI, "share": rates(low=1e-3, high=1e-3)})
"""The policy that is asked about is pi_pef with that share of pi_old mixed in."""
GIVEN = {name: part for name, part in TRIPLE.items() if name != "pi"}


def promise(mdp: TabularMDP, pi_old: Values, pi_pef: Values, share: Values) -> Values:
    """(1-gamma)(B_anchor - J_old) of the mixture, the bound taken as it is."""
    mixture = (1 - trailing(share, 2)) * pi_pef + trailing(share, 2) * pi_old
    return (1 - mdp.gamma) * (anchor_bound(mdp, mixture, pi_old, pi_pef) - mdp.return_(pi_old))


def gain(mdp: TabularMDP, pi_old: Values, pi_pef: Values) -> Values:
    """delta, from action values: the least gain over the states of one action of pi_pef before pi_old."""
    return lowest((pi_pef * mdp.action_value(pi_old)).sum(axis=-1) - mdp.value(pi_old))


def whole_costs(mdp: TabularMDP, pi_old: Values, pi_pef: Values) -> tuple[Values, Values]:
    """TV(pi_old, pi_pef) and the span of pi_pef's action values in each state."""
    values = mdp.action_value(pi_pef)
    return abs(pi_old - pi_pef).sum(axis=-1) / 2, highest(values) - lowest(values)


def gain_less_share(mdp: TabularMDP, pi_old: Values, pi_pef: Values, share: Values) -> Values:
    distance, span = whole_costs(mdp, pi_old, pi_pef)
    return gain(mdp, pi_old, pi_pef) - share * highest(distance * span)


def second_order(mdp: TabularMDP, pi_old: Values, pi_pef: Values, share: Values) -> Values:
    return gain_less_share(mdp, pi_old, pi_pef, share * share)


def worst_of_each(mdp: TabularMDP, pi_old: Values, pi_pef: Values, share: Values) -> Values:
    distance, span = whole_costs(mdp, pi_old, pi_pef)
    return gain(mdp, pi_old, pi_pef) - share * highest(distance) * highest(span)


def gain_over_horizon(mdp: TabularMDP, pi_old: Values, pi_pef: Values, share: Values) -> Values:
    over = mdp.gamma / (1 - mdp.gamma)
    return gain_less_share(mdp, pi_old, pi_pef, share) + over * gain(mdp, pi_old, pi_pef)


THEOREM = Theorem(
    name="C3.beats",
    title="Mixed with a share w of the old policy, the anchor's bound exceeds J_old iff w c < delta",
    source=Source("ours"),
    statement=r"\pi_w = (1-w)\,\pi_{pef} + w\,\pi_{old}:\quad (1-\gamma)(B_{anchor}(\pi_w) - J_{old})"
    r" = \delta - w\,c,\quad c = \max_s \mathrm{TV}_s(\pi_{old},\pi_{pef})\,\mathrm{span} A_{pef}(s,\cdot),"
    r"\quad \text{so}\quad B_{anchor} > J_{old} \iff w < \delta/c",
    relation=Relation.EQUAL,
    lhs=promise,
    rhs=gain_less_share,
    instances=BETWEEN,
    expected=Verdict.CERTIFIED,
    examples=({**GIVEN, **example(share=".25")},),
    floor=0.1,  # Near gamma = 1 values of 1e3 are subtracted.
    false_neighbours=(
        neighbour("the gain over the whole horizon, delta/(1-gamma)", rhs=gain_over_horizon),
        neighbour("of second order in the share, as TRPO's penalty is", rhs=second_order),
        neighbour("the largest distance times the largest span", rhs=worst_of_each),
        masses_clamped("P", 5e-10),
    ),
)
