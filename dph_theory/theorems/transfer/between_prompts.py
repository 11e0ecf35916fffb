"""N1. What one prompt's training does to another.

z = logit V. A drive through rewards alone moves every prompt by dz/dt = K f, K the inner products of the
gradients of z: the neural tangent kernel (NTK) of the log odds of a correct answer. Several incorrect
answers, and several correct ones, move among themselves too, by their own kernel.

N2. Which way mean Pass@k begins to move.

A prompt's Pass@k rises with its log odds, most where V = 1/(k+1): so what training does to the prompts of
that pass rate decides Pass@k, and Pass@1 and Pass@k can part.

N4. Prompts that are not trained follow those that are.

While the kernel stays, the log odds of held-out prompts are interpolated from the trained ones' change,
whatever method, step size, schedule or momentum moved these. Where a KL of the whole answer ends the
training, the held-out logits are the kernel regression of v/beta.
"""

from typing import Any

import numpy as np

from ...coverage import exact_pass_at_k
from ...numeric.elementary import expit, logit, normalised, trailing
from ...references import Source
from ...transfer import interpolated, pass_at_k_slope
from ...verification.charts import Chart, Part, chart, example, integers, log_uniform, rates, uniform
from ...verification.statement import neighbour, theorem
from .._transfer import Values, base, gradients, kernel, linear, log_odds, policy, pull, times

SOURCE = Source("ours", "transfer between prompts")
CORRECT = np.array([1.0, 0.0, 0.0])
KEPT = example(
    slopes=[[".5 -.2 .3 .1", "-.4 .6 0 .2", ".1 .1 -.7 .4"],
            [".3 .3 -.1 .5", ".2 -.5 .4 -.3", "-.6 .1 .2 .1"],
            ["-.1 .4 .6 -.2", ".7 -.3 .1 .1", "0 .2 -.4 .5"]],
    logits=[".5 0 -.3", "-1 .4 .2", "-.2 .1 1"], weight="1 .5 -.3",
)  # fmt: skip


def moved(slopes: Values, logits: Values, weight: Values, eps: float) -> Values:
    """The change of the log odds by a step eps along sum_i weight_i grad V_i, over eps."""
    p = base(slopes, logits)
    step = pull(slopes, p, weight[..., None] * CORRECT)
    return (log_odds(policy(slopes, logits, eps * step)) - log_odds(p)) / eps


def by_kernel(slopes: Values, logits: Values, weight: Values) -> Values:
    """K f with f = weight V (1 - V)."""
    p = base(slopes, logits)
    rate = p[..., 0]
    return times(kernel(slopes, p), weight * rate * (1 - rate))


def alone(slopes: Values, logits: Values, weight: Values) -> Values:
    p = base(slopes, logits)
    own = (gradients(slopes, p) ** 2).sum(axis=-1)
    return own * weight * p[..., 0] * (1 - p[..., 0])


STEPS: dict[str, Any] = {"tolerance": 1e-3, "floor": 0.1, "ladder": (1e-3, 1e-5)}

FLOW = theorem(
    "N1.flow",
    "A step that the rewards drive moves the log odds of every prompt by the kernel",
    statement=r"\Delta\theta = \eta \sum_i w_i \nabla V_i \;\Rightarrow\; \Delta z = \eta K f + O(\eta^2),"
    r"\quad f_i = w_i V_i (1 - V_i),\; K_{ij} = \langle \nabla z_i, \nabla z_j \rangle",
    source=SOURCE,
    on=linear(weight=uniform(-1, 1, 3)),
    tends=(moved, by_kernel),
    examples=(KEPT.giving(rhs=".274200534 -.0045316123 -.0387750916"),),
    false=(neighbour("each prompt by its own gradient alone", rhs=alone),),
    **STEPS,
)


def ratio(slopes: Values, logits: Values, weight: Values, eps: float) -> Values:
    """What the others move where the first prompt is trained alone, over what it moves itself."""
    only = weight * np.array([1.0, 0.0, 0.0]) + np.array([0.1, 0, 0])
    change = moved(slopes, logits, only, eps)
    return change[..., 1:] / change[..., :1]


def cosines(slopes: Values, logits: Values) -> Values:
    coupling = kernel(slopes, base(slopes, logits))
    return coupling[..., 0, 1:] / coupling[..., 0, :1]


