"""What public runs retain, held against the accounts of what training without a KL leaves.

Of the wheel remax-rl 0.1.1 (Apache-2.0), 475 runs with the answers before and after, and of the sdist of
passk-inference 0.3.1 (MIT), the counts of DeepScaleR: neither is copied, and what is stored are numbers. What
each account would show, and what would refute it, was written down before (`verdicts`).

Run: make real-runs; or python benchmarks/real_runs.py RECORD.json SDIST, the sdist of passk-inference.
"""

import gzip
import json
import re
import sys
import tarfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from run_noise import run_noise, styles_left
from scipy.stats import binomtest

from dph_theory.checkpoints import Counts, compare, matched, read_counts
from dph_theory.checkpoints.answers import (
    CLEAR,
    ONE,
    answer_agreement,
    code_counts,
    majority_answers,
    mean_known,
    run_agreement,
)
from dph_theory.checkpoints.counts import prompt_row
from dph_theory.checkpoints.data_warnings import independent, ordered, shared
from dph_theory.intervals import mean_interval
from dph_theory.support.files import write_json
from dph_theory.support.record import as_json, record

KIND = "real_runs"
ARCHIVE = Path("_assets", "evidence", "verified_samples_completed_cohort.jsonl.gz")
DEEPSCALER = "examples/deepscaler32k"
PLACES, GROUP, STEPS = 11, 16, 3072
"""Independent answers to a prompt, answers to the one prompt of a step, and steps of the public runs."""
FEW_RUNS, FEW_PROMPTS = 3, 10
"""A model and domain counts if so many runs solve so many prompts with a choice of right answers."""
DRAWS = {False: 4999, True: 99}
"""Of the shuffled runs, without replay and with it: of seventeen tests at once p below .01 needs so many."""
Numbers = dict[str, float | None]


def measures(
    base: np.ndarray, runs: Sequence[np.ndarray], styles: tuple[np.ndarray, np.ndarray], draws: int = 199
) -> Numbers:
    """What tells the accounts apart, from right answers (prompts, answers) and `run_noise.styles_left`."""
    numbers = asdict(run_agreement(runs)) | run_noise(runs, styles, draws=draws)
    numbers.pop("same")
    counts = code_counts(base, max(int(x.max()) for x in (base, *runs)) + 2)
    top = np.sort(counts, axis=1)
    clear = top[:, -1] - top[:, -2] >= CLEAR
    rows = [majority_answers(run) for run in runs]
    led = [(majority == counts.argmax(axis=1))[(majority >= 0) & clear] for majority in rows]
    with_base = [
        mean_known(answer_agreement(base, run)[majority >= 0])
        for run, majority in zip(runs, rows, strict=True)
    ]
    first = np.array([(run >= 0).mean() for run in runs])
    solved = np.array([_any(run >= 0).mean() for run in runs])
    numbers |= {
        "base_agrees": mean_known(answer_agreement(base, base)[counts.sum(axis=1) >= 2]),
        "with_base": mean_known(with_base),
        "likeliest": mean_known([mean_known(leads) for leads in led]),
        "likeliest_of": len(np.concatenate(led)),
        "base_pass_1": (base >= 0).mean(),
        "pass_1": first.mean(),
        "base_any": _any(base >= 0).mean(),
        "any": solved.mean(),
        "any_less_pass_1": (solved - first).mean(),
    }
    return {name: None if x is None or np.isnan(x) else float(x) for name, x in numbers.items()}


def _any(right: np.ndarray) -> np.ndarray:
    return np.asarray(right.any(axis=1))


# The public runs.


class PublicRun(NamedTuple):
    """A run: what it is of, and its groups of answers by prompt, before and after training."""

    level: str
    model: str
    domain: str
    method: str
    seed: int
    before: dict[str, list[list[str | None]]] | None
    after: dict[str, list[list[str | None]]] | None


def archive() -> Path:
    """The archive of the installed wheel; exits with the command where it is not there."""
    spec = find_spec("remax")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("remax-rl is not installed: run `make real-runs`")
    return Path(spec.submodule_search_locations[0]) / ARCHIVE


