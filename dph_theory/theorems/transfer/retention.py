"""The advantages that retain the strategies that prompts share.

A group-relative advantage ascends J(q) = sum_x rho_x J_G(V_x), J_G' = alpha_G, over policies q of strategies
that all prompts share. Divided by the group's mean (MaxRL) J is concave: its maximisers share the pass rates
of the trained prompts. Divided by the std J is concave up to one half only: three or more strategies of about
equal merit may coexist, and the best strategy alone is another end. Undivided J is linear, and one strategy
is left.
"""

from functools import partial
from itertools import product
from math import factorial, prod

import numpy as np

from ...stationary.groups import SCALES, group_weight
from ...transfer.retention import (
    Weighting,
    group_weighting,
    power_weighting,
    shared_objective,
    strategy_drive,
    trained_shares,
)
from ...verification.charts import chart, example, integers, rates, simplex, uniform
from ...verification.statement import neighbour, refuted, theorem
from .._strategies import LINES, MAXRL, SOURCE, WITHIN_HALF, by_instance, sets, shared_lines, water_merits

Values = np.ndarray
FORMS = ("none", "std", "mean")
OPEN_RATES = rates(low=1e-3, high=1e-3)
LONG = 1e6
"""Times after which a flow of a few strategies has ended."""


def update_of_groups(policy: Values, members: Values, rho: Values, size: Values) -> Values:
    """Expected logit updates (batch, strategies) over all counts of strategies in a group of `size`.

    `members` (batch, prompts, strategies) are coins for `sets`, rho (batch, prompts) the prompts'
    frequencies.
    """
    return by_instance(
        lambda q, c, weights, n: update_of_group(q, c, weights, int(n)), policy, sets(members), rho, size
    )


def update_of_group(policy: Values, success: Values, rho: Values, size: int) -> Values:
    update = np.zeros((len(FORMS), policy.size))
    for counts in product(range(size + 1), repeat=policy.size):
        if sum(counts) != size:
            continue
        number = np.array(counts)
        chance = factorial(size) / prod(map(factorial, counts)) * np.prod(policy**number)
        correct = success @ number
        for form, moves in zip(FORMS, update, strict=True):
            for reward, solved, weight in zip(success, correct, rho, strict=True):
                if 0 < solved < size:
                    spread = SCALES[form](np.array([solved]), size)[0]
                    # The advantages of a group sum to zero: the policy's own share in the score drops out.
                    moves += chance * weight * number * (reward - solved / size) / spread / size
    return update


def gradient_of_objective(policy: Values, members: Values, rho: Values, size: Values) -> Values:
    return by_instance(
        lambda q, c, weights, n: [
            strategy_drive(q, c, weights, group_weighting(int(n), form)) for form in FORMS
        ],
        *(policy, sets(members), rho, size),
    )


GRADIENT = theorem(
    "A group-relative advantage over shared strategies ascends the sum of J_G(V_x), J_G' = alpha_G",
    statement=r"E\,\dot\theta_s = q_s \sum_x \rho_x\,\alpha_G(V_x)\,(c_{xs} - V_x)"
    r" = \partial_{\theta_s} \sum_x \rho_x J_G(V_x),\quad V_x = \sum_s q_s c_{xs}",
    source=SOURCE,
    on=chart(
        policy=simplex(3, spread=3),
        members=uniform(0, 1, 2, 3),
        rho=simplex(2, spread=2),
        size=integers(2, 5),
    ),
    equal=(update_of_groups, gradient_of_objective),
    examples=(example(policy=".2 .3 .5", members=[".1 .1 .9", ".9 .1 .9"], rho=".4 .6", size="4"),),
    share=0.004,
    false=(
        neighbour(
            "of every form, the gradient of the mean pass rate",
            at=example(policy=".2 .3 .5", members=[".1 .1 .9", ".9 .1 .9"], rho=".4 .6", size="4"),
            rhs=lambda policy, members, rho: by_instance(
                lambda q, c, weights: [strategy_drive(q, c, weights, power_weighting(0.0))] * len(FORMS),
                *(policy, sets(members), rho),
            ),
        ),
    ),
)