RATIO = theorem(
    "N1.ratio",
    "One prompt trained: another moves by K_ij/K_ii of what it does, whatever its rewards are weighed by",
    statement=r"\frac{d\,\mathrm{logit} V_j}{d\,\mathrm{logit} V_i} = \frac{K_{ij}}{K_{ii}}",
    source=SOURCE,
    on=linear(weight=uniform(0.1, 1, 3)),
    tends=(ratio, cosines),
    examples=(KEPT.giving(rhs="-.2935272365 .1733657420"),),
    false=(
        neighbour(
            "by the cosine",
            rhs=lambda slopes, logits: (
                cosines(slopes, logits)
                * np.sqrt(
                    (c := kernel(slopes, base(slopes, logits)))[..., 0, :1]
                    / np.diagonal(c, 0, -2, -1)[..., 1:]
                )
            ),
        ),
    ),
    **STEPS,
)


def answers_after(slopes: Values, logits: Values, asked: Values) -> Values:
    """The answers' probabilities after a whole step that asks c of each answer's log-probability."""
    p = base(slopes, logits)
    return policy(slopes, logits, pull(slopes, p, asked / p))


def answers_by_kernel(slopes: Values, logits: Values, asked: Values) -> Values:
    """By the kernel of the gradients of their log-probabilities, then normalised."""
    p = base(slopes, logits)
    score = (slopes - (p[..., None] * slopes).sum(axis=-2, keepdims=True)).reshape(
        len(p), -1, slopes.shape[-1]
    )
    change = times(score @ np.swapaxes(score, -1, -2), asked.reshape(len(p), -1)).reshape(p.shape)
    return normalised(p * np.exp(change))


def by_log_odds(slopes: Values, logits: Values, asked: Values) -> Values:
    """As if nothing moved among the incorrect answers."""
    p = base(slopes, logits)
    whole = asked[..., 0] - p[..., 0] * asked.sum(axis=-1)
    z = log_odds(p) + times(kernel(slopes, p), whole)
    right = 1 / (1 + np.exp(-z))[..., None]
    return np.concatenate([right, (1 - right) * normalised(p[..., 1:])], axis=-1)


ANSWERS = theorem(
    "N1.answers",
    "Answers of linear logits move by their kernel exactly, at any step: the linearised model is the model",
    statement=r"\Delta\theta = \sum_y c_y \nabla \log\pi(y) \;\Rightarrow\; \pi' \propto \pi\, e^{\Theta c},"
    r"\quad \Theta_{yy'} = \langle \nabla\log\pi(y), \nabla\log\pi(y') \rangle",
    source=SOURCE,
    on=linear(asked=uniform(-2, 2, 3, 3)),
    equal=(answers_after, answers_by_kernel),
    examples=(KEPT.but(weight=None, asked=[".5 -.3 -.2", "1 0 -1", "0 0 0"]),),
    note="So a training by any method, and what it does to prompts that it does not touch, can be computed"
    " from the base's kernel of answers alone, as far as gradients stay as they are.",
    false=(neighbour("by the kernel of the log odds alone", rhs=by_log_odds),),
)


GRID = np.exp(np.linspace(np.log(1e-3), np.log(3e3), 1500))
"""The k, whole or not, between which a change of sign is looked for."""


def three(**more: Part) -> Chart:
    """Three prompts' pass rates and the slopes of their log odds."""
    return chart(rates=rates(3, low=1e-3, high=1e-2), slope=uniform(-1, 1, 3), **more)


def moved_n02(rates: Values, slope: Values, k: Values, eps: float) -> Values:
    change = exact_pass_at_k(expit(logit(rates) + eps * slope), trailing(k, 1)) - exact_pass_at_k(
        rates, trailing(k, 1)
    )
    return change.mean(axis=-1) / eps


def weighed(rates: Values, slope: Values, k: Values) -> Values:
    return weights(rates, k, slope).mean(axis=-1)


def weights(rates: Values, k: Values, slope: Values | float = 1.0) -> Values:
    """k V (1-V)^k, times the slopes."""
    k = trailing(k, 1)
    return k * rates * (1 - rates) ** k * slope


