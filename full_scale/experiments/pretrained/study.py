"""The record of the pretrained Llama: predictions settled first, then the runs, and what came of both."""

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, stdev
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student

from dph_theory.coverage import exact_pass_at_k
from dph_theory.support.progress import Progress, silent
from dph_theory.support.record import as_json, checked
from dph_theory.support.table import Table
from dph_theory.transfer import AnswerKernel

from ...models.load import model_hash
from ..kept import Answer, Asked, Kept
from ..kept import store as store_record
from ..record import BARS
from .claims import CLAIMS, Claim, Ends, at_equal_first, pass_at
from .costs import costs
from .lottery import Lottery, predicted_lottery, spreads
from .open_prompts import Said
from .runs import (
    EXPERIMENTS,
    EXPLORED,
    GROUP,
    HELD,
    HELD_OUT,
    MEASURED,
    SOLVED,
    STORED,
    Measured,
    OpenRun,
    Policy,
    declared,
)
from .runs import quick as quick_runs
from .training import FinishedOpenRun, base_says, conduct, predicted_laws
from .transfer import (
    KS,
    Followed,
    Forecast,
    Held,
    followed,
    forecast,
    held_to_forecasts,
    initial_slopes,
    setting_of,
)

KIND = "pretrained"
T = TypeVar("T")
LAW, LOTTERY, SAID, CLAIM, FORECAST, RUN = "law", "lottery", "said", "claim", "forecast", "run"
"""What is kept: all but the last before the runs."""
FOLLOWED = "followed"
"""What is kept after them."""
FORECAST_OF = ("methods", "anchors", "transfer")
TO_A_LAW = ("laws", "trl")
SURE = 0.9
SHOWN = 64
"""Cosines of so many prompts at most are stored."""


def told(path: str, asked: Asked, *, progress: Progress = silent) -> Answer:
    """Run what is declared and not finished, unless it is to be listed, and report what came of it."""
    runs = quick_runs() if asked.quick else declared(asked.only, asked.seeds)
    identity = {"kind": KIND, "model": model_hash(path), "group": GROUP, "stored": STORED}
    kept = Kept(asked.folder / KIND, identity)
    if asked.packed is not None:
        kept.adopt(asked.packed)
    if not asked.listed:
        run_open(path, runs, kept, workers=asked.workers, progress=progress)
    outcomes = [*kept.read(RUN, FinishedOpenRun, [run.id for run in runs]).values()]
    if asked.json_path is not None:
        store(path, kept, outcomes, asked.json_path)
    if asked.pack is not None:
        kept.pack(asked.pack)
    sentences = [*(to_do(runs, outcomes) if asked.listed else []), *findings(kept, outcomes)]
    return Answer(tables(kept, outcomes), sentences)


def run_open(
    path: str, runs: Sequence[OpenRun], kept: Kept, *, workers: int = 1, progress: Progress = silent
) -> None:
    """Run what is not finished; all predictions are kept before the first run starts."""
    for claim in CLAIMS:
        if kept.lacks(CLAIM, [claim.says]):
            kept.keep(CLAIM, claim.says, {"rival": claim.rival, "band": claim.band})
    kept.settle(SAID, base_says, {name: (path, name) for name in MEASURED}, progress=progress)
    named = {run.id: (path, run) for run in runs}
    to_a_law = {run.id: (path, run) for run in runs if run.experiment in TO_A_LAW}
    kept.settle(LAW, predicted_laws, to_a_law, progress=progress)
    drawn = {run.tasks[0]: (path, run) for run in runs if run.experiment == "lottery"}
    kept.settle(LOTTERY, predicted_lottery, drawn, progress=progress)
    folder = kept.journal.path.parent
    foreseen = {run.id: (path, run, folder) for run in runs if run.experiment in FORECAST_OF}
    # A kernel a base: measured by one process, and then there for all.
    kept.settle(FORECAST, forecast, foreseen, progress=progress)
    forecasts = kept.read(FORECAST, Forecast, foreseen)
    jobs = {name: (*job, forecasts[name].anchors if name in forecasts else ()) for name, job in named.items()}
    kept.settle(RUN, conduct, jobs, workers=workers, progress=progress)
    finished = kept.read(RUN, FinishedOpenRun, foreseen)
    after = {name: (path, finished[name], forecasts[name], folder) for name in finished}
    kept.settle(FOLLOWED, followed, after, progress=progress)


def _of(experiment: str, outcomes: Sequence[FinishedOpenRun]) -> list[FinishedOpenRun]:
    return [outcome for outcome in outcomes if outcome.run.experiment == experiment]


