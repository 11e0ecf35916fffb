"""How well a run's own first steps forecast its end: the pilot beside its rivals.

Stored runs are those of figures/numbers/pretrained.jsonl.xz, whose rates are exact: the pilot has these, or
64 answers to each prompt drawn from them. The persistence of changes was chosen on these runs; the coverage
of the interval is that of simulated runs too, from which nothing was chosen.

Run: python benchmarks/pilot.py [RECORD.json], fifteen minutes of one core.
"""

import json
import lzma
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from dph_theory.checkpoints import Counts
from dph_theory.checkpoints.clock import SHARED, Walk, later_clock
from dph_theory.checkpoints.counts import PromptRow
from dph_theory.checkpoints.pilot import HELD_OUT, PERSISTENCE, TRAINED, PilotForecast, pilot_forecast
from dph_theory.coverage import exact_pass_at_k
from dph_theory.divergences import FORWARD_KL, REVERSE_KL
from dph_theory.support.files import write_json
from dph_theory.support.record import as_json, record
from dph_theory.transfer import LinearisedMethod

KIND = "pilot"
ROWS = Path("figures/numbers/pretrained.jsonl.xz")
KS, ANSWERS, GROUP = (1, 16, 256), 64, 16
SCALES = {"MaxRL": "mean", "Dr. GRPO": "none"}
DIVERGENCES = {"k3": FORWARD_KL} | dict.fromkeys(("k2", "k3_corrected", "reward"), REVERSE_KL)
FIFTHS = (4, 10, 14, 20)
"""Steps of 24 that are seen: about a fifth, two, three and four."""
FARTHEST = 12.0
"""Log odds beyond are told from one another by no number of answers."""
UNSEEN = 0.5
PERSISTENCES = (0, 0.25, 0.5, 0.75, 1)
SIMULATED, PROMPTS, DIRECTIONS, DRAWN, STEPS = 60, 48, 12, 32, (20, 40)
"""Simulated runs, prompts, half of them trained, directions of the kernel, answers, steps seen and all."""
Errors = dict[str, list[np.ndarray]]


class Course(NamedTuple):
    """A stored run: rates by step of trained prompts and of those that are not, and the kernel's forecast."""

    experiment: str
    setting: str
    method: LinearisedMethod
    steps: list[int]
    trained: np.ndarray
    held_out: np.ndarray
    kernel: list[float] | None


def courses() -> Iterator[Course]:
    """The stored runs that have both kinds of prompts and a point between."""
    with lzma.open(ROWS, "rt") as file:
        rows = [json.loads(line) for line in file]
    forecasts = {row["name"]: row["row"] for row in rows if row["what"] == "forecast"}
    for row in rows:
        run = row["row"]["run"] if row["what"] == "run" else {"measured_after": 1, "experiment": ""}
        forecast = forecasts.get(row["name"])
        if run["measured_after"] or not (forecast or run["experiment"] == "advantages"):
            continue
        points, other = row["row"]["course"], run["tasks"][0] + ", held out"
        if len(points) < 3 or other not in points[0]["tasks"]:
            continue
        rates = [[p["tasks"][task]["validity"] for task in (*run["tasks"], other)] for p in points]
        trained, held_out = (
            np.minimum([np.concatenate(side) for side in sides], 1.0)
            for sides in ([r[:-1] for r in rates], [r[-1:] for r in rates])
        )
        held_out = np.delete(held_out, (forecast or {}).get("anchors", ()), axis=1)
        divergence = DIVERGENCES.get(run["kl"])
        beta = run["coefficient"] if divergence else 0.0
        method = LinearisedMethod(SCALES.get(run["method"], "std"), GROUP, beta, divergence)
        setting = json.dumps({name: value for name, value in run.items() if name != "seed"}, sort_keys=True)
        steps = [point["step"] for point in points]
        experiment, kernel = run["experiment"], forecast and forecast["held_out"]
        yield Course(experiment, setting, method, steps, trained, held_out, kernel)


def log_odds(rates: np.ndarray) -> np.ndarray:
    """Cut at FARTHEST."""
    return np.clip(logit(rates), -FARTHEST, FARTHEST)


def passed(rates: np.ndarray) -> np.ndarray:
    """Mean Pass@k at KS."""
    return np.array([exact_pass_at_k(rates, k).mean() for k in KS])


def exact(course: Course, point: int) -> dict[str, np.ndarray]:
    """Held-out Pass@k at the end by each forecast from a point of the course, and as it was: exact rates."""
    (first, moved), (base, gone) = (
        (log_odds(side[0]), log_odds(side[point]) - log_odds(side[0]))
        for side in (course.trained, course.held_out)
    )
    equal, ratio = np.ones(len(first)) / len(first), course.steps[-1] / course.steps[point]
    clock = later_clock(first, moved, equal, ratio, course.method)
    now = base + gone
    by = {
        "no change": passed(course.held_out[point]),
        "one answer": np.repeat(passed(course.held_out[point])[0], len(KS)),
        "line": passed(expit(base + clock * gone)),
        "pilot": forecast(Walk(clock, PERSISTENCE[HELD_OUT], float(gone.std())), now, gone),
    }
    if course.kernel is not None:
        by |= {"kernel": np.array(course.kernel), "pilot and kernel": (by["pilot"] + course.kernel) / 2}
    return by | {"end": passed(course.held_out[-1])}


