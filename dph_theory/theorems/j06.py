"""J6. Another reward beside correctness.

With the KL of the answer in the reward, any reward r has the stationary policy a e^{r/beta}: a bonus
on form, or a cap on length, makes other kinds of answers, each in the base's proportions.
"""

import numpy as np

from ..divergences import REVERSE_KL
from ..numeric.elementary import Values, normalised, trailing
from ..references import Source
from ..statement.charts import chart, example, log_uniform, simplex, uniform
from ..statement.theorem import neighbour, theorem


def objective(policy: Values, base: Values, reward: Values, beta: Values) -> Values:
    return (policy * reward).sum(axis=-1) - beta * REVERSE_KL(policy, base)


def short_of_the_law(policy: Values, base: Values, reward: Values, beta: Values) -> Values:
    weight = base * np.exp(reward / trailing(beta, 1))
    return beta * (np.log(weight.sum(axis=-1)) - REVERSE_KL(policy, normalised(weight)))


def the_verdict_alone(policy: Values, base: Values, reward: Values, beta: Values) -> Values:
    return short_of_the_law(policy, base, np.where(reward > 1, 1.0, reward), beta)


LAW = theorem(
    "J6.law",
    "Any reward leads to the base weighed by e^{r/beta}: correctness and a bonus make four kinds",
    statement=r"E_q r - \beta\,\mathrm{KL}(q\|a) = \beta \log Z - \beta\,\mathrm{KL}(q\|p_r),"
    r" \quad p_r = a\,e^{r/\beta}/Z, \quad r = v + w f",
    source=Source("ours", "what the sampler selects"),
    on=chart(
        policy=simplex(4, spread=4),
        base=simplex(4, spread=4),
        reward=uniform(0, 2, 4),
        beta=log_uniform(0.1, 10),
    ),
    equal=(objective, short_of_the_law),
    examples=(
        example(
            policy=".4 .3 .2 .1", base=".15 .1 .45 .3", reward="1.5 1 .5 0", beta=".5", value=".7750659421525"
        ),
    ),
    coq="any_reward",
    note="Where the bonus weighs more than correctness, incorrect answers in form gain on correct ones out"
    " of it. Under a cap on length p_* is the base's correct answers that are short.",
    false=(neighbour("a reward above one counts as one", rhs=the_verdict_alone),),
)