SLOPE = theorem(
    "N2.slope",
    "The slope of mean Pass@k is that of the log odds, weighed by k V (1-V)^k",
    statement=r"\tfrac{d}{dt}\,\overline{\mathrm{pass@}k} = \tfrac1P \sum_j k V_j (1-V_j)^k\, \dot z_j",
    source=SOURCE,
    on=three(k=integers(1, 64)),
    tends=(moved_n02, weighed),
    examples=(example(rates=".02 .2 .7", slope=".3 -.3 .6", k="4", rhs="-.020853"),),
    tolerance=1e-3,
    ladder=(1e-3, 1e-5),
    false=(
        neighbour(
            "the weight of the pass rate's own slope",
            rhs=lambda rates, slope, k: weighed(rates, slope, k - 1),
        ),
    ),
)


def coupled(rates: Values, coupling: Values, k: Values) -> Values:
    """The slope of mean Pass@k of a plain policy gradient on all of three prompts."""
    pairs = zip(rates, coupling, np.asarray(k), strict=True)
    return np.array([float(pass_at_k_slope(_kernel(c), v, int(n), v * (1 - v))) for v, c, n in pairs])


def _kernel(coupling: Values) -> Values:
    """One in its diagonal, and three pairs."""
    found = np.eye(3)
    found[[0, 0, 1], [1, 2, 2]] = found[[1, 2, 2], [0, 0, 1]] = coupling
    return found


SIGN = theorem(
    "N2.sign",
    "Mean Pass@k begins to rise at every k where no prompt pushes another down",
    statement=r"K_{ij} \ge 0 \;\Rightarrow\; \tfrac{d}{dt}\,\overline{\mathrm{pass@}k} \ge 0",
    source=SOURCE,
    on=chart(rates=rates(3, low=1e-3, high=1e-2), coupling=uniform(0, 1, 3), k=integers(1, 64)),
    at_most=(lambda rates, coupling, k: 0 * rates[..., 0], coupled),
    examples=(example(rates=".5 .1 .2", coupling=".5 0 .2", k="6"),),
    floor=1e-9,
    note="Positive definite is not enough, nor a positive mean: with V = (.5, .1) and K_12 = -.5 the slope is"
    " .0240500 at k = 1 and -.0007754 at k = 6. Prompts alone (K diagonal) never lose Pass@k.",
    share=0.05,
    false=(
        neighbour(
            "where the kernel is positive definite",
            at=example(rates=".5 .1 .000001", coupling="-.5 0 0", k="6"),
            instances=chart(
                rates=rates(3, low=1e-3, high=1e-2), coupling=uniform(-0.5, 0.5, 3), k=integers(1, 64)
            ),
        ),
    ),
)


def highest(k: Values) -> Values:
    return (k / (k + 1.0)) ** (k + 1)


WEIGHT = theorem(
    "N2.weight",
    "Pass@k hangs most on the prompts of pass rate 1/(k+1)",
    statement=r"k V (1-V)^k \le \left(\tfrac{k}{k+1}\right)^{k+1}, \quad = \text{ at } V = \tfrac{1}{k+1}",
    source=SOURCE,
    on=chart(rates=rates(1, low=1e-6, high=1e-6), k=integers(1, 256)),
    at_most=(lambda rates, k: weights(rates, k)[..., 0], lambda k: highest(k)),
    examples=(example(rates=".2 ", k="4", lhs=".32768", rhs=".32768"),),
    false=(neighbour("at V = 1/k the most", at=example(rates=".2 ", k="4"), rhs=lambda k: (1 - 1 / k) ** k),),
)


def turns(values: Values) -> Values:
    """How often the sign changes along the last axis, what rounding leaves of zero left out, (...)."""
    signs = np.where(np.abs(values) > 1e-13, np.sign(values), 0.0)
    kept = [row[row != 0] for row in signs.reshape(-1, signs.shape[-1])]
    return np.array([float(np.count_nonzero(row[1:] != row[:-1])) for row in kept]).reshape(signs.shape[:-1])


def turns_in_k(rates: Values, slope: Values) -> Values:
    return turns(
        (rates[..., None, :] * (1 - rates[..., None, :]) ** GRID[:, None] * slope[..., None, :]).sum(-1)
    )


