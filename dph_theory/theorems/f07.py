"""F7. Does reverse KL accelerate the decay?.

That reverse KL accelerates the decay of correct answers: for unrestricted policies it delays the path of
the reward.
"""

from ..references import Source
from ..statement.theorem import neighbour, refuted, scaled
from ._laws import RUN, RUNS, lost_with_penalty, lost_without

DECAY = refuted(
    "F7.decay",
    "'Reverse KL actively accelerates the decay': refuted for unrestricted policies",
    statement=r"\mathrm{KL}(a\|q_t^{0}) \le \mathrm{KL}(a\|q_t^{\beta}),\quad"
    r" q_t^\beta \text{ from } a \text{ by the natural gradient of } E_q v - \beta\,\mathrm{KL}(q\|a)",
    source=Source("li2025choice", "the motivation of mass-covering divergences"),
    on=RUNS,
    at_most=(lost_without, lost_with_penalty),
    examples=(RUN.giving(lhs=".3755571176516", rhs=".1673965370199"),),
    note="The opposite holds at every time (A3.slower): the penalty delays the same path, and p_beta ends it"
    " (A3.penalised, A4). It does hold in a family that cannot follow the base: where tokens cannot see each"
    " other, reverse KL itself drives the policy to one of two modes (A10.accelerates). E7 says what else the"
    " words can mean: on policy, recovery is slow.",
    false=(neighbour("or slows it by no more than a tenth", rhs=scaled(lost_with_penalty, 1.1)),),
)
