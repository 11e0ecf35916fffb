"""C1: an improvement bound with the gain's span over states and the mean distance, never above TRPO's."""

import numpy as np

from ..divergences import TOTAL_VARIATION
from ..mdp import TabularMDP
from ..numeric.balls import Values, highest, lowest
from ..references import Source
from ..statement.charts import example
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled
from ._mdps import STEP, STEPS, scaled_loss, scaled_trpo_penalty

# The same new policy in both states would make the two penalties equal, which balls cannot decide.
UNEVEN_STEP = {**STEP, **example(pi=[".4 .6 0", ".45 .55 0", ".45 .55 0"])}


def span_penalty(mdp: TabularMDP, pi: Values, pi_old: Values) -> Values:
    # L - J = sum_s (d_old - d_pi)(s) h(s)/(1-g), h(s) = E_pi A_old(s, .), and d_old, d_pi differ by at most
    # g E_{d_old}[TV_s]/(1-g) in total variation.
    gain = (pi * mdp.advantage(pi_old)).sum(axis=-1)
    mean_distance = (mdp.visitation(pi_old) * TOTAL_VARIATION(pi, pi_old)).sum(axis=-1)
    return mdp.gamma * (highest(gain) - lowest(gain)) * mean_distance


def loss_and_span(mdp: TabularMDP, pi: Values, pi_old: Values) -> Values:
    parts = mdp, pi, pi_old
    return np.stack([scaled_loss(*parts), span_penalty(*parts)], axis=-1)


def span_and_trpo(mdp: TabularMDP, pi: Values, pi_old: Values) -> Values:
    parts = mdp, pi, pi_old
    return np.stack([span_penalty(*parts), scaled_trpo_penalty(*parts)], axis=-1)


def without_discount(mdp: TabularMDP, pi: Values, pi_old: Values) -> Values:
    return (1 - mdp.gamma) * span_penalty(mdp, pi, pi_old)


THEOREM = Theorem(
    name="C1.span",
    title="Sharper: L - J <= gamma span_s(E_pi A_old)/(1-gamma)^2 E_{d_old}[TV_s], at most TRPO's penalty",
    source=Source("ours", "cf. achiam2017cpo"),
    statement=r"L_{old}(\pi) - J(\pi) \le \frac{\gamma\,\mathrm{span}_s(E_\pi A_{old})}{(1-\gamma)^2}"
    r"\, E_{d_{old}}[\mathrm{TV}_s] \le \frac{4\epsilon\gamma\max_s \mathrm{TV}_s^2}{(1-\gamma)^2}",
    relation=Relation.AT_MOST,
    lhs=loss_and_span,
    rhs=span_and_trpo,
    instances=STEPS,
    expected=Verdict.CERTIFIED,
    tight=True,
    examples=(UNEVEN_STEP,),
    false_neighbours=(
        neighbour("a constant 2% smaller", lhs=scaled_loss, rhs=scaled(span_penalty, 0.98)),
        neighbour("one factor of 1/(1-gamma)", lhs=scaled_loss, rhs=without_discount),
        neighbour("TRPO's penalty is the smaller one", lhs=scaled_trpo_penalty, rhs=span_penalty),
    ),
)