def mean_of_objectives(policy: Values, other: Values, rho: Values, weighting: Weighting) -> Values:
    return (shared_lines(policy, rho, weighting) + shared_lines(other, rho, weighting)) / 2


def objective_of_mean(policy: Values, other: Values, rho: Values, weighting: Weighting) -> Values:
    return shared_lines((policy + other) / 2, rho, weighting)


CONCAVE = theorem(
    "MaxRL's objective is concave over shared policies",
    statement=r"\tfrac12\bigl(J(p) + J(q)\bigr) \le J\bigl(\tfrac{p+q}2\bigr),\quad"
    r" J(q) = \sum_s \rho_s \sum_{k=1}^{G-1} \frac{1-(1-q_s)^k}{k}",
    source=SOURCE,
    on=chart(policy=simplex(4, spread=3), other=simplex(4, spread=3), rho=simplex(4, spread=2)),
    at_most=(partial(mean_of_objectives, weighting=MAXRL), partial(objective_of_mean, weighting=MAXRL)),
    examples=(
        example(policy=".7 .1 .1 .1", other=".1 .7 .1 .1", rho=".4 .3 .2 .1").giving(
            lhs=".7032333333333", rhs=".7725333333333"
        ),
    ),
    coq="concave_everywhere",
    share=0.05,
    false=(
        neighbour(
            "so is that of std-normalised advantages, above one half too",
            at=example(policy=".97 .01 .01 .01", other=".51 .47 .01 .01", rho=".97 .01 .01 .01"),
            lhs=partial(mean_of_objectives, weighting=WITHIN_HALF),
            rhs=partial(objective_of_mean, weighting=WITHIN_HALF),
        ),
    ),
)


def capped(policy: Values) -> Values:
    """Policies (batch, 4) moved towards equal shares until no strategy has more than one half."""
    beyond = policy.max(axis=-1, keepdims=True) - 0.25
    return 0.25 + (policy - 0.25) * np.minimum(1.0, 0.25 / np.maximum(beyond, 0.25))


CONCAVE_BELOW_HALF = theorem(
    "Std-normalised, the objective is concave where no pass rate is above one half",
    statement=r"V_x \le \tfrac12 \;\Rightarrow\;"
    r" \tfrac12\bigl(J(p) + J(q)\bigr) \le J\bigl(\tfrac{p+q}2\bigr)",
    source=SOURCE,
    on=chart(policy=simplex(4, spread=3), other=simplex(4, spread=3), rho=simplex(4, spread=2)),
    at_most=(
        lambda policy, other, rho: mean_of_objectives(capped(policy), capped(other), rho, WITHIN_HALF),
        lambda policy, other, rho: objective_of_mean(capped(policy), capped(other), rho, WITHIN_HALF),
    ),
    examples=(
        example(policy=".5 .3 .1 .1", other=".1 .5 .3 .1", rho=".4 .3 .2 .1").giving(
            lhs=".5934870016003", rhs=".6044810537659"
        ),
    ),
    coq="concave_below_half",
    share=0.05,
    false=(
        neighbour(
            "at every policy",
            at=example(policy=".97 .01 .01 .01", other=".51 .47 .01 .01", rho=".97 .01 .01 .01"),
            lhs=partial(mean_of_objectives, weighting=WITHIN_HALF),
            rhs=partial(objective_of_mean, weighting=WITHIN_HALF),
        ),
    ),
)

SIZES = (4, 8, 16)


def std_weights(rate: Values, scale: str = "std") -> Values:
    return np.stack([group_weight(size, rate, scale) for size in SIZES], axis=-1)