def by_seed(outcomes: Sequence[FinishedOpenRun]) -> dict[int, Ends]:
    """The ends of the methods' runs, by seed, method and strength."""
    found: dict[int, dict[tuple[str, float], Policy]] = {}
    for outcome in _of("methods", outcomes):
        seed = outcome.run.seed or 0
        found.setdefault(seed, {})[outcome.run.form, outcome.run.beta] = outcome.course[-1].tasks
    return {**found}


def anchored_by_seed(
    outcomes: Sequence[FinishedOpenRun], forecasts: Mapping[str, Forecast]
) -> dict[int, Ends]:
    """The ends of the anchors' runs and those beside them, by seed, task and setting.

    The pass rates of what a run holds at the base are NaN.
    """
    found: dict[int, dict[tuple[str, str], Policy]] = {}
    for outcome in [*_of("anchors", outcomes), *_of("transfer", outcomes)]:
        run, policy = outcome.run, {**outcome.course[-1].tasks}
        if run.id in forecasts and len(run.tasks) == 1:
            held = run.task + HELD_OUT
            rates = np.array(policy[held].validity)
            rates[[*forecasts[run.id].anchors]] = np.nan
            policy[held] = replace(policy[held], validity=tuple(rates.tolist()))
            found.setdefault(run.seed or 0, {})[run.task, setting_of(run)] = policy
    return {**found}


@dataclass(frozen=True)
class ClaimVerdict:
    """A claim's mean over seeds with its 90% interval; undecided where that crosses the band's edge."""

    mean: float
    low: float
    high: float
    seeds: int
    verdict: str


def judged(
    claim: Claim,
    outcomes: Sequence[FinishedOpenRun],
    forecasts: Mapping[str, Forecast] = MappingProxyType({}),
) -> ClaimVerdict | None:
    """The claim over those seeds of which all that it needs is there; none where there is no such seed."""
    base: Policy = next((outcome.course[0].tasks for outcome in _of(claim.experiment, outcomes)), {})
    of = by_seed(outcomes) if claim.experiment == "methods" else anchored_by_seed(outcomes, forecasts)
    values = [v for ends in of.values() if (v := _known(claim.value, ends, base)) is not None]
    if not values:
        return None
    mean, half = fmean(values), math.inf
    if len(values) > 1:
        half = float(student.ppf((1 + SURE) / 2, len(values) - 1)) * stdev(values) / math.sqrt(len(values))
    low, high = mean - half, mean + half
    least, most = claim.band
    inside, outside = least <= low and high <= most, high < least or low > most
    verdict = "held" if inside else "missed" if outside else "undecided"
    verdict = "identity" if inside and claim.identity else verdict
    return ClaimVerdict(mean, low, high, len(values), verdict)


def _known(value: Callable[..., T], *of: Any) -> T | None:
    """The value, or none where a run that it needs is not finished."""
    try:
        return value(*of)
    except KeyError:
        return None


def tables(kept: Kept, outcomes: Sequence[FinishedOpenRun]) -> list[Table]:
    """The runs in expectation beside their predictions, those without a KL, the methods, and the claims."""
    found = (
        _law_table(outcomes),
        _lottery_table(kept, outcomes),
        _method_table(outcomes),
        _forecast_table(kept, outcomes),
        _claim_table(kept, outcomes),
    )
    return [table for table in found if table.rows]


def _law_table(outcomes: Sequence[FinishedOpenRun]) -> Table:
    rows = []
    for outcome in (outcome for experiment in TO_A_LAW for outcome in _of(experiment, outcomes)):
        run, falls = outcome.run, outcome.run.beta_from
        rows.append(
            (
                ", ".join(run.tasks),
                run.form + ("" if run.seed is None else f", TRL, seed {run.seed}"),
                f"{run.beta:g}" + (f", from {falls:g}" if falls and run.beta < falls else ""),
                round(outcome.gap or 0.0, 4),
                round(outcome.kl_to_law or 0.0, 4),
                round(min(d for name, d in outcome.distances.items() if name != run.form), 4),
                f"missed; nearest {outcome.nearest}" if outcome.misses else "held",
            )
        )
    titles = ("prompts", "KL", "beta", "pass rate off by", "KL to it", "to another", "verdict")
    return Table.of(titles, rows)


def _lottery_table(kept: Kept, outcomes: Sequence[FinishedOpenRun]) -> Table:
    rows = [
        (
            spread.task,
            spread.baseline,
            round(spread.predicted, 4),
            None if spread.tabular is None else round(spread.tabular, 4),
            round(spread.measured, 4),
            f"{spread.low:.4f} to {spread.high:.4f}",
            spread.verdict,
        )
        for spread in spreads(kept.read(LOTTERY, Lottery), _of("lottery", outcomes))
    ]
    titles = ("prompt", "baseline", "predicted", "if unrelated", "over seeds", "90% interval", "verdict")
    return Table.of(titles, rows)


