"""The whole pipeline on the built-in task: build, pre-sample, train, evaluate, compare, and one table."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dph_theory.support.errors import argument_error
from dph_theory.support.files import write_json
from dph_theory.support.progress import Progress, silent
from dph_theory.support.record import checked, record

from .comparison.outcome import COLUMNS, findings, outcomes
from .comparison.stage import Table, compare
from .recipe.folders import Folders
from .recipe.schema import Recipe, load_recipe
from .stages import evaluate_stage, presample_stage, train_stage
from .tasks.tiny_sql.model import Architecture
from .tasks.tiny_sql.task import Size, build

KIND = "full_scale.demo"
METHODS = {name: f"tiny-sql-{name.lower()}" for name in ("GRPO", "RKL", "DPH-F", "DPH-JS")}
SEEDS, QUICK_SEEDS = 3, 1
SET = "in_domain"
"""The set of the table: other questions to the databases that were trained on."""
PACKAGES = ("torch", "transformers", "trl", "numpy")
# A toy length: everything runs, nothing is learnt that a conclusion could rest on.
QUICK_SIZE = Size(domains=2, tables=1, train=3, evaluation=1, architecture=Architecture(steps=150, batch=32))
QUICK = (
    "train.max_steps=3",
    "train.generation_batch_size=16",
    "train.per_device_train_batch_size=16",
    "method.rehearsal_rows=8",
    "presample.k=4",
    "presample.threshold=1",
    "presample.fresh=false",
    "evaluate.samples=4",
    "evaluate.k=[1, 2, 4]",
    "sampling.max_new_tokens=24",
)


def demo(
    folder: Path, *, quick: bool = False, seeds: int | None = None, progress: Progress | None = None
) -> dict[str, Any]:
    """Run or go on with the demo in a folder; its record, also stored as `demo.json` there.

    Every stage goes on where it stopped, and what is finished is not done again. `quick` is a toy length.
    ValueError for a folder that holds a demo of another length.
    """
    tell = progress or silent
    chosen = range(seeds or (QUICK_SEEDS if quick else SEEDS))
    folder.mkdir(parents=True, exist_ok=True)
    _same_length(folder, quick)
    task = folder / "task"
    build(task, QUICK_SIZE if quick else None, progress=tell)
    recipes = {(name, seed): _recipe(folder, name, seed, quick) for seed in chosen for name in METHODS}
    first = recipes["GRPO", 0]
    presample_stage(first, _named("pre-sampling", tell))
    evaluate_stage(first, _named("evaluating base", tell), base_only=True)
    for done, ((name, seed), recipe) in enumerate(recipes.items()):
        tell("runs", done, len(recipes))
        _run(recipe, f"{name} seed {seed}", tell)
    tell("runs", len(recipes), len(recipes))
    result = _record(folder, recipes, quick)
    write_json(folder / "demo.json", result)
    return result


def tables(result: Mapping[str, Any]) -> list[Table]:
    """The one table: base and methods, means over seeds."""
    rows = [
        (name, *(_cell(values.get(column)) for column in COLUMNS))
        for name, values in result["results"]["methods"].items()
    ]
    seeds = len(result["config"]["seeds"])
    title = f"{SET}, {result['results']['prompts']} prompts, means over {seeds} seed{'s' * (seeds > 1)}"
    return [Table(title, ("", *COLUMNS), tuple(rows))]


def _cell(value: Mapping[str, Any] | None) -> str:
    if value is None or value["mean"] is None:
        return "-"
    spread = "" if value["deviation"] is None else f" ({float(value['deviation']):.3f})"
    return f"{float(value['mean']):.3f}{spread}"


def _recipe(folder: Path, name: str, seed: int, quick: bool) -> Recipe:
    places = (f"output={folder}", f"model.path={folder}/task/model", f"task.data={folder}/task")
    return load_recipe(METHODS[name], (*places, f"seed={seed}", *(QUICK if quick else ())))


def _run(recipe: Recipe, words: str, tell: Progress) -> None:
    folders = Folders.of(recipe)
    train_stage(recipe, _named(f"training {words}", tell))
    if not folders.evaluation.is_file():
        evaluate_stage(recipe, _named(f"evaluating {words}", tell))


def _named(words: str, tell: Progress) -> Progress:
    return lambda stage, done, total: tell(words, done, total)


def _same_length(folder: Path, quick: bool) -> None:
    """Refuse to mix a toy-length demo with a full one, whose stored stages would be taken for its own."""
    path = folder / "length.json"
    if not path.is_file():
        write_json(path, {"quick": quick})
    stored = json.loads(path.read_text(encoding="utf-8"))
    if stored != {"quick": quick}:
        raise argument_error("folder", str(folder), f"it holds a demo with {stored}; choose another folder")


def _record(folder: Path, recipes: Mapping[tuple[str, int], Recipe], quick: bool) -> dict[str, Any]:
    runs = {key: Folders.of(recipe).here for key, recipe in recipes.items()}
    comparison = compare(list(runs.values()))
    write_json(folder / "comparison.json", comparison)
    evaluations: dict[str, list[Any]] = {"base": [_evaluation(folder / "base")]}
    for (name, _), run in runs.items():
        evaluations.setdefault(name, []).append(_evaluation(run))
    excess: dict[str, list[float]] = {"base": [0.0]}
    for (name, _), run in runs.items():
        excess.setdefault(name, []).append(comparison["results"]["runs"][run.name][SET]["excess"])
    return record(
        KIND,
        seed=0,
        config={
            "quick": quick,
            "seeds": sorted({seed for _, seed in recipes}),
            "recipes": {name: recipes[name, 0].as_dict() for name in METHODS},
        },
        results={
            "set": SET,
            "prompts": len(evaluations["base"][0]["prompts"]),
            "methods": outcomes(evaluations, excess),
            "rows": comparison["results"]["rows"],
        },
        findings=[*findings(evaluations), comparison["findings"][-1]],
        packages=PACKAGES,
    )


def _evaluation(run: Path) -> dict[str, Any]:
    stored = json.loads((run / "evaluation.json").read_text(encoding="utf-8"))
    return checked(stored, "full_scale.evaluation")["results"]["sets"][SET]