def read_runs(path: Path) -> list[PublicRun]:
    """The runs of the archive."""
    with gzip.open(path, "rt") as file:
        next(file)
        cells = [json.loads(line) for line in file]

    def draws(cell: dict[str, Any], step: int) -> dict[str, list[list[str | None]]] | None:
        checkpoint = cell["checkpoints"].get(str(step))
        return checkpoint and {prompt: stored["draws"] for prompt, stored in checkpoint["prompts"].items()}

    names = ("level", "scale", "domain", "method", "seed")
    return [PublicRun(*(cell[name] for name in names), draws(cell, 0), draws(cell, STEPS)) for cell in cells]


def strategies_of(domain: str, answers: set[str]) -> tuple[int, dict[str, str]]:
    """A prompt's right answers read without the prompt, and how many names they use.

    pantry_plan: which of the prompt's ingredients, by their places in the alphabet; countdown: the
    expression with its numbers replaced by their ranks; graph_coloring: the digits that are filled in.
    Elsewhere the answer itself.
    """
    texts = {answer: answer.split(":")[-1] for answer in answers}
    if domain == "graph_coloring":
        free = [i for i, digits in enumerate(zip(*texts.values(), strict=True)) if len({*digits}) > 1]
        return len(free), {answer: "".join(text[i] for i in free) for answer, text in texts.items()}
    if domain not in ("pantry_plan", "countdown"):
        return 0, texts
    name = re.compile(r"\d+" if domain == "countdown" else r"[a-z_]+")
    names = {word for text in texts.values() for word in name.findall(text)}
    in_order = sorted(names, key=lambda word: (len(word), word) if word.isdigit() else (0, word))
    rank = {word: chr(ord("a") + i) for i, word in enumerate(in_order)}

    def translated(text: str) -> str:
        if domain == "pantry_plan":
            return "".join(rank[word] for word in text.split("+"))
        text = name.sub(lambda match: rank[match[0]], text)
        # The archive has the operands of sums and products in the order of their digits.
        return re.sub(r"(add|mul)\((\w),(\w)\)", lambda m: f"{m[1]}({','.join(sorted((m[2], m[3])))})", text)

    return len(names), {answer: translated(text) for answer, text in texts.items()}


def readings(runs: Sequence[PublicRun]) -> dict[tuple[str, str], dict[str, dict[str, str]]]:
    """Each right answer's strategy, by level and domain, and prompt; of prompts that use most names."""
    answers_to: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for run in runs:
        for side in (run.before, run.after):
            for prompt, groups in (side or {}).items():
                answers_to[run.level, run.domain][prompt].update(x for group in groups for x in group if x)
    chosen = {}
    for (level, domain), prompts in answers_to.items():
        read = {p: strategies_of(domain, answers) for p, answers in prompts.items() if answers}
        most = max(names for names, _ in read.values())
        chosen[level, domain] = {p: by_answer for p, (names, by_answer) in read.items() if names == most}
    return chosen


