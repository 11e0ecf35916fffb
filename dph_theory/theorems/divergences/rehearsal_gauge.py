"""The gauge decides what correct samples rehearse.

f + c(u - 1) is one divergence under samples of the reference, but not on correct samples alone: there the
gauge c decides what is rehearsed. -log u has the filtered model as its target, k3 the base's own pass rate,
u log u A1/e.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import numpy as np

from ...binary_reward import filtered, pass_rate, with_pass_rate
from ...divergences import (
    COMPARED,
    FORWARD_KL,
    JENSEN_SHANNON,
    REVERSE_KL,
    SMOOTH,
    TOTAL_VARIATION,
    alpha_divergence,
    stacked,
)
from ...fdivergence import FDivergence
from ...numeric.elementary import Values, add_axes
from ...references import Source
from ...tokens import sequences
from ...verification.charts import chart, example, masks, simplex, uniform
from ...verification.statement import neighbour, theorem
from .._estimators import k2_of_ratio, k3_of_ratio, mean_on_filtered
from .._policies import FOUR_ANSWERS, PI_REF
from .._token_pairs import (
    REPEATED,
    REPEATED_PAIR,
    SAMPLED,
    SAMPLED_PAIR,
    RatioLoss,
    correct_ratios,
    filtered_token_loss,
)


def divergences(pi: Values, ref: Values) -> Values:
    return stacked(lambda divergence: divergence(pi, ref), SMOOTH)


def mean_loss(sampler: Values, pi: Values, ref: Values, c: Values) -> Values:
    """E[f(u) + c(u-1)], u = pi/ref, over outcomes drawn from `sampler`, (..., divergences)."""
    ratio = pi / ref
    shift = add_axes(c, 1) * (ratio - 1)
    return stacked(lambda divergence: (sampler * (divergence.generator(ratio) + shift)).sum(axis=-1), SMOOTH)


GAUGE = theorem(
    "f + c(u-1) is the same divergence under samples from ref",
    statement=r"E_{ref}[f(u) + c(u-1)] = D_f(\pi\|\pi_{ref}) \quad\text{for every } c",
    source=Source("ours", "gauge"),
    on=chart(pi=simplex(3), ref=simplex(3), valid=masks(3), c=uniform(-10, 10)),
    equal=(lambda pi, ref, c: mean_loss(ref, pi, ref, c), divergences),
    examples=(
        PI_REF.but(c="1", valid=[True, True, False, False]).giving(
            value=(
                ".3006928762565 .3537826013701 .1534056926223 .1583021731455 "
                "1.0504761904762 .6458333333333 .3322062413568 .316604346291 "
                ".3062620023888"
            )
        ),
    ),
    coq="gauge",
    false=(
        neighbour(
            "on filtered samples, y ~ p_*",
            lhs=lambda pi, ref, valid, c: mean_loss(filtered(ref, valid), pi, ref, c),
            rhs=lambda pi, ref, valid, c: mean_loss(filtered(ref, valid), pi, ref, 0 * c),
        ),
        neighbour(
            "on samples from the policy",
            lhs=lambda pi, ref, c: mean_loss(pi, pi, ref, c),
            rhs=lambda pi, ref, c: mean_loss(pi, pi, ref, 0 * c),
        ),
    ),
)


HALF = alpha_divergence(0.5)


def in_gauge(f: FDivergence, c: Values) -> RatioLoss:
    return lambda ratio: f.generator(ratio) + add_axes(c, 1) * (ratio - 1)


def loss_decreases(pi: Values, base: Values, valid: Values, c: Values) -> Values:
    """Decrease of each rehearsal loss f + c(u-1) from the base, where it is 0, to pi; (batch, losses)."""
    return -stacked(lambda f: mean_on_filtered(in_gauge(f, c), pi, base, valid), COMPARED)


def stationary_ratios(c: Values) -> tuple[tuple[Values, Values], ...]:
    """Per compared f the root u of f'(u) + c = 0 and the mask of cases that have one, both (batch,)."""

    def root(value: Values, exists: Values) -> tuple[Values, Values]:
        exists = np.asarray(exists).astype(bool)
        return np.where(exists, value, 1.0), exists

    with np.errstate(divide="ignore"):
        return (
            root(1 / c, c > 0),
            root(np.exp(-1 - c), np.exp(c) > 0),
            root(1 / (2 * np.exp(c) - 1), 2 * np.exp(c) > 1),
            root((1 + c / 2) ** -2, c > -2),
        )


