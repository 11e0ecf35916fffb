"""Weights of answers by the pass rate, by entropy and by uniqueness.

What depends on the pass rate alone.

A coefficient that is one number for correct answers and another for incorrect ones, whatever they are made of
(rewards of the group, pass@k, focal weights), moves logits where the plain gradient does: it retains nothing
that the plain gradient loses.

Where uniqueness weights stand.

Groups of three, two correct answers of masses p and q and an incorrect one of mass w; a correct answer
counts 1/f, f the number of equal answers in the group. In the reward, before the group's mean is subtracted,
that moves the two together where 2pq > w(1+w); on the advantage, after it, that moves them apart everywhere.
"""

from functools import partial
from itertools import product

import numpy as np

from ...binary_reward import tilted
from ...finite_training.decision import plain_gradient
from ...numeric.elementary import Values, normalised, trailing
from ...references import Source
from ...verification.charts import chart, example, masks, simplex, uniform
from ...verification.statement import neighbour, scaled, theorem
from .._policies import expected_update


def update_by_verdicts(policy: Values, valid: Values, right: Values, wrong: Values) -> Values:
    return expected_update(policy, np.where(valid, trailing(right, 1), trailing(wrong, 1)))


def plain_on_another_clock(policy: Values, valid: Values, right: Values, wrong: Values) -> Values:
    return trailing(right - wrong, 1) * plain_gradient(np.log(policy), valid)


CLOCK = theorem(
    "H1.clock",
    "A coefficient of the reward alone: the plain gradient's path, on another clock",
    statement=r"c(y) = A_1 v_y + A_0 (1 - v_y) \;\Rightarrow\;"
    r" E_\pi\, c\,\nabla\log\pi = (A_1 - A_0) \nabla V",
    source=Source("ours", "the atlas"),
    on=chart(policy=simplex(4, spread=4), valid=masks(4), right=uniform(0, 2), wrong=uniform(-2, 0)),
    equal=(update_by_verdicts, plain_on_another_clock),
    examples=(
        example(policy=".4 .3 .2 .1", valid=[True, True, False, False], right=".9", wrong="-.4").giving(
            value=".156 .117 -.182 -.091"
        ),
    ),
    floor=1.0,
    note="The two numbers may depend on V: GRPO, MaxRL, PKPO, F-GRPO, pass@k training, positives only and"
    " negatives only all converge where the plain gradient does: for one decision"
    " implicit_bias.plain_limit says where, on"
    " trees its flow. What they differ in is the clock and the noise (G3, G4).",
    coq="another_clock",
    false=(
        neighbour(
            "the sum of the two",
            rhs=lambda policy, valid, right, wrong: plain_on_another_clock(policy, valid, right, -wrong),
        ),
        neighbour(
            "what incorrect answers get plays no part",
            rhs=lambda policy, valid, right: plain_on_another_clock(policy, valid, right, 0 * right),
        ),
    ),
)


def update_at_tilted(base: Values, valid: Values, bonus: Values) -> Values:
    """The update of E v + t H at the base tilted by e^(v/t)."""
    policy = tilted(base, valid, bonus)
    return expected_update(policy, valid - trailing(bonus, 1) * np.log(policy))


def update_at_tilted_uniform(base: Values, valid: Values, bonus: Values) -> Values:
    return update_at_tilted(normalised(np.ones_like(base)), valid, bonus)


ENTROPY = theorem(
    "H1.entropy",
    "With an entropy bonus t on whole answers pi ~ e^{v/t}, whatever the base, is a stationary point",
    statement=r"\nabla (E_\pi v + t H(\pi)) = 0 \text{ at } \pi \propto e^{v/t},\quad t > 0",
    source=Source("ours", "the atlas"),
    on=chart(base=simplex(4, spread=4), valid=masks(4), bonus=uniform(0.1, 2)),
    equal=(update_at_tilted_uniform, lambda base: 0 * base),
    examples=(example(base=".3 .2 .1 .4", valid=[True, True, True, False], bonus="0.5", value="0"),),
    floor=1.0,
    note="There correct answers are equally likely, and incorrect ones too. A bonus on the entropy of each"
    " token is uniform token by token on what can still become correct, as t -> 0: other shares where"
    " answers branch unevenly.",
    coq="entropy_bonus",
    false=(neighbour("the base's tilted model", lhs=update_at_tilted),),
)


