"""C1: the sharp improvement bound is attained: a two-state chain for every discount, distance and eps."""

import sympy

from ..numeric.balls import Values
from ..numeric.boxes import Scalar, linear
from ..references import Source
from ..statement.charts import example
from ..statement.neighbours import near
from ..statement.reduction import Reduction
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour, scaled
from ._boxes import GAMMA
from ._mdps import WORST_CHAINS, scaled_loss


def sharp_penalty(gamma: Values, tv: Values, eps: Values) -> Values:
    return 4 * eps * gamma * tv**2 * (1 - gamma) / (1 - gamma + gamma * tv)


def derivation() -> Claims:
    # h = 2 TV eps in state 0 and its negative in state 1. The old policy stays in state 0, the new one leaves
    # it with probability TV a step: V0 = h + g ((1-TV) V0 + TV V1) and V1 = -h + g V1.
    g, tv, eps = sympy.symbols("gamma TV eps", positive=True)
    h = 2 * tv * eps
    domain = (g < 1, tv <= sympy.Rational(1, 2))
    # The old policy (TV, 1 - TV, 0) earns nothing, so that its values are zero and rewards are advantages.
    worst, middle, best = -eps, eps * tv / (1 - tv), eps
    yield Claim("the old policy's gain", tv * worst + (1 - tv) * middle, where=domain)
    yield Claim("that of the new one, (0, 1 - TV, TV)", (1 - tv) * middle + tv * best, equals=h, where=domain)
    yield Claim("no advantage exceeds eps", eps - middle, ">=0", where=domain)
    v1 = -h / (1 - g)
    v0 = (h + g * tv * v1) / (1 - g * (1 - tv))
    yield Claim("the new policy's values", h + g * ((1 - tv) * v0 + tv * v1), equals=v0, where=domain)
    surrogate_gain = h / (1 - g)
    lost = 4 * eps * g * tv**2 / ((1 - g) * (1 - g + g * tv))
    yield Claim("the loss", surrogate_gain - v0, equals=lost, where=domain)


def loss_by_values(gamma: Scalar, tv: Scalar, eps: Scalar) -> list[tuple[Scalar, Scalar]]:
    h, rest = 2 * tv * eps, 1 - gamma
    ruined = -h / rest
    value = (h + gamma * tv * ruined) / (1 - gamma * (1 - tv))
    loss = rest * h - rest * rest * value
    return [(loss, 4 * eps * gamma * tv * tv * rest / (rest + gamma * tv))]


THEOREM = Theorem(
    name="C1.attained",
    title="The sharp improvement bound is attained, for every discount, TV up to 1/2 and eps",
    source=Source("ours"),
    statement=r"\exists\,\mathrm{MDP}:\; L_{old}(\pi) - J(\pi) ="
    r" \frac{4\epsilon\gamma\,\mathrm{TV}^2}{(1-\gamma)(1-\gamma+\gamma\mathrm{TV})}",
    relation=Relation.EQUAL,
    lhs=scaled_loss,
    rhs=sharp_penalty,
    instances=WORST_CHAINS,
    expected=Verdict.PROVED,
    examples=(example(gamma=".9", tv=".5", eps="1"),),
    symbolic=derivation,
    reductions=(
        Reduction(
            "all of the chart's scalars",
            {"gamma": GAMMA, "tv": linear("0.001", "0.5"), "eps": linear("0.01", "1")},
            lambda gamma, tv, eps: {"gamma": gamma, "tv": tv, "eps": eps},
            sides=loss_by_values,
        ),
    ),
    false_neighbours=(
        neighbour("TRPO's penalty is attained", rhs=lambda gamma, tv, eps: 4 * eps * gamma * tv**2),
        neighbour("2% less is lost", rhs=scaled(sharp_penalty, 0.98)),
        near(0.01, gamma=(0.52, 0.0001)),
    ),
)
