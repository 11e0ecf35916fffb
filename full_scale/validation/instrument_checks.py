"""Instrument checks: what holds for every policy whatsoever; a violation is an alarm, not a finding.

The excess KL is not negative, Pass@k follows from pass rates, the rehearsal guarantee holds, and the
forward KL of a sequence is the sum over its tokens. A violated check says that log-probabilities, rewards or
samples are not what the records say they are. Entries: `frontier`, `pass_at_k`, `rehearsal_guarantee`,
`tokens_and_sequences`.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from dph_theory import FORWARD_KL, kappa, pass_at_k, rehearsal_guarantee
from dph_theory.intervals import THREE_SIGMA, MeanEstimate, mean_estimate, smoothed_rate

from ..evaluation.record import RehearsedRow
from .measurements import EXPLORED, REHEARSED, MeasuredRun, PairedSet, frontier, least_cost
from .verdicts import NATS, PROMPT_NATS, RATE, ROUNDING, Line, judged_line


def instrument_checks(run: MeasuredRun) -> list[Line]:
    """Every check that the run's records allow."""
    rows = run.evaluation.rehearsed
    lines_by_set: list[tuple[str, Line]] = []
    for name, prompts in run.sets.items():
        lines = [*on_the_frontier(prompts), *pass_at_k_from_rates(prompts)]
        lines += guarantee(prompts, rows) if name == REHEARSED and not run.anchored else ()
        lines_by_set += [(name, line) for line in lines]
    lines_by_set += [("training", line) for line in along_training(run)]
    lines_by_set += [(REHEARSED, line) for line in token_sum(rows)]
    return [replace(line, run=run.name, set=where) for where, line in lines_by_set]


def on_the_frontier(prompts: PairedSet) -> Iterator[Line]:
    """KL(pi || a) >= kl(V || A1): the excess KL is not negative, on average and at the worst prompt.

    The worst of so many prompts is judged at the level divided by their number, and against the least cost
    within exact confidence intervals of V and A1.
    """
    if prompts.correct.shape[1] < 2:
        return
    measured = frontier(prompts)
    unsolved = int((~prompts.base_correct.any(axis=1)).sum())
    kl, cost, rate = measured.kl.mean(), measured.cost.mean(), prompts.rate.mean()
    detail = f"KL {kl:.3g}, least {cost:.3g} at pass rate {rate:.3g}"
    if unsolved:
        detail += f"; {unsolved} prompts that no base sample solved count with too low a cost"
    yield judged_line("excess KL", "frontier", measured.mean_excess, ">=", 0.0, NATS, detail=detail)
    yield from _worst_prompt(prompts)


def _worst_prompt(prompts: PairedSet) -> Iterator[Line]:
    """KL(pi || a) against the least cost that a prompt's samples allow, at the prompt nearest to a violation.

    Prompts whose pass rate may be the base's have no cost to fall below and are left out.
    """
    count, samples = prompts.log_ratio.shape
    least = least_cost(prompts, THREE_SIGMA / count)
    moved = np.flatnonzero(least)
    if not moved.size:
        return
    gap = prompts.log_ratio.mean(axis=1) - least
    error = prompts.log_ratio.std(axis=1, ddof=1) / math.sqrt(samples)
    worst = moved[_worst(gap[moved], error[moved])]
    yield judged_line(
        "KL, worst prompt",
        "frontier",
        MeanEstimate(float(gap[worst]), float(error[worst]), samples),
        ">=",
        float(least[worst]),
        PROMPT_NATS,
        tests=count,
        detail=f"prompt {prompts.ids[worst]}, of {len(moved)} whose pass rate surely moved",
    )


