"""C2: the stated "enhanced monotonic improvement" bound, delta read as the advantage of the old policy."""

from functools import partial

from ..references import Source
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ._mdps import COUNTEREXAMPLE, TRIPLES, least_stated_bound, normalised_return

THEOREM = Theorem(
    name="C2.old",
    title="The improvement bound as stated, with delta below E_pef A_old: refuted for all three divergences",
    source=Source("li2025choice", "Theorem 1; cf. kang2018pofd"),
    statement=r"J(\pi) \ge L_{old}(\pi) - \tfrac{2\gamma\alpha_1\epsilon_\pi}{(1-\gamma)^2}"
    r" + \tfrac{\delta}{1-\gamma} - \tfrac{C_f\gamma\alpha_2\epsilon_{pef}}{(1-\gamma)^2},"
    r"\quad \delta \le E_{\pi_{pef}} A_{old}(s,\cdot)",
    relation=Relation.AT_MOST,
    lhs=partial(least_stated_bound, reading="old"),
    rhs=normalised_return,
    instances=TRIPLES,
    expected=Verdict.REFUTED,
    examples=(COUNTEREXAMPLE,),
    floor=1.0,  # The scale of a normalised return, (1-gamma) J.
    false_neighbours=(
        neighbour(
            "a constant C_f ten times larger",
            lhs=partial(least_stated_bound, reading="old", constant=10),
        ),
    ),
    note="The paper's exact assumption is not available to us; the bound fails under both readings of delta,"
    " this one and C2.new, whatever C_f (C2.generic). The bounds of C3 and C4 hold instead.",
)
