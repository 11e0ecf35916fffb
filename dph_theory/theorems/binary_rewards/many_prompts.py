"""Many prompts under one beta.

The mean pass rate rises with 1/beta between its two limits, so a target has one beta, and no other choice of
pass rates of that mean costs less KL.
"""

import numpy as np

from ...binary_reward import bernoulli_kl, mean_pass_rate, mu_from_beta
from ...numeric.elementary import Values, add_axes, masked
from ...references import Source
from ...verification.charts import chart, example, log_uniform, masks, rates
from ...verification.statement import neighbour, theorem


def rates_of_base(base_rates: Values, solvable: Values) -> dict[str, Values]:
    """Part A1: base pass rates (batch, prompts), zero on prompts outside the mask `solvable`."""
    return {"A1": masked(base_rates, solvable)}


def mean_after_rise(base_rates: Values, beta: Values) -> Values:
    return mu_from_beta(base_rates, add_axes(beta, 1)).mean(axis=-1)


def with_more_gain(base_rates: Values, beta: Values, rise: Values) -> Values:
    return mean_after_rise(base_rates, beta / (1 + rise))


FOUR_PROMPTS = example(
    base_rates=".1 .3 .6 .2", beta=".5", rise=".5", solvable=[True, True, True, False], targets=".8 .7 .9 .6"
)

INCREASING = theorem(
    "The mean pass rate of prompts with 0 < A1 < 1 under one beta is strictly increasing in 1/beta",
    statement=r"0 < A_1 < 1,\; 1/\beta < 1/\beta' \;\Rightarrow\;"
    r" \mathrm{E}_x\,\sigma(\operatorname{logit} A_1(x) + 1/\beta)"
    r" < \mathrm{E}_x\,\sigma(\operatorname{logit} A_1(x) + 1/\beta')",
    source=Source("ours", "many prompts"),
    on=chart(base_rates=rates(3), beta=log_uniform(1e-3, 1e3), rise=log_uniform(1e-3, 1e2)),
    at_most=(mean_after_rise, with_more_gain),
    examples=(FOUR_PROMPTS.giving(lhs=".694221482349", rhs=".8470722493052"),),
    coq="mean_rises",
    false=(neighbour("increasing in beta", lhs=with_more_gain, rhs=mean_after_rise),),
)


def lower_ends(A1: Values, beta: Values) -> Values:
    return np.stack([A1.mean(axis=-1), mean_pass_rate(A1, beta)], axis=-1)


def upper_ends(A1: Values, beta: Values) -> Values:
    return np.stack([mean_pass_rate(A1, beta), (A1 > 0).mean(axis=-1)], axis=-1)


def one_global_prompt(A1: Values, beta: Values) -> Values:
    return np.stack([A1.mean(axis=-1), mean_pass_rate(A1.mean(axis=-1)[..., None], beta)], axis=-1)


SMALL_BETA = example(base_rates=".1 .3 .6", solvable=[True, True, False], beta="1e-3")

RANGE = theorem(
    "E A1 < mean pass rate < P(A1 > 0) for every beta, if all A1 < 1 and some A1 > 0",
    statement=r"A_1 < 1,\; \mathrm{P}(A_1 > 0) > 0:\;"
    r" \mathrm{E}\,A_1 < \mathrm{E}_x\,p_\beta(Y_1|x) < \mathrm{P}(A_1 > 0)",
    source=Source("ours", "many prompts"),
    on=chart(base_rates=rates(3), solvable=masks(3), beta=log_uniform(1e-3, 1e3)).deriving(rates_of_base),
    at_most=(lower_ends, upper_ends),
    examples=(
        FOUR_PROMPTS.giving(lhs=".25 .532025071278", rhs=".532025071278 .75"),
        SMALL_BETA.giving(lhs=".1333333333333 .6666666666667", rhs=".6666666666667"),
    ),
    coq="mean_between",
    false=(
        neighbour(
            "at most twice E A1",
            rhs=lambda A1, beta: np.stack([mean_pass_rate(A1, beta), 2 * A1.mean(axis=-1)], axis=-1),
        ),
        neighbour("above the pass rate of one prompt with rate E A1", lhs=one_global_prompt),
    ),
)


def distances_to_ends(A1: Values, beta: Values) -> Values:
    return upper_ends(A1, beta) - lower_ends(A1, beta)


def exponential_rates(base_rates: Values, solvable: Values, A1: Values, beta: Values) -> Values:
    odds = masked((1 - base_rates) / base_rates, solvable)
    return np.stack(
        [np.expm1(1 / beta) * (A1 * (1 - A1)).mean(axis=-1), np.exp(-1 / beta) * odds.mean(axis=-1)], axis=-1
    )


