"""Training on some prompts moves the pass rates of others.

A step along the rewards moves the log odds z = logit V of every prompt by dz/dt = K f, K the inner products
of the gradients of z (the neural tangent kernel of a correct answer's log odds). A prompt's Pass@k rises with
its log odds, weighed by k V (1-V)^k, most where V = 1/(k+1), so Pass@1 and Pass@k can part. Where a KL of the
whole answer is stationary, held-out logits are the kernel regression of v/beta.
"""

from typing import Any

import numpy as np

from ...coverage import exact_pass_at_k
from ...numeric.elementary import add_axes, expit, logit
from ...references import Source
from ...verification.charts import chart, example, integers, log_uniform, rates, uniform
from ...verification.statement import neighbour, theorem
from .._linear_logits import Values, base, gradients, gram, kernel, linear, log_odds, policy, score_sum, times

SOURCE = Source("ours", "transfer between prompts")
CORRECT = np.array([1.0, 0.0, 0.0])
THREE_PROMPTS = example(
    slopes=[[".5 -.2 .3 .1", "-.4 .6 0 .2", ".1 .1 -.7 .4"],
            [".3 .3 -.1 .5", ".2 -.5 .4 -.3", "-.6 .1 .2 .1"],
            ["-.1 .4 .6 -.2", ".7 -.3 .1 .1", "0 .2 -.4 .5"]],
    logits=[".5 0 -.3", "-1 .4 .2", "-.2 .1 1"], weight="1 .5 -.3",
)  # fmt: skip


def change_by_step(slopes: Values, logits: Values, weight: Values, eps: float) -> Values:
    """Change of the prompts' log odds per unit step along sum_i weight_i grad V_i, (batch, prompts).

    `slopes` (batch, prompts, answers, features) are features, `logits` the base's, `weight` (batch, prompts).
    """
    p = base(slopes, logits)
    step = score_sum(slopes, p, weight[..., None] * CORRECT)
    return (log_odds(policy(slopes, logits, eps * step)) - log_odds(p)) / eps


def change_by_kernel(slopes: Values, logits: Values, weight: Values) -> Values:
    """Kernel between prompts times weight V (1-V): first-order change of the log odds, (batch, prompts)."""
    p = base(slopes, logits)
    rate = p[..., 0]
    return times(kernel(slopes, p), weight * rate * (1 - rate))


def change_alone(slopes: Values, logits: Values, weight: Values) -> Values:
    p = base(slopes, logits)
    own = (gradients(slopes, p) ** 2).sum(axis=-1)
    return own * weight * p[..., 0] * (1 - p[..., 0])


STEPS: dict[str, Any] = {"tolerance": 1e-3, "floor": 0.1, "ladder": (1e-3, 1e-5)}

FLOW = theorem(
    "A step that the rewards drive moves the log odds of every prompt by the kernel",
    statement=r"\Delta\theta = \eta \sum_i w_i \nabla V_i \;\Rightarrow\; \Delta z = \eta K f + O(\eta^2),"
    r"\quad f_i = w_i V_i (1 - V_i),\; K_{ij} = \langle \nabla z_i, \nabla z_j \rangle",
    source=SOURCE,
    on=linear(weight=uniform(-1, 1, 3)),
    tends=(change_by_step, change_by_kernel),
    examples=(THREE_PROMPTS.giving(rhs=".274200534 -.0045316123 -.0387750916"),),
    false=(neighbour("each prompt by its own gradient alone", rhs=change_alone),),
    **STEPS,
)


def pass_at_k_change(rates: Values, slope: Values, k: Values, eps: float) -> Values:
    moved = expit(logit(rates) + eps * slope)
    change = exact_pass_at_k(moved, add_axes(k, 1)) - exact_pass_at_k(rates, add_axes(k, 1))
    return change.mean(axis=-1) / eps


def weighted_slope(rates: Values, slope: Values, k: Values) -> Values:
    k = add_axes(k, 1)
    return (k * rates * (1 - rates) ** k * slope).mean(axis=-1)