def _method_table(outcomes: Sequence[FinishedOpenRun]) -> Table:
    groups: dict[tuple[str, float | None], list[Policy]] = {}
    for outcome in _of("methods", outcomes):
        groups.setdefault(("base", None), [outcome.course[0].tasks])
        groups.setdefault((outcome.run.form, outcome.run.beta), []).append(outcome.course[-1].tasks)
    rows = [
        (*key, len(some), *(round(fmean(pass_at(p, [HELD], k) for p in some), 3) for k in (1, 16, 256)))
        for key, some in groups.items()
    ]
    return Table.of(("method", "strength", "seeds", "Pass@1 held out", "@16", "@256"), rows)


def forecasts_held(kept: Kept, outcomes: Sequence[FinishedOpenRun]) -> list[Held]:
    """Every setting whose held-out Pass@k was predicted from the base, and what was found."""
    return held_to_forecasts(outcomes, kept.read(FORECAST, Forecast), kept.read(FOLLOWED, Followed))


def _forecast_table(kept: Kept, outcomes: Sequence[FinishedOpenRun]) -> Table:
    rows: list[tuple[str | float, ...]] = []
    for held in forecasts_held(kept, outcomes):
        numbers = zip(held.base, held.forecast, held.interpolated, held.found, strict=True)
        cells: list[float] = [round(value, 3) for of in numbers for value in of]
        rows.append((held.tasks[0], held.setting, held.seeds, *cells))
    each = [f"@{k} {what}" for k in KS for what in ("base", "forecast", "interpolated", "found")]
    return Table.of(("held out", "setting", "seeds", *each), rows)


def _claim_table(kept: Kept, outcomes: Sequence[FinishedOpenRun]) -> Table:
    rows, forecasts = [], kept.read(FORECAST, Forecast)
    for claim in CLAIMS:
        if found := judged(claim, outcomes, forecasts):
            interval = "" if math.isinf(found.low) else f"{found.low:+.3f} to {found.high:+.3f}"
            rows.append((claim.theory, claim.says, round(found.mean, 3), interval, found.verdict))
    return Table.of(("theory", "predicted before the runs", "found", "90% interval", "verdict"), rows)


def to_do(runs: Sequence[OpenRun], outcomes: Sequence[FinishedOpenRun]) -> list[str]:
    """How many runs of each experiment are done, and what it asks."""
    asked = Counter(run.experiment for run in runs)
    done = Counter(outcome.run.experiment for outcome in outcomes)
    return [f"{name}: {done[name]} of {asked[name]} runs done. {EXPERIMENTS[name][0]}" for name in asked]


def findings(kept: Kept, outcomes: Sequence[FinishedOpenRun]) -> list[str]:
    """How many runs converged as predicted, and which claims held."""
    said = []
    if ended := _of("laws", outcomes):
        held = sum(not outcome.misses for outcome in ended)
        said.append(f"{held} of {len(ended)} expected-gradient runs converged to their stationary policy.")
    drawn = spreads(kept.read(LOTTERY, Lottery), _of("lottery", outcomes))
    if drawn:
        held = sum(spread.verdict == "held" for spread in drawn)
        said.append(f"{held} of {len(drawn)} spreads over seeds were as the adjoint predicted.")
    if trained := _of("trl", outcomes):
        held = sum(not outcome.misses for outcome in trained)
        said.append(f"{held} of {len(trained)} runs under TRL converged to their stationary policy.")
    forecasts = kept.read(FORECAST, Forecast)
    claims = Counter(v.verdict for claim in CLAIMS if (v := judged(claim, outcomes, forecasts)))
    if claims:
        words = ("held", "missed", "undecided", "identity")
        counts = ", ".join(f"{claims[word]} {word}" for word in words if claims[word])
        said.append(f"Of {claims.total()} predictions of differences between runs: {counts}.")
    return said


DIFFERENCE, POWER = 0.06, 0.8
AGAINST = ("DAPO", 0.0)
HOPED = (("GRPO", 0.3), ("DPH-F", 0.05), ("DPH-JS", 10.0))
"""Methods whose held-out Pass@k is set against DAPO's: plain k3, and two rehearsals."""


