"""What theory says of a run before it starts: its stationary policy or target, and its rivals."""

from collections.abc import Callable, Mapping, Sequence
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

from ..enumerable_tasks.box import GlassBox
from ..enumerable_tasks.exact import exact
from .record import PredictedLaw
from .runs import BASE, FILTERED, MEANS, SEQUENCE, TOKEN_FORWARD, TOKEN_REVERSE, Run
from .sampled import Sampling, sampled_law

Law = Callable[..., list[np.ndarray]]
LAWS: dict[str, tuple[Law, FDivergence]] = {
    SEQUENCE: (sequence_policy, REVERSE_KL),
    TOKEN_REVERSE: (token_policy, REVERSE_KL),
    TOKEN_FORWARD: (token_policy, FORWARD_KL),
}
ANSWER_MEANS: dict[str, tuple[Law, FDivergence]] = {
    TOKEN_REVERSE + MEANS: (partial(token_policy, per_answer_mean=True), REVERSE_KL),
    TOKEN_FORWARD + MEANS: (partial(token_policy, per_answer_mean=True), FORWARD_KL),
}
LOCAL, FORWARD_LIMIT = "locally filtered model", "token forward limit"
LIMITS = {FILTERED: filtered_policy, LOCAL: locally_filtered, FORWARD_LIMIT: token_forward_limit}
UNSCALED, KEPT, UNERRING = "without normalisation", "reference kept", "verdicts taken as true"


def laws_of(run: Run, box: GlassBox, base: Sequence[np.ndarray]) -> dict[str, list[np.ndarray]]:
    """The run's stationary policy, then its rivals, as tables of each text: those its form might have had.

    With normalised rewards, also the one had they not been; with several rounds, had the reference
    stayed that of the first. Empty for a run of which theory claims none, and where rows share a text:
    there it is not that of each row. Theory: E5.
    """
    if run.law is None or not _texts_are_rows(box):
        return {}
    known = {**LAWS, **ANSWER_MEANS} if run.per_answer_mean else LAWS
    ordered = [run.law, *(name for name in known if name != run.law)]
    found = {name: _law(name, run.centring, run, box, base) for name in ordered}
    if run.rounds > 1:
        found[f"{run.law}, {KEPT}"] = _law(run.law, run.centring, replace(run, rounds=1), box, base)
    if run.informative != 1:
        unerring = replace(run, false_positive=0.0, false_negative=0.0)
        found[f"{run.law}, {UNERRING}"] = _law(run.law, run.centring, unerring, box, base)
    if run.scale == "group":
        found[f"{run.law}, {UNSCALED}"] = _law(run.law, "none", run, box, base)
    if run.sampling is not None:
        found = {f"{run.law}, {run.sampler}": _sampled(run, run.sampling, box, base)} | found
    return found


def distances(
    box: GlassBox, tables: Sequence[np.ndarray], laws: Mapping[str, Sequence[np.ndarray]]
) -> dict[str, float]:
    """KL(policy || law) of each stationary policy by name, means over the box's rows."""
    rows = box.of_rows(tables)
    return {name: float(policy_divergence(rows, law, end=box.end).mean()) for name, law in laws.items()}


def _sampled(run: Run, how: Sampling, box: GlassBox, base: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The law of the run's form under its sampler, by the flow of each row."""
    beta, form = run.beta / float(group_weight(run.group_size, 0.5, run.centring)), run.form
    rows = zip(*box.of_rows(base), strict=True)
    pairs = zip(rows, box.valid, strict=True)
    ended = [sampled_law(how, row, valid, form=form, beta=beta, end=box.end) for row, valid in pairs]
    return [np.stack(tables) for tables in zip(*ended, strict=True)]


def _texts_are_rows(box: GlassBox) -> bool:
    return box.texts == tuple(range(len(box.texts)))


def predictions(run: Run, box: GlassBox, base: Sequence[np.ndarray]) -> tuple[PredictedLaw, ...]:
    """The measures of `laws_of`, or of `targets_of`, to be written down before the run."""
    found = laws_of(run, box, base) or targets_of(run, box, base)
    return tuple(PredictedLaw(name, exact(box, tables, base)) for name, tables in found.items())


def targets_of(run: Run, box: GlassBox, base: Sequence[np.ndarray]) -> dict[str, list[np.ndarray]]:
    """The run's target first, then those it might have had; empty as for `laws_of`."""
    if run.target is None or not _texts_are_rows(box):
        return {}
    tables = {FILTERED: filtered_policy(box.of_rows(base), box.valid, end=box.end), BASE: list(base)}
    return {name: tables[name] for name in sorted(tables, key=lambda name: name != run.target)}


def _law(name: str, centring: str, run: Run, box: GlassBox, base: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The law after the run's rounds, each with the law of the one before as its base."""
    for _ in range(run.rounds):
        base = _one_round(name, centring, run, box, base)
    return list(base)


def _one_round(
    name: str, centring: str, run: Run, box: GlassBox, base: Sequence[np.ndarray]
) -> list[np.ndarray]:
    law, divergence = {**LAWS, **ANSWER_MEANS}[name]
    rows = box.of_rows(base)
    if centring != "std":
        # The weight is the same at every validity.
        beta = run.beta / group_weight(run.group_size, 0.5, centring) / run.informative
        return law(rows, box.valid, beta, divergence, end=box.end)
    solved = [
        normalised_policy(
            [table[row] for table in rows],
            valid,
            run.beta,
            run.group_size,
            centring,
            law=law,
            divergence=divergence,
            end=box.end,
        )
        for row, valid in enumerate(box.valid)
    ]
    return [np.stack(tables) for tables in zip(*solved, strict=True)]
