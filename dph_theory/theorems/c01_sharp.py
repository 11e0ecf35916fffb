"""C1: the exact sharp form of TRPO's bound (C1.attained shows that it cannot be improved)."""

from ..divergences import TOTAL_VARIATION
from ..improvement import worst_advantage
from ..mdp import TabularMDP
from ..numeric.balls import Values, highest
from ..numeric.boxes import linear
from ..references import Source
from ..statement.reduction import Reduction
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled
from ._boxes import GAMMA
from ._mdps import STEP, STEPS, balanced, scaled_loss


def sharp_penalty(mdp: TabularMDP, pi: Values, pi_old: Values) -> Values:
    # The two policies part at a step with probability at most TV, so that the visitations differ by at most
    # g TV/(1-g+g TV) in total variation; E_pi A_old has a span of at most 4 TV eps over the states.
    tv = highest(TOTAL_VARIATION(pi, pi_old))
    eps, gamma = worst_advantage(mdp, pi_old), mdp.gamma
    return 4 * eps * gamma * tv**2 * (1 - gamma) / (1 - gamma + gamma * tv)


THEOREM = Theorem(
    name="C1.sharp",
    title="The sharp form: L - J <= 4 eps gamma TV^2/((1-gamma)(1-gamma+gamma TV))",
    source=Source("ours"),
    statement=r"L_{old}(\pi) - J(\pi) \le"
    r" \frac{4\epsilon\gamma\,\mathrm{TV}^2}{(1-\gamma)(1-\gamma+\gamma\mathrm{TV})},"
    r"\quad \mathrm{TV} = \max_s \mathrm{TV}_s",
    relation=Relation.AT_MOST,
    lhs=scaled_loss,
    rhs=sharp_penalty,
    instances=STEPS,
    expected=Verdict.ENCLOSED,
    examples=(STEP,),
    reductions=(
        Reduction(
            "the balanced step, two states and two actions",
            {"gamma": GAMMA, "tv": linear("0.001", "0.5 - 1e-3")},
            balanced,
            gap=lambda gamma, tv: [(1 - tv) / (1 - gamma + gamma * tv)],
            factor=lambda gamma, tv, eps: [4 * eps * gamma * gamma * (1 - gamma) * tv * tv],
            free={"eps": linear("0.01", "1")},
        ),
    ),
    false_neighbours=(
        neighbour("a constant 2% smaller", rhs=scaled(sharp_penalty, 0.98)),
        neighbour(
            "no factor of 1/(1-gamma)",
            rhs=lambda mdp, pi, pi_old: (1 - mdp.gamma) * sharp_penalty(mdp, pi, pi_old),
        ),
    ),
    note="Attained by the three-action chain of C1.attained; two actions do not reach it in these searches.",
)
