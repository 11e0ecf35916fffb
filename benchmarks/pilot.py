"""How well a run's own first steps forecast its end: the pilot beside its rivals, and the kernel's domain.

Stored runs are those of figures/numbers/pretrained.jsonl.xz, whose rates are exact: the pilot has these, or
64 answers to each prompt drawn from them. The persistence of changes was chosen on these runs; the coverage
of the interval is that of simulated runs too, from which nothing was chosen. The kernels of the base, where
they stand in KERNELS (`dph experiment pretrained` leaves them), give the courses that they forecast: of
others the pilot stands alone; COURSES has runs of other models beside their forecasts, a JSON a line.

Run: python benchmarks/pilot.py RECORD.json KERNELS [COURSES], twenty minutes of one core.
"""

import json
import lzma
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from dph_theory.checkpoints import Counts
from dph_theory.checkpoints.clock import SHARED, Walk, later_clock
from dph_theory.checkpoints.counts import PromptRow
from dph_theory.checkpoints.kernel_course import KernelCourse, described_share
from dph_theory.checkpoints.pilot import HELD_OUT, PERSISTENCE, TRAINED, PilotForecast, pilot_forecast
from dph_theory.coverage import exact_pass_at_k
from dph_theory.divergences import FORWARD_KL
from dph_theory.support.files import write_json
from dph_theory.support.record import as_json, record
from dph_theory.transfer import AnswerKernel, LinearisedMethod, linearised_training
from dph_theory.transfer.training import HOLDS_TO
from full_scale.experiments.pretrained.losses import method_of
from full_scale.experiments.pretrained.runs import HELD_OUT as SUFFIX
from full_scale.experiments.pretrained.runs import OpenRun
from full_scale.experiments.pretrained.transfer import KernelSettings, linear_method

KIND = "pilot"
ROWS = Path("figures/numbers/pretrained.jsonl.xz")
KS, ANSWERS, GROUP = (1, 16, 256), 64, 16
FIFTHS = (4, 10, 14, 20)
"""Steps of 24 that are seen: about a fifth, two, three and four."""
FIRST = (2, 4, 10)
"""Steps of 20 that are seen of runs of other models."""
DOMAIN = (0.0, HOLDS_TO, 3.0, np.inf)
"""Between these the first step moves log odds."""
DRAWN_SEEDS = 2
"""Of a setting's runs so many get counts."""
MOVED = 0.05
"""From so much on Pass@k has moved in a direction."""
FARTHEST = 12.0
"""Log odds beyond are told from one another by no number of answers."""
UNSEEN = 0.5
PERSISTENCES = (0, 0.25, 0.5, 0.75, 1)
SIMULATED, PROMPTS, DIRECTIONS, DRAWN, STEPS = 60, 48, 12, 32, (20, 40)
"""Simulated runs, prompts, half of them trained, directions of the kernel, answers, steps seen and all."""
MODELS = {"smollm2": "SmolLM2-135M", "gemma": "Gemma-3-270M", "qwen": "Qwen2.5-Coder-0.5B"}


class Course(NamedTuple):
    """A run: rates by step of trained prompts and of those that are not, and the kernel's forecast.

    `forecast` of Pass@k at the end, `linear` of the log odds after each step, of both kinds.
    """

    experiment: str
    model: str
    setting: str
    method: LinearisedMethod
    steps: list[int]
    trained: np.ndarray
    held_out: np.ndarray
    forecast: list[float] | None
    linear: tuple[np.ndarray, np.ndarray] | None

    @property
    def first_move(self) -> float:
        """The root mean square of what the first step adds to log odds, by the kernel."""
        assert self.linear is not None
        return float(np.sqrt(np.mean(np.concatenate([part[1] - part[0] for part in self.linear]) ** 2)))


