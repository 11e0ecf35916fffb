"""Markdown with numbers of the stored results: the guide to divergences, the table of findings."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dph_theory.intervals import Estimate, share
from dph_theory.losses.methods import METHODS
from toy_lm.collapse.results import FAMILIES, select
from toy_lm.experiments import EXPERIMENTS
from toy_lm.strategies.results import directions
from toy_lm.styles.results import scores

from .. import records
from ..gallery import budget_and_family, direction, lottery, published, way_back
from ..records import FORMS, FULL_SCALE, Demo, LawRun, Records, stored_name
from .page import templates

ALIKE = 0.01
"""A difference of Pass@k below this is called none."""
SHOWN_BETA = 0.2
"""At which the laws of training are told."""
STRONG = 0.5
"""From here on nearly every run had the steps that its law takes."""


@dataclass(frozen=True)
class FormRow:
    """A form's runs at SHOWN_BETA on the two-token task, means over seeds, and how many of all held."""

    form: str
    law: str
    nearest: str
    validity: float
    law_validity: float
    first_share: float
    law_first_share: float
    held: int
    all: int


def stored_records(folder: Path = records.NUMBERS) -> Records:
    """Those of the records that are stored; ValueError for one that is something else."""
    files = {name: stored_name(name, False) for name in EXPERIMENTS}
    files |= {name: file for name, (file, _) in FULL_SCALE.items()}
    return Records.load(
        [name for name, file in files.items() if (folder / f"{file}.json").is_file()], folder=folder
    )


def guide(stored: Records) -> str:
    """The page "Which divergence should I use?"."""
    return _filled("which-divergence.md", stored)


def in_short(stored: Records) -> str:
    """What was found: a table with a row an experiment, and what it shows."""
    return _filled("found.md", stored)


@cache
def highlights() -> dict[str, Any]:
    """The numbers that the report begins with, all from stored runs of a Llama, and what methods select."""
    stored = stored_records()
    selects = Counter(row.selects for row in stored.atlas.rows)
    return {"laws": _laws(stored), "luck": _luck(stored), "llama": _llama(stored), "selects": selects}


def _filled(name: str, stored: Records) -> str:
    of_laws = {"laws": _laws, "luck": _luck, "llama": _llama, "lost": _lost, "budget": _budget}
    numbers = {
        **_strategies(stored),
        **_collapse(stored),
        "train": scores(stored.styles, "train"),
        "held_out": scores(stored.styles, "held_out"),
        "seeds": len(stored.styles.bases),
        "grpo": METHODS["GRPO"],
        "published": _published(),
        "questions": BIRD_QUESTIONS,
        "demo": _demo(stored.demo) if "demo" in stored else None,
        "alike": ALIKE,
        **{name: of(stored) if "laws" in stored else None for name, of in of_laws.items()},
    }
    return templates().get_template(name).render(numbers)


BIRD_QUESTIONS = 1534
"""Of its development set; how many the paper scored it does not say."""


def _published() -> dict[str, Estimate]:
    """Pass@16 on BIRD as published, in percent, with the interval that so many questions would give."""
    found = published.published()["Bird"]["Pass@16"]
    counted = {name: share(round(p / 100 * BIRD_QUESTIONS), BIRD_QUESTIONS) for name, p in found.items()}
    return {name: Estimate(found[name], 100 * each.low, 100 * each.high) for name, each in counted.items()}


def _demo(demo: Demo) -> dict[str, Any]:
    """How many of the expected differences were found and predictions held, and the kinds of the missed."""
    expected = [gap for gap in demo.differences if gap.expected]
    missed = [line for line in demo.predictions if line.verdict == "inconsistent"]
    return {
        "expected": len(expected),
        "found": sum(gap.found == gap.expected for gap in expected),
        "predictions": len(demo.predictions),
        "held": sum(line.verdict == "consistent" for line in demo.predictions),
        "missed": list(dict.fromkeys(f"{line.name} ({line.theory})" for line in missed)),
    }


def _laws(stored: Records) -> dict[str, Any]:
    """A row a form, and how many of all runs held."""
    judged = stored.laws.judged()
    shown = stored.laws.of("which_law", task="selection-2", beta=SHOWN_BETA)
    by_form = {form: [run for run in shown if run.form == form and run.law] for form in FORMS}
    return {
        "beta": SHOWN_BETA,
        "rows": [_row(of, judged) for of in by_form.values() if of],
        "held": sum(run.held for run in judged),
        "all": len(judged),
        "strong": [run.held for run in judged if run.beta >= STRONG],
        "strong_beta": STRONG,
        "short": _held(judged, "which_law"),
        "long": _held(judged, "long_enough"),
        "long_k3": _held([run for run in judged if run.form == "k3"], "long_enough"),
    }


def _luck(stored: Records) -> dict[str, Any] | None:
    """The drift without a KL by baseline, the planned runs that held, and what misses come from."""
    experiments = {run.experiment for run in stored.laws.runs}
    if not {lottery.EXPERIMENT, PLANNED} <= experiments:
        return None
    settings = lottery.compute(lottery.FIGURE.config, stored).settings
    of_mean = next(s for s in settings if s.baseline == "mean" and "SGD" in s.words)
    alike = {s.baseline: s for s in settings if s.words == of_mean.words}
    judged = stored.laws.judged()
    planned = [run for run in judged if run.experiment == PLANNED]
    lost = Counter(
        f"{run.form} at {run.beta:g}{'' if run.annealed_from is None else ', annealed'}"
        for run in planned
        if not run.held
    )
    causes = Counter(run.why_missed for run in judged if not run.held and run.experiment != PLANNED)
    untold = causes.pop(NO_TWIN, 0)
    return {
        "drift": alike,
        "seeds": len(of_mean.shares),
        "within": _within([s.predicted for s in settings], settings),
        "frozen": _within([s.frozen_kernel for s in settings], settings),
        "tabular": _within([s.tabular_formula for s in settings], settings),
        "above": sum(s.measured > s.predicted for s in settings),
        "most": max(s.measured / s.predicted for s in settings),
        "planned": [run.held for run in planned if run.annealed_from is None],
        "annealed": [run.held for run in planned if run.annealed_from is not None],
        "least": min(run.beta for run in planned),
        "lost": [f"{count} of {name}" for name, count in lost.items()],
        "causes": causes,
        "missed": sum(causes.values()),
        "untold": untold,
    }