def target_masses(base: Values, valid: Values, c: Values) -> Iterator[Values]:
    """Yield for each compared loss its optimal pass rate m, f'(m/A1) + c = 0, capped at 1; (batch,)."""
    base_rate = pass_rate(base, valid)
    for ratio, exists in stationary_ratios(c):
        inside = exists & (ratio * base_rate < 1)
        yield np.where(inside, ratio * base_rate, 1.0)


def decreases_at(masses: Iterable[Values], base: Values, valid: Values, c: Values) -> Values:
    """Decrease of each compared loss f + c(u-1) from the base to m p_*, at the given m; (batch, losses)."""
    policies = [with_pass_rate(mass, base, valid) for mass in masses]
    losses = [
        mean_on_filtered(in_gauge(f, c), pi, base, valid) for f, pi in zip(COMPARED, policies, strict=True)
    ]
    return -np.stack(losses, axis=-1)


def greatest_decreases(base: Values, valid: Values, c: Values) -> Values:
    """Largest decrease of each compared loss f + c(u-1) below its 0 at the base, (batch, losses)."""
    return decreases_at(target_masses(base, valid, c), base, valid, c)


MINIMISER = theorem(
    "On correct samples f + c(u-1) has the minimiser m p_* on Y1, f'(m/A1) + c = 0, m capped at 1",
    statement=r"-E_{p_*}[f(u) + c(u-1)] \le -f(m/A_1) - c(m/A_1 - 1),\quad u = \pi/a,\quad"
    r" f'(m/A_1) + c = 0 \text{ or } m = 1,\quad \text{equality at } \pi = m p_* \text{ on } Y_1",
    source=Source("ours", "gauge on filtered samples"),
    on=chart(pi=simplex(4), base=simplex(4), valid=masks(4), c=uniform(-3, 3)),
    at_most=(loss_decreases, greatest_decreases),
    examples=(
        FOUR_ANSWERS.but(pi=".3 .25 .25 .2", c="1").giving(
            lhs="-.4175953989144 -2.9480673485461 -1.4347680508418 -1.6760653221699",
            rhs="0 1.1353352832366 .5101198743553 .3333333333333",
        ),
    ),
    coq="minimiser",
    false=(
        neighbour(
            "the gauge ignored",
            rhs=lambda base, valid, c: decreases_at(target_masses(base, valid, 0 * c), base, valid, c),
        ),
        neighbour(
            "p_* whatever the loss and the gauge",
            rhs=lambda base, valid, c: decreases_at([np.ones_like(c)] * len(COMPARED), base, valid, c),
        ),
    ),
)


PRINTED = ((FORWARD_KL, 0), (FORWARD_KL, 1), (REVERSE_KL, 0), (JENSEN_SHANNON, 0), (HALF, 0))
"""-log u, k3 = u - 1 - log u, u log u, Jensen-Shannon, alpha = 1/2: each a divergence in a gauge c."""


def stationary_masses(base: Values, valid: Values) -> Values:
    """Optimal pass rate m of each rehearsal loss as printed, shape (batch, losses)."""
    masses = {c: [*target_masses(base, valid, 0 * base[..., 0] + c)] for c in (0, 1)}
    return np.stack([masses[c][COMPARED.index(f)] for f, c in PRINTED], axis=-1)


Mass = Callable[[Values], Values]


def all_mass(A1: Values) -> Values:
    return 0 * A1 + 1


def base_mass(A1: Values) -> Values:
    return A1


def base_mass_over_e(A1: Values) -> Values:
    return A1 / np.e


def stated_masses(
    base: Values,
    valid: Values,
    log: Mass = all_mass,
    k3: Mass = base_mass,
    reverse: Mass = base_mass_over_e,
    js: Mass = base_mass,
    alpha: Mass = base_mass,
) -> Values:
    """Optimal pass rates that the theorem states, each a function of the base rate; (batch, losses)."""
    A1 = pass_rate(base, valid)
    return np.stack([mass(A1) for mass in (log, k3, reverse, js, alpha)], axis=-1)


