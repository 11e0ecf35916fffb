"""The price of an advantage that retains strategies.

A weight that is large at small pass rates V is large too where an incorrect answer is accepted, and no group
knows V where it is below 1/G. What that costs: noise, a verifier's errors, steps, and Pass@1.
"""

from functools import partial
from itertools import product

import numpy as np

from ...divergences import stacked
from ...numeric.elementary import Values, logit, trailing
from ...references import Source
from ...stationary.groups import SCALES, group_weight
from ...transfer.price import observed_drive, steps_to_reach, update_moments, useful_share, weight_of_counts
from ...transfer.retention import (
    group_weighting,
    pass_at_k_weighting,
    power_weighting,
    retained_shares,
    shared_objective,
)
from ...verification.charts import chart, example, integers, log_uniform, rates, simplex, uniform
from ...verification.statement import neighbour, refuted, theorem
from .._shared_policies import by_instance, shared_lines, water_merits

SOURCE = Source("ours", "the price of an advantage that retains")
FORMS = ("none", "std", "mean")
OPEN_RATES = rates(low=1e-3, high=1e-3)


def second_moment(size: int, rate: float) -> Values:
    """E[((1/G) sum_i A_i (v_i - V))^2] over all groups of rewards, in the three forms."""
    total = np.zeros(len(FORMS))
    for rewards in product((0, 1), repeat=size):
        won = sum(rewards)
        if 0 < won < size:
            spreads = np.array([SCALES[form](np.array([won]), size)[0] for form in FORMS])
            moves = sum((v - won / size) * (v - rate) for v in rewards) / spreads / size
            total += rate**won * (1 - rate) ** (size - won) * moves**2
    return total


def second_moments(rate: Values, size: Values) -> Values:
    return by_instance(lambda v, n: second_moment(int(n), v), rate, size)


def polynomials(rate: Values, size: Values) -> Values:
    both, wrong = rate * (1 - rate), 1 - rate
    undivided = (size - 1) * both * (size - 1 + (size - 2) * (size - 3) * both) / size**3
    over_mean = wrong**2 + both / size - wrong**size
    return np.stack([undivided, both * ((size - 1) / size) ** 2, over_mean], axis=-1)


NOISE = theorem(
    "O1.noise",
    "The second moment of a group's update of the log odds: undivided, over the std, and over the mean",
    statement=r"E\bigl(\tfrac1G \textstyle\sum_i A_i (v_i - V)\bigr)^2 ="
    r" \frac{(G-1)w\,(G-1+(G-2)(G-3)w)}{G^3},\; \bigl(\tfrac{G-1}{G}\bigr)^2 w,\;"
    r" (1-V)^2 + \tfrac wG - (1-V)^G,\quad w = V(1-V)",
    source=SOURCE,
    on=chart(rate=OPEN_RATES, size=integers(2, 6)),
    equal=(second_moments, polynomials),
    examples=(example(rate=".1", size="4", value=".013415625 .050625 .1764"),),
    floor=1e-6,
    share=0.02,
    false=(
        neighbour(
            "the squares of the means",
            rhs=lambda rate, size: by_instance(
                lambda v, n: [update_moments(int(n), v, form)[0] ** 2 for form in FORMS], rate, size
            ),
        ),
    ),
)


def moment_over_square(size: Values, eps: float) -> Values:
    """G V E[update^2]/E[update]^2 at V = eps."""

    def relative(size: int, form: str) -> float:
        mean, variance = update_moments(size, eps, form)
        return float(size * eps * (1 + variance / mean**2))

    return by_instance(lambda n: [relative(int(n), form) for form in FORMS], size)


RARE = theorem(
    "O1.rare",
    "Where successes are rare, the relative noise of a prompt is 1/(G V), whatever advantages are divided by",
    statement=r"G V\,\frac{E\,g^2}{(E\,g)^2} \to 1 \quad (V \to 0),"
    r"\quad g = \tfrac1G \textstyle\sum_i A_i (v_i - V)",
    source=SOURCE,
    on=chart(size=integers(2, 32)),
    tends=(moment_over_square, lambda size: np.ones((len(size), len(FORMS)))),
    examples=(example(size="16"),),
    tolerance=1e-5,
    share=0.01,
    note="A division weighs a prompt's signal and its noise alike. It decides how much of the noise of all"
    " prompts is of the rare ones.",
    false=(
        neighbour(
            "as many times more as their weight",
            rhs=lambda size: np.stack([1 - 1 / size, (size - 1) / np.sqrt(size), size - 1], axis=-1),
        ),
    ),
)


