"""F7, refuted for unrestricted policies: a reverse KL penalty accelerates the loss of the base's mass."""

from ..references import Source
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled
from ._laws import RUN, RUNS, lost_with_penalty, lost_without

THEOREM = Theorem(
    name="F7.decay",
    title="'Reverse KL actively accelerates the decay': refuted for unrestricted policies",
    source=Source("li2025choice", "the motivation of mass-covering divergences"),
    statement=r"\mathrm{KL}(a\|q_t^{0}) \le \mathrm{KL}(a\|q_t^{\beta}),\quad"
    r" q_t^\beta \text{ from } a \text{ by the natural gradient of } E_q v - \beta\,\mathrm{KL}(q\|a)",
    relation=Relation.AT_MOST,
    lhs=lost_without,
    rhs=lost_with_penalty,
    instances=RUNS,
    expected=Verdict.REFUTED,
    examples=(RUN,),
    false_neighbours=(
        neighbour("or slows it by no more than a tenth", rhs=scaled(lost_with_penalty, 1.1)),
        neighbour("or by no more than a factor of 1e12", rhs=scaled(lost_with_penalty, 1e12)),
        neighbour("or by no more than a factor of 1000", rhs=scaled(lost_with_penalty, 1000)),
    ),
    note="The opposite holds at every time (A3.slower): the penalty delays the same path, and p_beta ends it"
    " (A3.penalised, A4). It does hold in a family that cannot follow the base: where tokens cannot see each"
    " other, reverse KL itself drives the policy to one of two modes (A10.accelerates). E7 says what else the"
    " words can mean: on policy, the way back is slow.",
)
