"""Predictions for a run before it starts: its stationary policy or target, and rivals."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from dph_theory.divergences import FORWARD_KL, REVERSE_KL
from dph_theory.fdivergence import FDivergence
from dph_theory.finite_training import Rollouts, flow
from dph_theory.stationary import (
    filtered_policy,
    group_weight,
    locally_filtered,
    policy_after_resets,
    policy_divergence,
    sequence_policy,
    tempered,
    token_forward_limit,
    token_policy,
    truncated,
)

from ..enumerable_tasks.exact import Tables, exact
from ..enumerable_tasks.tasks import EnumerableTask
from .finished_runs import PredictedPolicy
from .runs import BASE, FILTERED, SEQUENCE, TOKEN_FORWARD, TOKEN_REVERSE, LlamaRun
from .sampling import Sampling

Solver = Callable[..., Tables]
SOLVERS: dict[str, tuple[Solver, FDivergence]] = {
    SEQUENCE: (sequence_policy, REVERSE_KL),
    TOKEN_REVERSE: (token_policy, REVERSE_KL),
    TOKEN_FORWARD: (token_policy, FORWARD_KL),
}
"""Solver of the stationary policy of that name, and its divergence."""
LOCAL, FORWARD_LIMIT = "locally filtered model", "token forward limit"
LIMITS = {FILTERED: filtered_policy, LOCAL: locally_filtered, FORWARD_LIMIT: token_forward_limit}


def stationary_policies(run: LlamaRun, task: EnumerableTask, base: Sequence[np.ndarray]) -> dict[str, Tables]:
    """Stationary policy of the run, then its rivals (policies of other forms), as tables of each text.

    Empty if theory makes no claim, with normalised rewards, and if rows share a text and so have one policy.
    Entries: `token_penalties`.
    """
    own = run.stationary_policy
    if own is None or run.scale == "group" or not _texts_are_rows(task):
        return {}
    # Centred rewards weigh alike at every pass rate.
    beta, rows = run.beta / float(group_weight(run.group_size, 0.5, run.centring)), task.of_rows(base)
    policies = {}
    for name in (own, *(name for name in SOLVERS if name != own)):
        policies[name] = stationary_policy(name, task, base, beta)
    if run.sampling is not None:
        drawn = partial(sampled_policy, run.sampling, form=run.form, beta=beta, end=task.end)
        of_row = zip(zip(*rows, strict=True), task.valid, strict=True)
        policies = {f"{own}, {run.sampler}": _stacked(drawn(*row) for row in of_row)} | policies
    return policies


def stationary_policy(name: str, task: EnumerableTask, base: Sequence[np.ndarray], beta: Any) -> Tables:
    """Tables (rows, V, ..., V) of the stationary policy of that name, from base tables (texts, V, ..., V)."""
    solver, divergence = SOLVERS[name]
    return list(solver(task.of_rows(base), task.valid, beta, divergence, end=task.end))


def distances(
    task: EnumerableTask, tables: Sequence[np.ndarray], policies: Mapping[str, Sequence[np.ndarray]]
) -> dict[str, float]:
    """KL(run || policy) of each stationary policy by name, means over the task's rows."""
    rows = task.of_rows(tables)
    return {
        name: float(policy_divergence(rows, policy, end=task.end).mean()) for name, policy in policies.items()
    }


def _stacked(rows: Iterable[Sequence[np.ndarray]]) -> Tables:
    return [np.stack(tables) for tables in zip(*rows, strict=True)]


def _texts_are_rows(task: EnumerableTask) -> bool:
    return task.texts == tuple(range(len(task.texts)))


def predictions(
    run: LlamaRun, task: EnumerableTask, base: Sequence[np.ndarray]
) -> tuple[PredictedPolicy, ...]:
    """Measures of `stationary_policies`, or of `targets_of`, to be written down before the run."""
    policies = stationary_policies(run, task, base) or targets_of(run, task, base)
    return tuple(PredictedPolicy(name, exact(task, tables, base)) for name, tables in policies.items())


def targets_of(run: LlamaRun, task: EnumerableTask, base: Sequence[np.ndarray]) -> dict[str, Tables]:
    """Tables by name of the policy that the run targets, then of alternatives; empty without a target."""
    if run.target is None or not _texts_are_rows(task):
        return {}
    tables = {FILTERED: filtered_policy(task.of_rows(base), task.valid, end=task.end), BASE: list(base)}
    return {name: tables[name] for name in sorted(tables, key=lambda name: name != run.target)}


LONG, STEP = 2000.0, 0.2
"""Time at which a flow has converged, and step size for a sampler that jumps."""


def sampled_policy(
    sampling: Sampling, base: Sequence[np.ndarray], valid: np.ndarray, *, form: str, beta: float, end: int
) -> Tables:
    """Stationary tables of one text (no batch axes) if answers are drawn by `sampling`, at this beta."""
    if sampling.rounds > 1:
        return policy_after_resets(base, valid, beta, sampling.rounds, solver=token_policy, end=end)
    drawn = None
    if sampling.drawn_at != 1:
        drawn = partial(tempered, temperature=sampling.drawn_at)
    if sampling.top_p < 1:
        drawn = partial(truncated, top_p=sampling.top_p)
    finished = (np.indices(valid.shape)[-1] == end).astype(float)
    rollouts = Rollouts(drawn, weights=finished if sampling.masked else None)
    (end_tables,) = flow(
        tempered(base, sampling.temperature),
        valid,
        [LONG],
        form=form,
        beta=beta,
        end=end,
        rollouts=rollouts,
        step=STEP if sampling.top_p < 1 else None,
    )
    return tempered(end_tables, 1 / sampling.temperature)
