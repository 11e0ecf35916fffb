"""N4. Prompts that are not trained follow those that are.

While the kernel stays, the log odds of held-out prompts are interpolated from the trained ones' change,
whatever method, step size, schedule or momentum moved these. Where a KL of the whole answer ends the
training, the held-out logits are the kernel regression of v/beta.
"""

import numpy as np

from ..references import Source
from ..statement.charts import chart, example, log_uniform, uniform
from ..statement.theorem import neighbour, theorem
from ..transfer import interpolated
from ._transfer import Values, times

SOURCE = Source("ours", "transfer between prompts")
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

TRAINED, ANSWERS, FEATURES = 2, 3, 12


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
    on=chart(slopes=uniform(-1, 1, 3, ANSWERS, FEATURES), beta=log_uniform(0.1, 10)),
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