TARGETS = theorem(
    "On correct samples -log u targets p_*, k3 mass A1, u log u mass A1/e, JS and alpha mass A1",
    statement=r"\arg\min_{\pi > 0 \text{ on } Y_1} E_{p_*}[f(u)] = m\,p_* \text{ on } Y_1:"
    r"\; m = 1\;(-\log u),"
    r"\; A_1\;(u-1-\log u),"
    r"\; A_1/e\;(u\log u),\; A_1\;(f_{JS}),\; A_1\;(f_\alpha)",
    source=Source("ours", "gauge on filtered samples"),
    on=chart(base=simplex(4), valid=masks(4)),
    equal=(stationary_masses, stated_masses),
    examples=(FOUR_ANSWERS.giving(value="1 .25 .0919698602929 .25 .25"),),
    note="The special cases of rehearsal_gauge.minimiser.",
    coq="selected",
    false=(
        neighbour("-log u targets the base's own pass rate", rhs=partial(stated_masses, log=base_mass)),
        neighbour("k3 targets p_*", rhs=partial(stated_masses, k3=all_mass)),
        neighbour("u log u targets the base's own pass rate", rhs=partial(stated_masses, reverse=base_mass)),
        neighbour("Jensen-Shannon targets p_*", rhs=partial(stated_masses, js=all_mass)),
        neighbour("alpha targets p_*", rhs=partial(stated_masses, alpha=all_mass)),
    ),
)


def minus_log(ratio: Values) -> Values:
    """-log u of any shape, infinite at u = 0."""
    empty = ratio == 0
    return np.where(empty, np.inf, -np.log(np.where(empty, 1.0, ratio)))


def by_token_and_by_sequence(
    loss: RatioLoss,
    pi_tokens: list[Values],
    base_tokens: list[Values],
    pi: Values,
    base: Values,
    valid: Values,
) -> Values:
    """Mean loss over correct samples, of the tokens' ratios and of the sequences' ratios; (batch, 2)."""
    tokens = filtered_token_loss(loss, pi_tokens, base_tokens, valid)
    return np.stack([tokens, mean_on_filtered(loss, pi, base, valid)], axis=-1)


def to_the_filtered_model(pi: Values, base: Values, valid: Values) -> Values:
    distance = FORWARD_KL(pi, filtered(base, valid))
    return (distance + np.log(pass_rate(base, valid)))[..., None]


def to_the_base(pi: Values, base: Values, valid: Values) -> Values:
    return (FORWARD_KL(pi, base) + np.log(pass_rate(base, valid)))[..., None]


FILTERED = theorem(
    "-log u on correct samples is forward KL to the filtered model, plus log A1",
    statement=r"E_{p_*}\Big[\sum_t -\log u_t\Big] = E_{p_*}[-\log u] = \mathrm{KL}(p_*\|\pi) + \log A_1,"
    r"\quad \text{so its minimiser is } p_*",
    source=Source("ours", "rehearsal on correct samples"),
    on=SAMPLED,
    equal=(partial(by_token_and_by_sequence, minus_log), to_the_filtered_model),
    examples=(SAMPLED_PAIR.giving(value="-.1488857486927"),),
    coq="rehearsed_tokens",
    false=(
        neighbour("k3 on the same samples", lhs=partial(by_token_and_by_sequence, k3_of_ratio)),
        neighbour("forward KL to the base", rhs=to_the_base),
    ),
)


TOKEN_LOSSES = (k3_of_ratio, k2_of_ratio, JENSEN_SHANNON.generator, HALF.generator, TOTAL_VARIATION.generator)
"""Non-negative, zero at u = 1 only: k3, k2 (not convex), Jensen-Shannon and alpha as printed, |u-1|/2."""


def token_losses(
    losses: Sequence[RatioLoss], pi_tokens: list[Values], base_tokens: list[Values], valid: Values
) -> Values:
    """Mean over correct samples of each loss, summed over the ratios of tokens; (batch, losses)."""
    return stacked(lambda loss: filtered_token_loss(loss, pi_tokens, base_tokens, valid), losses)