def by_persistence(course: Course, point: int) -> dict[str, dict[str, np.ndarray]]:
    """Pass@k at the end of either kind of prompts, at several persistences, and as it was."""
    sides = {TRAINED: course.trained, HELD_OUT: course.held_out}
    odds = {kind: (log_odds(side[0]), log_odds(side[point])) for kind, side in sides.items()}
    start, now = odds[TRAINED]
    equal, ratio = np.ones(len(start)) / len(start), course.steps[-1] / course.steps[point]
    clock, ends = later_clock(start, now - start, equal, ratio, course.method), {}
    for kind, (before, after) in odds.items():
        change = after - before
        walks = {f"{x:g}": Walk(clock, x, float(change.std())) for x in PERSISTENCES}
        ends[kind] = {name: forecast(walk, after, change) for name, walk in walks.items()}
        ends[kind] |= {"no change": passed(sides[kind][point]), "end": passed(sides[kind][-1])}
    return ends


def forecast(walk: Walk, now: np.ndarray, change: np.ndarray) -> np.ndarray:
    """Pass@k at KS where changes go on as a walk, over a run's noise."""
    nodes = np.polynomial.hermite_e.hermegauss(9)
    means = [[walk.pass_at_k(now, change, k, noise)[0].mean() for k in KS] for noise in nodes[0]]
    return np.asarray(nodes[1] / nodes[1].sum() @ np.array(means))


def counts(name: str, rates: np.ndarray, answers: int, rng: np.random.Generator) -> Counts:
    """A checkpoint's counts, drawn."""
    drawn = enumerate(rng.binomial(answers, np.minimum(rates, 1.0)).tolist())
    return Counts(name, {i: PromptRow(i, answers, c) for i, c in drawn}, name)


def from_counts(
    course: Course, point: int, rng: np.random.Generator
) -> tuple[PilotForecast, dict[str, np.ndarray]]:
    """The pilot by drawn counts of base and point, and the line by two other ways to shrink them."""
    rates = np.concatenate([course.trained, course.held_out], axis=1)
    base, now = (counts(name, rates[i], ANSWERS, rng) for name, i in (("base", 0), ("now", point)))
    trained = range(course.trained.shape[1])
    settings: dict[str, Any] = {"trained": trained, "method": course.method, "ks": KS, "draws": 2000}
    found = pilot_forecast(base, {course.steps[point]: now}, course.steps[-1], **settings)
    held = [np.array([side.rows[i].c for i in range(len(trained), rates.shape[1])]) for side in (base, now)]
    plugged = [logit((c + UNSEEN) / (ANSWERS + 2 * UNSEEN)) for c in held]
    shrunk = [logit((c + a) / (ANSWERS + a + b)) for c, (a, b) in zip(held, map(beta_of, held), strict=True)]
    by = {
        name: passed(expit(x[0] + found.clock * (x[1] - x[0])))
        for name, x in (("plugged in", plugged), ("each side shrunk", shrunk))
    }
    part = next(part for part in found.forecasts if part.kind == HELD_OUT)
    by["pilot"] = np.array([later.value for later in part.later])
    return found, by | {"end": passed(course.held_out[-1])}


def beta_of(c: np.ndarray) -> tuple[float, float]:
    """The beta distribution of rates with the mean and the variance of counts of ANSWERS (moments)."""
    mean = np.clip(c.mean() / ANSWERS, 1e-3, 1 - 1e-3)
    among = max((c / ANSWERS).var() - mean * (1 - mean) / ANSWERS, 1e-4)
    total = max(mean * (1 - mean) / among - 1, 1e-2)
    return float(mean * total), float((1 - mean) * total)


def rms(rows: Sequence[tuple[str, Mapping[str, np.ndarray]]]) -> dict[str, list[float]]:
    """Of each forecast at KS, over settings, of means over a setting's seeds."""
    settings: dict[str, list[Mapping[str, np.ndarray]]] = defaultdict(list)
    for setting, by in rows:
        settings[setting].append(by)
    means = [
        {name: np.mean([by[name] for by in seeds], axis=0) for name in seeds[0]}
        for seeds in settings.values()
    ]
    names = [name for name in means[0] if name != "end"]
    squares = {name: [(mean[name] - mean["end"]) ** 2 for mean in means] for name in names}
    return {"settings": len(means)} | {
        name: np.sqrt(np.mean(square, axis=0)).round(3).tolist() for name, square in squares.items()
    }


def covered(part: Any, end: np.ndarray) -> list[bool]:
    """Whether the intervals hold the end, at each k."""
    return [later.low <= x <= later.high for later, x in zip(part.later, end, strict=True)]