def courses(kernels: Path) -> Iterator[Course]:
    """The stored runs that have both kinds of prompts and a point between."""
    with lzma.open(ROWS, "rt") as file:
        rows = [json.loads(line) for line in file]
    forecasts = {row["name"]: row["row"] for row in rows if row["what"] == "forecast"}
    linear = cache(partial(linear_course, kernels))
    for row in rows:
        forecast, points = forecasts.get(row["name"]), row["row"].get("course", ())
        if row["what"] != "run" or len(points) < 3:
            continue
        run = OpenRun(**row["row"]["run"] | {"tasks": tuple(row["row"]["run"]["tasks"])})
        other, anchors = run.tasks[0] + SUFFIX, tuple((forecast or {}).get("anchors", ()))
        if run.measured_after or not (forecast or run.experiment == "advantages") or run.model:
            continue
        sides = [
            [p["tasks"][task]["validity"] for task in tasks] for tasks in (run.tasks, [other]) for p in points
        ]
        trained, held_out = (
            np.minimum([np.concatenate(side) for side in part], 1.0)
            for part in (sides[: len(points)], sides[len(points) :])
        )
        held_out = np.delete(held_out, anchors, axis=1)
        method = LinearisedMethod.from_objective(method_of(run).objective(GROUP, run.coefficient))
        setting, steps = repr(run.setting), [point["step"] for point in points]
        by_kernel = linear(run.setting, anchors)
        end = forecast and forecast["held_out"]
        yield Course(
            run.experiment, MODELS["smollm2"], setting, method, steps, trained, held_out, end, by_kernel
        )


def linear_course(
    kernels: Path, run: OpenRun, anchors: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray] | None:
    """Log odds of both kinds of prompts after each step, where the run's kernel is there."""
    file = kernels / f"{KernelSettings.of_run(run).digest}.npz"
    if not file.is_file():
        return None
    kernel = AnswerKernel.load(file)
    trained, candidates = kernel.prompts_in(*run.tasks), kernel.prompts_in(run.tasks[0] + SUFFIX)
    pinned = candidates[np.array(anchors, int)]
    step = run.learning_rate * (kernel.about["adam"] if run.optimiser == "adam" else 1.0)
    settings: dict[str, Any] = {"steps": run.steps, "step": step, "optimiser": run.optimiser}
    course = linearised_training(kernel, linear_method(run, kernel, trained, pinned), trained, **settings)
    odds = np.clip(course.log_odds, -FARTHEST, FARTHEST)
    return odds[:, trained], odds[:, np.setdiff1d(candidates, pinned)]


def other_models(path: Path) -> Iterator[Course]:
    """Runs of other models beside what the kernels of their bases forecast, from a file of courses."""
    for row in map(json.loads, path.read_text().splitlines()):
        tasks, beta = (row["task"], row["task"] + SUFFIX), float(row["beta"])
        odds, sets = (
            log_odds(np.array(row["rates_course"])),
            [name.rpartition(" ")[0] for name in row["names"]],
        )
        linear = tuple(odds[:, [name == task for name in sets]] for task in tasks)
        rates = [np.minimum([point[task] for point in row["course"]], 1.0) for task in tasks]
        method = LinearisedMethod("std", GROUP, beta, FORWARD_KL if beta else None)
        setting = f"{row['model']}, {row['task']}, {beta:g}, {row['learning_rate']}"
        steps = [point["step"] for point in row["course"]]
        yield Course(
            "models", MODELS[row["model"]], setting, method, steps, *rates, row["forecast"][1], linear
        )


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
    if course.forecast is not None:
        by["kernel"] = np.array(course.forecast)
    by["pilot and kernel"] = by["pilot"]
    if course.linear is not None:
        step = course.steps[point]
        parts = [part[step] - part[0] for part in course.linear]
        changes, by_kernel = np.concatenate([moved, gone]), parts[1]
        weight = described_share((changes, np.zeros(len(changes))), np.concatenate(parts))[2]
        ahead, left = weight * (course.linear[1][-1] - course.linear[1][step]), gone - weight * by_kernel
        walk = Walk(clock, PERSISTENCE[HELD_OUT], float(left.std()))
        by["pilot and kernel"] = forecast(walk, now + ahead, left)
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
    means = walk.pass_at_k(now, change, KS, nodes[0])[:, :, 0].mean(axis=-1)
    return np.asarray(means @ (nodes[1] / nodes[1].sum()))