def with_every_prompt(A1: Values, beta: Values) -> Values:
    mean = mean_pass_rate(A1, beta)
    return np.stack([mean - A1.mean(axis=-1), 1 - mean], axis=-1)


ENDS = theorem(
    "Mean pass rate: <= (e^(1/beta)-1) E[A1 A0] above E A1, <= e^(-1/beta) E[A0/A1] below P(A1 > 0)",
    statement=r"\mathrm{E}\,p_\beta(Y_1|x) - \mathrm{E}\,A_1 \le (e^{1/\beta}-1)\,\mathrm{E}[A_1 A_0],\quad"
    r" \mathrm{P}(A_1>0) - \mathrm{E}\,p_\beta(Y_1|x) \le e^{-1/\beta}\,\mathrm{E}[A_0/A_1; A_1>0]",
    source=Source("ours", "many prompts"),
    # Below beta = 2e-3 the bound e^{1/beta} leaves the range of float64.
    on=chart(base_rates=rates(3), solvable=masks(3), beta=log_uniform(2e-3, 1e3)).deriving(rates_of_base),
    at_most=(distances_to_ends, exponential_rates),
    examples=(FOUR_PROMPTS.giving(lhs=".282025071278 .217974928722", rhs=".8625225733556 .4060058497098"),),
    coq="mean_near_ends",
    false=(neighbour("tends to 1 although some prompts are never solved", lhs=with_every_prompt),),
)


def priced_cost(base_rates: Values, targets: Values, beta: Values, price: float = 1) -> Values:
    mu = mu_from_beta(base_rates, add_axes(beta, 1))
    return bernoulli_kl(mu, base_rates).mean(axis=-1) + price * (targets - mu).mean(axis=-1) / beta


def cost(base_rates: Values, targets: Values) -> Values:
    return bernoulli_kl(targets, base_rates).mean(axis=-1)


DUAL = theorem(
    "No rates cost less than the tilted ones plus 1/beta per unit of mean pass rate",
    statement=r"\mathrm{E}\,\mathrm{kl}(m(x)\|A_1(x)) \ge \mathrm{E}\,\mathrm{kl}(\mu_\beta(x)\|A_1(x))"
    r" + \tfrac1\beta\,\mathrm{E}[m(x) - \mu_\beta(x)]",
    source=Source("ours", "many prompts"),
    # Below beta = 1e-2 a tilted rate differs from 1 by less than 192 bits resolve.
    on=chart(base_rates=rates(3), targets=rates(3), beta=log_uniform(1e-2, 1e3)),
    at_most=(priced_cost, cost),
    examples=(FOUR_PROMPTS.giving(lhs=".5091851433615", rhs=".5774636400764"),),
    coq="dual",
    false=(
        neighbour(
            "kl with its arguments exchanged on the right",
            at=example(base_rates="1e-5 2e-8 .7", targets=".5 .4 .7", beta=".1"),
            rhs=lambda base_rates, targets: bernoulli_kl(base_rates, targets).mean(axis=-1),
        ),
    ),
)


def cost_of_one_beta(base_rates: Values, targets: Values, beta: Values) -> Values:
    """Mean KL (batch,) at one beta for all prompts if its mean pass rate is at most the targets', else 0."""
    mu = mu_from_beta(base_rates, add_axes(beta, 1))
    reached = mu.mean(axis=-1) <= targets.mean(axis=-1)
    return masked(bernoulli_kl(mu, base_rates).mean(axis=-1), reached)


def cost_of_equal_targets(base_rates: Values, targets: Values) -> Values:
    return bernoulli_kl(targets.mean(axis=-1, keepdims=True), base_rates).mean(axis=-1)


OPTIMAL = theorem(
    "Among all rates of at least the same mean, those of one global beta cost the least mean KL",
    statement=r"\mathrm{E}\,m(x) \ge \mathrm{E}\,\mu_\beta(x) \;\Rightarrow\;"
    r" \mathrm{E}\,\mathrm{kl}(\mu_\beta(x)\|A_1(x)) \le \mathrm{E}\,\mathrm{kl}(m(x)\|A_1(x))",
    source=Source("ours", "many prompts"),
    on=chart(base_rates=rates(3), targets=rates(3), beta=log_uniform(1e-2, 1e3)),
    at_most=(cost_of_one_beta, cost),
    examples=(
        FOUR_PROMPTS.but(targets=".8 .8 .8 .8", beta=".4").giving(lhs=".5873695685676", rhs=".7050353503051"),
    ),
    coq="one_beta_is_cheapest",
    false=(
        neighbour(
            "the same target for every prompt is cheapest",
            at=example(base_rates=".5 .5 1e-6", targets=".5 .5 1e-5", beta="1"),
            lhs=cost_of_equal_targets,
        ),
    ),
)
