"""Theory against training: the records of runs held against the theory, as one record and as tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dph_theory.support.frozen import as_json
from dph_theory.support.record import record

from .frontier import frontier
from .instrument_checks import instrument_checks
from .measurements import Measured, Run, read_runs
from .predictions import predictions
from .verdicts import LEVEL, Judgement, Line

KIND = "full_scale.comparison"


@dataclass(frozen=True)
class Table:
    """A table as text: what an entry point prints."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class SetMeasured:
    """Means over the prompts of one set of one run."""

    run: str
    set: str
    validity: float
    base_validity: float
    kl: float
    cost: float
    """The least KL at these validities."""
    excess: float
    excess_se: float


@dataclass(frozen=True)
class Comparison:
    """What runs measured, the instrument checks, and the predictions, each a line with its judgement."""

    runs: tuple[str, ...]
    measured: tuple[SetMeasured, ...]
    checks: tuple[Line, ...]
    predictions: tuple[Line, ...]
    training: Mapping[str, Sequence[Mapping[str, float | None]]]
    """By run, what the collapse meter logged step by step."""

    def sentences(self) -> list[str]:
        """One on the checks, one on the predictions: all that is said of the tables."""
        told = f"{len(self.checks)} instrument checks: {_counts(self.checks)}."
        broken = [line for line in self.checks if line.verdict is Judgement.INCONSISTENT]
        if broken:
            where = "; ".join(f"{line.name} ({line.theory}) of {line.run} on {line.set}" for line in broken)
            told = f"ALARM, not consistent: {where}. {told}"
        many = "prediction" if len(self.predictions) == 1 else "predictions"
        judged = f"{len(self.predictions)} {many}: {_counts(self.predictions)}."
        missed = [line for line in self.predictions if line.verdict is Judgement.INCONSISTENT]
        kinds = dict.fromkeys(f"{line.name} ({line.theory}; {line.detail})" for line in missed)
        return [told, f"{judged} Inconsistent: {', '.join(kinds)}." if kinds else judged]

    def as_record(self) -> dict[str, Any]:
        """The record that is stored."""
        results = {key: value for key, value in as_json(self).items() if key != "runs"}
        return record(
            KIND,
            seed=0,
            config={"runs": list(self.runs), "level": LEVEL},
            results=results,
            findings=self.sentences(),
            packages=("numpy", "scipy", "torch"),
        )

    def tables(self) -> list[Table]:
        """What was measured on each set of each run, then the checks and the predictions, judged."""
        measured = [
            (entry.run, entry.set, *(f"{number:.3f}" for number in _shown(entry))) for entry in self.measured
        ]
        headers = ("run", "set", "what", "theory", "measured", "theory says", "margin", "verdict", "")
        return [
            Table(
                "measured, means over prompts",
                ("run", "set", "validity", "base", "KL", "least KL", "excess KL"),
                tuple(measured),
            ),
            Table(
                "instrument checks: hold for every policy; a violation is an alarm",
                headers,
                tuple(map(_cells, self.checks)),
            ),
            Table(
                "predictions: training could have missed them", headers, tuple(map(_cells, self.predictions))
            ),
        ]


def compare(runs: Sequence[Path]) -> Comparison:
    """Hold the runs of these folders against the theory.

    A run's evaluation and training records are read from its folder, the base's evaluation from `base`
    beside it. ValueError for missing or malformed files.
    """
    found = read_runs(runs)
    return Comparison(
        tuple(run.name for run in found),
        tuple(_of_set(run.name, *item) for run in found for item in run.sets.items() if _enough(item[1])),
        tuple(line for run in found for line in instrument_checks(run)),
        tuple(line for run in found for line in predictions(run)),
        {run.name: _along_training(run) for run in found},
    )


def _counts(lines: Sequence[Line]) -> str:
    return ", ".join(f"{sum(line.verdict is one for line in lines)} {one}" for one in Judgement)


def _cells(line: Line) -> tuple[str, ...]:
    predicted = f"{line.relation} {line.prediction:.3f}"
    numbers = (f"{line.estimate:.3f}", predicted, f"{line.margin:.3f}")
    return (line.run, line.set, line.name, line.theory, *numbers, str(line.verdict), line.detail)


def _enough(here: Measured) -> bool:
    return here.correct.shape[1] >= 2


def _of_set(run: str, name: str, here: Measured) -> SetMeasured:
    found = frontier(here)
    excess = found.mean_excess
    return SetMeasured(
        run,
        name,
        validity=float(here.rate.mean()),
        base_validity=float(here.base_rate.mean()),
        kl=float(found.kl.mean()),
        cost=float(found.cost.mean()),
        excess=excess.value,
        excess_se=excess.standard_error,
    )


def _along_training(run: Run) -> list[dict[str, float | None]]:
    """What the collapse meter logged, without its prefix, at each step that has it."""
    prefix = "collapse/"
    return [
        {"step": entry.get("step")}
        | {key.removeprefix(prefix): value for key, value in entry.items() if key.startswith(prefix)}
        for entry in run.training.log
        if f"{prefix}excess_kl" in entry
    ]


def _shown(entry: SetMeasured) -> tuple[float, ...]:
    """The numbers of a row; an unbiased estimate of the least KL may lie below 0, the least KL does not."""
    return entry.validity, entry.base_validity, entry.kl, max(0.0, entry.cost), entry.excess
