"""The dynamics of GRPO with a fixed reference.

With exact rounds and a fixed reference the log odds follow a recursion with two, one or no interior fixed
points. It need not converge to one: it can jump past them or cycle; from one half up it rises without passing
any.
"""

import numpy as np

from ...binary_reward import mu_from_beta, pass_rate
from ...numeric.elementary import Values, add_axes, expit, logit, normalised
from ...references import Source
from ...verification.charts import chart, example, log_uniform, masks, rates, simplex, uniform
from ...verification.statement import neighbour, refuted, theorem
from .._policies import FOUR_ANSWERS


def advantage(policy: Values, valid: Values) -> Values:
    """Centred reward v - E_q v of each outcome, (..., outcomes)."""
    failures, successes = (add_axes(pass_rate(policy, part), 1) for part in (~valid, valid))
    return np.where(valid, failures, -successes)


def deviation(policy: Values, valid: Values) -> Values:
    """The population standard deviation of v under the policy, shape (...)."""
    return np.sqrt((policy * np.square(advantage(policy, valid))).sum(axis=-1))


def tilted_by(reward: Values, base: Values, beta: Values) -> Values:
    """argmax_pi E_pi[reward] - beta KL(pi || base): base e^{reward/beta}, normalised; (..., outcomes)."""
    gain = reward / add_axes(beta, 1)
    return normalised(base * np.exp(gain - add_axes(np.max(gain, axis=-1), 1)))