def drive_by_enumeration(rate: Values, accepted: Values, refused: Values, size: int = 4) -> Values:
    """(1/G) sum_i A_i (c_i - V) over all groups, c whether it is correct and A of the rewards; MaxRL's."""
    total = 0 * rate
    chances = {(1, 1): rate * (1 - refused), (1, 0): rate * refused}
    chances |= {(0, 1): (1 - rate) * accepted, (0, 0): (1 - rate) * (1 - accepted)}
    for answers in product(chances, repeat=size):
        won = sum(reward for _, reward in answers)
        if won:
            moves = sum((reward * size / won - 1) * (correct - rate) for correct, reward in answers)
            total = total + np.prod([chances[answer] for answer in answers], axis=0) * moves / size
    return total


MAXRL = group_weighting(4, "mean")

ERRORS = theorem(
    "O1.errors",
    "Rewards that err at random: MaxRL weighs by the rate W that passes, and loses the factor 1 - e - d",
    statement=r"E\,\tfrac1G\textstyle\sum_i A_i (c_i - V) = \alpha_G(W)\,(1-e-d)\,V(1-V),"
    r"\quad W = V(1-d) + (1-V)e",
    source=SOURCE,
    on=chart(rate=OPEN_RATES, accepted=uniform(0, 0.5), refused=uniform(0, 0.45)),
    equal=(
        drive_by_enumeration,
        lambda rate, accepted, refused: observed_drive(rate, MAXRL, accepted=accepted, refused=refused),
    ),
    examples=(example(rate=".1", accepted=".05", refused=".1", value=".1999117125"),),
    floor=1e-4,
    share=0.05,
    note="So the weight of what is rare is at most alpha_G(e): in groups of 16, 15 without errors, 10.7 at"
    " e = .05 and 4.8 at .2.",
    false=(
        neighbour(
            "by the pass rate V itself",
            rhs=lambda rate, accepted, refused: observed_drive(rate, MAXRL) * (1 - accepted - refused),
        ),
        neighbour(
            "at W, without the factor",
            rhs=lambda rate, accepted, refused: (
                observed_drive(rate, MAXRL, accepted=accepted, refused=refused) / (1 - accepted - refused)
            ),
        ),
    ),
)


def share_of_correct(rate: Values, error: Values, unsolvable: Values, scale: str) -> Values:
    return useful_share(rate, rate * error, group_weighting(16, scale), unsolvable=unsolvable)


USEFUL = theorem(
    "O1.useful",
    "Where an incorrect answer passes that is rarer than the correct, MaxRL drives less to what is correct",
    statement=r"e \le V \;\Rightarrow\; \frac{(1-u)\,\alpha_G(V) V(1-V)}{(1-u)\,\alpha_G(V) V(1-V) +"
    r" u\,\alpha_G(e) e(1-e)} \le \text{ the same with a constant for } \alpha_G",
    source=SOURCE,
    on=chart(rate=OPEN_RATES, error=uniform(0.01, 1), unsolvable=uniform(0.05, 0.95)),
    at_most=(partial(share_of_correct, scale="mean"), partial(share_of_correct, scale="none")),
    examples=(
        example(rate=".25", error=".04", unsolvable=".5").giving(lhs=".84230036111", rhs=".949848024316"),
    ),
    note="Where it is more frequent than the correct, e > V, the share is larger: at V = .25 and half of the"
    " prompts unsolvable, undivided, std and MaxRL in groups of 16 have .950, .918, .842 at e = .01, one half"
    " at e = V, and .439, .466, .552 at e = .4. The rate from which on MaxRL is better is V itself.",
    false=(
        neighbour(
            "more frequent too",
            at=example(rate=".25", error="1.6", unsolvable=".5"),
            lhs=partial(share_of_correct, scale="mean"),
        ),
    ),
)


