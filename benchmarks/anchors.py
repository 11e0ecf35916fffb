"""A few prompts held at the base on the SQL task under TRL: forecasts first, then runs, beside the demo's.

The task, model and recipe of `dph demo`; as many anchors as the demo rehearses solved prompts, and a quarter
of them, chosen at random and by the kernel of `dph transfer`, with DPH-F's loss at two coefficients, three
seeds each. What was expected is written before the first run (`expected` in benchmarks/results/anchors.json);
the demo's own rows are those of figures/numbers/full_scale_demo.json. A folder is taken up where it stopped.

    python benchmarks/anchors.py FOLDER
"""

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console
from rich.table import Table
from stored import store

from dph_theory.support.processes import run_jobs
from full_scale import demo
from full_scale.evaluation.record import Evaluation
from full_scale.recipe.folders import Folders
from full_scale.recipe.schema import Recipe, load_recipe
from full_scale.stages import evaluate_stage, presample_stage, train_stage, transfer_stage

COUNTS, COEFFICIENTS = (("quarter", 0.25), ("as many", 1.0)), (0.05, 0.5)
KS = (1, 32)
EXPECTED = {
    "retained": "anchors at random, as many as DPH-F rehearses, at 0.5: test Pass@32 above GRPO's by half of "
    "what GRPO loses, or more: the anchors are about the test questions' databases",
    "kernel": "chosen by the kernel: no further than .02 of Pass@32 from those at random (not shown on the "
    "products)",
    "price": "Pass@1 below GRPO's, and no lower than DPH-F's by more than .02",
    "rivals": "none retained, as by DPH-F on prompts that resemble nothing that is tested; or all, as by "
    "DPH-JS",
}


@dataclass(frozen=True)
class AnchorRun:
    """A setting at a seed."""

    folder: str
    size: str
    anchors: int
    picked: str
    coefficient: float
    seed: int

    def recipe(self) -> Recipe:
        """The demo's, with anchors in the place of solved prompts."""
        by_kernel = self.picked == "by kernel"
        output = f"{self.folder}/anchors={self.anchors}" + ("-by-kernel" if by_kernel else "")
        kernel = (f"presample.kernel={self.folder}/kernel.npz",) if by_kernel else ()
        changes = (
            f"output={output}", f"model.path={self.folder}/task/model", f"task.data={self.folder}/task",
            f"presample.anchors={self.anchors}", *kernel, "method.name=DPH-F",
            f"method.eta={self.coefficient}", f"name=dph-f-{self.coefficient:g}", f"seed={self.seed}",
            f"evaluate.sets=[{demo.SET}]",
        )  # fmt: skip
        return load_recipe("tiny-sql", changes)


def train(run: AnchorRun) -> None:
    """Train and evaluate, unless that is done."""
    recipe = run.recipe()
    train_stage(recipe, lambda *_: None)
    if not Folders.of_recipe(recipe).evaluation.is_file():
        evaluate_stage(recipe, lambda *_: None)


def passed(recipe: Recipe) -> dict[str, float]:
    """Test Pass@k of a run that is evaluated."""
    measured = Evaluation.read(Folders.of_recipe(recipe).evaluation).sets[demo.SET].summary.pass_at_k
    return {f"Pass@{k}": measured[str(k)].value for k in KS}


def progress(stage: str, done: int, total: int, note: str = "") -> None:
    """A line of what is done."""
    print(f"\r{stage}: {done} of {total} {note}", end="", flush=True)


def main() -> None:
    """Forecast, run, store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--workers", type=int, help="runs at once (default: one a core)")
    parser.add_argument("--seeds", type=int, default=3, help="of each setting")
    parser.add_argument(
        "--random", action="store_true", help="anchors at random alone, as many as DPH-F rehearses"
    )
    given = parser.parse_args()
    folder = given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "expected.json").is_file():
        (folder / "expected.json").write_text(json.dumps(EXPECTED))
    demo.build(folder / "task", demo.SIZE, progress=progress)
    first = demo.Job(folder, "DPH-F", 0, False).recipe()
    solved = presample_stage(first, progress)
    if not given.random and not (folder / "kernel.npz").is_file():
        changes = [f"output={folder}", f"model.path={folder}/task/model", f"task.data={folder}/task"]
        transfer_stage(
            changes,
            folder / "kernel.npz",
            config="tiny-sql",
            progress=progress,
            samples=32,
            own=8,
            limit=None,
        )
    counts = {size: max(2, round(part * len(solved.pef))) for size, part in COUNTS}
    runs = [
        AnchorRun(str(folder), size, count, picked, coefficient, seed)
        for seed in range(given.seeds)
        for size, count in [*counts.items()][given.random :]
        for picked in ("at random", "by kernel")[: 1 if given.random else 2]
        for coefficient in COEFFICIENTS
    ]
    for shared in {Folders.of_recipe(run.recipe()).presample: run for run in runs}.values():
        presample_stage(shared.recipe(), progress)
    progress("runs", 0, len(runs))
    rows: list[dict[str, Any]] = []
    for done, _ in enumerate(run_jobs(train, runs, workers=given.workers, one_torch_thread=True), start=1):
        progress("runs", done, len(runs))
        ended = [run for run in runs if Folders.of_recipe(run.recipe()).evaluation.is_file()]
        rows = [{**asdict(run), "folder": folder.name, **passed(run.recipe())} for run in ended]
        store("anchors", "torch", "transformers", "trl", solved=len(solved.pef), expected=EXPECTED, runs=rows)
    table = Table("anchors", "coefficient", *(f"Pass@{k}" for k in KS))
    for key in dict.fromkeys((row["size"], row["picked"], row["coefficient"]) for row in rows):
        seed_rows = [row for row in rows if (row["size"], row["picked"], row["coefficient"]) == key]
        table.add_row(
            f"{seed_rows[0]['anchors']} {key[1]}",
            f"{key[2]:g}",
            *(f"{fmean(r[f'Pass@{k}'] for r in seed_rows):.3f}" for k in KS),
        )
    Console().print(table)


if __name__ == "__main__":
    main()