def largest_term(pi_tokens: list[Values], base_tokens: list[Values], valid: Values) -> Values:
    """Largest loss of one token of a correct sequence, weighted by p_*, (batch, losses); 0 only at u = 1."""
    target = filtered(sequences(base_tokens), valid).reshape(base_tokens[-1].shape)
    ratios = [add_axes(u, target.ndim - u.ndim) for u in correct_ratios(pi_tokens, base_tokens, valid)]

    def largest(loss: RatioLoss) -> Values:
        terms = np.stack([target * loss(ratio) for ratio in ratios], axis=-1)
        return np.max(abs(terms.reshape(len(terms), -1)), axis=-1)

    return stacked(largest, TOKEN_LOSSES)


def minus_log_loss_of_base(base_tokens: list[Values], valid: Values) -> Values:
    return token_losses((FORWARD_KL.generator,), base_tokens, base_tokens, valid)


def token_losses_of_filtered(base_tokens: list[Values], valid: Values) -> Values:
    """Token losses of the filtered model p_*, shape (batch, losses).

    p_* is written as next-token tables. After prefixes that p_* never produces, the table is the base's.
    """
    after, tables = filtered(sequences(base_tokens), valid).reshape(base_tokens[-1].shape), list[Values]()
    for base in reversed(base_tokens):
        mass = after.sum(axis=-1)
        visited = add_axes(mass > 0, 1)
        tables.insert(0, np.where(visited, after / np.where(visited, add_axes(mass, 1), 1.0), base))
        after = mass
    return token_losses(TOKEN_LOSSES, tables, base_tokens, valid)


TOKENS = theorem(
    "Per token on correct samples, any f >= 0 zero only at u = 1 is least at pi = a on Y1, mass A1",
    statement=r"E_{p_*}\Big[\sum_t f(u_t)\Big] \ge \max_{y \in Y_1,\, t} |p_*(y) f(u_t)| \ge 0"
    r" \text{ with equality} \iff \pi = a \text{ on } Y_1,"
    r"\; \pi(Y_1) = A_1,\quad f \ge 0,\; f(u) = 0 \iff u = 1,\quad"
    r" u_t = \tfrac{\pi(y_t|y_{<t})}{a(y_t|y_{<t})}",
    source=Source("ours", "token level"),
    on=REPEATED,
    at_most=(largest_term, partial(token_losses, TOKEN_LOSSES)),
    examples=(
        REPEATED_PAIR.giving(
            lhs=".2668285386435 .208892614747 .1477382928656 .2983876091371 .4347826086957",
            rhs=".5219413957573 .4697413162738 .2739293345876 .5541273855227 .804347826087",
        ),
    ),
    coq="tokens_vanish",
    false=(
        neighbour("least at p_*", lhs=token_losses_of_filtered),
        neighbour(
            "-log u, which is negative beyond u = 1",
            lhs=minus_log_loss_of_base,
            rhs=partial(token_losses, (FORWARD_KL.generator,)),
        ),
    ),
)


def distance_of_mass(pi: Values, base: Values, valid: Values, target: Mass = base_mass) -> Values:
    """Lower bound (batch,) on a loss from how far the pass rate is from `target(base rate)`."""
    rarest = np.min(np.where(valid, filtered(base, valid), 1.0), axis=-1)
    return rarest * np.square(np.log(pass_rate(pi, valid) / target(pass_rate(base, valid)))) / 6


MASS = theorem(
    "A small token loss k2 on correct samples holds the mass on Y1 near A1",
    statement=r"\frac{\min_{Y_1} p_*}{2T} \log^2\frac{\pi(Y_1)}{A_1}"
    r" \le E_{p_*}\Big[\sum_{t\le T} \tfrac12\log^2 u_t\Big],\quad T = 3",
    source=Source("ours", "token level"),
    on=REPEATED,
    at_most=(distance_of_mass, partial(filtered_token_loss, k2_of_ratio)),
    examples=(REPEATED_PAIR.giving(lhs=".0015347428757", rhs=".4697413162738"),),
    coq="tokens_hold_the_mass",
    false=(
        neighbour(
            "near one in place of A1",
            at=example(
                pi_first=".5 .5",
                pi_second=[".5 .5"],
                pi_third=[["1e-5 .99999"]],
                base_first=".2 .8",
                base_second=[".5 .5"],
                base_third=[[".00002 .99998"]],
                correct=[True, False, False, False],
            ),
            lhs=partial(distance_of_mass, target=all_mass),
        ),
    ),
)