def grpo_round(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    """Next policy of GRPO's iteration with std-normalised advantages, (..., outcomes); V in (0, 1)."""
    return tilted_by(advantage(policy, valid), base, beta * deviation(policy, valid))


def next_log_odds(start: Values, beta: Values, log_odds: Values) -> Values:
    """Log odds L' of success after the next round, start + 2 cosh(L/2)/beta, with start = logit p_ref.

    2 cosh(L/2) is 1/sqrt(p(1-p)) at L = logit p. Shapes broadcast.
    """
    return start + (np.exp(log_odds / 2) + np.exp(-log_odds / 2)) / beta


def least_rise(base_rate: Values, beta: Values) -> Values:
    """The least rise of the log odds in a round, logit p_ref + 2 sqrt(1 + 1/beta^2) - 2 arsinh beta.

    Negative, zero, positive: the iteration has two, one, no fixed points between p_ref and 1.
    """
    root = np.sqrt(1 + beta**2)
    return logit(base_rate) + 2 * root / beta - 2 * np.log(beta + root)


def next_validities(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    rounds = (grpo_round(policy, base, valid, beta), tilted_by(advantage(policy, valid), base, beta))
    return np.stack([pass_rate(after, valid) for after in rounds], axis=-1)


def scalar_recursion(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    base_rate = pass_rate(base, valid)
    scale = np.sqrt(pass_rate(policy, valid) * pass_rate(policy, ~valid))
    return np.stack([mu_from_beta(base_rate, beta * scale), mu_from_beta(base_rate, beta)], axis=-1)


def divided_by_variance(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    variance = pass_rate(policy, valid) * pass_rate(policy, ~valid)
    return scalar_recursion(policy, base, valid, beta * np.sqrt(variance))


ROUND = FOUR_ANSWERS.but(base_rate=".1", current=".7", rise="2.78", beta=".75")

RECURSION = theorem(
    "Tabular GRPO: logit p' = logit p_ref + 1/(beta sqrt(p(1-p))), un-normalised + 1/beta",
    statement=r"\pi_{n+1} = \arg\max_\pi \mathrm{E}_\pi \tfrac{v-p_n}{\sigma_n} - \beta\,\mathrm{KL}(\pi\|a):"
    r"\quad \operatorname{logit} p_{n+1} = \operatorname{logit} p_{ref} + \frac{1}{\beta\sqrt{p_n(1-p_n)}}",
    source=Source("mroueh2025grpo", "fixed-reference dynamics"),
    on=chart(policy=simplex(5), base=simplex(5), valid=masks(5), beta=log_uniform(1e-3, 1e3)),
    equal=(next_validities, scalar_recursion),
    examples=(ROUND.giving(value=".8294152299472 .5584123265213"),),
    coq="round_is",
    false=(
        neighbour(
            "KL to the last policy instead of the base",
            rhs=lambda policy, base, valid, beta: scalar_recursion(policy, policy, valid, beta),
        ),
        neighbour("advantage divided by the variance", rhs=divided_by_variance),
    ),
)


VALID = np.array([True, False])


def two_outcomes(log_odds: Values) -> Values:
    """Pair (p, 1-p) on a last axis with these log odds, each to full relative accuracy."""
    return np.stack([expit(log_odds), expit(-log_odds)], axis=-1)


def fixed_policy(base_rate: Values, rise: Values) -> Values:
    """Two-outcome policy (..., 2) whose log odds of success exceed the base's by `rise`."""
    return two_outcomes(logit(base_rate) + rise)


def after_a_round(base_rate: Values, rise: Values) -> Values:
    policy = fixed_policy(base_rate, rise)
    beta = 1 / (rise * deviation(policy, VALID))
    return grpo_round(policy, two_outcomes(logit(base_rate)), VALID, beta)[..., 0]


def without_deviation(base_rate: Values, rise: Values) -> Values:
    policy = fixed_policy(base_rate, rise)
    return grpo_round(policy, two_outcomes(logit(base_rate)), VALID, 1 / rise)[..., 0]


INTERIOR = theorem(
    "p is a fixed point of GRPO at exactly beta = 1/((logit p - logit p_ref) sqrt(p(1-p)))",
    statement=r"p_{n+1} = p_n = p \iff \frac1\beta = (\operatorname{logit} p - \operatorname{logit} p_{ref})"
    r"\sqrt{p(1-p)}",
    source=Source("mroueh2025grpo", "fixed-reference dynamics"),
    on=chart(base_rate=rates(), rise=log_uniform(1e-3, 30)),
    equal=(after_a_round, lambda base_rate, rise: fixed_policy(base_rate, rise)[..., 0]),
    examples=(ROUND.giving(value=".6417057807061"),),
    coq="interior_points",
    false=(neighbour("the fixed point of the un-normalised recursion", lhs=without_deviation),),
)


def level(base_rate: Values, log_odds: Values) -> Values:
    """The 1/beta at which log odds L are fixed: (L - logit p_ref) sqrt(p(1-p)), p = expit(L); broadcasts."""
    return (log_odds - logit(base_rate)) * np.sqrt(expit(log_odds) * expit(-log_odds))


def outer_levels(base_rate: Values, first: Values, second: Values, third: Values) -> Values:
    start = logit(base_rate) + first
    return np.stack([level(base_rate, L) for L in (start, start + second + third)], axis=-1)


def lower_outer_level(base_rate: Values, first: Values, second: Values, third: Values) -> Values:
    return np.min(outer_levels(base_rate, first, second, third), axis=-1)


def higher_outer_level(base_rate: Values, first: Values, second: Values, third: Values) -> Values:
    return np.max(outer_levels(base_rate, first, second, third), axis=-1)


def level_between(base_rate: Values, first: Values, second: Values) -> Values:
    return level(base_rate, logit(base_rate) + first + second)


UNIMODAL = theorem(
    "At most two interior fixed points: h(p) = (logit p - logit p_ref) sqrt(p(1-p)) is unimodal",
    statement=r"p_{ref} < p_1 < p_2 < p_3 \;\Rightarrow\; h(p_2) > \min(h(p_1), h(p_3)),\quad"
    r" h(p) = (\operatorname{logit} p - \operatorname{logit} p_{ref})\sqrt{p(1-p)}",
    source=Source("ours", "convexity in the log odds"),
    on=chart(base_rate=rates(), **{name: log_uniform(1e-3, 30) for name in ("first", "second", "third")}),
    at_most=(lower_outer_level, level_between),
    examples=(
        example(
            base_rate=".1", first="2.5", second="1", third="2", lhs="1.0173891766502", rhs="1.4347068661954"
        ),
    ),
    coq="one_peak",
    false=(
        neighbour(
            "monotone: no less than the higher of the two",
            at=example(base_rate="1e-12", first=".01", second=".02", third="30"),
            lhs=higher_outer_level,
        ),
    ),
)


def rise(base_rate: Values, beta: Values, current: Values) -> Values:
    """Change of the log odds of success by one std-normalised round at rate `current`; shapes broadcast."""
    return logit(base_rate) + 1 / (beta * np.sqrt(current * (1 - current))) - logit(current)


LEAST = theorem(
    "A round raises the log odds by at least logit p_ref + 2 sqrt(1+1/b^2) - 2 arsinh b",
    statement=r"\operatorname{logit} p_{n+1} - \operatorname{logit} p_n \ge"
    r" \operatorname{logit} p_{ref} + 2\sqrt{1 + \beta^{-2}} - 2\operatorname{arsinh}\beta"
    r"\quad (<0,\,=0,\,>0:\; 2, 1, 0 \text{ interior fixed points})",
    source=Source("ours", "convexity in the log odds"),
    on=chart(base_rate=rates(), beta=log_uniform(1e-3, 1e3), current=rates()),
    at_most=(least_rise, rise),
    examples=(ROUND.giving(lhs="-.2501856051228", rhs="-.1349505679102"),),
    coq="rises_and_fixed_points",
    false=(neighbour("every round raises the log odds", lhs=lambda base_rate: 0 * base_rate),),
)


ROUNDS, NEWTON_STEPS = 200, 60
CEILING = 60
"""Log odds beyond which pass rate 1 is reached to 26 digits: runaway iterates stop there."""


def with_fixed_points(base_rate: Values, beta: Values) -> tuple[Values, Values, Values]:
    """Mask of cases with interior fixed points; their logit p_ref and beta, defaults elsewhere."""
    exist = least_rise(base_rate, beta) < 0
    return exist, logit(np.where(exist, base_rate, 0.1)), np.where(exist, beta, 0.75)


def after_rounds(base_rate: Values, beta: Values) -> Values:
    exist, start, beta = with_fixed_points(base_rate, beta)
    log_odds = start
    for _ in range(ROUNDS):
        log_odds = np.minimum(next_log_odds(start, beta, log_odds), CEILING)
    return np.where(exist, expit(log_odds), 0.0)


def first_fixed_point(base_rate: Values, beta: Values) -> Values:
    exist, start, beta = with_fixed_points(base_rate, beta)
    log_odds = start
    # Newton from the left on a convex function falling through 0: it rises to the first zero.
    for _ in range(NEWTON_STEPS):
        slope = (np.exp(log_odds / 2) - np.exp(-log_odds / 2)) / (2 * beta) - 1
        log_odds = log_odds - (next_log_odds(start, beta, log_odds) - log_odds) / slope
    return np.where(exist, expit(log_odds), 0.0)


CONVERGENCE = refuted(
    "Where interior fixed points exist, the iterates from p_ref converge to the first one: refuted",
    statement=r"\exists\, p^* = p_{n+1} = p_n \in (p_{ref}, 1) \;\Rightarrow\;"
    r" p_n \to p^* \text{ from } p_0 = p_{ref}",
    source=Source("ours", "fixed-reference dynamics"),
    on=chart(base_rate=rates(low=1e-4, high=0.1), beta=log_uniform(0.3, 30)),
    equal=(after_rounds, first_fixed_point),
    examples=(ROUND, example(base_rate=".005", beta="1.8")),
    # Generous, so that slow convergence is not taken for none.
    tolerance=0.05,
    floor=0.05,
    note="Not guaranteed. At p_ref = .1, beta = .75 (fixed points .64196 and .89376) the first round "
    "already passes both and the iterates run to 1; at p_ref = .005, beta = 1.8 they settle on the 2-cycle "
    "{.017706, .253364}. From p_ref >= 1/2 the claim holds (grpo_rounds.monotone).",
    false=(
        neighbour(
            "for beta of at least 1.5, where 2-cycles happen",
            at=example(base_rate=".0001", beta="6"),
            instances=chart(base_rate=rates(low=1e-4, high=0.1), beta=log_uniform(1.5, 30)),
            examples=(),
        ),
    ),
)


def first_iterates(base_rate: Values, rise: Values) -> tuple[list[Values], Values]:
    """Log odds of rounds p_0 = p_ref, p_1, p_2, and of the fixed point `rise` above p_ref that sets beta."""
    start = logit(base_rate)
    fixed = start + rise
    beta = (np.exp(fixed / 2) + np.exp(-fixed / 2)) / rise
    path = [start]
    for _ in range(2):
        path.append(next_log_odds(start, beta, path[-1]))
    return path, fixed


def iterates(base_rate: Values, rise: Values) -> Values:
    path, _ = first_iterates(base_rate, rise)
    return np.stack(path, axis=-1)


def next_iterates_and_fixed_point(base_rate: Values, rise: Values) -> Values:
    path, fixed = first_iterates(base_rate, rise)
    return np.stack([*path[1:], fixed], axis=-1)


MONOTONE = theorem(
    "From p_ref >= 1/2 the pass rate rises in every round and stays below each interior fixed point",
    statement=r"p_{ref} \ge \tfrac12,\; p^* \text{ fixed} \;\Rightarrow\; p_n < p_{n+1} < p^*"
    r" \quad (p_0 = p_{ref}), \text{ so } p_n \text{ converges to the first fixed point}",
    source=Source("ours", "monotone iteration"),
    on=chart(base_rate=uniform(0.5, 0.999), rise=log_uniform(1e-3, 20)),
    at_most=(iterates, next_iterates_and_fixed_point),
    examples=(
        example(base_rate=".6", rise="1.5").giving(
            lhs=".4054651081082 1.4334632325367 1.6826685446907",
            rhs="1.4334632325367 1.6826685446907 1.9054651081082",
        ),
    ),
    coq="rounds_rise",
    false=(
        neighbour(
            "from base rates below 1/2 as well",
            at=example(base_rate=".1", rise="2"),
            instances=chart(base_rate=uniform(0.01, 0.5), rise=log_uniform(1e-3, 20)),
        ),
    ),
)