def lines_of(side: Mapping[str, Any], read: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """All stored answers of a checkpoint as rows that `dph compare` reads; a wrong one is empty."""
    for prompt, groups in sorted(side.items()):
        answers = [x for group in groups for x in group]
        yield {
            "id": prompt,
            "correct": [int(x is not None) for x in answers],
            "answer": [x or "" for x in answers],
            "style": [read.get(prompt, {}).get(x) for x in answers],
        }


def different(groups: list[list[str | None]]) -> list[str | None]:
    """The answers that repeat none of another group: the first group, and the last of each later one."""
    return [*groups[0], *(group[-1] for group in groups[1:])]


class Cell(NamedTuple):
    """Checkpoints on the same prompts: right answers and their styles (prompts, answers), the base first.

    `possible` (prompts, styles) are the strategies that any run's right answer to the prompt is of.
    """

    codes: list[np.ndarray]
    kinds: list[np.ndarray]
    possible: np.ndarray
    styles: list[str]

    @property
    def won(self) -> np.ndarray:
        """The style that each run is left with, (runs, prompts)."""
        return styles_left(self.codes[1:], self.kinds[1:])[0]


def cell(sides: Sequence[Mapping[str, Any]], read: Mapping[str, Mapping[str, str]]) -> Cell:
    """The different answers of checkpoints as arrays."""
    prompts = sorted(sides[0])
    styles = sorted({style for by_answer in read.values() for style in by_answer.values()})
    place = {style: i for i, style in enumerate(styles)}
    numbers_of: list[dict[str, int]] = [{} for _ in prompts]
    codes, kinds = [], []
    for side in sides:
        answers = [different(side[prompt]) for prompt in prompts]
        numbered = [
            [-1 if x is None else numbers.setdefault(x, len(numbers)) for x in line]
            for line, numbers in zip(answers, numbers_of, strict=True)
        ]
        codes.append(np.array(numbered))
        styled = [
            [place.get(read.get(prompt, {}).get(x or "", ""), -1) for x in line]
            for prompt, line in zip(prompts, answers, strict=True)
        ]
        kinds.append(np.array(styled))
    possible = np.zeros((len(prompts), len(styles)), bool)
    for i, prompt in enumerate(prompts):
        possible[i, [place[style] for style in read.get(prompt, {}).values()]] = True
    return Cell(codes, kinds, possible, styles)


def merits(checkpoints: Cell) -> Numbers:
    """How much merit, the share of prompts that a strategy is right on, the leading strategies have.

    `base_merit` is the mean over the base's right answers, `best_merit` that of the best strategy; of the
    runs with a choice `above` lead with more than the base's mean, and `best` with the most.
    """
    solved = checkpoints.possible.any(axis=1)
    merit = checkpoints.possible[solved].mean(axis=0)
    base = checkpoints.kinds[0][checkpoints.kinds[0] >= 0]
    choices = (row[row >= 0] for row in _choices(checkpoints))
    led = [np.bincount(row).argmax() for row in choices if len(row) >= FEW_PROMPTS]
    if not led or not base.size:
        return {"base_merit": None, "best_merit": float(merit.max()), "leads": len(led)}
    mine, mean = merit[led], float(merit[base].mean())
    return {
        "base_merit": mean,
        "best_merit": float(merit.max()),
        "merit": float(mine.mean()),
        "leads": len(led),
        "above": float((mine > mean).mean()),
        "best": float((mine == merit.max()).mean()),
    }


def _choices(checkpoints: Cell) -> np.ndarray:
    """The styles left, on prompts with a choice of two known ones."""
    return np.where(checkpoints.possible.sum(axis=1) >= 2, checkpoints.won, -1)


def groups(runs: Sequence[PublicRun]) -> list[dict[str, Any]]:
    """The measures of each level, model and domain, of runs without replay and with it."""
    read, rows = readings(runs), []
    keys = sorted({(run.level, run.model, run.domain) for run in runs})
    for level, model, domain in keys:
        own_runs = [run for run in runs if (run.level, run.model, run.domain) == (level, model, domain)]
        base = next(run.before for run in own_runs if run.before)
        for replay in (False, True):
            trained = [run for run in own_runs if run.after and run.method.startswith("replay") == replay]
            checkpoints = cell([base, *(run.after for run in trained if run.after)], read[level, domain])
            base_codes, *run_codes = checkpoints.codes
            counting = ((_choices(checkpoints) >= 0).sum(axis=1) >= FEW_PROMPTS).sum()
            solving = []
            for codes in run_codes:
                solved = majority_answers(codes) >= 0
                if solved.sum() >= FEW_PROMPTS:
                    solving.append(mean_known(answer_agreement(codes, codes)[solved]))
            rows.append(
                {"level": level, "model": model, "domain": domain, "replay": replay, "runs": len(trained)}
                | {"counts": bool(counting >= FEW_RUNS), "with_choice": int(counting)}
                | {"solving": len(solving), "one_left": int(np.sum(np.array(solving) >= ONE))}
                | measures(base_codes, run_codes, (checkpoints.won, checkpoints.possible), DRAWS[replay])
                | merits(checkpoints)
            )
    for name in ("p_named", "p_varied"):
        tested = [row for row in rows if row["counts"] and not row["replay"] and row[name] is not None]
        for row, p in zip(tested, holm([row[name] for row in tested]), strict=True):
            row[f"{name}_holm"] = p
    return rows


def holm(p: Sequence[float]) -> list[float]:
    """p-values that hold for all at once."""
    order, adjusted, top = np.argsort(p), np.empty(len(p)), 0.0
    for rank, i in enumerate(order):
        top = max(top, min(1.0, (len(p) - rank) * p[i]))
        adjusted[i] = top
    return adjusted.tolist()


def verdicts(row: Mapping[str, Any]) -> dict[str, str]:
    """What a model and domain says of each account, by what was written down before."""

    def below(name: str, level: float) -> bool | None:
        return None if row.get(name) is None else row[name] < level

    def close(one: float | None, other: float | None) -> bool | None:
        return None if one is None or other is None else abs(one - other) <= 0.05

    named, varied, base = below("p_named_holm", 0.01), below("p_varied_holm", 0.05), row["base_agrees"]
    same = row["least"] is not None and row["least"] >= 0.9
    above, best, likeliest = row.get("above"), row.get("best"), row["likeliest"]
    tests: dict[str, tuple[bool | None, bool | None]] = {
        "kept": (close(row["own"], base), base is not None and row["own"] >= 0.9 and base <= 0.8),
        "likeliest": (likeliest and likeliest >= 0.9, likeliest is not None and likeliest < 0.7),
        "a lottery a prompt": (close(row["with_base"], base) and not named, named),
        "shared, by merit": (same, varied or (best is not None and best < 0.5)),
    }
    if above is not None:
        tests["shared, by luck"] = (varied and above < 0.9, above >= 0.9)
        no_others = named is False and not same
        tests["shared, merit with luck"] = (
            (named or same) and varied and above >= 0.9 and best != 1,
            no_others or best == 1 or above < 0.9,
        )
    return {name: "refuted" if no else "holds" if yes else "open" for name, (yes, no) in tests.items()}


def crossings(runs: Sequence[PublicRun]) -> list[dict[str, Any]]:
    """Of each run Pass@1 and the prompts solved by any of the answers, before and after; lost against gained.

    `p`: exact (McNemar), over all runs without replay at once (Holm).
    """
    bases = {(run.level, run.model, run.domain): run.before for run in runs if run.before}
    rows = []
    for run in runs:
        if run.after is None:
            continue
        before = run.before or bases[run.level, run.model, run.domain]
        old, new = (
            np.array([[x is not None for x in different(side[prompt])] for prompt in sorted(before)])
            for side in (before, run.after)
        )
        lost, gained = ((a.any(axis=1) & ~b.any(axis=1)).sum() for a, b in ((old, new), (new, old)))
        p = binomtest(int(lost), int(lost + gained)).pvalue if lost + gained else 1.0
        rows.append(
            {"level": run.level, "model": run.model, "domain": run.domain, "method": run.method}
            | {"seed": run.seed, "pass_1": [float(old.mean()), float(new.mean())]}
            | {"any": [float(_any(old).mean()), float(_any(new).mean())]}
            | {"lost": int(lost), "gained": int(gained), "p": float(p)}
        )
    plain = [row for row in rows if not row["method"].startswith("replay")]
    for row, p in zip(plain, holm([row["p"] for row in plain]), strict=True):
        row["p"] = p
    return rows


def replay(crossed: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What replay of found answers changes: of each cell the mean difference over seeds, with t intervals."""
    by_run = {(*(run[k] for k in ("level", "model", "domain", "method", "seed")),): run for run in crossed}
    gaps: dict[tuple[str, ...], list[tuple[float, float]]] = defaultdict(list)
    for (*where, method, seed), run in by_run.items():
        other = by_run.get((*where, f"replay_{method}", seed))
        if other is not None:
            gaps[*where, method].append(tuple(other[k][1] - run[k][1] for k in ("pass_1", "any")))
    rows = []
    for where, values in gaps.items():
        if len(values) >= FEW_RUNS:
            names = dict(zip(("level", "model", "domain", "method"), where, strict=True))
            changes = [asdict(mean_interval(np.array(column))) for column in zip(*values, strict=True)]
            rows.append({**names, "seeds": len(values), "pass_1": changes[0], "any": changes[1]})
    return rows


def predicted(
    rows: Sequence[Mapping[str, Any]],
    runs: Sequence[Mapping[str, Any]],
    changes: Sequence[Mapping[str, Any]],
    data: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """The predictions of the runs at Level 2 that nobody had looked at, in order, and what was found."""
    plain = [row for row in rows if row["level"] == "level2" and not row["replay"]]
    counting = [row for row in plain if row["counts"]]
    one, solving = (sum(row[name] for row in plain) for name in ("one_left", "solving"))
    named = [row for row in counting if row["named"] is not None]
    by_others = [
        (row["named"] >= 0.7 and row["p_named"] < 0.01) or (row["least"] or 0) >= 0.9 for row in named
    ]
    likeliest = [row["likeliest"] for row in counting if row["likeliest"] is not None]
    seldom = sum(share <= 0.6 for share in likeliest)
    varied = [row["p_varied"] for row in counting if row["p_varied"] is not None]
    gaps = [
        run["any"][1] - run["pass_1"][1]
        for run in runs
        if run["level"] == "level2" and not run["method"].startswith("replay")
    ]
    small = sum(gap <= 0.1 for gap in gaps)
    moved = [row["any"] for row in changes if row["level"] == "level2"]
    raised, lowered = sum(x["low"] > 0 for x in moved), sum(x["high"] < 0 for x in moved)
    return [
        {"held": 3 * one >= 2 * solving, "found": f"in {one} of {solving} runs that solve ten prompts"},
        {"held": all(by_others), "found": f"in {sum(by_others)} of {len(by_others)} domains that count"},
        {
            "held": 3 * seldom >= 2 * len(likeliest) > 0,
            "found": f"in {seldom} of {len(likeliest)} domains that show it",
        },
        {
            "held": any(p < 0.05 for p in varied),
            "found": f"in {sum(p < 0.05 for p in varied)} of {len(varied)} domains that show it",
        },
        {"held": 10 * small >= 9 * len(gaps), "found": f"in {small} of {len(gaps)} runs"},
        {
            "held": raised > lowered,
            "found": f"raised in {raised}, lowered in {lowered} of {len(moved)} cells",
        },
        {
            "held": data["repeated"] > 0.99 * data["of"] and data["bases_shared"] > data["bases"] / 2,
            "found": f"{data['repeated']:,} of {data['of']:,} repeat, "
            f"{data['bases_shared']} of {data['bases']} bases share",
        },
    ]


def repeats(runs: Sequence[PublicRun]) -> dict[str, Any]:
    """How the stored answers repeat, and what `doubts` tells of the bases' answers, of every level's."""
    levels: dict[str, Any] = {}
    for level in sorted({run.level for run in runs}):
        same = compared = 0
        independent_of, variances = [], []
        for run in (one for one in runs if one.level == level):
            sides = [side for side in (run.before, run.after) if side]
            for groups_ in (x for side in sides for x in side.values()):
                if len({x for group in groups_ for x in group}) > 1:
                    pairs = [(a[j + 1], b[j]) for a, b in pairwise(groups_) for j in range(7)]
                    same, compared = same + sum(a == b for a, b in pairs), compared + len(pairs)
            sampled = []
            for i, side in enumerate(sides):
                lines = [line | {"id": f"{i}{line['id']}"} for line in lines_of(side, {})]
                rows = {line["id"]: prompt_row(line) for line in lines}
                sampled.append(ordered(Counts("", rows, "")))
            if in_order := [x for x in sampled if x is not None]:
                independent_of.append(independent(np.vstack([codes for _, codes in in_order])))
            if run.before and sampled[0] is not None:
                variances.append(shared(sampled[0][0]))
        levels[level] = {
            "repeated": same,
            "of": compared,
            "independent": dict(sorted(Counter(independent_of).items())),
            "variance": {"median": float(np.median(variances)), "most": float(max(variances))},
            "bases": len(variances),
            "bases_shared": int(np.sum(np.array(variances) > 1)),
        }
    return levels


def matrix(
    runs: Sequence[PublicRun], read: Mapping[tuple[str, str], Any], level: str, model: str, domain: str
) -> dict[str, Any]:
    """The strategy that each run without replay is left with, by prompt; prompts with a choice."""
    own_runs = [
        run
        for run in runs
        if (run.level, run.model, run.domain) == (level, model, domain) and "replay" not in run.method
    ]
    base = next(run.before for run in own_runs if run.before)
    after = [run for run in own_runs if run.after]
    checkpoints = cell([base, *(run.after for run in after if run.after)], read[level, domain])
    choice = checkpoints.possible.sum(axis=1) >= 2
    return {
        "model": model,
        "domain": domain,
        "runs": [f"{run.method} {run.seed}" for run in after],
        "left": checkpoints.won[:, choice].tolist(),
        "styles": checkpoints.styles,
    }


def deepscaler(sdist: Path) -> dict[str, Any]:
    """The counts of DeepScaleR held against their base, by us and by the package that publishes them."""
    import passk_inference

    with TemporaryDirectory() as folder:
        with tarfile.open(sdist) as archived:
            for member in archived.getmembers():
                if f"/{DEEPSCALER}/" in member.name and member.name.endswith(".jsonl"):
                    member.name = Path(member.name).name
                    archived.extract(member, folder, filter="data")
        base, run = (read_counts(Path(folder, name)) for name in ("base.jsonl", "rl.jsonl"))
    pairs = matched(base, run).counts
    theirs = passk_inference.compare(pairs.base_c, pairs.base_n, pairs.run_c, pairs.run_n)
    comparison = compare(base, run)
    curves = comparison.curves
    again, mixed = comparison.solved, (pairs.run_c > 0) & (pairs.run_c < pairs.run_n)
    return {
        "prompts": len(pairs),
        "answers": int(pairs.fewest_answers),
        "lines": comparison.summary().splitlines(),
        "theirs": {
            "better": [theirs["certified_positive_budgets"][i] for i in (0, -1)],
            "worse": [theirs["certified_negative_budgets"][i] for i in (0, -1)],
            "first_worse": theirs["first_loss_interval"],
        },
        "ours": {
            "better": [curves.better[i] for i in (0, -1)],
            "worse": [curves.worse[i] for i in (0, -1)],
            "first_worse": curves.first_worse,
        },
        "pass": {str(k): [curves.base[k - 1], curves.run[k - 1]] for k in (1, 8, 32, 128)},
        "lost": again.lost,
        "solved": again.solved_by_base,
        "by_chance": again.solved_by_base * (1 - (again.retained_unchanged or 0)),
        "fits": comparison.gain.beta is not None,
        "mixed": [float(((pairs.base_c > 0) & (pairs.base_c < pairs.base_n)).mean()), float(mixed.mean())],
    }


def study(sdist: Path) -> dict[str, Any]:
    """The record: accounts, the measures of every model and domain, what was predicted, DeepScaleR."""
    runs = read_runs(archive())
    read, rows, crossed = readings(runs), groups(runs), crossings(runs)
    changes, data = replay(crossed), repeats(runs)
    for one in rows:
        if one["counts"] and not one["replay"]:
            one["verdicts"] = verdicts(one)
    results = {
        "groups": rows,
        "runs": crossed,
        "replay": changes,
        "predicted": predicted(rows, crossed, changes, data["level2"]),
        "data": data,
        "matrix": matrix(runs, read, "level1", "qwen05b", "pantry_plan"),
        "deepscaler": deepscaler(sdist),
    }
    config = {"group_size": GROUP, "steps": STEPS}
    packages = ("numpy", "scipy", "remax-rl", "passk-inference")
    return record(KIND, seed=1, config=config, results=as_json(results, 4), findings=(), packages=packages)


if __name__ == "__main__":
    target, source = map(Path, sys.argv[1:])
    write_json(target, study(source))
