"""N2. Which way mean Pass@k begins to move.

A prompt's Pass@k rises with its log odds, most where V = 1/(k+1): so what training does to the prompts of
that pass rate decides Pass@k, and Pass@1 and Pass@k can part.
"""

import numpy as np

from ..coverage import exact_pass_at_k
from ..numeric.elementary import expit, logit, trailing
from ..references import Source
from ..statement.charts import Chart, Part, chart, example, integers, rates, uniform
from ..statement.theorem import neighbour, theorem
from ..transfer import pass_at_k_slope
from ._transfer import Values

SOURCE = Source("ours", "transfer between prompts")
GRID = np.exp(np.linspace(np.log(1e-3), np.log(3e3), 1500))
"""The k, whole or not, between which a change of sign is looked for."""


def three(**more: Part) -> Chart:
    """Three prompts' pass rates and the slopes of their log odds."""
    return chart(rates=rates(3, low=1e-3, high=1e-2), slope=uniform(-1, 1, 3), **more)


def moved(rates: Values, slope: Values, k: Values, eps: float) -> Values:
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
    tends=(moved, weighed),
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