def turns_over_prompts(rates: Values, slope: Values) -> Values:
    """In the order of their pass rates."""
    return turns(np.take_along_axis(slope, rates.argsort(axis=-1), axis=-1))


TURNS = theorem(
    "N2.turns",
    "In k the slope of Pass@k changes sign at most as often as the prompts' slopes do in order of V",
    statement=r"\#\{\text{sign changes of } \tfrac{d}{dt}\overline{\mathrm{pass@}k} \text{ in } k\} \le"
    r" \#\{\text{of } \dot z_j \text{ in order of } V_j\}",
    source=Source("ours", "Descartes' rule of signs for sums of exponentials"),
    on=three(),
    at_most=(turns_in_k, turns_over_prompts),
    examples=(example(rates=".02 .2 .7", slope=".3 -.3 .6", lhs="2", rhs="2"),),
    note="Two prompts: once at most. With V = (.02, .2, .7) it falls between two k alone.",
    share=0.02,
    false=(neighbour("once at most", rhs=lambda rates: 1 + 0 * rates[..., 0]),),
)


def curves_cross(rates: Values, others: Values) -> Values:
    """How often the curves of mean Pass@k of two models cross in k."""
    return turns(
        ((1 - rates[..., None, :]) ** GRID[:, None] - (1 - others[..., None, :]) ** GRID[:, None]).sum(-1)
    )


def distributions_cross(rates: Values, others: Values) -> Values:
    """How often the distribution functions of their pass rates do."""
    both = np.sort(np.concatenate([rates, others], axis=-1), axis=-1)
    between = ((both[..., 1:] + both[..., :-1]) / 2)[..., None]
    return turns((rates[..., None, :] < between).sum(-1) - (others[..., None, :] < between).sum(-1))


CURVES = theorem(
    "N2.curves",
    "Pass@k curves of any two models cross at most as often as the distributions of their pass rates",
    statement=r"\overline{\mathrm{pass@}k}_1 - \overline{\mathrm{pass@}k}_0 = \int_0^1 k (1-V)^{k-1}"
    r" \bigl(F_0 - F_1\bigr)\, dV",
    source=Source("ours", "total positivity of (1-V)^k"),
    on=chart(rates=rates(4, low=1e-3, high=1e-2), others=rates(4, low=1e-3, high=1e-2)),
    at_most=(curves_cross, distributions_cross),
    examples=(example(rates=".15 .19 .24 .94", others=".6 .1 .08 .74", lhs="2", rhs="2"),),
    share=0.02,
    false=(neighbour("once at most", rhs=lambda rates: 1 + 0 * rates[..., 0]),),
)


def bent(rates: Values, k: Values, eps: float) -> Values:
    """The second difference of Pass@k in the log odds."""
    k, z = trailing(k, 1), logit(rates)
    up, down = (exact_pass_at_k(expit(z + sign * eps), k) for sign in (1, -1))
    return ((up + down - 2 * exact_pass_at_k(rates, k)) / eps**2)[..., 0]


def curvature(rates: Values, k: Values) -> Values:
    return (weights(rates, k) * (1 - (trailing(k, 1) + 1) * rates))[..., 0]


SPREAD = theorem(
    "N2.spread",
    "A spread of log odds raises Pass@k where V < 1/(k+1) and lowers it above",
    statement=r"\frac{d^2\, \mathrm{pass@}k}{dz^2} = k V (1-V)^k \bigl(1 - (k+1) V\bigr)",
    source=SOURCE,
    on=chart(rates=rates(1, low=1e-2, high=1e-1), k=integers(1, 16)),
    tends=(bent, curvature),
    examples=(example(rates=".1 ", k="16", rhs="-.2075422"),),
    tolerance=1e-3,
    ladder=(1e-2, 1e-3),
    note="So coupling of mean zero costs Pass@k too: at V = .1 a normal spread of one takes Pass@16 from"
    " .8147 to .7484.",
    false=(
        neighbour(
            "where V < 1/k", rhs=lambda rates, k: (weights(rates, k) * (1 - trailing(k, 1) * rates))[..., 0]
        ),
    ),
)


RIDGE = 0.2
"""Added to a random kernel, so that three prompts differ."""


