"""The numbers that theory gives for a run, by the arguments that its trainer got."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..recipe.law import NoLaw, RunLaw, law_of, rehearsal_target
from .measurements import EXPLORED, REHEARSED, MeasuredRun, PairedSet, distance_to_tilt, log_odds_gain
from .verdicts import LOG_ODDS, NATS, RATE, Judgement, Line, held, mean


def predictions(run: MeasuredRun) -> list[Line]:
    """Every prediction that the run's method and records allow."""
    found: list[tuple[str, Line]] = []
    if EXPLORED in run.sets:
        found += [(EXPLORED, line) for line in stationary_law(run, run.sets[EXPLORED])]
    if REHEARSED in run.sets:
        found += [(REHEARSED, line) for line in rehearsed_mass(run)]
    return [replace(line, run=run.name, set=where) for where, line in found]


def untested(run: MeasuredRun) -> list[str]:
    """What the run converges to, or why that is not known; which predictions were not tested, and why."""
    law = law_of(run.training.arguments)
    if isinstance(law, NoLaw):
        said = f"no stationary policy is predicted, for {law.why}"
    else:
        said = f"converges to {law}, by theory"
    missing = []
    for name in dict.fromkeys((EXPLORED, REHEARSED, *run.evaluation.sets)):
        asked = name in run.evaluation.sets
        if name not in run.sets and (asked or name == EXPLORED or rehearsal_target(run.training.arguments)):
            whose = "for the base" if asked else "for the run" if name in run.base else "for either"
            missing.append(f"set {name} is not evaluated {whose}")
    return [f"{run.name}: {said}.", *([f"{run.name}, not tested: {'; '.join(missing)}."] if missing else [])]


def stationary_law(run: MeasuredRun, here: PairedSet) -> Iterator[Line]:
    """The policy that the run's penalty converges to, on the prompts trained on.

    Prompts of one text are one prompt whose verifier is the mean of theirs. Theory: A5, A9, E1, E2, E4, E5.
    """
    law = law_of(run.training.arguments)
    if not law:
        return
    note = f"{law}; 1/beta = {1 / law.beta:.3g}, {run.training.steps} steps"
    if law.is_tilt:
        yield from _tilt(here, law, note)
    elif here.texts_differ:
        predicted = law.validity(here.smoothed_base_rate)
        # Of a prompt that no base sample solved, or all did, the base's rate may as well be 0 or 1.
        never, always = ~here.base_correct.any(axis=1), here.base_correct.all(axis=1)
        unsure = np.where(never, predicted, np.where(always, 1 - predicted, 0))
        gap = mean(here.rate - predicted, bias=float(unsure.mean()))
        line = held("validity", law.theory, gap, "==", float(predicted.mean()), RATE, detail=note)
        # Of a KL of tokens the prediction is for answers that one token decides.
        several = law.place == "token" and run.training.arguments.get("max_completion_length", 1) > 1
        off = line.verdict is Judgement.INCONSISTENT and several
        yield replace(line, verdict=Judgement.CONDITION) if off else line
    target = run.training.config["method"].get("mu")
    if target is not None and here.texts_differ:
        yield held("target pass rate", "A9", mean(here.rate - target), "==", target, RATE)


def _tilt(here: PairedSet, law: RunLaw, note: str) -> Iterator[Line]:
    """What pi = a exp(v/b)/Z implies, v being the mean verdict: how much odds grow, and no distance left."""
    texts, rate = here.by_text(), law.weight / law.beta
    if not texts:
        return
    gain = log_odds_gain(texts)
    gap = replace(gain, value=gain.value - rate)
    yield held("log odds gain", law.theory, gap, "==", rate, LOG_ODDS, detail=note)
    if law.place == "sequence":
        distance = distance_to_tilt(texts, rate)
        yield held("KL to the law", law.theory, distance, "==", 0.0, NATS, detail=note)


def rehearsed_mass(run: MeasuredRun) -> Iterator[Line]:
    """The valid mass on rehearsed prompts, where the gauge of f decides what rehearsal minimises.

    -log u of correct answers has p_* as its target, mass 1: the mass does not fall below the base's. A
    generator that vanishes with its slope at u = 1 (k3; JS and alpha as li2025choice writes them) has the
    base's own mass A1, and so does any of answers correct or not. Theory: B3.
    """
    here, target = run.sets[REHEARSED], rehearsal_target(run.training.arguments)
    if target is None:
        return
    gap, base = mean(here.rate - here.base_rate), float(here.base_rate.mean())
    if run.anchored:
        detail = "answers correct or not are rehearsed, whose target is the base"
    elif target == "one":
        yield held("rehearsed mass", "B3", gap, ">=", base, RATE, detail="from the base's towards 1")
        return
    else:
        detail = "slope 0 at u = 1: the rehearsal's target is the base's; exploration may move it"
    yield held("rehearsed mass", "B3", gap, "==", base, RATE, detail=detail)
