"""The numbers that theory gives for a run, by the arguments that its trainer got."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..recipe.law import RunLaw, law_of, rehearsal_target
from .measurements import EXPLORED, REHEARSED, MeasuredRun, PairedSet, distance_to_tilt, log_odds_gain
from .verdicts import LOG_ODDS, NATS, RATE, Held, Line, MeanEstimate, Sign, mean


def predictions(run: MeasuredRun) -> list[Line]:
    """Every prediction that the run's method and records allow."""
    held: list[tuple[str, Held]] = []
    if EXPLORED in run.sets:
        held += [(EXPLORED, one) for one in stationary_law(run, run.sets[EXPLORED])]
    if REHEARSED in run.sets:
        held += [(REHEARSED, one) for one in rehearsed_mass(run.sets[REHEARSED], run.arguments)]
    return [one.line(run.name, where) for where, one in held]


def stationary_law(run: MeasuredRun, here: PairedSet) -> Iterator[Held]:
    """The law at which the run's penalty comes to rest, on the prompts trained on (A5, A9, E1, E2, E4, E5).

    Prompts of one text are one prompt whose verifier is the mean of their verdicts.
    """
    law = law_of(run.arguments)
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
        yield Held(
            name="validity",
            theory=law.theory,
            estimate=float(here.rate.mean()),
            relation="==",
            prediction=float(predicted.mean()),
            gap=mean(here.rate - predicted, bias=float(unsure.mean())),
            resolution=RATE,
            detail=note,
        )
    target = run.method.mu
    if target is not None and here.texts_differ:
        yield Held(
            name="target validity",
            theory="A9",
            estimate=float(here.rate.mean()),
            relation="==",
            prediction=target,
            gap=mean(here.rate - target),
            resolution=RATE,
        )


def _tilt(here: PairedSet, law: RunLaw, note: str) -> Iterator[Held]:
    """What pi = a exp(v/b)/Z implies, v being the mean verdict: how much odds grow, and no distance left."""
    texts, rate = here.by_text(), law.weight / law.beta
    if not texts:
        return
    gain = log_odds_gain(texts)
    yield Held(
        name="log odds gain",
        theory=law.theory,
        estimate=gain.value,
        relation="==",
        prediction=rate,
        gap=MeanEstimate(gain.value - rate, gain.standard_error, gain.units),
        resolution=LOG_ODDS,
        detail=note,
    )
    if law.place == "sequence":
        distance = distance_to_tilt(texts, rate)
        yield Held(
            name="KL to the law",
            theory=law.theory,
            estimate=distance.value,
            relation="==",
            prediction=0.0,
            gap=distance,
            resolution=NATS,
            detail=note,
        )


def rehearsed_mass(here: PairedSet, arguments: Mapping[str, Any]) -> Iterator[Held]:
    """The valid mass on rehearsed prompts, where the gauge of f decides what rehearsal aims at (B3).

    -log u aims at p_*, mass 1: the mass does not fall below the base's. A generator that vanishes with its
    slope at u = 1 (k3; JS and alpha as li2025choice writes them) aims at the base's own mass A1. `arguments`
    are those that the trainer got.
    """
    target = rehearsal_target(arguments)
    if target is None:
        return
    relation: Sign = ">=" if target == "one" else "=="
    yield Held(
        name="rehearsed mass",
        theory="B3",
        estimate=float(here.rate.mean()),
        relation=relation,
        prediction=float(here.base_rate.mean()),
        gap=mean(here.rate - here.base_rate),
        resolution=RATE,
        detail="from the base's towards 1"
        if target == "one"
        else "slope 0 at u = 1: the rehearsal aims at the base's; exploration may move it",
    )
