"""A9, sixth claim: at a given mean validity one global beta costs the least mean KL."""

import numpy as np

from ..binary_reward import bernoulli_kl, beta_for_mean_validity, mu_from_beta
from ..numeric.balls import Values, trailing
from ..references import Source
from ..statement.charts import chart, example, rates
from ..statement.neighbours import rates_clamped
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled


def tilted_rates(base_rates: Values, targets: Values) -> Values:
    """The rates mu(x) of the one beta that reaches the mean of the targets."""
    # kl(m || A) = kl(1-m || 1-A): where the targets lower the validity, failures take the part of successes.
    lower = trailing(targets.mean(axis=-1) < base_rates.mean(axis=-1), 1)
    A1, m = np.where(lower, 1 - base_rates, base_rates), np.where(lower, 1 - targets, targets)
    # The root is a float64: in balls the comparison is between the targets and what is really returned.
    beta = beta_for_mean_validity(A1.astype(float), m.mean(axis=-1).astype(float))
    mu = mu_from_beta(A1, trailing(beta, 1))
    return np.where(lower, 1 - mu, mu)


def cost_of_one_beta(base_rates: Values, targets: Values) -> Values:
    return bernoulli_kl(tilted_rates(base_rates, targets), base_rates).mean(axis=-1)


def cost(base_rates: Values, targets: Values) -> Values:
    return bernoulli_kl(targets, base_rates).mean(axis=-1)


def cost_of_equal_targets(base_rates: Values, targets: Values) -> Values:
    return bernoulli_kl(targets.mean(axis=-1, keepdims=True), base_rates).mean(axis=-1)


THEOREM = Theorem(
    name="A9.optimal",
    title="Among all rates of the same mean, those of one global beta cost the least mean KL",
    source=Source("ours", "many prompts"),
    statement=r"\mathrm{E}\,m(x) = \mathrm{E}\,\mu_\beta(x) \;\Rightarrow\;"
    r" \mathrm{E}\,\mathrm{kl}(\mu_\beta(x)\|A_1(x)) \le \mathrm{E}\,\mathrm{kl}(m(x)\|A_1(x))",
    relation=Relation.AT_MOST,
    lhs=cost_of_one_beta,
    rhs=cost,
    # Two different ends, so that the mean target is never the mean base rate, which no finite beta has.
    instances=chart(base_rates=rates(3, low=1e-6, high=1e-6), targets=rates(3, low=1e-5, high=1e-5)),
    expected=Verdict.CERTIFIED,
    examples=(example(base_rates=".1 .3 .6", targets=".8 .8 .8"),),
    tight=True,
    digits=8,  # fewer would round rates near 1 to 1
    false_neighbours=(
        neighbour("a cost 2% higher", lhs=scaled(cost_of_one_beta, 1.02)),
        neighbour("the same target for every prompt is cheapest", lhs=cost_of_equal_targets),
        rates_clamped("base_rates", 0.01, "lhs"),
    ),
)
