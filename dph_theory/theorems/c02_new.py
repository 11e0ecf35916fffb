"""C2: the stated "enhanced monotonic improvement" bound, delta read as the advantage of the new policy."""

from functools import partial

from ..references import Source
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ._mdps import COUNTEREXAMPLE, TRIPLES, least_stated_bound, normalised_return

THEOREM = Theorem(
    name="C2.new",
    title="The improvement bound as stated, with delta below E_pef A_new: refuted for all three divergences",
    source=Source("li2025choice", "Theorem 1; cf. kang2018pofd"),
    statement=r"J(\pi) \ge L_{old}(\pi) - \tfrac{2\gamma\alpha_1\epsilon_\pi}{(1-\gamma)^2}"
    r" + \tfrac{\delta}{1-\gamma} - \tfrac{C_f\gamma\alpha_2\epsilon_{pef}}{(1-\gamma)^2},"
    r"\quad \delta \le E_{\pi_{pef}} A_\pi(s,\cdot)",
    relation=Relation.AT_MOST,
    lhs=partial(least_stated_bound, reading="new"),
    rhs=normalised_return,
    instances=TRIPLES,
    expected=Verdict.REFUTED,
    examples=(COUNTEREXAMPLE,),
    floor=1.0,  # The scale of a normalised return, (1-gamma) J.
    false_neighbours=(
        neighbour(
            "a constant C_f ten times larger",
            lhs=partial(least_stated_bound, reading="new", constant=10),
        ),
    ),
    note="At pi = pi_old the two readings coincide, so one counterexample serves both; see C2.old for what"
    " holds instead.",
)
