"""J1. A temperature in rollouts and log-probabilities alike.

Logits are divided by T everywhere, so training is that of the policy at T, against the base at T, and
the results without one hold there. Read out at temperature one it is another policy.
"""

import numpy as np

from ..binary_reward import tilted
from ..laws import sequence_law
from ..numeric.elementary import Values, normalised, trailing
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex
from ..statement.theorem import neighbour, theorem
from ._laws import TWO_TOKENS, answers_of, tables, verifier

TEMPERATURE = log_uniform(0.3, 3)
HOT = example(
    base=".15 .1 .45 .3",
    valid=[True, True, False, False],
    beta=".3",
    temperature=".6",
    value=".4267407565366 .284493837691 .1732592434634 .115506162309",
)


def powered(law: Values, power: Values) -> Values:
    return normalised(np.exp(np.log(law) * trailing(power, law.ndim - power.ndim)))


def read_at_one(base: Values, valid: Values, beta: Values, temperature: Values) -> Values:
    return powered(tilted(powered(base, 1 / temperature), valid, beta), temperature)


DECISION = theorem(
    "J1.decision",
    "One decision at temperature T, read out at one: beta is divided by T",
    statement=r"\pi_T \propto a_T e^{v/\beta},\; \pi_T \propto \pi^{1/T} \;\Rightarrow\; \pi = p_{\beta/T}",
    source=Source("ours", "what the sampler selects"),
    on=chart(base=simplex(4, spread=4), valid=masks(4), beta=log_uniform(0.05, 20), temperature=TEMPERATURE),
    equal=(read_at_one, lambda base, valid, beta, temperature: tilted(base, valid, beta / temperature)),
    examples=(HOT,),
    coq="temperature_divides_beta",
    false=(
        neighbour("beta itself", rhs=lambda base, valid, beta: tilted(base, valid, beta)),
        neighbour(
            "beta T", rhs=lambda base, valid, beta, temperature: tilted(base, valid, beta * temperature)
        ),
    ),
)


def of_a_tree(first: Values, second: Values, valid: Values, beta: Values, temperature: Values) -> Values:
    base = [powered(table, 1 / temperature) for table in (first, second)]
    law = sequence_law(base, verifier(first, valid), beta)
    return answers_of([powered(table, temperature) for table in law])


def by_the_chance_at_it(
    first: Values, second: Values, valid: Values, beta: Values, temperature: Values
) -> Values:
    gain = np.exp(verifier(first, valid) / trailing(beta, 2))
    chance = (powered(second, 1 / temperature) * gain).sum(axis=-1) ** trailing(temperature, 1)
    return answers_of([normalised(first * chance), normalised(second * gain ** trailing(temperature, 2))])


def at_another_beta(
    first: Values, second: Values, valid: Values, beta: Values, temperature: Values
) -> Values:
    return answers_of(sequence_law(tables(first, second), verifier(first, valid), beta / temperature))


TREE = theorem(
    "J1.tree",
    "On a tree, with the KL of the answer in the reward, no beta does what a temperature does",
    statement=r"\pi(t|s) \propto a(t|s)\,Z_T(s,t)^T, \quad Z_T(s,t) = E_{a_T}[e^{v/\beta} \mid s, t]",
    source=Source("ours", "what the sampler selects"),
    on=chart(
        first=simplex(3, spread=2),
        second=simplex(3, 3, spread=2),
        valid=masks(9),
        beta=log_uniform(0.1, 10),
        temperature=TEMPERATURE,
    ),
    equal=(of_a_tree, by_the_chance_at_it),
    examples=(
        TWO_TOKENS.but(beta=".3", temperature=".6").giving(
            value=".8297909013662 .012477776296 .0711136493937 .0866176729421"
        ),
    ),
    note="The first token has .842269, .872444, .880190 of the mass at T = .6, 1, 1.5. As beta falls: a(t|s)"
    " A1_T(s,t)^T, which at T = 1 alone is the filtered model.",
    false=(neighbour("the stationary policy at beta/T", rhs=at_another_beta),),
)
