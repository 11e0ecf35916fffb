"""Guarantees of Pass@k from rehearsal.

Forward KL to the filtered model keeps a floor of every strategy, and its mean over prompts bounds mean
Pass@k. From stored answers alone: the share of them that is found again is certain, for every policy; answers
that the policy was not trained on certify its pass rate with a chance of failing; and what was not stored can
be lost at loss zero, so the number of stored answers decides what rehearsal can retain.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.special import bdtr, comb

from ...coverage import exact_pass_at_k
from ...improvement import (
    STORED_GOALS,
    pass_at_k_guarantee,
    rehearsal_guarantee,
    steepest_line,
    stored_answers_needed,
)
from ...numeric.elementary import Values, add_axes, masked
from ...references import Source
from ...verification.charts import Example, chart, example, integers, masks, rates, simplex, uniform
from ...verification.statement import neighbour, theorem

CLOSE = Source("ours", "what closeness to the filtered model guarantees")
STORED = Source("ours", "what stored answers guarantee")


def kl_to_correct(correct: Values, policy: Values) -> Values:
    """KL(correct || policy), (...), where the policy has one more outcome, the last, which is incorrect."""
    return (correct * (np.log(correct) - np.log(policy[..., :-1]))).sum(axis=-1)


def floor_of_strategy(correct: Values, policy: Values, strategy: Values) -> Values:
    share = masked(correct, strategy).sum(axis=-1)
    return rehearsal_guarantee(kl_to_correct(correct, policy), share)


def share_in_policy(policy: Values, strategy: Values) -> Values:
    return masked(policy[..., :-1], strategy).sum(axis=-1)


def half_of_share(correct: Values, strategy: Values) -> Values:
    return masked(correct, strategy).sum(axis=-1) / 2


FLOOR = theorem(
    "Within forward KL e of p_* a strategy of share s has at least the probability x, kl(s||x) = e",
    statement=r"s = p_*(S):\quad \min\{x : \mathrm{kl}(s\|x) \le \mathrm{KL}(p_*\|\pi)\} \le \pi(S)",
    source=CLOSE,
    on=chart(correct=simplex(3, spread=4), policy=simplex(4, spread=4), strategy=masks(3)),
    at_most=(floor_of_strategy, share_in_policy),
    examples=(example(correct=".25 .45 .3", policy=".1 .45 .3 .15", strategy=[True, False, False]),),
    note="Tight, at policies in p_*'s proportions on S and on the other correct answers. The floor is"
    " positive at every KL, at least s e^(-1-e/s) and s - sqrt(2 s e), but it may be tiny: 1.7e-7 at s ="
    " .01, e = .1.",
    coq="share_floor",
    part="that no positive share below the policy's is as far from s as KL(p_*||pi)",
    false=(neighbour("at least half of the strategy's share", lhs=half_of_share,
        at=example(correct=".01 .5 .49", policy=".00001 .5 .49 .00999", strategy=[True, False, False])),),
)  # fmt: skip


def mean_kl(correct: Values, policy: Values) -> Values:
    return kl_to_correct(correct, policy).mean(axis=-1)


def guaranteed(correct: Values, policy: Values, k: Values) -> Values:
    return pass_at_k_guarantee(mean_kl(correct, policy), k)


def line_guaranteed(correct: Values, policy: Values, k: Values) -> Values:
    return 1 - steepest_line(k)[1] * mean_kl(correct, policy)


def mean_pass_at_k(policy: Values, k: Values) -> Values:
    return exact_pass_at_k(policy[..., :-1].sum(axis=-1), add_axes(k, 1)).mean(axis=-1)


TWO_PROMPTS = example(
    correct=[".6 .4", ".5 .5"], policy=[".5999999999 .3999999999 .0000000002", ".142 .142 .716"], k="2"
)
"""One prompt at p_*, the other near the KL of 1.256 at which the line of k = 2 touches."""

PASS_AT_K = theorem(
    "Mean Pass@k is at least 1 - c_k times the mean forward KL to the filtered models",
    statement=r"\overline{\mathrm{pass@}k} \ge 1 - c_k\, \overline{\mathrm{KL}(p_{*x}\|\pi_x)},\quad"
    r" c_k = \max_{x > 0} \frac{(1-e^{-x})^k}{x}",
    source=CLOSE,
    on=chart(correct=simplex(2, 2, spread=4), policy=simplex(3, 2, spread=2), k=integers(1, 256)),
    at_most=(
        lambda correct, policy, k: np.stack(
            [line_guaranteed(correct, policy, k), guaranteed(correct, policy, k)], axis=-1
        ),
        lambda policy, k: add_axes(mean_pass_at_k(policy, k), 1),
    ),
    examples=(TWO_PROMPTS,),
    note="c = 1, .40726, .28499, .18698, .11576 at k = 1, 2, 4, 16, 256; c_k <= 1/log k. The second"
    " component is pass_at_k_guarantee, the convex hull of the bound of one prompt, which is sharper from"
    " x_k on. JS and alpha = 1/2 have such lines too, with c = .721 and .25 for every large k: bounded"
    " divergences let prompts go entirely, and more draws do not help.",
    coq="mean_pass_at_k steepest_line",
    part="the line, from the KLs and pass rates of the prompts; and that no line from 1 is steeper than"
    " c_k's",
    false=(neighbour("as if every prompt had the mean KL", at=TWO_PROMPTS,
        lhs=lambda correct, policy, k: add_axes(exact_pass_at_k(np.exp(-mean_kl(correct, policy)), k), 1)),),
)  # fmt: skip


def floors_found(correct: Values, policy: Values, k: Values) -> Values:
    """Sum over correct answers of the least chance that k draws find each, given KL(p_* || pi); (batch,)."""
    e = add_axes(kl_to_correct(correct, policy), 1)
    return exact_pass_at_k(rehearsal_guarantee(e, correct), add_axes(k, 1)).sum(axis=-1)


def distinct_found(policy: Values, k: Values) -> Values:
    return exact_pass_at_k(policy[..., :-1], add_axes(k, 1)).sum(axis=-1)


DISTINCT = theorem(
    "k draws find at least so many distinct correct answers in the mean as their floors allow",
    statement=r"\sum_y 1 - \bigl(1 - \mathrm{floor}(p_*(y), e)\bigr)^k \le \sum_{y \in Y_1} 1 - (1-\pi_y)^k,"
    r"\quad e = \mathrm{KL}(p_*\|\pi)",
    source=CLOSE,
    on=chart(correct=simplex(4, spread=3), policy=simplex(5, spread=3), k=integers(1, 64)),
    at_most=(floors_found, distinct_found),
    examples=(example(correct=".25 .25 .25 .25", policy=".2 .25 .3 .2 .05", k="4"),),
    note="Not tight: no policy is at all floors at once. With p_* uniform on four answers and k = 4 a search"
    " finds 2.5473 as the least at e = .1, where three answers share a floor, and 2.7344 at e = 0.",
    false=(neighbour("as many as the filtered model finds, times e^-e",
        at=example(correct=".25 .25 .25 .25", policy=".1 .1 .1 .65 .05", k="4"),
        lhs=lambda correct, policy, k: np.exp(-kl_to_correct(correct, policy) / 8)
        * exact_pass_at_k(correct, add_axes(k, 1)).sum(axis=-1)),),
)  # fmt: skip


def found_again(stored: Values, policy: Values, k: Values) -> Values:
    return (stored * exact_pass_at_k(policy[..., :-1], add_axes(k, 1))).sum(axis=-1)


def found_by_loss(stored: Values, policy: Values, k: Values, *, less_entropy: bool = False) -> Values:
    """Bound 1 - c_k loss, (batch,), loss the mean -log pi of stored answers, or KL with `less_entropy`."""
    loss = -(stored * np.log(policy[..., :-1])).sum(axis=-1)
    if less_entropy:
        loss = loss + (stored * np.log(stored)).sum(axis=-1)
    return 1 - steepest_line(k)[1] * loss


RECALLED = theorem(
    "The share of stored answers that k draws find again is at least 1 - c_k times their mean loss",
    statement=r"\sum_y \hat p(y)\,\bigl[1 - (1-\pi_y)^k\bigr] \ge 1 - c_k \sum_y \hat p(y)\,(-\log\pi_y)",
    source=STORED,
    on=chart(stored=simplex(3, spread=3), policy=simplex(4, spread=3), k=integers(1, 256)),
    at_most=(found_by_loss, found_again),
    examples=(example(stored=".5 .3 .2", policy=".4 .3 .2 .1", k="4"),),
    note="For every policy and without any chance: whether it was trained on these answers or not. In the"
    " same way pi(Y1) >= e^-KL(stored||pi) (rehearsal_guarantee.filtered, with stored frequencies for p_*).",
    coq="found_again steepest_line",
    part="with any line above (1-e^-t)^k; and that no line from 1 is steeper than c_k's",
    false=(neighbour("their KL in place of their loss", lhs=partial(found_by_loss, less_entropy=True),
        at=example(stored=".34 .33 .33", policy=".33 .33 .33 .01", k="1")),),
)  # fmt: skip


def chance(holds: Callable[..., Values]) -> Callable[..., Values]:
    """Turn a 0/1 property of counts into its probability (batch,) over n stored answers of two kinds.

    `holds` gets share, n, drawn (how many are of the first kind, whose share is `share`) and the further
    parts.
    """

    def side(share: Values, n: Values, **parts: Any) -> Values:
        drawn = np.arange(21.0)
        count = np.minimum(drawn, add_axes(n, 1))
        parts = {name: add_axes(value, 1) for name, value in parts.items()}
        s, number = add_axes(share, 1), add_axes(n, 1)
        weight = np.where(drawn <= number, comb(number, count) * s**count * (1 - s) ** (number - count), 0)
        return (weight * holds(share=s, n=number, drawn=count, **parts)).sum(axis=-1)

    return side


def _gains(share: Values, n: Values, drawn: Values, first: Values, second: Values) -> tuple[Values, Values]:
    """Mean of log pi/a over n stored answers, and V/A1 at base rate 1/2; both in the shape of `drawn`.

    `drawn` of the n are of the first kind, of share `share`; the policy gives the kinds masses `first` and
    `second`.
    """
    log_first, log_second = np.log(2 * first / share), np.log(2 * second / (1 - share))
    return (drawn * log_first + (n - drawn) * log_second) / n, 2 * (first + second)


def certificate_fails(share: Values, n: Values, first: Values, second: Values, delta: Values) -> Values:
    def fails(share: Values, n: Values, drawn: Values, first: Values, second: Values, delta: Values) -> Any:
        mean, gained = _gains(share, n, drawn, first, second)
        return np.log(gained) < mean + np.log(delta) / n - 1e-12

    return chance(fails)(share, n, first=first, second=second, delta=delta)


def kl_exceeds(share: Values, n: Values, first: Values, second: Values, delta: Values) -> Values:
    def exceeds(share: Values, n: Values, drawn: Values, first: Values, second: Values, delta: Values) -> Any:
        kl = share * np.log(share / first) + (1 - share) * np.log((1 - share) / second)
        loss = (drawn * np.log(share / first) + (n - drawn) * np.log((1 - share) / second)) / n
        return kl > loss - np.log(delta) / n

    return chance(exceeds)(share, n, first=first, second=second, delta=delta)


RARE_LOST = example(share=".1", first="1e-30", second=".9", n="20", delta=".05")

HELD_OUT = theorem(
    "Stored answers that the policy was not trained on certify its pass rate but for a chance delta",
    statement=r"y_i \sim p_*:\quad P\Bigl(\log\frac{V}{A_1} < \frac1n\sum_i \log\frac{\pi}{a}(y_i)"
    r" - \frac{\log(1/\delta)}{n}\Bigr) \le \delta",
    source=STORED,
    on=chart(share=rates(low=1e-2, high=1e-2), first=uniform(0.001, 0.45), second=uniform(0.001, 0.45),
        n=integers(1, 20), delta=uniform(0.01, 0.9)),
    at_most=(certificate_fails, lambda delta: delta),
    examples=(example(share=".6", first=".3", second=".25", n="4", delta=".1"), RARE_LOST),
    note="From E prod (pi/a)(y_i) = (V/A1)^n and Markov's inequality; no bound on pi/a is needed. Over"
    " prompts the mean of log V_x/A_x, weighed by n_x, obeys the same with all answers together; with a set"
    " S for Y1 and its stored answers alone it certifies pi(S). For all policies at once, such as the one"
    " trained on these answers, no such bound is possible: the memoriser has a negative loss and loses what"
    " is not stored.",
    false=(neighbour("the KL to p_* is certified likewise", at=RARE_LOST, lhs=kl_exceeds),),
)  # fmt: skip

SEQUENCES = np.stack(np.meshgrid(*[range(3)] * 4, indexing="ij"), axis=-1).reshape(-1, 4)
"""Every sequence of four of three answers."""


def expected(correct: Values, first: int, of_counts: Callable[[Values, Values], Values]) -> Values:
    """Mean (batch,) of `of_counts(counts, probabilities)` over sequences of that many first draws."""
    chances = correct[:, SEQUENCES[:, :first]].prod(axis=-1)
    counts = (SEQUENCES[:, :first, None] == np.arange(3)).sum(axis=1)
    # Sequences that differ in later draws alone are counted together.
    return (chances * of_counts(counts, correct[:, None, :])).sum(axis=-1) / 3 ** (4 - first)


def seen_once(correct: Values) -> Values:
    return expected(correct, 4, lambda counts, _: (counts == 1).sum(axis=-1)) / 4


def missing_mass(correct: Values, draws: int = 3) -> Values:
    return expected(correct, draws, lambda counts, p: (p * (counts == 0)).sum(axis=-1))


MISSING = theorem(
    "The mass of p_* that n - 1 stored answers miss is in the mean the share of n that are stored once",
    statement=r"E\,p_*(\text{not among } n-1) = E\,N_1/n,\quad N_1 = \#\{\text{answers stored exactly"
    r" once}\},\; n = 4",
    source=Source("ours", "what stored answers guarantee; Good-Turing"),
    on=chart(correct=simplex(3, spread=3)),
    equal=(seen_once, missing_mass),
    examples=(example(correct=".5 .3 .2"),),
    note="What rehearsal of stored answers can lose at loss zero, estimated from the stored answers.",
    false=(neighbour("the mass that n miss", rhs=partial(missing_mass, draws=4)),),
)


def failing_chances(share: Values, failure: Values, fewer: int = 0) -> Values:
    """Probability that the recommended number of stored answers, minus `fewer`, fails; (batch, goals)."""
    parts = []
    for goal in STORED_GOALS:
        n = stored_answers_needed(share, failure, goal=goal) - fewer
        half = bdtr(np.ceil(n * share / 2) - 1, n, share)
        missed = (1 - share) ** n
        parts.append({"one": missed, "every": missed / share, "half": half}[goal])
    return np.stack(parts, axis=-1)


def with_limit(share: Values, failure: Values, fewer: int = 0) -> Values:
    """`failing_chances`, then the accepted `failure` for each goal; (batch, 2 goals)."""
    accepted = np.broadcast_to(add_axes(failure, 1), (len(failure), len(STORED_GOALS)))
    return np.concatenate([failing_chances(share, failure, fewer), accepted], axis=-1)


def limit_with(share: Values, failure: Values) -> Values:
    accepted = np.broadcast_to(add_axes(failure, 1), (len(failure), len(STORED_GOALS)))
    return np.concatenate([accepted, failing_chances(share, failure, 1)], axis=-1)


FIVE_PERCENT: Example = example(share=".05", failure=".05")

NUMBER = theorem(
    "log(1/delta)/-log(1-s) stored answers hold one of a strategy of share s, and no fewer do",
    statement=r"(1-s)^n \le \delta \iff n \ge \frac{\log(1/\delta)}{-\log(1-s)};\quad"
    r" \text{one of every strategy of share } s: \tfrac1s(1-s)^n \le \delta;\quad"
    r" \text{half its share: } P(\mathrm{Bin}(n,s) < \tfrac{ns}2) \le \delta",
    source=STORED,
    on=chart(share=uniform(0.01, 0.4), failure=uniform(0.01, 0.4)),
    at_most=(with_limit, limit_with),
    examples=(FIVE_PERCENT,),
    note="At s = delta = .05: 59 answers for one of the strategy, 117 for one of every strategy of that"
    " share, 153 for half its share. 64 stored answers miss a strategy of 5% with chance .0375.",
    share=0.01,
    false=(neighbour("five answers fewer", lhs=partial(with_limit, fewer=5), at=FIVE_PERCENT),),
)
