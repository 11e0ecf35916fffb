"""J4. A reference that follows.

Reset to the stationary policy, m times: as one training at beta/m. The natural gradient of each token is
the tilt of the whole answer, so many resets of a token penalty lead to the filtered model too.
"""

import numpy as np

from ..binary_reward import tilted
from ..laws import sequence_law
from ..numeric.elementary import Values
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex
from ..statement.theorem import neighbour, theorem
from ._laws import TREES, TWO_TOKENS, flat, tables, verifier

ROUNDS = 4


def after_rounds(base: Values, valid: Values, beta: Values) -> Values:
    for _ in range(ROUNDS):
        base = tilted(base, valid, beta)
    return base


RESETS = theorem(
    "J4.resets",
    "A reference set to the stationary policy, m times over: beta/m and the base's proportions",
    statement=r"a_0 = a,\; a_{k+1} \propto a_k e^{v/\beta} \;\Rightarrow\; a_m = p_{\beta/m}",
    source=Source("ours", "what the sampler selects"),
    on=chart(base=simplex(4, spread=4), valid=masks(4), beta=log_uniform(0.2, 20)),
    equal=(after_rounds, lambda base, valid, beta: tilted(base, valid, beta / ROUNDS)),
    examples=(
        example(
            base=".15 .1 .45 .3",
            valid=[True, True, False, False],
            beta="2",
            value=".4267407565366 .284493837691 .1732592434634 .115506162309",
        ),
    ),
    coq="resets_divide_beta",
    note="The same on any tree with the KL of the answer in the reward. A mixup alpha of logits: beta/(1 +"
    " alpha n) after n of them.",
    false=(
        neighbour("one round fewer", rhs=lambda base, valid, beta: tilted(base, valid, beta / (ROUNDS - 1))),
    ),
)


def _law(first: Values, second: Values, valid: Values, time: Values) -> list[Values]:
    return sequence_law(tables(first, second), verifier(first, valid), 1 / time)


def _pairs(first: Values, second: Values) -> Values:
    return np.concatenate([first, flat(second)], axis=-1)


def moved(first: Values, second: Values, valid: Values, beta: Values, eps: float) -> Values:
    """The change of each token's log-probability along the tilts of the answer, a unit of time."""
    before, after = (_law(first, second, valid, beta + sign * eps / 2) for sign in (-1, 1))
    return _pairs(*(np.log(new / old) / eps for old, new in zip(before, after, strict=True)))


def advantages(first: Values, second: Values, valid: Values, beta: Values) -> Values:
    head, tail = _law(first, second, valid, beta)
    verdicts = verifier(first, valid)
    chance = (tail * verdicts).sum(axis=-1)
    rate = (head * chance).sum(axis=-1, keepdims=True)
    return _pairs(chance - rate, verdicts - chance[..., None])


def verdicts_alone(first: Values, second: Values, valid: Values, beta: Values) -> Values:
    """As if a first token's reward were the base's pass rate after it."""
    chance = (second * verifier(first, valid)).sum(axis=-1)
    head, _ = _law(first, second, valid, beta)
    return _pairs(chance - (head * chance).sum(axis=-1, keepdims=True), 0 * second)


TOKEN = theorem(
    "J4.token",
    "The natural gradient of each token is the tilt of the whole answer, on every tree",
    statement=r"\tfrac{d}{d\tau}\log p_{1/\tau}(t|s) = Q_\tau(s,t) - V_\tau(s)",
    source=Source("ours", "what the sampler selects"),
    on=TREES,
    tends=(moved, advantages),
    examples=(TWO_TOKENS,),
    tolerance=1e-4,
    ladder=(1e-2, 1e-3, 1e-4),
    note="So a token reverse KL with its reference reset n times at beta n tends to p_beta: the first"
    " correct answer has .501, .858, .896, .8996 of them at n = 1, 10, 100, 1000 (two tokens, beta = .1),"
    " where the locally filtered model gives it .5 and the filtered one .9.",
    false=(neighbour("the base's chances", rhs=verdicts_alone),),
)