SIZE = 3


def log_ratio_speed(policy: Values, *, on_advantage: bool) -> Values:
    """Of log(p/q): the expected update of the two logits, by every ordered group."""
    speed = 0 * policy[..., 0]
    for group in product(range(3), repeat=SIZE):
        equal_answers = np.array([group.count(answer) for answer in group])
        rewards = np.array([float(answer < 2) for answer in group])
        if on_advantage:
            advantages = (rewards - rewards.mean()) / equal_answers
        else:
            advantages = rewards / equal_answers - (rewards / equal_answers).mean()
        chance = policy[..., group].prod(axis=-1)
        for answer, advantage in zip(group, advantages, strict=True):
            score = np.eye(3)[answer] - policy
            speed = speed + chance * float(advantage) * (score[..., 0] - score[..., 1]) / SIZE
    return speed


def speed_apart(policy: Values) -> Values:
    p, q, w = (policy[..., i] for i in range(3))
    return w * (p - q) * (1 + p * p + q * q + w * w) / 3


def speed_once_common(policy: Values) -> Values:
    p, q, w = (policy[..., i] for i in range(3))
    return (p - q) * (w * (1 + w) - 2 * p * q) / 3


def speed_always_together(policy: Values) -> Values:
    p, q, _ = (policy[..., i] for i in range(3))
    return (p - q) * (-2 * p * q) / 3


ADVANTAGE = theorem(
    "H2.advantage",
    "Uniqueness weights on the advantage, groups of three: d log(p/q)/dt has the sign of p - q if w > 0",
    statement=r"p + q + w = 1:\quad \tfrac{d}{dt}\log\tfrac{p}{q} = \tfrac{w}{3}(p-q)(1 + p^2 + q^2 + w^2)",
    source=Source("ours", "the atlas; the method: arXiv 2601.08763, as summarised"),
    on=chart(policy=simplex(3, spread=4)),
    equal=(partial(log_ratio_speed, on_advantage=True), speed_apart),
    examples=(example(policy=".5 .3 .2", value=".0184"),),
    floor=1.0,
    note="p and q are the masses of the correct answers, w > 0 that of the incorrect one: at every such"
    " policy the likelier correct answer gains on the other. No std; answers distinguished exactly. In"
    " groups of four with GRPO's std the atlas's flows end at one answer here, and at equal ones with the"
    " weights in the reward.",
    coq="uniqueness_weights",
    false=(neighbour("it brings them together", rhs=scaled(speed_apart, -1)),),
)


REWARD = theorem(
    "H2.reward",
    "Uniqueness weights in the reward, groups of three: d log(p/q)/dt has the sign of q - p iff 2pq > w(1+w)",
    statement=r"p + q + w = 1:\quad \tfrac{d}{dt}\log\tfrac{p}{q} = \tfrac{p-q}{3}\big(w(1+w) - 2pq\big)",
    source=Source("ours", "the atlas; the method: arXiv 2601.08763, as summarised"),
    on=chart(policy=simplex(3, spread=4)),
    equal=(partial(log_ratio_speed, on_advantage=False), speed_once_common),
    examples=(example(policy=".5 .3 .2", value="-.004"),),
    floor=1.0,
    note="An answer of mass below about w/2 still loses: on the way up, while many answers are incorrect,"
    " rare correct answers are lost first, and their recovery is slow, in proportion to their mass (E7).",
    coq="uniqueness_weights",
    false=(neighbour("it brings them together everywhere", rhs=speed_always_together),),
)
