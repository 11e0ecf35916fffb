"""H2. Where uniqueness weights stand.

Groups of three, two right answers of masses p and q and a wrong one of mass w; a right answer counts 1/f,
f the number of equal answers in the group. In the reward, before the group's mean is subtracted, that pulls
the two together once 2pq > w(1+w); on the advantage, after it, that pulls them apart for ever.
"""

from itertools import product

import numpy as np
import sympy

from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.theorem import Claim, FalseStep, Steps, derived, neighbour

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


def on_the_advantage(law: Values) -> Values:
    return _pull(law, on_advantage=True)


def apart(law: Values) -> Values:
    p, q, w = (law[..., i] for i in range(3))
    return w * (p - q) * (1 + p * p + q * q + w * w) / 3


def together(law: Values) -> Values:
    return -apart(law)


def in_the_reward(law: Values) -> Values:
    return _pull(law, on_advantage=False)


def once_both_are_common(law: Values) -> Values:
    p, q, w = (law[..., i] for i in range(3))
    return (p - q) * (w * (1 + w) - 2 * p * q) / 3


def always_together(law: Values) -> Values:
    p, q, _ = (law[..., i] for i in range(3))
    return (p - q) * (-2 * p * q) / 3


def _sums(weighed: bool) -> tuple[sympy.Expr, sympy.Expr, tuple[sympy.Symbol, ...]]:
    """What a group adds to the first right answer, and in all, by the kinds of groups."""
    p, q = sympy.symbols("p q", positive=True)
    w = 1 - p - q
    third = sympy.Rational(1, 3)
    if weighed:
        first = 3 * p**2 * w * third + 6 * p * q * w * third + 3 * p * w**2 * 2 * third
        total = -third * (3 * p**2 * w + 3 * q**2 * w) + third * (3 * p * w**2 + 3 * q * w**2)
        return first / 3, total / 3, (p, q)
    first = 3 * p**2 * w * third + 6 * p * q * w * third + 3 * p * w**2 * 2 * third
    first += 3 * p * q**2 * third - 3 * p**2 * q * third
    return first / 3, sympy.Integer(0), (p, q)


def advantage_steps() -> Steps:
    yield (
        "With advantages (r - mean)/f: a group of two of the first and a wrong answer gives the first 1/3 in "
        "all, one of each 1/3, one and two wrong 2/3; all right gives nothing. The coefficients do not add "
        "up to zero, and their sum pulls by -p and -q."
    )
    first, total, (p, q) = _sums(weighed=True)
    second = first.subs({p: q, q: p}, simultaneous=True)
    w = 1 - p - q
    pull = (first - p * total) - (second - q * total)
    yield Claim("the pull on log(p/q)", pull, equals=w * (p - q) * (1 + p**2 + q**2 + w**2) / 3)
    yield FalseStep(
        "without the sum's pull", first - second, equals=w * (p - q) * (1 + p**2 + q**2 + w**2) / 3
    )


ADVANTAGE = derived(
    "H2.advantage",
    "Uniqueness weights on the advantage: the likelier right answer still gains, and one is left",
    statement=r"\tfrac{d}{dt}\log\tfrac{p}{q} = \tfrac{w}{3}(p-q)(1 + p^2 + q^2 + w^2)",
    source=Source("ours", "the atlas; the method: arXiv 2601.08763, as summarised"),
    on=chart(law=simplex(3, spread=4)),
    equal=(on_the_advantage, apart),
    examples=(example(law=".5 .3 .2", value=".0184"),),
    derivation=advantage_steps,
    certified=False,
    floor=1.0,
    note="Two readings of one summary, with other ends. Groups of three, no deviation; answers told apart"
    " exactly. In groups of four with GRPO's deviation the atlas finds the same two ends.",
    false=(neighbour("it pulls them together", rhs=together),),
)


def reward_steps() -> Steps:
    yield (
        "With rewards r/f less their mean: as before where a wrong answer is in the group, and two of the "
        "first beside one of the second get -1/3 in all, the second 1/3. The coefficients add up to zero."
    )
    first, _, (p, q) = _sums(weighed=False)
    second = first.subs({p: q, q: p}, simultaneous=True)
    w = 1 - p - q
    yield Claim("the pull on log(p/q)", first - second, equals=(p - q) * (w * (1 + w) - 2 * p * q) / 3)
    yield FalseStep("restoring everywhere", first - second, equals=-(p - q) * 2 * p * q / 3)


REWARD = derived(
    "H2.reward",
    "Uniqueness weights in the reward pull two right answers together once 2pq > w(1+w)",
    statement=r"\tfrac{d}{dt}\log\tfrac{p}{q} = \tfrac{p-q}{3}\big(w(1+w) - 2pq\big)",
    source=Source("ours", "the atlas; the method: arXiv 2601.08763, as summarised"),
    on=chart(law=simplex(3, spread=4)),
    equal=(in_the_reward, once_both_are_common),
    examples=(example(law=".5 .3 .2", value="-.004"),),
    derivation=reward_steps,
    certified=False,
    floor=1.0,
    note="An answer of mass below about w/2 still loses: on the way up, while many answers are wrong, rare"
    " right answers are lost first, and their way back is slow, in proportion to their mass (E7).",
    false=(neighbour("it pulls them together everywhere", rhs=always_together),),
)