def times(base: Values, reached: Values) -> Values:
    return by_instance(
        lambda a, b: [steps_to_reach(a, b, power_weighting(p)) for p in (0.0, 1.0, 2.0)], base, reached
    )


def closed_times(base: Values, reached: Values) -> Values:
    low, high = logit(base), logit(reached)
    rise, grown = high - low, np.exp(high) - np.exp(low)
    return np.stack([2 * rise + grown + np.exp(-low) - np.exp(-high), rise + grown, grown], axis=-1)


STEPS = theorem(
    "O1.steps",
    "The steps of a prompt from A to B, at one step size: 1/A undivided, log 1/A weighed by V^-1",
    statement=r"\int_A^B \frac{dz}{V^{-p} V(1-V)} = 2\Delta z + \Delta e^z - \Delta e^{-z},\;"
    r" \Delta z + \Delta e^z,\; \Delta e^z \quad (p = 0, 1, 2),\quad z = \mathrm{logit}\,V",
    source=SOURCE,
    on=chart(base=log_uniform(1e-4, 0.45), reached=uniform(0.5, 0.99)),
    equal=(times, closed_times),
    examples=(example(base=".01", reached=".5", value="108.1801386929 5.5850188388 .9898989899"),),
    share=0.02,
    note="In groups of 16, undivided 115.4, std 33.7, MaxRL 10.8. Of prompts that are always solved the"
    " weights are 1 - 1/G, (G-1)/sqrt G and 1, and 0 of Pass@k.",
    false=(
        neighbour(
            "by the weight at the base alone",
            rhs=lambda base, reached: (
                closed_times(base, reached)[:, :1] * base[:, None] ** np.array([0.0, 1.0, 2.0])
            ),
        ),
    ),
)


def over_stored_counts(rate: Values, answers: int) -> Values:
    """E[(n+1)/(c+1)] over all rewards of n stored answers."""
    total = 0 * rate
    for rewards in product((0, 1), repeat=answers):
        won = sum(rewards)
        total = total + rate**won * (1 - rate) ** (answers - won) * (answers + 1) / (won + 1)
    return total


STORED = (1, 3, 8)

COUNTS = theorem(
    "O1.counts",
    "A weight (n+1)/(c+1) from n stored answers is on average MaxRL's of groups of n + 2, whatever G",
    statement=r"E\,\frac{n+1}{c+1} = \frac{1-(1-V)^{n+1}}{V} = \alpha_{n+2}(V),"
    r"\quad c \sim \text{Binomial}(n, V)",
    source=SOURCE,
    on=chart(rate=OPEN_RATES),
    equal=(
        lambda rate: stacked(lambda n: over_stored_counts(rate, n), STORED),
        lambda rate: stacked(lambda n: weight_of_counts(n, rate), STORED),
    ),
    examples=(example(rate=".1", value="1.9 3.439 6.12579511"),),
    share=0.2,
    note="A group of G sees nothing of V below 1/G, and 64 stored answers weigh V = .01 by 48 where a group"
    " of eight weighs it by 6.8. No group and no number of answers has 1/V itself: all these are"
    " polynomials.",
    false=(
        neighbour(
            "of groups of n + 1",
            rhs=lambda rate: stacked(lambda n: group_weight(n + 1, rate, "mean"), STORED),
        ),
        neighbour("1/V", rhs=lambda rate: 1 / trailing(rate, 1) + 0 * np.array(STORED)),
    ),
)


def false_strategy(share: Values, error: Values, size: Values) -> Values:
    """MaxRL's objective where a wrong strategy, accepted on a share of prompts, has this share."""
    return by_instance(
        lambda q, e, n: shared_objective([1 - q, q], np.eye(2), [1 - e, e], group_weighting(int(n), "mean")),
        *(share, error, size),
    )


def tangent(share: Values, error: Values, size: Values, less: float = 0.0) -> Values:
    return false_strategy(0 * share, error, size) + share * ((size - less) * error - 1)