SYMMETRIC = theorem(
    "Std-normalised advantages weigh a pass rate as its complement: alpha_G(V) = alpha_G(1 - V)",
    statement=r"\alpha_G(V) = \alpha_G(1-V)",
    source=SOURCE,
    on=chart(rate=OPEN_RATES),
    equal=(std_weights, lambda rate: std_weights(1 - rate)),
    examples=(example(rate=".1", value="1.4638268590218 2.1773537339824 2.7573824628584"),),
    coq="symmetric",
    share=0.2,
    false=(
        neighbour(
            "so do those divided by the mean",
            lhs=lambda rate: std_weights(rate, "mean"),
            rhs=lambda rate: std_weights(1 - rate, "mean"),
        ),
    ),
)


def objective_beside(policy: Values, shares: Values, slack: Values) -> Values:
    return shared_lines(policy, water_merits(shares, slack, MAXRL), MAXRL)


def objective_of_shares(shares: Values, slack: Values) -> Values:
    return shared_lines(shares, water_merits(shares, slack, MAXRL), MAXRL)


WATER = theorem(
    "MaxRL, strategies that share no prompt: shares of equal rho_s alpha_G(q_s) maximise the objective",
    statement=r"q_s > 0 \Rightarrow \rho_s\,\alpha_G(q_s) = \lambda,\; q_s = 0 \Rightarrow"
    r" \rho_s\,\alpha_G(0) \le \lambda \;\Longrightarrow\; J(p) \le J(q) \text{ for every } p",
    source=SOURCE,
    on=chart(policy=simplex(4, spread=4), shares=simplex(4, spread=4, zeros=True), slack=uniform(0, 1, 4)),
    at_most=(objective_beside, objective_of_shares),
    examples=(
        example(policy=".7 .1 .1 .1", shares=".4 .3 .3 0", slack="1 1 1 .5").giving(
            lhs=".6684405504928", rhs=".7593987165587"
        ),
    ),
    coq="maxrl_water",
    share=0.05,
    false=(
        neighbour(
            "where the lost strategy has twice the merit that the condition allows",
            at=example(policy=".3 .3 .2 .2", shares=".4 .3 .3 0", slack="1 1 1 2"),
            lhs=objective_beside,
        ),
        neighbour(
            "shares as the merits",
            at=example(policy=".4 .3 .3 0", shares=".4 .3 .3 0", slack="1 1 1 .5"),
            rhs=lambda shares, slack: by_instance(
                lambda rho: shared_objective(rho, LINES, rho, MAXRL), water_merits(shares, slack, MAXRL)
            ),
        ),
    ),
)


def coexisting(policy: Values, shares: Values, weighting: Weighting) -> Values:
    return shared_lines(policy, water_merits(shares, np.ones(4), weighting), weighting)


COEXIST = theorem(
    "Std-normalised, shares up to one half of equal rho_s alpha_G(q_s) are a maximum",
    statement=r"q_s, p_s \le \tfrac12,\; \rho_s\,\alpha_G(q_s) = \lambda \text{ for every } s"
    r" \;\Rightarrow\; J(p) \le J(q)",
    source=SOURCE,
    on=chart(policy=simplex(4, spread=3), shares=simplex(4, spread=3)),
    at_most=(
        lambda policy, shares: coexisting(capped(policy), capped(shares), WITHIN_HALF),
        lambda shares: coexisting(capped(shares), capped(shares), WITHIN_HALF),
    ),
    examples=(
        example(policy=".5 .3 .1 .1", shares=".4 .3 .2 .1").giving(
            lhs=".5405917184377", rhs=".5433956058031"
        ),
    ),
    coq="std_water",
    share=0.05,
    note="Four strategies of merits 20, 19, 18, 17 coexist so, in groups of eight, at .381, .275, .202, .141."
    " The best strategy alone is a maximum too, and there may be more, with one share above one half"
    " (runs_and_ends.ends). Which of them a run ends at depends on its start and, in general, on the metric.",
    false=(
        neighbour(
            "beyond one half too",
            at=example(policy="1 0 0 0", shares=".85 .05 .05 .05"),
            lhs=partial(coexisting, weighting=WITHIN_HALF),
            rhs=lambda shares: coexisting(shares, shares, WITHIN_HALF),
        ),
    ),
)