def by_kernel(rng: np.random.Generator) -> list[np.ndarray]:
    """Rates of a base, of a checkpoint and at the end of a run on groups, by a kernel of a few directions.

    Of one shared direction and others at random; the first half is trained. Two answers a prompt: what the
    advantages of a group move the log odds by is the group's std.
    """
    features = rng.standard_normal((PROMPTS, DIRECTIONS)) / np.sqrt(DIRECTIONS)
    features[:, 0], half = 0.4, PROMPTS // 2
    log_odds_now = rng.normal(-1.5, 2.0, PROMPTS)
    course = [log_odds_now]
    for _ in range(STEPS[1]):
        share = rng.binomial(GROUP, expit(log_odds_now[:half])) / GROUP
        log_odds_now = log_odds_now + 0.25 * features @ (features[:half].T @ np.sqrt(share * (1 - share)))
        course.append(log_odds_now)
    return [expit(course[i]) for i in (0, *STEPS)]


def by_walk(rng: np.random.Generator) -> list[np.ndarray]:
    """The same of a run whose changes go on as the pilot has them."""
    start, half = rng.normal(-1.5, 2.0, PROMPTS), PROMPTS // 2
    kinds, ends = {TRAINED: slice(half), HELD_OUT: slice(half, None)}, start.copy()
    change = np.concatenate([rng.normal(1.0, 1.0, half), rng.normal(0.0, 1.5, half)])
    equal, method = np.ones(half) / half, LinearisedMethod(group_size=GROUP)
    clock, noise = later_clock(start[:half], change[:half], equal, STEPS[1] / STEPS[0], method), rng.normal()
    for kind, part in kinds.items():
        walk = Walk(clock, PERSISTENCE[kind], 1.0 if kind == TRAINED else 1.5)
        own = np.sqrt(SHARED) * noise + np.sqrt(1 - SHARED) * rng.standard_normal(half)
        ends[part] = start[part] + walk.reach * change[part] + walk.spread * own
    return [expit(values) for values in (start, start + change, ends)]


def coverage(rates_of: Callable[[np.random.Generator], list[np.ndarray]]) -> dict[str, Any]:
    """How often intervals hold the end of simulated runs, by kind of prompts, at k of 1, 8 and 32."""
    shares: dict[str, list[list[bool]]] = defaultdict(list)
    ks = (1, 8, DRAWN)
    for seed in range(SIMULATED):
        rng = np.random.default_rng(seed)
        rates = rates_of(rng)
        base, now = (counts(name, rates[i], DRAWN, rng) for name, i in (("base", 0), ("now", 1)))
        method = LinearisedMethod(group_size=GROUP)
        settings: dict[str, Any] = {"trained": range(PROMPTS // 2), "method": method, "ks": ks, "draws": 2000}
        found = pilot_forecast(base, {STEPS[0]: now}, STEPS[1], **settings)
        for part in found.forecasts:
            mine = rates[2][: PROMPTS // 2] if part.kind == TRAINED else rates[2][PROMPTS // 2 :]
            shares[part.kind].append(covered(part, np.array([exact_pass_at_k(mine, k).mean() for k in ks])))
    return {kind: np.mean(rows, axis=0).round(3).tolist() for kind, rows in shares.items()} | {"k": ks}


def main(path: str = "figures/numbers/pilot.json") -> None:
    """Every table, stored."""
    rng = np.random.default_rng(0)
    half: dict[str, list[Any]] = defaultdict(list)
    sampled: dict[str, list[Any]] = defaultdict(list)
    fifths: dict[str, list[Any]] = defaultdict(list)
    inside: dict[str, list[Any]] = defaultdict(list)
    persistent: dict[str, list[Any]] = defaultdict(list)
    for course in courses():
        seen = FIFTHS if course.experiment == "advantages" else (course.steps[1],)
        for step in seen:
            point = course.steps.index(step)
            by = exact(course, point)
            rows = fifths[str(step)] if course.experiment == "advantages" else half[course.experiment]
            rows.append((course.setting, by))
            name = f"advantages, step {step}" if course.experiment == "advantages" else course.experiment
            for kind, ends in by_persistence(course, point).items():
                persistent[f"{name}, {kind}"].append((course.setting, ends))
            found, by_counts = from_counts(course, point, rng)
            sampled[name].append((course.setting, by_counts))
            for part in found.forecasts:
                side = course.trained if part.kind == TRAINED else course.held_out
                inside[f"{name}, {part.kind}"].append(covered(part, passed(side[-1])))
    results = {
        "half": {name: rms(rows) for name, rows in half.items()},
        "fifths": {name: rms(rows) for name, rows in fifths.items()},
        "persistence": {name: rms(rows) for name, rows in persistent.items()},
        "counts": {name: rms(rows) for name, rows in sampled.items()},
        "coverage": {
            name: {"runs": len(rows), "share": np.mean(rows, axis=0).round(3).tolist()}
            for name, rows in inside.items()
        },
        "simulated": {"kernel": coverage(by_kernel), "walk": coverage(by_walk), "runs": SIMULATED},
    }
    config = {"k": KS, "answers": ANSWERS, "persistence": dict(PERSISTENCE), "steps": 24}
    write_json(Path(path), record(KIND, seed=0, config=config, results=as_json(results), findings=()))
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
