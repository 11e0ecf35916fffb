"""The cost in nats of losing a strategy.

A strategy is a set of answers with a share in the reference. Divergences that are finite at u = 0 let it go
for a finite number of nats; the forward KL does not. So an excess KL below the cost certifies that no
strategy of that share is lost.
"""

import numpy as np
from scipy.special import xlogy

from ...binary_reward import excess_kl
from ...divergences import (
    CHI_SQUARED,
    FORWARD_KL,
    HELLINGER,
    JENSEN_SHANNON,
    REVERSE_KL,
    TOTAL_VARIATION,
    alpha_divergence,
    stacked,
)
from ...meter import certified_share
from ...numeric.elementary import Values, normalised
from ...references import Source
from ...verification.charts import chart, example, rates, simplex
from ...verification.statement import neighbour, theorem

SOURCE = Source("ours", "what losing a strategy costs")
DIVERGENCES = (
    FORWARD_KL, REVERSE_KL, JENSEN_SHANNON, alpha_divergence(0.5), HELLINGER, CHI_SQUARED, TOTAL_VARIATION,
)  # fmt: skip
"""The divergences of the table, in its order."""


def losing_costs(share: Values) -> Values:
    """Least D_f once a strategy of that share is lost, s f(0) + (1-s) f(1/(1-s)); (batch, divergences)."""
    left = 1 - share
    js = 2 * np.log(2) + left * np.log(left) - (2 - share) * np.log(2 - share)
    root = 1 - np.sqrt(left)
    return np.stack([np.inf + 0 * share, -np.log(left), js, 4 * root, 2 * root, share / left, share], axis=-1)


def reference(share: Values, inside: Values, outside: Values) -> Values:
    """Reference (batch, 5): two answers of the strategy, of mass `share`, and three other answers."""
    return np.concatenate([share[:, None] * inside, (1 - share)[:, None] * outside], axis=-1)


def distances(share: Values, inside: Values, outside: Values, policy: Values) -> Values:
    """D_f to the reference of policies without the strategy, (batch, divergences); `policy` (batch, 3)."""
    q, ref = np.concatenate([0 * inside, policy], axis=-1), reference(share, inside, outside)
    return stacked(lambda divergence: divergence(q, ref), DIVERGENCES)


def distances_halfway(share: Values, inside: Values, outside: Values, policy: Values) -> Values:
    """D_f to the reference of policies that retain half of the strategy's mass, (batch, divergences).

    Arguments are shares of the strategy (batch,), and of answers inside (batch, 2), outside and in `policy`
    (batch, 3).
    """
    ref = reference(share, inside, outside)
    q = normalised(np.concatenate([ref[:, :2] / 2, policy * (1 - share / 2)[:, None]], axis=-1))
    return stacked(lambda divergence: divergence(q, ref), DIVERGENCES)


LOST = example(share=".2", inside=".5 .5", outside=".5 .3 .2", policy=".5 .3 .2")

COST = theorem(
    "Losing a strategy of share s costs s f(0) + (1-s) f(1/(1-s)): finite in all of these but forward KL",
    statement=r"\pi(S) = 0,\; s = \mathrm{ref}(S):\quad s f(0) + (1-s) f\bigl(\tfrac1{1-s}\bigr) \le"
    r" D_f(\pi\|\mathrm{ref});\quad \infty,\; -\log(1-s),\; 2\log 2 + (1-s)\log(1-s) - (2-s)\log(2-s),\;"
    r" 4(1-\sqrt{1-s}),\; 2(1-\sqrt{1-s}),\; \tfrac{s}{1-s},\; s",
    source=SOURCE,
    on=chart(share=rates(low=1e-3, high=1e-3), inside=simplex(2, spread=3), outside=simplex(3, spread=3),
        policy=simplex(3, spread=3)),
    at_most=(losing_costs, distances),
    examples=(LOST,),
    note="For forward KL, reverse KL, the JS generator, alpha = 1/2, Hellinger, Pearson and total variation;"
    " attained at the reference given the rest. At s = .05: infinite, .0513, .0353, .1013, .0506, .0526,"
    " .05. For Pass@k the forward KL is no infinite protection: to press a share s below 1/k it takes"
    " kl(s||1/k) against the reverse KL's kl(1/k||s), .0825 and .0372 at s = .05 and k = 256, a ratio of"
    " about log(s k).",
    coq="cost_of_losing",
    part="for smooth f, by its value at 0, and policies that have every other answer",
    false=(neighbour("as much for half of the strategy", at=LOST, rhs=distances_halfway),),
)  # fmt: skip

CORRECT = np.array([True, True, False, False])


def cost_of_share(base: Values, policy: Values) -> Values:
    """V kl(pi(S|Y1) || a(S|Y1)), (batch,), with S the second of four answers, the first two correct."""
    correct, rate = policy[:, :2], policy[:, :2].sum(axis=-1, keepdims=True)
    return (xlogy(correct, correct) - xlogy(correct, rate * normalised(base[:, :2]))).sum(axis=-1)


def excess(base: Values, policy: Values) -> Values:
    return excess_kl(policy, base, np.broadcast_to(CORRECT, base.shape)).excess


GONE = example(base=".15 .1 .45 .3", policy=".55 0 .27 .18").giving(value=".2809540930713")

CERTIFICATE = theorem(
    "An excess KL below -V log(1-s) proves that the policy has every strategy of share s",
    statement=r"\mathrm{KL}(\pi\|a) - \mathrm{kl}(V\|A_1) \ge V\,"
    r" \mathrm{kl}\bigl(\pi(S|Y_1)\,\|\,p_*(S)\bigr) = -V\log(1-s) \text{ where } \pi(S) = 0",
    source=SOURCE,
    on=chart(base=simplex(4, spread=4), policy=simplex(4, spread=4, zeros=True)),
    at_most=(cost_of_share, excess),
    examples=(GONE,),
    note="The collapse meter measures the left side: with excess KL x at pass rate V every strategy of share"
    " above 1 - e^(-x/V) is still there (certified_share). At that excess one can be lost.",
    coq="excess_of_strategy",
    part="where other correct answers are left",
    false=(neighbour("at pass rate one as at V", at=GONE,
        lhs=lambda base, policy: REVERSE_KL(normalised(policy[:, :2]), normalised(base[:, :2]))),),
)  # fmt: skip


def lost_share(base: Values) -> Values:
    """Share of the second answer among the base's first two of four, the correct ones; (batch,)."""
    return base[:, 1] / (base[:, 0] + base[:, 1])


def certified(base: Values, policy: Values) -> Values:
    """Smallest share certified as not lost by the excess KL, (batch,), of `policy` without answer 2."""
    without = normalised(policy * np.array([1, 0, 1, 1]))
    return certified_share(np.maximum(excess(base, without), 0), without[:, 0])


CERTIFIED = theorem(
    "certified_share is at least the share of any strategy without probability",
    statement=r"\pi(S) = 0 \;\Rightarrow\; p_*(S) \le 1 - e^{-x/V},\quad"
    r" x = \mathrm{KL}(\pi\|a) - \mathrm{kl}(V\|A_1)",
    source=SOURCE,
    on=chart(base=simplex(4, spread=3), policy=simplex(4, spread=3)),
    at_most=(lost_share, certified),
    examples=(GONE.giving(value=".4"),),
    floor=1.0,
    false=(neighbour("half of it", at=GONE, rhs=lambda base, policy: certified(base, policy) / 2),),
)
