"""A11, first claim: a round of tabular GRPO moves the validity by a scalar recursion."""

import numpy as np
import sympy

from ..binary_reward import mu_from_beta, valid_mass
from ..grpo import advantage, grpo_round, tilted_by
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour


def next_validities(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    rounds = (grpo_round(policy, base, valid, beta), tilted_by(advantage(policy, valid), base, beta))
    return np.stack([valid_mass(law, valid) for law in rounds], axis=-1)


def scalar_recursion(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    base_rate = valid_mass(base, valid)
    scale = np.sqrt(valid_mass(policy, valid) * valid_mass(policy, ~valid))
    return np.stack([mu_from_beta(base_rate, beta * scale), mu_from_beta(base_rate, beta)], axis=-1)


def anchored_to_last(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    return scalar_recursion(policy, policy, valid, beta)


def divided_by_variance(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    variance = valid_mass(policy, valid) * valid_mass(policy, ~valid)
    return scalar_recursion(policy, base, valid, beta * np.sqrt(variance))


def derivation() -> Claims:
    # The odds of the tilted model are those of the base times e^(difference of the two gains).
    odds, beta, sigma, first, second = sympy.symbols("odds beta sigma first second", positive=True)
    p = odds / (1 + odds)
    yield Claim("variance of v", p * (1 - p) ** 2 + (1 - p) * p**2, equals=p * (1 - p))
    gap = (1 - p) / (beta * sigma) + p / (beta * sigma)
    yield Claim("normalised gains differ by 1/(b sigma)", gap, equals=1 / (beta * sigma))
    yield Claim("un-normalised gains differ by 1/b", (1 - p) / beta + p / beta, equals=1 / beta)
    g, h = sympy.symbols("g h", real=True)
    tilted = first * sympy.exp(g) / (second * sympy.exp(h))
    yield Claim(
        "the log odds rise by the difference", sympy.log(tilted), equals=sympy.log(first / second) + g - h
    )


THEOREM = Theorem(
    name="A11.recursion",
    title="Tabular GRPO: logit p' = logit p_ref + 1/(beta sqrt(p(1-p))), un-normalised + 1/beta",
    source=Source("mroueh2025grpo", "fixed-reference dynamics"),
    statement=r"\pi_{n+1} = \arg\max_\pi \mathrm{E}_\pi \tfrac{v-p_n}{\sigma_n} - \beta\,\mathrm{KL}(\pi\|a):"
    r"\quad \operatorname{logit} p_{n+1} = \operatorname{logit} p_{ref} + \frac{1}{\beta\sqrt{p_n(1-p_n)}}",
    relation=Relation.EQUAL,
    lhs=next_validities,
    rhs=scalar_recursion,
    instances=chart(policy=simplex(5), base=simplex(5), valid=masks(5), beta=log_uniform(1e-3, 1e3)),
    expected=Verdict.PROVED,
    examples=(example(policy=".3 .7", base=".1 .9", valid=[True, False], beta=".75"),),
    symbolic=derivation,
    false_neighbours=(
        neighbour("KL to the last policy instead of the base", rhs=anchored_to_last),
        neighbour("advantage divided by the variance", rhs=divided_by_variance),
        masses_clamped("policy", 1e-09),
    ),
)