def two_strategies(share: Values, first: Values, second: Values) -> Values:
    """Drive of the first of two strategies over q (1-q), (batch,); `first`, `second`: prompt weights."""
    policies, rho = np.stack([share, 1 - share], axis=-1), np.stack([first, second], axis=-1)
    drives = by_instance(
        lambda q, weights: strategy_drive(q, np.eye(2), weights / weights.sum(), WITHIN_HALF), policies, rho
    )
    return drives[:, 0] / (share * (1 - share)) * (first + second)


TWO = theorem(
    "Std-normalised, two strategies that share no prompt: the better gains at every share, as if undivided",
    statement=r"\frac{\dot\theta_1}{q(1-q)} = (\rho_1 - \rho_2)\,\alpha_G(q),\quad \alpha_G(q) > 0,\; G = 8",
    source=SOURCE,
    on=chart(share=OPEN_RATES, first=uniform(0.1, 1), second=uniform(0.1, 1)),
    equal=(two_strategies, lambda share, first, second: (first - second) * group_weight(8, share)),
    examples=(example(share=".3", first=".6", second=".4", value=".3671915868172"),),
    coq="two_apart",
    share=0.02,
    false=(
        neighbour(
            "each weighed by its own share alone",
            rhs=lambda share, first, second: (
                first * group_weight(8, share) - second * group_weight(8, share / 2)
            ),
        ),
    ),
)


def band(eps: float) -> Values:
    """Range of prompt weights that coexist, alpha_G(0)/alpha_G(1/2), over sqrt(G)/2 at G = 1/eps; scalar."""
    size = round(1 / eps)
    ratio = group_weight(size, 0.0) / group_weight(size, 0.5)
    return np.asarray(ratio / (np.sqrt(size) / 2))


BAND = theorem(
    "Std-normalised, the weight of a rare success over that at one half is sqrt(G)/2 for large groups",
    statement=r"\frac{\alpha_G(0)}{\alpha_G(1/2)} \Big/ \frac{\sqrt G}{2} \to 1 \quad (G \to \infty)",
    source=SOURCE,
    on=chart(unit=uniform(1, 2)),
    tends=(lambda unit, eps: band(eps) * unit, lambda unit: unit),
    examples=(example(unit="1"),),
    tolerance=1e-3,
    ladder=(1e-1, 1e-2, 1e-3, 1e-4),
    note="The ratio is 1.0718, 1.4258, 2.0024, 4.0003, 8.0000 at G = 4, 8, 16, 64, 256. Three or more"
    " strategies that share no prompt can coexist only if no two merits differ by more (retention.coexist).",
    share=0.001,
    false=(neighbour("the square root of G", rhs=lambda unit: 2 * unit),),
)

FOUR_MERITS = example(merits="20/74 19/74 18/74 17/74", start=".25 .25 .25 .25")


def best_share(merits: Values, start: Values, scale: str) -> Values:
    """Share (batch,) of the strategy of largest prompt weight after long training in groups of eight."""
    weighting = group_weighting(8, scale)
    return by_instance(
        lambda rho, base: trained_shares(base, LINES, rho, weighting, [LONG])[0][rho.argmax()], merits, start
    )


MOST_MERIT = refuted(
    "Counterexample: GRPO without a KL leaves the strategy of most merit alone",
    statement=r"\lim_{t\to\infty} q_{\arg\max \rho}(t) = 1",
    source=SOURCE,
    on=chart(merits=simplex(4, spread=1), start=simplex(4, spread=1)),
    equal=(partial(best_share, scale="std"), lambda merits: np.ones(len(merits))),
    examples=(FOUR_MERITS.giving(lhs=".381435757536", rhs="1"),),
    note="Divided by the std in groups of eight, merits 20, 19, 18, 17 end at shares .381, .275, .202, .141:"
    " one strategy is left where nothing is divided, and not where the std is.",
    false=(neighbour("MaxRL too ends there", lhs=partial(best_share, scale="mean")),),
)