def coupling(features: Values) -> Values:
    """The kernel of three prompts of these gradients, each with something of its own."""
    return features @ np.swapaxes(features, -1, -2) + RIDGE * np.eye(3)


def after_steps(features: Values, asked: Values) -> Values:
    """The held-out prompt's change after four steps that ask anything of the two trained ones."""
    kernel = coupling(features)
    z = 0 * features[..., 0]
    for step in range(4):
        z = z + times(kernel[..., :2], asked[..., step, :])
    return z[..., 2]


def followed(features: Values, asked: Values) -> Values:
    """From where the trained prompts have got to alone."""
    kernel = coupling(features)
    trained = times(kernel[..., :2, :2], asked.sum(axis=-2))
    return np.array([interpolated(k, [0, 1], t)[2] for k, t in zip(kernel, trained, strict=True)])


FOLLOW = theorem(
    "N4.follow",
    "Held-out prompts are interpolated from the trained ones' change, whatever moved these",
    statement=r"z_j - z_j(0) = K_{jT} K_{TT}^{-1} \bigl(z_T - z_T(0)\bigr)",
    source=SOURCE,
    on=chart(features=uniform(-1, 1, 3, 4), asked=uniform(-1, 1, 4, 2)),
    equal=(after_steps, followed),
    examples=(
        example(
            features=["1 0 0 0", ".6 .8 0 0", ".8 -.6 0 0"],
            asked=["1 1", ".5 0", "-1 2", "0 .25"],
            value=".4",
        ),
    ),
    tolerance=1e-7,
    share=0.05,
    false=(
        neighbour(
            "each trained prompt by its own ratio K_ji/K_ii",
            rhs=lambda features, asked: (
                (c := coupling(features))[..., 2, :2]
                / np.diagonal(c, 0, -2, -1)[..., :2]
                * times(c[..., :2, :2], asked.sum(axis=-2))
            ).sum(axis=-1),
        ),
    ),
)

TRAINED, ANSWERS_N04, FEATURES = 2, 3, 12


def centred(slopes: Values) -> Values:
    """Features of the answers of three prompts less their mean: logits count up to a constant."""
    return slopes - slopes.mean(axis=-2, keepdims=True)


VERDICTS = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]])
"""Of the trained prompts' answers."""


def at_the_end(slopes: Values, beta: Values) -> Values:
    """The held-out logits at the least weights at which every trained prompt is a e^{v/beta}."""
    features = centred(slopes)
    trained = features[..., :TRAINED, :, :].reshape(len(slopes), -1, FEATURES)
    wanted = (VERDICTS - VERDICTS.mean(axis=-1, keepdims=True)).ravel() / beta[:, None]
    weights = np.array([np.linalg.lstsq(f, w, rcond=1e-10)[0] for f, w in zip(trained, wanted, strict=True)])
    return times(features[..., 2, :, :], weights)


def regressed(slopes: Values, beta: Values) -> Values:
    """By the kernel of the base's centred logits alone."""
    features = centred(slopes)
    trained = features[..., :TRAINED, :, :].reshape(len(slopes), -1, FEATURES)
    wanted = (VERDICTS - VERDICTS.mean(axis=-1, keepdims=True)).ravel() / beta[:, None]
    inside = trained @ np.swapaxes(trained, -1, -2)
    across = features[..., 2, :, :] @ np.swapaxes(trained, -1, -2)
    pairs = zip(across, np.linalg.pinv(inside, rcond=1e-10, hermitian=True), wanted, strict=True)
    return np.array([a @ i @ w for a, i, w in pairs])


REGRESSION = theorem(
    "N4.regression",
    "Where a KL of the whole answer ends, held-out logits are the kernel regression of v/beta",
    statement=r"\ell_j = \ell_j(0) + \Theta_{jT}\, \Theta_{TT}^{+}\, \bigl(v_T/\beta - \text{mean}\bigr)",
    source=SOURCE,
    on=chart(slopes=uniform(-1, 1, 3, ANSWERS_N04, FEATURES), beta=log_uniform(0.1, 10)),
    equal=(at_the_end, regressed),
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
    false=(neighbour("of v, whatever beta", rhs=lambda slopes, beta: regressed(slopes, 0 * beta + 1)),),
)