FALSE = theorem(
    "O2.false",
    "A wrong strategy accepted on a share e of the prompts gains nothing under MaxRL where e <= 1/G",
    statement=r"J(1-q, q) \le J(1, 0) + (G e - 1)\,q,\quad J = (1-e) J_G(1-q) + e\,J_G(q)",
    source=SOURCE,
    on=chart(share=uniform(0, 1), error=uniform(0, 0.5), size=integers(2, 32)),
    at_most=(false_strategy, tangent),
    examples=(example(share=".05", error=".1", size="16"),),
    share=0.05,
    note="Undivided and std-normalised it is lost up to e = 1/2. MaxRL in groups of 16 has .067, .194, .400"
    " of it at e = .1, .2, .4, and true Pass@1 .840, .645, .360 for .9, .8, .6; V^-1 has e of it, and"
    " (1-e)^2.",
    false=(
        neighbour(
            "G - 1 in the place of G",
            at=example(share=".01", error=".1", size="16"),
            rhs=partial(tangent, less=1.0),
        ),
    ),
)


def mixed_objective(policy: Values, shares: Values, slack: Values, at_once: Values) -> Values:
    """Pass@4 + c Pass@1 at the merits at which the shares are level."""
    return by_instance(
        lambda p, q, lost, c: shared_lines(
            p[None], water_merits(q[None], lost[None], pass_at_k_weighting(4, c)), pass_at_k_weighting(4, c)
        )[0],
        *(policy, shares, slack, at_once),
    )


PASSES = theorem(
    "O2.passes",
    "Shares of equal rho_s (c + k (1-q_s)^(k-1)) have the most c Pass@1 + Pass@k: no policy has more of both",
    statement=r"\rho_s\bigl(c + k(1-q_s)^{k-1}\bigr) = \lambda \text{ where } q_s > 0,\; \le \lambda"
    r" \text{ else} \;\Rightarrow\; c\,\mathrm{Pass@1}(p) + \mathrm{Pass@}k(p) \le"
    r" c\,\mathrm{Pass@1}(q) + \mathrm{Pass@}k(q)",
    source=SOURCE,
    on=chart(
        policy=simplex(4, spread=4),
        shares=simplex(4, spread=4, zeros=True),
        slack=uniform(0, 1, 4),
        at_once=log_uniform(0.01, 10),
    ),
    at_most=(mixed_objective, lambda shares, slack, at_once: mixed_objective(shares, shares, slack, at_once)),
    examples=(example(policy=".7 .1 .1 .1", shares=".4 .3 .3 0", slack="1 1 1 .5", at_once="1"),),
    share=0.02,
    false=(
        neighbour(
            "where the lost strategy has twice the merit that the condition allows",
            at=example(policy=".3 .3 .2 .2", shares=".4 .3 .3 0", slack="1 1 1 2", at_once=".1"),
            lhs=mixed_objective,
        ),
    ),
)


def first_pass(merits: Values, shares: Values) -> Values:
    return (merits * shares).sum(axis=-1)


ON_FRONTIER = refuted(
    "O2.frontier",
    "'Weighed by V^-1 more Pass@1 is left than by Pass@k itself': refuted",
    statement=r"\mathrm{Pass@1}(q^{(k)}) \le \mathrm{Pass@1}(q^{(-1)}),\quad q^{(k)}, q^{(-1)}"
    r" \text{ the best of } \mathrm{Pass@}4 \text{ and of } \textstyle\sum_s \rho_s \log q_s",
    source=SOURCE,
    on=chart(merits=simplex(4, spread=1)),
    at_most=(
        lambda merits: first_pass(
            merits, by_instance(lambda rho: retained_shares(rho, pass_at_k_weighting(4)), merits)
        ),
        lambda merits: first_pass(merits, merits),
    ),
    examples=(example(merits=".4 .3 .2 .1", lhs=".3082506740639", rhs=".3"),),
    note="Then Pass@4 has more of both: no power of V is the best way to pay Pass@1 for Pass@k, the maxima of"
    " c Pass@1 + Pass@k are. Merits .4, .3, .2, .1, Pass@16 at equal Pass@1: V^-1/2 .921 for .938, V^-1 .975"
    " for .978, V^-2 .9889 for .9890.",
    false=(
        neighbour(
            "more than by Pass@1 + Pass@4",
            lhs=lambda merits: first_pass(
                merits, by_instance(lambda rho: retained_shares(rho, pass_at_k_weighting(4, 1.0)), merits)
            ),
        ),
    ),
)
