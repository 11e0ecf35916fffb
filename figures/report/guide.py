"""Markdown with numbers of the stored results: the guide to divergences, the README's table of findings."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from toy_lm import collapse, strategies, styles
from toy_lm.collapse.results import FAMILIES, select
from toy_lm.strategies.summary import directions
from toy_lm.styles.summary import scores

from ..results import store
from ..results.laws import FORMS, runs
from .page import templates

Record = Mapping[str, Any]

KINDS = {
    "collapse": ("toy_collapse", "toy.collapse"),
    "strategies": ("toy_strategies", "toy.strategies"),
    "styles": ("toy_styles", "toy.styles"),
    "demo": ("full_scale_demo", "full_scale.demo"),
    "laws": ("laws", "laws"),
}
"""The records that numbers are taken from: the file's name, the record's kind."""
ALIKE = 0.01
"""A difference of Pass@k below this is called none."""
SHOWN_BETA = 0.2
"""At which the laws of training are told."""
HELD = ("which_law", "normalisation", "limits", "iteration")
"""The experiments whose runs are long enough to be held to their law."""


def records(folder: Path = store.NUMBERS) -> dict[str, Record]:
    """Those of the records that are stored; ValueError for one that is something else."""
    found = {name: kind for name, kind in KINDS.items() if (folder / f"{kind[0]}.json").is_file()}
    return {name: store.load(file, kind, folder) for name, (file, kind) in found.items()}


def guide(stored: Mapping[str, Record]) -> str:
    """The page "Which divergence should I use?"."""
    return _filled("which-divergence.md", stored)


def in_short(stored: Mapping[str, Record]) -> str:
    """What was found: a table with a row an experiment, and what it shows."""
    return _filled("found.md", stored)


def _filled(name: str, stored: Mapping[str, Record]) -> str:
    tiny = styles.read(stored["styles"])
    numbers = (
        _strategies(stored["strategies"])
        | _collapse(stored["collapse"])
        | {
            "train": scores(tiny, "train"),
            "held_out": scores(tiny, "held_out"),
            "seeds": len(tiny.bases),
            "demo": stored["demo"]["findings"][-2:] if "demo" in stored else None,
            "alike": ALIKE,
            "laws": _laws(stored["laws"]) if "laws" in stored else None,
        }
    )
    return templates().get_template(name).render(numbers)


def _laws(record: Record) -> dict[str, Any]:
    """The forms at SHOWN_BETA on the two-token task, means over seeds, and how many of all runs held."""
    judged = [run for run in runs(record, *HELD) if run["law"]]
    shown = [run for run in runs(record, "which_law", task="selection-2", beta=SHOWN_BETA) if run["law"]]
    rows = []
    for form, words in FORMS.items():
        of = [run for run in shown if run["form"] == form]
        if of:
            rows.append(
                {"form": words, "law": of[0]["law"], "runs": len(of)} | _means(of) | _held(judged, form)
            )
    every = {"held": sum(run["verdict"] == "held" for run in judged), "all": len(judged)}
    return {"beta": SHOWN_BETA, "rows": rows, **every}


def _means(of: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    names = ("validity", "law_validity", "first_share", "law_first_share")
    means = {name: sum(run[name] for run in of) / len(of) for name in names}
    return means | {"nearest": " or ".join(sorted({run["nearest"] for run in of}))}


def _held(judged: Sequence[Mapping[str, Any]], form: str) -> dict[str, int]:
    of = [run["verdict"] for run in judged if run["form"] == form]
    return {"held": of.count("held"), "all": len(of)}


def _strategies(record: Record) -> dict[str, Any]:
    """The methods, and forward against reverse KL by strength on D_pef, from the weakest to the strongest."""
    config, results = strategies.read(record)
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


def _collapse(record: Record) -> dict[str, Any]:
    """The homogeneous fits of the reference problem at the largest 1/beta, and means over random problems."""
    results = collapse.read(record)
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
