"""What theory says of a run before it starts: its stationary policy or target, and its rivals."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from dph_theory.divergences import FORWARD_KL, REVERSE_KL
from dph_theory.fdivergence import FDivergence
from dph_theory.stationary import (
    filtered_policy,
    group_weight,
    locally_filtered,
    normalised_policy,
    policy_divergence,
    sequence_policy,
    token_forward_limit,
    token_policy,
)

from ..enumerable_tasks.exact import Tables, exact
from ..enumerable_tasks.tasks import EnumerableTask
from .finished_runs import PredictedPolicy
from .runs import BASE, FILTERED, MEANS, SEQUENCE, TOKEN_FORWARD, TOKEN_REVERSE, LlamaRun
from .sampling import sampled_policy

Solver = Callable[..., Tables]
SOLVERS: dict[str, tuple[Solver, FDivergence]] = {
    SEQUENCE: (sequence_policy, REVERSE_KL),
    TOKEN_REVERSE: (token_policy, REVERSE_KL),
    TOKEN_FORWARD: (token_policy, FORWARD_KL),
    TOKEN_REVERSE + MEANS: (partial(token_policy, per_answer_mean=True), REVERSE_KL),
    TOKEN_FORWARD + MEANS: (partial(token_policy, per_answer_mean=True), FORWARD_KL),
}
"""What computes the stationary policy of that name, and the divergence that it is given."""
LOCAL, FORWARD_LIMIT = "locally filtered model", "token forward limit"
LIMITS = {FILTERED: filtered_policy, LOCAL: locally_filtered, FORWARD_LIMIT: token_forward_limit}
UNSCALED, ONE_REFERENCE = "without normalisation", "reference kept"
UNERRING = "verdicts taken as true"


def stationary_policies(run: LlamaRun, task: EnumerableTask, base: Sequence[np.ndarray]) -> dict[str, Tables]:
    """The run's stationary policy, then its rivals, as tables of each text: those its form might have had.

    With normalised rewards, also the one had they not been; with several rounds, had the reference
    stayed that of the first. Empty for a run of which theory claims none, and where rows share a text:
    there it is not that of each row. Entries: `token_penalties`.
    """
    own = run.stationary_policy
    if own is None or not _texts_are_rows(task):
        return {}
    names = [name for name in SOLVERS if run.per_answer_mean or not name.endswith(MEANS)]
    ordered = [own, *(name for name in names if name != own)]
    policies = {name: _after_rounds(name, run, task, base) for name in ordered}
    if run.rounds > 1:
        policies[f"{own}, {ONE_REFERENCE}"] = _after_rounds(own, replace(run, rounds=1), task, base)
    if run.informative != 1:
        unerring = replace(run, false_positive=0.0, false_negative=0.0)
        policies[f"{own}, {UNERRING}"] = _after_rounds(own, unerring, task, base)
    if run.scale == "group":
        policies[f"{own}, {UNSCALED}"] = _after_rounds(own, run, task, base, centring="none")
    if run.sampling is not None:
        beta = run.beta / float(group_weight(run.group_size, 0.5, run.centring))
        drawn = partial(sampled_policy, run.sampling, form=run.form, beta=beta, end=task.end)
        rows = zip(zip(*task.of_rows(base), strict=True), task.valid, strict=True)
        policies = {f"{own}, {run.sampler}": _stacked(drawn(*row) for row in rows)} | policies
    return policies


def distances(
    task: EnumerableTask, tables: Sequence[np.ndarray], policies: Mapping[str, Sequence[np.ndarray]]
) -> dict[str, float]:
    """KL(run || policy) of each stationary policy by name, means over the task's rows."""
    rows = task.of_rows(tables)
    return {
        name: float(policy_divergence(rows, policy, end=task.end).mean()) for name, policy in policies.items()
    }


def _stacked(rows: Iterable[Sequence[np.ndarray]]) -> Tables:
    """Tables with a row axis, from those of each row."""
    return [np.stack(tables) for tables in zip(*rows, strict=True)]


def _texts_are_rows(task: EnumerableTask) -> bool:
    return task.texts == tuple(range(len(task.texts)))


def predictions(
    run: LlamaRun, task: EnumerableTask, base: Sequence[np.ndarray]
) -> tuple[PredictedPolicy, ...]:
    """The measures of `stationary_policies`, or of `targets_of`, to be written down before the run."""
    policies = stationary_policies(run, task, base) or targets_of(run, task, base)
    return tuple(PredictedPolicy(name, exact(task, tables, base)) for name, tables in policies.items())


def targets_of(run: LlamaRun, task: EnumerableTask, base: Sequence[np.ndarray]) -> dict[str, Tables]:
    """The run's target first, then those it might have had; empty as for `stationary_policies`."""
    if run.target is None or not _texts_are_rows(task):
        return {}
    tables = {FILTERED: filtered_policy(task.of_rows(base), task.valid, end=task.end), BASE: list(base)}
    return {name: tables[name] for name in sorted(tables, key=lambda name: name != run.target)}


def _after_rounds(
    name: str, run: LlamaRun, task: EnumerableTask, base: Sequence[np.ndarray], centring: str | None = None
) -> Tables:
    """The policy of that name after the run's rounds, each with that of the one before as its base."""
    (solver, divergence), centring = SOLVERS[name], centring or run.centring
    normalised = partial(normalised_policy, solver=solver, divergence=divergence, end=task.end)
    for _ in range(run.rounds):
        rows = task.of_rows(base)
        if centring == "std":
            base = _stacked(
                normalised([table[row] for table in rows], valid, run.beta, run.group_size, centring)
                for row, valid in enumerate(task.valid)
            )
        else:
            # The weight is the same at every validity.
            beta = run.beta / group_weight(run.group_size, 0.5, centring) / run.informative
            base = solver(rows, task.valid, beta, divergence, end=task.end)
    return list(base)
