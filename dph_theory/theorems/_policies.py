"""Examples, charts and quantities of policies over a few answers, without tokens."""

import numpy as np

from ..binary_reward import pass_rate, tilted
from ..divergences import FORWARD_KL
from ..numeric.elementary import Values, add_axes, masked
from ..verification.charts import chart, example, log_uniform, masks, simplex

FOUR_ANSWERS = example(
    policy=".3 .25 .25 .2",
    other=".7 .3 0 0",
    base=".15 .1 .45 .3",
    valid=[True, True, False, False],
    beta=".5",
    time="2",
)
"""Two policies over two correct and two incorrect answers, one over the correct ones, and a penalty or a
time."""
PI_REF = example(pi=".4 .3 .2 .1", ref=".1 .35 .25 .3")
"""A policy and a reference, of four outcomes."""
FAR_PAIR = example(pi=".5 .3 .2", ref=".2 .2 .6")
NEAR_PAIR = example(pi=".501 .25 .249", ref=".5 .25 .25")
PAIR_WITH_ZEROS = chart(pi=simplex(3, zeros=True), ref=simplex(3, zeros=True))
"""Policy and reference of three outcomes, with masses of exactly zero among them."""


def chosen_member(chosen: Values, family: Values) -> Values:
    """Member (..., outcomes) of the family that the mask `chosen` (..., members) selects; ties averaged."""
    return masked(family, chosen[..., None]).sum(axis=-2) / chosen.sum(axis=-1)[..., None]


def moved_onto_valid(policy: Values, valid: Values) -> Values:
    """Fully correct policy (..., outcomes): incorrect answers' mass is moved to the first, correct one."""
    first = np.arange(policy.shape[-1]) == 0
    return masked(policy, valid) + masked(add_axes(pass_rate(policy, ~valid), 1), first)


def entropy(policy: Values) -> Values:
    """Shannon entropy in nats over the last axis, for distributions without zeros."""
    return -(policy * np.log(policy)).sum(axis=-1)


def centred(policy: Values, values: Values) -> Values:
    """Values minus their mean under the policy over the last axis; shapes (..., outcomes)."""
    return values - (policy * values).sum(axis=-1, keepdims=True)


def logit_update(policy: Values, weights: Values) -> Values:
    """Sum over outcomes of w_y grad log pi(y) in logits, w - pi sum w; shapes (..., outcomes)."""
    return weights - policy * weights.sum(axis=-1, keepdims=True)


def expected_update(policy: Values, coefficient: Values) -> Values:
    """E_pi[c grad log pi] in logits, a policy gradient with coefficient c per outcome; (..., outcomes)."""
    return logit_update(policy, policy * coefficient)


TRAINING_RUNS = chart(
    base=simplex(4), valid=masks(4), time=log_uniform(1e-2, 1e2), beta=log_uniform(1e-2, 1e2)
)
"""A base, a verifier, and how long and with which penalty the natural gradient is followed."""
TRAINING_RUN = example(base=".3 .2 .1 .4", valid=[True, True, True, False], time="2", beta=".5")


def lost_with_penalty(base: Values, valid: Values, time: Values, beta: Values) -> Values:
    """KL(base || q_t), (batch,), after natural-gradient ascent on E_q v - beta KL(q || base) for `time`."""
    return FORWARD_KL(tilted(base, valid, beta / (1 - np.exp(-beta * time))), base)


def lost_without_penalty(base: Values, valid: Values, time: Values) -> Values:
    """KL(base || q_t), (batch,), after natural-gradient ascent on the pass rate alone for `time`."""
    return FORWARD_KL(tilted(base, valid, 1 / time), base)