def _worst(values: np.ndarray, errors: np.ndarray) -> int:
    """The index of the least value in units of its standard error; one of exactly 0 +- 0 is never it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.where((values == 0) & (errors == 0), np.inf, values / errors)
    return int(score.argmin())


def along_training(run: MeasuredRun) -> Iterator[Line]:
    """The collapse meter of the training log: at no step is the excess KL negative.

    The worst of so many steps is judged at the level divided by their number. Only where the prompts trained
    on were evaluated too is it known how far the meter's base rates may be off.
    """
    log = [entry for entry in run.training.log if "collapse/excess_kl" in entry]
    if not log or EXPLORED not in run.sets:
        return
    excess = np.array([entry["collapse/excess_kl"] for entry in log], dtype=float)
    error = np.array([entry["collapse/excess_kl_se"] for entry in log], dtype=float)
    worst = _worst(excess, error)
    # The prompts of one generated batch, over which the meter took its mean; 2, the least, if unknown.
    batch_size, group_size = map(run.training.arguments.get, ("generation_batch_size", "num_generations"))
    groups = max(2, int(batch_size // group_size)) if batch_size and group_size else 2
    yield judged_line(
        "excess KL, worst step",
        "frontier",
        MeanEstimate(float(excess[worst]), float(error[worst]), groups, base_rate_shift(run)),
        ">=",
        0.0,
        PROMPT_NATS,
        tests=len(log),
        detail=f"step {log[worst].get('step')}; from {excess[0]:.3g} to {excess[-1]:.3g} in {len(log)} logs",
    )


def base_rate_shift(run: MeasuredRun) -> float:
    """How much too large the meter's cost may be by the few rollouts behind its base rates.

    The meter took (c + 1/2)/(k + 1) from the pre-sampling, which also chose these prompts; the base's own
    evaluation has samples apart from that choice. The shift of the mean cost from one to the other, at the
    run's final pass rate, plus its margin.
    """
    prompts, rates = run.sets.get(EXPLORED), run.training.base_rates
    if prompts is None or any(name not in rates for name in prompts.ids):
        return math.inf
    k = run.training.config["presample"]["k"]
    used = smoothed_rate([rates[name] * k for name in prompts.ids], k)
    shift = mean_estimate(kappa(prompts.rate, used) - kappa(prompts.rate, prompts.smoothed_base_rate))
    return abs(shift.value) + shift.margin()


def pass_at_k_from_rates(prompts: PairedSet) -> Iterator[Line]:
    """Pass@k from the pass rates of one half of the samples, against the best of k in the other.

    1 - (1-p)^k is predicted without bias from the counts of the first half (a plugged-in rate would fall
    short, the function being concave in p); the second half is cut into groups of k, and a group passes if
    one of its samples does. Samples that are not independent part the two.
    """
    half = prompts.correct.shape[1] // 2
    k = next((k for k in (8, 4, 2) if 2 * k <= half), None)
    if k is None:
        return
    first, groups = prompts.correct[:, :half], half // k
    second = prompts.correct[:, half : half + groups * k].reshape(-1, groups, k)
    predicted = pass_at_k(half, first.sum(axis=1), k)
    gap = mean_estimate(second.any(axis=2).mean(axis=1) - predicted)
    yield judged_line(f"Pass@{k} from rates", "pass_at_k", gap, "==", float(np.mean(predicted)), RATE)


def guarantee(prompts: PairedSet, rows: Sequence[RehearsedRow]) -> Iterator[Line]:
    """J >= exp(-KL(p_* || pi)) on the rehearsed prompts, for prompt and answer jointly.

    KL(p_* || pi) = E_{p_*}[log a/pi] - log A1 is a mean over the buffer's rows, which are draws of p_*, and
    over fresh base samples of the prompt; J is a mean too. So no bias but that of the exponential of a mean;
    by Jensen's inequality the joint statement follows from that for each prompt.
    """
    costs: dict[str, list[float]] = {}
    for row in rows:
        costs.setdefault(row.id, []).append(row.log_ref - row.log_pi)
    rehearsed = [index for index, name in enumerate(prompts.ids) if name in costs]
    if not rehearsed:
        return
    n = prompts.base_correct.shape[1]
    log_base = np.log((prompts.base_correct[rehearsed].sum(axis=1) + 0.5) / (n + 0.5))
    kl = np.array([np.mean(costs[prompts.ids[index]]) for index in rehearsed]) - log_base
    rate = prompts.rate[rehearsed]
    bound = float(rehearsal_guarantee(max(float(kl.mean()), 0.0)))
    gap = MeanEstimate(
        float(rate.mean()) - bound, mean_estimate(rate + bound * kl).standard_error, len(rehearsed)
    )
    detail = f"KL(p_*||pi) = {kl.mean():.3g} from {sum(map(len, costs.values()))} rows"
    yield judged_line("guarantee", "rehearsal_guarantee", gap, ">=", bound, RATE, detail=detail)


def token_sum(rows: Sequence[RehearsedRow]) -> Iterator[Line]:
    """The forward KL summed over tokens is that of the sequence, row by row of the buffer.

    Where the evaluation stored token sums of other divergences, these stand beside it: they differ from
    the sequence's, in either direction.
    """
    stored = [row for row in rows if FORWARD_KL.name in row.token_sums]
    if not stored:
        return
    sequence = np.array([row.log_ref - row.log_pi for row in stored])
    sums = {name: np.array([row.token_sums[name] for row in stored]) for name in stored[0].token_sums}
    gap = mean_estimate(sums.pop(FORWARD_KL.name) - sequence)
    detail = ", ".join(f"{name} {values.mean():.3g}" for name, values in sums.items())
    yield judged_line(
        "token sum", "tokens_and_sequences", gap, "==", float(sequence.mean()), ROUNDING, detail=detail
    )
