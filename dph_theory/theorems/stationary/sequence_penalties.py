"""The stationary policy of a penalty on the whole answer.

Whatever f is, a penalty D_f(pi||a) on whole answers converges to a mixture mu p_* + (1-mu) p_0: the
divergence decides the pass rate mu at a given beta, and how failures die as beta falls, and nothing else.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from ...binary_reward import filtered, pass_rate, with_pass_rate
from ...divergences import CHI_SQUARED, SMOOTH, stacked
from ...fdivergence import FDivergence
from ...numeric.elementary import Values, add_axes, masked, normalised
from ...references import Source
from ...verification.charts import chart, example, log_uniform, masks, rates, simplex
from ...verification.statement import neighbour, theorem


def two_masses(rate: Values) -> Values:
    return np.stack([rate, 1 - rate], axis=-1)


def verdict_masses(policy: Values, valid: Values) -> Values:
    return np.stack([pass_rate(policy, part) for part in (valid, ~valid)], axis=-1)


def divergences(policy: Values, base: Values) -> Values:
    return stacked(lambda divergence: divergence(policy, base), SMOOTH)


def cost_of_mixture(base: Values, valid: Values, mu: Values) -> Values:
    return divergences(with_pass_rate(mu, base, valid), base)


def cost_of_even_mixture(base: Values, valid: Values, mu: Values) -> Values:
    """D_f to the base, (batch, divergences), of pass rate mu spread evenly over correct answers."""
    share, even = add_axes(mu, 1), normalised(masked(np.ones_like(base), valid))
    return divergences(share * even + (1 - share) * filtered(base, ~valid), base)


MIXTURE = theorem(
    "D_f(mu p_* + (1-mu) p_0 || a) is the divergence of the pass rates alone, for every f",
    statement=r"D_f(\mu p_* + (1-\mu) p_0 \,\|\, a) = A_1 f(\mu/A_1) + A_0 f((1-\mu)/A_0)",
    source=Source("ours", "stationary policies"),
    on=chart(base=simplex(4), valid=masks(4), mu=rates()),
    equal=(cost_of_mixture, lambda base, valid, mu: divergences(two_masses(mu), verdict_masses(base, valid))),
    examples=(
        example(base=".3 .2 .1 .4", valid=[True, True, False, False], mu=".7").giving(
            value=(
                ".0871766935724 .0822828785051 .0420118514037 .0421873741386 .16 "
                ".1904761904762 .0832442101456 .0843747482772 .0856825527182"
            )
        ),
    ),
    coq="one_shape",
    false=(neighbour("uniform on the valid answers", lhs=cost_of_even_mixture),),
)


def cost_of_verdicts(q: Values, base: Values, valid: Values) -> Values:
    return divergences(verdict_masses(q, valid), verdict_masses(base, valid))


FRONTIER = theorem(
    "For every f with f'' >= 0, a positive policy costs at least what its pass rate costs",
    statement=r"f'' \ge 0,\; q > 0:\quad D_f(q\|a) \ge A_1 f(q(Y_1)/A_1) + A_0 f(q(Y_0)/A_0)",
    source=Source("ours", "stationary policies; data processing"),
    on=chart(q=simplex(4, zeros=True), base=simplex(4), valid=masks(4)),
    at_most=(cost_of_verdicts, lambda q, base: divergences(q, base)),
    examples=(
        example(q=".3 .25 .25 .2", base=".15 .1 .45 .3", valid=[True, True, False, False]).giving(
            lhs=(
                ".1860048777334 .2037800175057 .0955493756861 .0964851474282 .48 "
                ".3636363636364 .1978564057167 .1929702948564 .1890420053186"
            ),
            rhs=(
                ".190542381367 .2089771492894 .0977332030569 .0987898234647 .4972222222222 "
                ".375 .2026878025066 .1975796469293 .1935572217688"
            ),
        ),
    ),
    coq="verdicts_cost",
    note="With sequence_penalties.mixture: mu p_* + (1-mu) p_0 maximises E v - beta D_f, and f decides mu"
    " alone (sequence_penalties.dial). It is the only maximiser where f is strictly convex. Total variation"
    " is not: with beta = .5 and a = (.2, .3, .5) both (.4, .6, 0) and (.7, .3, 0) are optimal.",
    false=(
        neighbour(
            "the arguments exchanged on the left", lhs=lambda q, base, valid: cost_of_verdicts(base, q, valid)
        ),
    ),
)


def reached(base_rate: Values, progress: Values) -> Values:
    """Pass rate between the base rate (`progress` 0) and 1 (`progress` 1); shapes broadcast."""
    return base_rate + (1 - base_rate) * progress


def inverse_beta(divergence: FDivergence, base_rate: Values, mu: Values) -> Values:
    """The 1/beta whose optimum has pass rate mu, f'(mu/A1) - f'((1-mu)/A0); shapes broadcast."""
    slope = divergence.generator_derivative
    return slope(mu / base_rate) - slope((1 - mu) / (1 - base_rate))


def inverse_beta_to_first_order(divergence: FDivergence, base_rate: Values, mu: Values) -> Values:
    """The 1/beta for pass rate mu if D_f were f''(1)/2 times chi-squared; shapes broadcast."""
    return divergence.curvature * (mu - base_rate) / (base_rate * (1 - base_rate))


Dial = Callable[[FDivergence, Values, Values], Values]


def objective(base_rate: Values, progress: Values, other: Values, dial: Dial = inverse_beta) -> Values:
    """m/beta - D_f((m, 1-m) || (A1, A0)) at m = other, (..., divergences).

    The pass rate mu lies at `progress` between base rate and 1, and `dial(f, A1, mu)` is the 1/beta used.
    """
    mu, masses = reached(base_rate, progress), (two_masses(other), two_masses(base_rate))
    return stacked(lambda f: dial(f, base_rate, mu) * other - f(*masses), SMOOTH)


def objective_at_stationary(base_rate: Values, progress: Values, dial: Dial = inverse_beta) -> Values:
    return objective(base_rate, progress, reached(base_rate, progress), dial)


PASS_RATES = example(base_rate=".25", progress=".25", other=".6", beta=".5", mu=".3")

DIAL = theorem(
    "f'' > 0: a pass rate inside (0, 1) is the best there iff f'(mu/A1) - f'((1-mu)/A0) = 1/beta",
    statement=r"f'' > 0,\; 0 < \mu < 1:\; \mu = \arg\max_{0 < m < 1}\, m/\beta - D_f(m\|A_1)"
    r" \iff f'(\mu/A_1) - f'((1-\mu)/A_0) = 1/\beta",
    note="Of f whose slope is finite at the end the best may be the end itself: of Pearson's at A1 = .25, "
    "beta = .1 it is 1, where the difference is 8 and not 10.",
    source=Source("ours", "stationary policies; reverse and forward KL also in gxchen2025kl"),
    on=chart(
        base_rate=rates(low=1e-6, high=1e-3),
        progress=rates(low=1e-3, high=1e-3),
        other=rates(low=1e-3, high=1e-3),
    ),
    at_most=(objective, objective_at_stationary),
    examples=(
        PASS_RATES.giving(
            lhs=(
                ".2045535469146 .2345409375889 .108825236153 .1093047396683 .5466666666667 "
                ".3603316326531 .2263157322722 .2186094793366 .2113735621148"
            ),
            rhs=(
                ".2574757259784 .2876820724518 .1336155681385 .1349385051007 .6875 "
                ".4920634920635 .278048193431 .2698770102013 .2630531992723"
            ),
        ),
    ),
    floor=1.0,
    coq="dial",
    false=(
        neighbour(
            "to first order: 1/beta = f''(1) (mu - A1)/(A1 A0)",
            at=example(base_rate=".3", progress=".93", other=".5"),
            lhs=partial(objective, dial=inverse_beta_to_first_order),
            rhs=partial(objective_at_stationary, dial=inverse_beta_to_first_order),
        ),
    ),
)


def forward_condition(base_rate: Values, beta: Values) -> Values:
    """beta (A0/(1-mu) - A1/mu), (batch,), at the mu of the theorem; 1 if that mu is the optimum."""
    return _condition(base_rate, beta, 1 - base_rate)


def _condition(base_rate: Values, beta: Values, under_the_root: Values) -> Values:
    root = ((1 + beta) + np.sqrt(np.square(1 + beta) - 4 * beta * under_the_root)) / 2
    # 1 - mu from L - 1 - beta A1 = beta A0 (L-1)/L, which loses no digits.
    mu, failed = beta * base_rate / (root - 1), beta * (1 - base_rate) / root
    return beta * ((1 - base_rate) / failed - base_rate / mu) + (mu + failed - 1)


FORWARD = theorem(
    "Forward KL: mu = beta A1/(L-1) with L = [(1+beta) + sqrt((1+beta)^2 - 4 beta A0)]/2",
    statement=r"\mu = \tfrac{\beta A_1}{L-1},\; 1-\mu = \tfrac{\beta A_0}{L}:\quad"
    r" \beta\big(\tfrac{A_0}{1-\mu} - \tfrac{A_1}{\mu}\big) = 1",
    source=Source("ours", "stationary policies; the target also in gxchen2025kl"),
    on=chart(base_rate=rates(low=1e-3, high=1e-3), beta=log_uniform(1e-2, 1e2)),
    equal=(forward_condition, lambda beta: 1 + 0 * beta),
    examples=(example(base_rate=".3", beta=".525", value="1"),),
    coq="forward_dial",
    false=(
        neighbour(
            "4 beta A1 under the root", lhs=lambda base_rate, beta: _condition(base_rate, beta, base_rate)
        ),
    ),
)


def pearson_objective(base_rate: Values, beta: Values, mu: Values) -> Values:
    return mu - beta * CHI_SQUARED(two_masses(mu), two_masses(base_rate))


def pearson_objective_at_best(base_rate: Values, beta: Values, halves: int = 2) -> Values:
    mu = base_rate + (1 - base_rate) * base_rate / (halves * beta)
    return pearson_objective(base_rate, beta, np.minimum(mu, 1.0))


PEARSON = theorem(
    "Pearson: mu = min(1, A1 + A0 A1/(2 beta)), without a failure from beta = A1/2 down",
    statement=r"\arg\max_m\, m - \beta \chi^2(m\|A_1) = \min\big(1, A_1 + \tfrac{A_0 A_1}{2\beta}\big)",
    source=Source("ours", "stationary policies"),
    on=chart(base_rate=rates(low=1e-3, high=1e-3), beta=log_uniform(1e-2, 10), mu=rates(low=1e-6, high=1e-6)),
    at_most=(pearson_objective, pearson_objective_at_best),
    examples=(PASS_RATES.giving(lhs=".2933333333333", rhs=".34375"),),
    floor=1.0,
    coq="pearson_dial",
    false=(
        neighbour("A0 A1/beta, as if f were (u-1)^2/2", rhs=partial(pearson_objective_at_best, halves=1)),
    ),
)