def _within(predicted: Sequence[float | None], settings: Sequence[lottery.LotterySetting]) -> tuple[int, int]:
    """How many predictions lie in the interval of their setting, of how many."""
    told = [(p, s.interval) for p, s in zip(predicted, settings, strict=True) if p is not None]
    return sum(low <= p <= high for p, (low, high) in told), len(told)


PLANNED, NO_TWIN = "planned", "no twin"
"""The experiment whose runs' steps and answers were chosen by their twins; a miss that is not explained."""


def _held(judged: Sequence[LawRun], experiment: str) -> list[bool]:
    """Whether each run of the experiment at small beta held."""
    return [run.held for run in judged if run.experiment == experiment and run.beta <= SHOWN_BETA]


def _llama(stored: Records) -> dict[str, Any] | None:
    """Pass@1 and Pass@16 of the methods at the weakest strength, on a real Llama."""
    if not any(run.experiment == direction.EXPERIMENT for run in stored.laws.runs):
        return None
    rows = direction.compute(direction.FIGURE.config, stored).rows
    weak = min(row.strength for row in rows if row.strength is not None)
    shown = [row for row in rows if row.strength in (None, weak)]
    found = {row.method: [difference.mean for difference in row.against] for row in shown}
    return {"strength": weak, "seeds": min(row.seeds for row in shown), "found": found}


def _lost(stored: Records) -> list[tuple[Any, ...]] | None:
    """The share left of lost answers, and how many runs of each kind had half of it back in time."""
    if not stored.laws.ways_back:
        return None
    rows = way_back.table(way_back.compute(way_back.FIGURE.config, stored)).rows
    return [(share, by, *back) for share, by, _, _, *back in rows]


def _budget(stored: Records) -> dict[str, Any] | None:
    """The longest trainings at the least beta, annealed and not: of all weights, of the smallest adapter."""
    if not any(run.annealed_from for run in stored.laws.runs):
        return None
    results = budget_and_family.compute(budget_and_family.FIGURE.config, stored)
    aimed = [end for end in results.ends if end.kl is not None]
    beta, steps = min(end.beta for end in aimed), max(end.steps for end in aimed)
    shown = [end for end in aimed if (end.beta, end.steps) == (beta, steps)]
    rank = min(end.rank for end in shown if end.rank is not None)
    return {
        "beta": beta,
        "steps": steps,
        "target": results.target,
        "seeds": min(end.seeds for end in shown),
        "whole": {end.objective: end for end in shown if end.rank is None},
        "rank": rank,
        "adapter": {end.objective: end for end in shown if end.rank == rank},
    }


def _row(of: Sequence[LawRun], judged: Sequence[LawRun]) -> FormRow:
    verdicts = [run.held for run in judged if run.form == of[0].form]
    return FormRow(
        form=FORMS[of[0].form],
        law=of[0].law or "",
        nearest=" or ".join(sorted({run.nearest or "" for run in of})),
        validity=_mean(of, "validity"),
        law_validity=_mean(of, "law_validity"),
        first_share=_mean(of, "first_share"),
        law_first_share=_mean(of, "law_first_share"),
        held=sum(verdicts),
        all=len(verdicts),
    )


def _mean(of: Sequence[LawRun], name: str) -> float:
    return sum(getattr(run, name) for run in of) / len(of)


def _strategies(stored: Records) -> dict[str, Any]:
    """The methods, and forward against reverse KL by strength on D_pef, from the weakest to the strongest."""
    config, results = stored.strategies
    rows = [row for row in directions(config, results.sweep) if row.place == "D_pef"]
    apart = [row.strength for row in rows if abs(row.gap) >= ALIKE]
    kept = [row.strength for row in rows if row.pass_at_k["forward KL"] >= results.base.pass_at_k]
    return {
        "k": config.coverage_draws,
        "base": results.base,
        "methods": {method.name: method for method in results.methods},
        "here": results.method("DPH-F"),
        "everywhere": results.method("forward KL on all prompts"),
        "rows": rows,
        "widest": max(rows, key=lambda row: abs(row.gap)),
        "alike_above": max(apart, default=0.0),
        "weakest_kept": min(kept, default=float("inf")),
    }


def _collapse(stored: Records) -> dict[str, Any]:
    """The homogeneous fits of the reference problem at the largest 1/beta, and means over random problems."""
    results = stored.collapse
    rates = {}
    for problem in results.random:
        for family in FAMILIES:
            of = select(problem.rates, family=family)
            minima = select(of, objective="reverse_kl", method="global")
            others = (select(of, objective=name)[0] for name in ("forward_kl", "reward"))
            rates[f"{problem.name}, {family}"] = (max(minima, key=lambda rate: rate.mu or 0.0), *others)
    return {
        "base_rate": results.reference.target.base_rate,
        "reverse": results.reference.optima(FAMILIES[0])[-1],
        "forward": results.reference.forward_kl(FAMILIES[0]),
        "rates": rates,
    }
