"""Numbers that the theory predicts for a run, from the arguments of its trainer."""

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
    """Make every prediction that a run's method and records allow, one judged Line each."""
    lines_by_set: list[tuple[str, Line]] = []
    if EXPLORED in run.sets:
        lines_by_set += [(EXPLORED, line) for line in stationary_policy_lines(run, run.sets[EXPLORED])]
    if REHEARSED in run.sets:
        lines_by_set += [(REHEARSED, line) for line in rehearsed_mass(run)]
    return [replace(line, run=run.name, set=where) for where, line in lines_by_set]


def untested(run: MeasuredRun) -> list[str]:
    """Sentences: the policy that the run converges to (or why unknown), and predictions without records."""
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
    """Judge the run against the policy that its penalty converges to, on the training prompts.

    Prompts that share a text count as one prompt with their mean reward. Entries: `kl_control`,
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
        # If no base sample of a prompt is correct, or all are, its base rate may be 0 or 1.
        never, always = ~prompts.base_correct.any(axis=1), prompts.base_correct.all(axis=1)
        unsure = np.where(never, predicted, np.where(always, 1 - predicted, 0))
        gap = mean_estimate(prompts.rate - predicted, bias=float(unsure.mean()))
        line = judged_line(
            "pass_rate", _statement(objective), gap, "==", float(predicted.mean()), RATE, detail=note
        )
        # For a token-level KL the prediction applies to answers that one token decides.
        several = objective.of_tokens and run.training.arguments.get("max_completion_length", 1) > 1
        off = line.verdict is Judgement.INCONSISTENT and several
        yield replace(line, verdict=Judgement.CONDITION) if off else line
    target = run.training.config["method"].get("mu")
    if target is not None and prompts.texts_differ:
        yield judged_line(
            "target pass rate", "many_prompts", mean_estimate(prompts.rate - target), "==", target, RATE
        )


def _statement(objective: Objective) -> str:
    """Name of the registry module whose theorems give the objective's stationary policy."""
    if objective.advantage.scale not in UNDIVIDED:
        return "group_advantages"
    return "token_penalties" if objective.of_tokens else "kl_control"


def _tilt_lines(prompts: PairedSet, objective: Objective, note: str) -> Iterator[Line]:
    """Judge two consequences of pi = a exp(v/b)/Z, with mean reward v: the gain in log odds, and a KL of 0.

    An undivided advantage has the same weight at all pass rates. `note` goes into both lines.
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
    """Judge the pass rate on rehearsed prompts, where the slope of f at 1 decides rehearsal's target.

    -log u of correct answers has p_* as its target, pass rate 1: the pass rate does not fall below the
    base's. The target is the base's pass rate A1 if the generator has slope 0 at u = 1 (k3; JS and alpha as
    in li2025choice), or if correct and incorrect answers are rehearsed. Entries: `rehearsal_gauge`.
    """
    prompts, target = run.sets[REHEARSED], rehearsal_target(run.training.arguments)
    if target is None:
        return
    gap, base = mean_estimate(prompts.rate - prompts.base_rate), float(prompts.base_rate.mean())
    relation: Sign = "=="
    detail = "slope 0 at u = 1: the target of rehearsal is the base's rate; exploration may shift it"
    if run.anchored:
        detail = "correct and incorrect answers are rehearsed, so the target is the base"
    elif target == "one":
        relation, detail = ">=", "from the base's towards 1"
    yield judged_line("rehearsed mass", "rehearsal_gauge", gap, relation, base, RATE, detail=detail)
