"""G3. Drift without a KL: the first hits decide it.

The exact flow keeps equally likely correct answers equal for ever. Sampling does not, and what it sets apart
the rise of the pass rate then multiplies.
"""

import warnings

import numpy as np

from ..dynamics.drift import SmallNoiseWarning, drift_deviation
from ..numeric.elementary import Values
from ..references import Source
from ..statement.charts import chart, example, integers, log_uniform, uniform
from ..statement.theorem import neighbour, scaled, theorem


def growth(rate: Values, valid: Values, invalid: Values, eps: float) -> Values:
    """d log s over d log odds along E v, where two correct answers are eps apart in logits."""
    masses = rate / valid
    first, second = masses * np.exp(eps / 2), masses * np.exp(-eps / 2)
    mass = rate - 2 * masses + first + second
    total = mass + 1 - rate
    first, second, mass = first / total, second / total, mass / total
    # Each logit moves at p (v - V); the log odds of being correct as the logits of both kinds do.
    apart = (first - second) * (1 - mass)
    odds = mass * (1 - mass) * (1 / valid + 1 / invalid)
    return apart / eps / odds


def share(rate: Values, valid: Values, invalid: Values) -> Values:
    return invalid / (invalid + valid) + 0 * rate


GROWTH = theorem(
    "G3.growth",
    "Without a KL the log ratio of two correct answers grows as a power of the odds of being correct",
    statement=r"\frac{d\log s}{d\log O} = g = \frac{n_0}{n_0 + K}, \quad O = \frac{V}{1-V},\ s \to 0",
    source=Source("ours", "finite training"),
    on=chart(rate=uniform(0.02, 0.98), valid=integers(2, 9), invalid=integers(1, 40)),
    tends=(growth, share),
    examples=(example(rate=".3", valid="2", invalid="8"),),
    tolerance=1e-6,
    ladder=(1e-1, 1e-2, 1e-3),
    false=(
        neighbour(
            "the share of correct answers",
            rhs=lambda rate, valid, invalid: valid / (invalid + valid) + 0 * rate,
        ),
    ),
)


def by_quadrature(rate: Values, gained: Values, valid: Values, invalid: Values, noise: Values) -> Values:
    """The variance where only correct answers are reinforced, by `drift_deviation`."""
    right, wrong = (np.asarray(part).astype(int) for part in (valid, invalid))
    reached = rate + gained * (1 - rate)
    with warnings.catch_warnings():
        # The formula is held to a formula: whether the noise is small is no matter here.
        warnings.simplefilter("ignore", SmallNoiseWarning)
        found = drift_deviation(
            rate, reached, valid=right, invalid=wrong, step=noise, answers=1, baseline="none"
        )
    return found**2


def in_closed_form(rate: Values, gained: Values, valid: Values, invalid: Values, noise: Values) -> Values:
    power = 2 * invalid / (invalid + valid)
    reached = rate + gained * (1 - rate)
    before, after = rate / (1 - rate), reached / (1 - reached)
    ratio = after / before
    return noise * (ratio**power - 1 + power / (1 - power) * (after - before * ratio**power))


DRIFT = theorem(
    "G3.drift",
    "Up to the odds O_T, reinforcing correct answers alone drives two equal ones apart by a closed form",
    statement=r"\mathrm{Var}\,s = \frac{\eta}{N}\Big[(O_T/O_1)^{2g} - 1"
    r" + \tfrac{2g}{1-2g}\big(O_T - O_1 (O_T/O_1)^{2g}\big)\Big]",
    source=Source("ours", "finite training"),
    on=chart(
        rate=uniform(0.02, 0.6),
        gained=uniform(0.1, 0.95),
        valid=integers(2, 4),
        invalid=integers(5, 30),
        noise=log_uniform(1e-5, 1e-2),
    ),
    equal=(by_quadrature, in_closed_form),
    examples=(example(rate=".3", gained=".857142857", valid="2", invalid="8", noise=".0003125"),),
    floor=1e-12,
    note="That finite batches collapse equal answers (arXiv 2601.15609, 2602.06717, 2605.00365, as"
    " summarised) is this drift: no objective asks for it, and sqrt(eta/N) O_T/A1 says how much.",
    false=(neighbour("half of it", rhs=scaled(in_closed_form, 0.5)),),
)