def seeds_for(outcomes: Sequence[FinishedOpenRun]) -> dict[str, list[tuple[float, int, int]]]:
    """How many seeds, and how many texts, show a difference to DAPO of DIFFERENCE at Pass@1, @16, @256.

    By method, a row a k: the deviation of the difference over seeds, paired; the seeds, and the texts, that a
    two-sided test at 1 - SURE needs for POWER. Of methods with two seeds or more.
    """
    factor = ((norm.ppf((1 + SURE) / 2) + norm.ppf(POWER)) / DIFFERENCE) ** 2
    found = {}
    for key in HOPED:
        pairs = [
            (ends[key], ends[AGAINST]) for ends in by_seed(outcomes).values() if {key, AGAINST} <= {*ends}
        ]
        if len(pairs) < 2:
            continue
        rows = []
        for k in (1, 16, 256):
            each = np.array([_of_texts(one, k) - _of_texts(other, k) for one, other in pairs])
            deviation = float(each.mean(axis=1).std(ddof=1))
            needed = (factor * deviation**2, factor * each.mean(axis=0).var(ddof=1))
            rows.append((deviation, *(max(2, math.ceil(many)) for many in needed)))
        found[f"{key[0]}, {key[1]:g}"] = rows
    return found


def _of_texts(policy: Policy, k: int) -> np.ndarray:
    return exact_pass_at_k(np.minimum(policy[HELD].validity, 1.0), np.asarray(k))


def store(path: str, kept: Kept, outcomes: Sequence[FinishedOpenRun], file: Path) -> dict[str, Any]:
    """Write the compact record that figures read: the base, each run's end and what was predicted of it."""
    laws, base = kept.read(LAW, dict), dict[str, Measured]()
    rows: list[dict[str, Any]] = []
    for outcome in outcomes:
        if outcome.run.experiment == "lottery":
            continue
        base |= outcome.course[0].tasks
        row = as_json(replace(outcome, course=outcome.course[-1:]), digits=5)
        row["tasks"] = row.pop("course")[0]["tasks"]
        if outcome.run.experiment in TO_A_LAW:
            row |= {"laws": as_json(laws[outcome.run.id], digits=5), "held": not outcome.misses}
            row |= {"nearest": outcome.nearest, "kl_to_law": outcome.kl_to_law}
        else:
            for measured in row["tasks"].values():
                del measured["first_shares"]
        rows.append(row)
    forecasts = kept.read(FORECAST, Forecast)
    claims = [
        {"theory": claim.theory, "says": claim.says, "rival": claim.rival}
        | ({} if (verdict := judged(claim, outcomes, forecasts)) is None else as_json(verdict, digits=5))
        for claim in CLAIMS
    ]
    config = {"model": Path(path).name, "model_hash": kept.journal.first["model"], "solved": SOLVED}
    config |= {
        "group": GROUP,
        "stored": STORED,
        "near": BARS.validity,
        "alike": BARS.kl,
        "difference": DIFFERENCE,
    }
    equal: dict[str, list[float]] = {}
    lotteries = kept.read(LOTTERY, Lottery)
    results = {"runs": rows, "base": as_json(base, digits=5), "claims": claims, "at_equal_first": equal}
    results["seeds_for"] = as_json(seeds_for(outcomes), digits=5)
    results["said"] = as_json(kept.read(SAID, Said), digits=4)
    results["lotteries"] = as_json(lotteries, digits=5)
    results["spreads"] = as_json(spreads(lotteries, _of("lottery", outcomes)), digits=5)
    for task in (HELD, EXPLORED):
        ends = by_seed(outcomes).values()
        if passed := [found for of in ends if (found := _known(at_equal_first, of, task))]:
            equal[task] = [fmean(numbers) for numbers in zip(*passed, strict=True)]
    results["forecasts"] = as_json(forecasts_held(kept, outcomes), digits=4)
    results["kernels"] = _stored_kernels(file, config) | _kernels(kept)
    took = [(outcome.seconds_a_step, outcome.peak_gib) for outcome in _of("methods", outcomes)]
    results["costs"] = as_json(costs(took), digits=5)
    return store_record(file, KIND, config, results, findings(kept, outcomes))


def _stored_kernels(file: Path, config: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the record that is replaced, if it is of this model: a pack has the rows, not the kernels."""
    try:
        stored = checked(json.loads(file.read_text(encoding="utf-8")), KIND)
    except (FileNotFoundError, ValueError):  # Nothing, or something else, which is replaced.
        return {}
    same = stored["config"]["model_hash"] == config["model_hash"]
    return dict(stored["results"]["kernels"]) if same else {}


def _kernels(kept: Kept) -> dict[str, Any]:
    """Of the kernels that are kept: prompts, pass rates, cosines of their log odds' gradients, and slopes."""
    found = {}
    for file in sorted((kept.journal.path.parent / "kernels").glob("*.npz")):
        kernel = AnswerKernel.load(file)
        coupling, rates = kernel.log_odds
        length = np.sqrt(np.maximum(np.diag(coupling), 1e-300))
        told = {"sets": kernel.sets, "rates": rates, "slopes": initial_slopes(kernel)}
        if len(rates) <= SHOWN:
            told["cosines"] = np.round(coupling / length[:, None] / length, 2)
        found[file.stem] = as_json(told, digits=4)
    return found