def counts(name: str, rates: np.ndarray, answers: int, rng: np.random.Generator) -> Counts:
    """A checkpoint's counts, drawn."""
    drawn = enumerate(rng.binomial(answers, np.minimum(rates, 1.0)).tolist())
    return Counts(name, {i: PromptRow(i, answers, c) for i, c in drawn}, name)


def from_counts(
    course: Course, point: int, rng: np.random.Generator
) -> tuple[PilotForecast, PilotForecast | None, dict[str, np.ndarray]]:
    """The pilot by drawn counts of base and point, without and with the kernel, and two lines."""
    rates = np.concatenate([course.trained, course.held_out], axis=1)
    base, now = (counts(name, rates[i], ANSWERS, rng) for name, i in (("base", 0), ("now", point)))
    trained = range(course.trained.shape[1])
    settings: dict[str, Any] = {"trained": trained, "method": course.method, "ks": KS, "draws": 1000}
    found = pilot_forecast(base, {course.steps[point]: now}, course.steps[-1], **settings)
    joined = None
    if course.linear is not None:
        places = {str(i): i for i in range(rates.shape[1])}
        settings["kernel"] = KernelCourse(places, np.concatenate(course.linear, axis=1), ())
        joined = pilot_forecast(base, {course.steps[point]: now}, course.steps[-1], **settings)
    held = [np.array([side.rows[i].c for i in range(len(trained), rates.shape[1])]) for side in (base, now)]
    plugged = [logit((c + UNSEEN) / (ANSWERS + 2 * UNSEEN)) for c in held]
    shrunk = [logit((c + a) / (ANSWERS + a + b)) for c, (a, b) in zip(held, map(beta_of, held), strict=True)]
    by = {
        name: passed(expit(x[0] + found.clock * (x[1] - x[0])))
        for name, x in (("plugged in", plugged), ("each side shrunk", shrunk))
    }
    part = next(part for part in found.forecasts if part.kind == HELD_OUT)
    by["pilot"] = np.array([later.value for later in part.later])
    by["pilot and kernel"] = np.array([later.value for later in (joined or found).forecasts[0].later])
    return found, joined, by | {"end": passed(course.held_out[-1])}


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
        settings: dict[str, Any] = {"trained": range(PROMPTS // 2), "method": method, "ks": ks, "draws": 1000}
        found = pilot_forecast(base, {STEPS[0]: now}, STEPS[1], **settings)
        for part in found.forecasts:
            mine = rates[2][: PROMPTS // 2] if part.kind == TRAINED else rates[2][PROMPTS // 2 :]
            shares[part.kind].append(covered(part, np.array([exact_pass_at_k(mine, k).mean() for k in ks])))
    return {kind: np.mean(rows, axis=0).round(3).tolist() for kind, rows in shares.items()} | {"k": ks}


def domain(runs: Sequence[Course]) -> list[dict[str, Any]]:
    """Errors of the kernel's forecasts of the end before the run, by how far the first step moves log odds.

    In log odds the mean over runs of the correlation of changes with the forecast ones, and of their slope,
    after two steps.
    """
    settings: dict[str, list[Course]] = defaultdict(list)
    for course in runs:
        if course.forecast is not None and course.linear is not None and course.experiment != "methods":
            settings[course.setting].append(course)
    rows: dict[float, list[list[Course]]] = defaultdict(list)
    for seeds in settings.values():
        move = np.mean([course.first_move for course in seeds])
        rows[max(bound for bound in DOMAIN if bound <= move)].append(seeds)
    return [domain_row(low, rows[low]) for low in DOMAIN if rows[low]]


def mean_of(values: Iterable[float]) -> float | None:
    """Two digits; None of none."""
    numbers = [*values]
    return round(float(np.mean(numbers)), 2) if numbers else None


def domain_row(low: float, settings: Sequence[Sequence[Course]]) -> dict[str, Any]:
    """Errors over settings whose first step moves log odds by `low` or more, up to the next bound."""
    before, forecasts, ends = (
        np.array([np.mean([values(course) for course in seeds], axis=0) for seeds in settings])
        for values in (
            lambda c: passed(c.held_out[0]),
            lambda c: c.forecast,
            lambda c: passed(c.held_out[-1]),
        )
    )
    moved = np.abs(ends - before) > MOVED
    right = moved & (np.sign(forecasts - before) == np.sign(ends - before))
    pairs = [
        (
            log_odds(course.held_out[1]) - log_odds(course.held_out[0]),
            course.linear[1][2] - course.linear[1][0],
        )
        for seeds in settings
        for course in seeds
        if course.linear is not None and course.steps[1] == 2
    ]
    return {
        "from": low, "to": DOMAIN[DOMAIN.index(low) + 1], "settings": len(settings),
        "models": sorted({course.model for seeds in settings for course in seeds}),
        "rms": np.sqrt(np.mean((forecasts - ends) ** 2, axis=0)).round(3).tolist(),
        "no change": np.sqrt(np.mean((before - ends) ** 2, axis=0)).round(3).tolist(),
        "right": right.sum(axis=0).tolist(), "moved": moved.sum(axis=0).tolist(),
        "correlation": mean_of(np.corrcoef(*pair)[0, 1] for pair in pairs),
        "slope": mean_of(a @ b / (b @ b) for a, b in pairs),
        "runs": len(pairs),
    }  # fmt: skip


def main(path: str, kernels: str, file: str | None = None) -> None:
    """Every table, stored."""
    rng, exact_rows, sampled, inside, persistent = (
        np.random.default_rng(0),
        *(defaultdict(list) for _ in range(4)),
    )
    runs = [*courses(Path(kernels)), *(other_models(Path(file)) if file else ())]
    for course in runs:
        seen = {"advantages": FIFTHS, "models": FIRST}.get(course.experiment, (course.steps[1],))
        for step in seen:
            point, name = course.steps.index(step), course.experiment
            if course.experiment == "models":
                name = f"models, {'within' if course.first_move <= HOLDS_TO else 'beyond'}"
            name += f", step {step}" if len(seen) > 1 else ""
            exact_rows[name].append((course.setting, exact(course, point)))
            for kind, ends in by_persistence(course, point).items():
                persistent[f"{name}, {kind}"].append((course.setting, ends))
            if sum(setting == course.setting for setting, _ in sampled[name]) >= DRAWN_SEEDS:
                continue
            found, joined, by_counts = from_counts(course, point, rng)
            sampled[name].append((course.setting, by_counts))
            for forecasts, suffix in ((found, ""), (joined, ", with the kernel")):
                for part in forecasts.forecasts if forecasts else ():
                    side = course.trained if part.kind == TRAINED else course.held_out
                    inside[f"{name}, {part.kind}{suffix}"].append(covered(part, passed(side[-1])))
    results = {
        "exact": {name: rms(rows) for name, rows in exact_rows.items()},
        "persistence": {name: rms(rows) for name, rows in persistent.items()},
        "counts": {name: rms(rows) for name, rows in sampled.items()},
        "coverage": {
            name: {"runs": len(rows), "share": np.mean(rows, axis=0).round(3).tolist()}
            for name, rows in inside.items()
        },
        "domain": domain(runs),
        "simulated": {"kernel": coverage(by_kernel), "walk": coverage(by_walk), "runs": SIMULATED},
    }
    config = {
        "k": KS,
        "answers": ANSWERS,
        "persistence": dict(PERSISTENCE),
        "steps": {"advantages": 24, "models": 20},
    }
    write_json(Path(path), record(KIND, seed=0, config=config, results=as_json(results), findings=()))
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
