"""H2. Where uniqueness weights stand.

Groups of three, two correct answers of masses p and q and an incorrect one of mass w; a correct answer
counts 1/f, f the number of equal answers in the group. In the reward, before the group's mean is subtracted,
that brings the two together once 2pq > w(1+w); on the advantage, after it, that drives them apart for ever.
"""

from itertools import product

import numpy as np

from ..numeric.elementary import Values
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.theorem import neighbour, theorem

SIZE = 3


def _pull(law: Values, *, on_advantage: bool) -> Values:
    """On log(p/q): the expected update of the two logits, by every ordered group."""
    found = 0 * law
    for group in product(range(3), repeat=SIZE):
        alike = np.array([group.count(answer) for answer in group])
        rewards = np.array([float(answer < 2) for answer in group])
        if on_advantage:
            advantages = (rewards - rewards.mean()) / alike
        else:
            advantages = rewards / alike - (rewards / alike).mean()
        chance = law[..., group[0]] * law[..., group[1]] * law[..., group[2]]
        for answer, advantage in zip(group, advantages, strict=True):
            score = np.eye(3)[answer] - law
            found = found + chance[..., None] * float(advantage) * score / SIZE
    return found[..., 0] - found[..., 1]


def apart(law: Values) -> Values:
    p, q, w = (law[..., i] for i in range(3))
    return w * (p - q) * (1 + p * p + q * q + w * w) / 3


def together(law: Values) -> Values:
    return -apart(law)


def once_both_are_common(law: Values) -> Values:
    p, q, w = (law[..., i] for i in range(3))
    return (p - q) * (w * (1 + w) - 2 * p * q) / 3


def always_together(law: Values) -> Values:
    p, q, _ = (law[..., i] for i in range(3))
    return (p - q) * (-2 * p * q) / 3


ADVANTAGE = theorem(
    "H2.advantage",
    "Uniqueness weights on the advantage: the likelier correct answer still gains, and one is left",
    statement=r"\tfrac{d}{dt}\log\tfrac{p}{q} = \tfrac{w}{3}(p-q)(1 + p^2 + q^2 + w^2)",
    source=Source("ours", "the atlas; the method: arXiv 2601.08763, as summarised"),
    on=chart(law=simplex(3, spread=4)),
    equal=(lambda law: _pull(law, on_advantage=True), apart),
    examples=(example(law=".5 .3 .2", value=".0184"),),
    floor=1.0,
    note="Two readings of one summary, with other ends. Groups of three, no std; answers distinguished"
    " exactly. In groups of four with GRPO's std the atlas finds the same two ends.",
    coq="uniqueness_weights",
    false=(neighbour("it brings them together", rhs=together),),
)


REWARD = theorem(
    "H2.reward",
    "Uniqueness weights in the reward bring two correct answers together once 2pq > w(1+w)",
    statement=r"\tfrac{d}{dt}\log\tfrac{p}{q} = \tfrac{p-q}{3}\big(w(1+w) - 2pq\big)",
    source=Source("ours", "the atlas; the method: arXiv 2601.08763, as summarised"),
    on=chart(law=simplex(3, spread=4)),
    equal=(lambda law: _pull(law, on_advantage=False), once_both_are_common),
    examples=(example(law=".5 .3 .2", value="-.004"),),
    floor=1.0,
    note="An answer of mass below about w/2 still loses: on the way up, while many answers are incorrect,"
    " rare correct answers are lost first, and their recovery is slow, in proportion to their mass (E7).",
    coq="uniqueness_weights",
    false=(neighbour("it brings them together everywhere", rhs=always_together),),
)