SLOPE = theorem(
    "The slope of mean Pass@k is that of the log odds, weighed by k V (1-V)^k",
    statement=r"\tfrac{d}{dt}\,\overline{\mathrm{pass@}k} = \tfrac1P \sum_j k V_j (1-V_j)^k\, \dot z_j",
    source=SOURCE,
    on=chart(rates=rates(3, low=1e-3, high=1e-2), slope=uniform(-1, 1, 3), k=integers(1, 64)),
    tends=(pass_at_k_change, weighted_slope),
    examples=(example(rates=".02 .2 .7", slope=".3 -.3 .6", k="4", rhs="-.020853"),),
    tolerance=1e-3,
    ladder=(1e-3, 1e-5),
    false=(
        neighbour(
            "the weight of the pass rate's own slope",
            rhs=lambda rates, slope, k: weighted_slope(rates, slope, k - 1),
        ),
    ),
)


FEATURES = 12
VERDICTS = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]])
"""Rewards of the answers of the two trained prompts."""


def trained_and_held_out(slopes: Values, beta: Values) -> dict[str, Values]:
    """Parts `trained`, `held_out` (features) and `change` (logits v/beta of the two trained prompts).

    Features and rewards are centred over a prompt's answers, since logits count up to a constant.
    """
    features = slopes - slopes.mean(axis=-2, keepdims=True)
    rewards = VERDICTS - VERDICTS.mean(axis=-1, keepdims=True)
    return {
        "trained": features[..., :2, :, :].reshape(len(slopes), -1, FEATURES),
        "held_out": features[..., 2, :, :],
        "change": rewards.ravel() / beta[:, None],
    }


def logits_at_least_weights(trained: Values, held_out: Values, change: Values) -> Values:
    """Held-out logit changes (batch, answers) at the smallest weights that fit the trained changes."""
    cases = zip(trained, change, strict=True)
    return times(held_out, np.array([np.linalg.lstsq(f, logits, rcond=1e-10)[0] for f, logits in cases]))


def logits_by_regression(trained: Values, held_out: Values, change: Values) -> Values:
    """Held-out logit changes (batch, answers) by kernel regression on the trained prompts' changes.

    `trained` and `held_out` are features (batch, answers, features), `change` (batch, trained answers)
    logits.
    """
    inverse = np.linalg.pinv(gram(trained), rcond=1e-10, hermitian=True)
    return times(held_out @ np.swapaxes(trained, -1, -2), times(inverse, change))


def logits_at_unit_beta(trained: Values, held_out: Values, change: Values, beta: Values) -> Values:
    return logits_by_regression(trained, held_out, change * beta[:, None])


REGRESSION = theorem(
    "Where a KL of the whole answer is stationary, held-out logits are the kernel regression of v/beta",
    statement=r"\ell_j = \ell_j(0) + \Theta_{jT}\, \Theta_{TT}^{+}\, \bigl(v_T/\beta - \text{mean}\bigr)",
    source=SOURCE,
    on=chart(slopes=uniform(-1, 1, 3, 3, FEATURES), beta=log_uniform(0.1, 10)).deriving(trained_and_held_out),
    equal=(logits_at_least_weights, logits_by_regression),
    examples=(
        example(
            slopes=[
                ["1 0 0 .5 0 0 0 0 0 0 0 0", "0 1 0 0 .5 0 0 0 0 0 0 0", "0 0 1 0 0 .5 0 0 0 0 0 0"],
                ["0 0 0 1 0 0 .5 0 0 0 0 0", "0 0 0 0 1 0 0 .5 0 0 0 0", "0 0 0 0 0 1 0 0 .5 0 0 0"],
                ["1 0 0 0 .3 0 0 0 0 .7 0 0", "0 0 1 0 0 0 .2 0 0 0 1 0", "0 1 0 .4 0 0 0 0 0 0 0 1"],
            ],
            beta=".5",
        ),
    ),
    tolerance=1e-6,
    note="Exact for linear logits at any number of answers, where the kernel of log odds, which moves with"
    " the answers among the incorrect, is not; the error of wide networks falls as their width grows.",
    share=0.5,
    false=(neighbour("of v, whatever beta", rhs=logits_at_unit_beta),),
)
