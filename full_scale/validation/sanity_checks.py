"""Sanity checks: properties that every policy has. A violation means an error in the records.

The excess KL is not negative, Pass@k follows from pass rates, the rehearsal guarantee is satisfied, and the
forward KL of a sequence is the sum over its tokens. A violated check shows that log-probabilities, rewards or
samples are not as the records describe them. Entries: `frontier`, `pass_at_k`, `rehearsal_guarantee`,
`tokens_and_sequences`.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from dph_theory import FORWARD_KL, kappa, pass_at_k, rehearsal_guarantee
from dph_theory.intervals import THREE_SIGMA, MeanEstimate, mean_estimate, smoothed_rate

from ..evaluation.evaluated_run import RehearsedRow
from .measurements import EXPLORED, REHEARSED, MeasuredRun, PairedSet, frontier, least_cost
from .verdicts import NATS, PROMPT_NATS, RATE, ROUNDING, Line, judged_line


def sanity_checks(run: MeasuredRun) -> list[Line]:
    """Run every check for which the run's records suffice; one judged Line per check and set."""
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
    """Check that the excess KL(pi || a) - kl(V || A1) is not negative, on average and at the worst prompt.

    The worst of n prompts is tested at the level divided by n, against the least cost within exact confidence
    intervals of V and A1.
    """
    if prompts.correct.shape[1] < 2:
        return
    measured = frontier(prompts)
    unsolved = int((~prompts.base_correct.any(axis=1)).sum())
    kl, cost, rate = measured.kl.mean(), measured.cost.mean(), prompts.rate.mean()
    detail = f"KL {kl:.3g}, minimum {cost:.3g} at pass rate {rate:.3g}"
    if unsolved:
        detail += f"; {unsolved} prompts that no base sample solved have a cost that is too low"
    yield judged_line("excess KL", "frontier", measured.mean_excess, ">=", 0.0, NATS, detail=detail)
    yield from _worst_prompt(prompts)


def _worst_prompt(prompts: PairedSet) -> Iterator[Line]:
    """Compare KL(pi || a) with the least cost within sampling error, at the prompt nearest to a violation.

    Prompts whose pass rate may equal the base's have no positive least cost and are left out.
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
        detail=f"prompt {prompts.ids[worst]}, of {len(moved)} whose pass rate changed significantly",
    )


def _worst(values: np.ndarray, errors: np.ndarray) -> int:
    """Index of the smallest value in units of its standard error, ignoring values of exactly 0 +- 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.where((values == 0) & (errors == 0), np.inf, values / errors)
    return int(score.argmin())


def along_training(run: MeasuredRun) -> Iterator[Line]:
    """Check the collapse meter of the training log: the excess KL is not negative at any step.

    The worst of n steps is tested at the level divided by n. The error of the meter's base rates is known
    only if the training prompts were evaluated too.
    """
    log = [entry for entry in run.training.log if "collapse/excess_kl" in entry]
    if not log or EXPLORED not in run.sets:
        return
    excess = np.array([entry["collapse/excess_kl"] for entry in log], dtype=float)
    error = np.array([entry["collapse/excess_kl_se"] for entry in log], dtype=float)
    worst = _worst(excess, error)
    # Prompts per generated batch, over which the meter averaged; the minimum, 2, if unknown.
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
    """Bound how much the meter overestimates the cost because few rollouts determine its base rates.

    The meter uses (c + 1/2)/(k + 1) from the pre-sampling, which also selected these prompts. The base's own
    evaluation has independent samples. The bound is the shift of the mean cost between the two rates, at the
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
    """Compare Pass@k predicted from one half of the samples with the best of k in the other half.

    The counts of the first half give an unbiased estimate of 1 - (1-p)^k (inserting the pass rate would give
    too little, because the function is concave in p). The second half is divided into groups of k, and a
    group passes if one of its samples does. The two differ if the samples are not independent.
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
    """Check J >= exp(-KL(p_* || pi)) on the rehearsed prompts, jointly over prompts and answers.

    KL(p_* || pi) = E_{p_*}[log a/pi] - log A1 is a mean over the buffer's rows, which are samples of p_*, and
    over fresh base samples of the prompt. J is a mean too. The only bias is that of the exponential of a
    mean. By Jensen's inequality the joint statement follows from the statement for each prompt.
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
    """Check that the forward KL summed over tokens equals the sequence KL, row by row of the buffer.

    Stored token sums of other divergences are listed too. They differ from the divergence of the sequence, in
    either direction.
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
