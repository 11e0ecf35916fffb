"""The numbers that theory gives for a run, by the arguments that its trainer got."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dph_theory import REVERSE_KL
from dph_theory.intervals import mean_estimate
from dph_theory.losses.objective import UNDIVIDED, Objective
from dph_theory.stationary import group_weight, normalised_pass_rate_at

from ..recipe.objective import objective_of
from ..recipe.rehearsal import rehearsal_target
from .measurements import EXPLORED, REHEARSED, MeasuredRun, PairedSet, distance_to_tilt, log_odds_gain
from .verdicts import LOG_ODDS, NATS, RATE, Judgement, Line, Sign, judged_line


def predictions(run: MeasuredRun) -> list[Line]:
    """Every prediction that the run's method and records allow."""
    lines_by_set: list[tuple[str, Line]] = []
    if EXPLORED in run.sets:
        lines_by_set += [(EXPLORED, line) for line in stationary_policy_lines(run, run.sets[EXPLORED])]
    if REHEARSED in run.sets:
        lines_by_set += [(REHEARSED, line) for line in rehearsed_mass(run)]
    return [replace(line, run=run.name, set=where) for where, line in lines_by_set]


def untested(run: MeasuredRun) -> list[str]:
    """What the run converges to, or why that is not known; which predictions were not tested, and why."""
    objective = objective_of(run.training.arguments)
    end = f"converges to {objective}, by theory"
    if objective.unknown:
        end = f"no stationary policy is predicted, for {objective.unknown}"
    missing = []
    for name in dict.fromkeys((EXPLORED, REHEARSED, *run.evaluation.sets)):
        evaluated = name in run.evaluation.sets
        if name not in run.sets and (
            evaluated or name == EXPLORED or rehearsal_target(run.training.arguments)
        ):
            of_base = "for the run" if name in run.base else "for either"
            missing.append(f"set {name} is not evaluated {'for the base' if evaluated else of_base}")
    untested_sets = [f"{run.name}, not tested: {'; '.join(missing)}."] if missing else []
    return [f"{run.name}: {end}.", *untested_sets]


def stationary_policy_lines(run: MeasuredRun, prompts: PairedSet) -> Iterator[Line]:
    """The policy that the run's penalty converges to, on the prompts trained on.

    Prompts of one text are one prompt whose verifier is the mean of theirs. Entries: `kl_control`,
    `many_prompts`, `sequence_penalties`, `token_penalties`, `group_advantages`.
    """
    objective = objective_of(run.training.arguments)
    if objective.unknown:
        return
    note = f"{objective}; 1/beta = {1 / objective.coefficient:.3g}, {run.training.steps} steps"
    if objective.divergence == REVERSE_KL and objective.advantage.scale in UNDIVIDED:
        yield from _tilt_lines(prompts, objective, note)
    elif prompts.texts_differ:
        predicted = normalised_pass_rate_at(prompts.smoothed_base_rate, **objective.stationary_arguments)
        # Of a prompt that no base sample solved, or all did, the base's rate may as well be 0 or 1.
        never, always = ~prompts.base_correct.any(axis=1), prompts.base_correct.all(axis=1)
        unsure = np.where(never, predicted, np.where(always, 1 - predicted, 0))
        gap = mean_estimate(prompts.rate - predicted, bias=float(unsure.mean()))
        line = judged_line(
            "pass_rate", _statement(objective), gap, "==", float(predicted.mean()), RATE, detail=note
        )
        # Of a KL of tokens the prediction is for answers that one token decides.
        several = objective.of_tokens and run.training.arguments.get("max_completion_length", 1) > 1
        off = line.verdict is Judgement.INCONSISTENT and several
        yield replace(line, verdict=Judgement.CONDITION) if off else line
    target = run.training.config["method"].get("mu")
    if target is not None and prompts.texts_differ:
        yield judged_line(
            "target pass rate", "many_prompts", mean_estimate(prompts.rate - target), "==", target, RATE
        )


def _statement(objective: Objective) -> str:
    """The subject of the theorems that give the stationary policy."""
    if objective.advantage.scale not in UNDIVIDED:
        return "group_advantages"
    return "token_penalties" if objective.of_tokens else "kl_control"


def _tilt_lines(prompts: PairedSet, objective: Objective, note: str) -> Iterator[Line]:
    """What pi = a exp(v/b)/Z implies, v being the mean verdict: how much odds grow, and no distance left.

    The weight of an advantage that is not divided is one for all pass rates.
    """
    texts = prompts.by_text()
    weight = float(group_weight(objective.group_size or 2, 0.5, objective.advantage.scale or "none"))
    rate = weight / objective.coefficient
    if not texts:
        return
    gain = log_odds_gain(texts)
    gap = replace(gain, value=gain.value - rate)
    yield judged_line("log odds gain", _statement(objective), gap, "==", rate, LOG_ODDS, detail=note)
    if not objective.of_tokens:
        distance = distance_to_tilt(texts, rate)
        yield judged_line(
            "KL to the stationary policy", _statement(objective), distance, "==", 0.0, NATS, detail=note
        )


def rehearsed_mass(run: MeasuredRun) -> Iterator[Line]:
    """The valid mass on rehearsed prompts, where the gauge of f decides what rehearsal minimises.

    -log u of correct answers has p_* as its target, mass 1: the mass does not fall below the base's. A
    generator that vanishes with its slope at u = 1 (k3; JS and alpha as li2025choice writes them) has the
    base's own mass A1, and so does any of answers correct or not. Entries: `rehearsal_gauge`.
    """
    prompts, target = run.sets[REHEARSED], rehearsal_target(run.training.arguments)
    if target is None:
        return
    gap, base = mean_estimate(prompts.rate - prompts.base_rate), float(prompts.base_rate.mean())
    relation: Sign = "=="
    detail = "slope 0 at u = 1: the rehearsal's target is the base's; exploration may move it"
    if run.anchored:
        detail = "answers correct or not are rehearsed, whose target is the base"
    elif target == "one":
        relation, detail = ">=", "from the base's towards 1"
    yield judged_line("rehearsed mass", "rehearsal_gauge", gap, relation, base, RATE, detail=detail)
