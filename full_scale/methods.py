"""A comparison of several methods on one recipe: each is trained and evaluated, then compared at every k.

Here is the large-scale run behind `dph methods`: a 1B model on a GPU, or a tiny model on a CPU. Finished
stages are stored, and a repeated call resumes from them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from dph_theory.support.errors import RefusedError, argument_error, choice
from dph_theory.support.files import write_json
from dph_theory.support.progress import silent
from dph_theory.support.record import record
from dph_theory.support.table import Table

from .evaluation.evaluated_run import Evaluation
from .recipe.methods import METHODS, require_settings
from .recipe.schema import Recipe, load_recipe

COMPARED = ("GRPO", "Dr. GRPO", "MaxRL", "DPH-F", "DPH-MaxRL")
"""Methods trained by default. Dr. GRPO is GRPO with an undivided advantage."""
KIND, PACKAGES = "full_scale.methods", ("torch", "transformers", "trl", "peft")
_BASE = "base"


@dataclass(frozen=True)
class MethodRun:
    """One training run of the comparison."""

    method: str
    seed: int
    recipe: Recipe

    @classmethod
    def at_seed(cls, config: str, overrides: Sequence[str], method: str, seed: int) -> "MethodRun":
        """Build the run of one method at one seed from a recipe and its overrides.

        Raises:
            ValueError: If the method is unknown, or an override sets the method, the seed or the name.
        """
        for override in overrides:
            if override.partition("=")[0] in ("method.name", "seed", "name"):
                raise argument_error("override", override, "another key: --methods and --seeds decide it")
        choice("methods", method, dict.fromkeys((*COMPARED, *METHODS)))
        name = [f"method.name={'GRPO' if method == 'Dr. GRPO' else method}", f"seed={seed}"]
        undivided = ["method.divided_by=none"] if method == "Dr. GRPO" else []
        run = f"name={config.removesuffix('.yaml').rpartition('/')[2]}-{method.lower().replace('. ', '-')}"
        return cls(method, seed, load_recipe(config, [*overrides, *name, *undivided, run]))


def compare_methods(
    config: str,
    overrides: Sequence[str] = (),
    *,
    methods: Sequence[str] = COMPARED,
    seeds: int = 1,
    progress: Callable[..., None] = silent,
) -> dict[str, Any]:
    """Pre-sample, evaluate the base, then train and evaluate each method at each seed.

    Args:
        config: Path of a recipe, or the name of a packaged recipe.
        overrides: KEY=VALUE changes to the recipe, applied to every method.
        methods: Names of methods as recipes spell them, and "Dr. GRPO".
        seeds: Number of seeds of each method, counted from 0.
        progress: Called with (stage, done, total) during each stage, in training also with a note.

    Returns:
        The record, as written to `methods.json` in the recipe's output folder.

    Raises:
        ValueError: If a method or a key of the recipe is unknown.
        RefusedError: If a stage cannot resume from the contents of the output folder.
    """
    runs = [MethodRun.at_seed(config, overrides, method, seed) for seed in range(seeds) for method in methods]
    for run in runs:
        require_settings(run.recipe)
    from .stages import evaluate_stage, presample_stage, run_stages  # Loads transformers.

    first = runs[0].recipe
    presample_stage(first, progress)
    base = evaluate_stage(first, progress, base_only=True)
    evaluated: dict[str, list[Evaluation]] = {}
    for number, run in enumerate(runs):
        progress("runs", number, len(runs))
        evaluated.setdefault(run.method, []).append(run_stages(run.recipe, progress))
        _write(Path(first.output), first, base, evaluated)
    progress("runs", len(runs), len(runs))
    return _write(Path(first.output), first, base, evaluated)


def pass_tables(results: Mapping[str, Any]) -> list[Table]:
    """One table per evaluated set: Pass@k of the base and of each method, averaged over seeds."""
    tables = []
    for name, rows in results["sets"].items():
        ks = [*rows[_BASE]["pass_at_k"]]
        cells = [
            (method, row["seeds"], *(f"{row['pass_at_k'][k]:.3f}" for k in ks))
            for method, row in rows.items()
        ]
        tables.append(Table.from_rows(("method", "seeds", *(f"Pass@{k}" for k in ks)), cells, name))
    return tables


def _write(
    folder: Path, recipe: Recipe, base: Evaluation, evaluated: Mapping[str, Sequence[Evaluation]]
) -> dict[str, Any]:
    """Write and return the record of all runs finished so far."""
    by_method = {_BASE: [base], **evaluated}
    sets: dict[str, Any] = {}
    for name in base.sets:
        for method, runs in by_method.items():
            own = [run.sets[name].summary.pass_at_k for run in runs if name in run.sets]
            means = {k: fmean(numbers[k].value or 0.0 for numbers in own) for k in own[0]}
            sets.setdefault(name, {})[method] = {"seeds": len(own), "pass_at_k": means}
    if not sets:
        raise RefusedError(f"the base's evaluation in {folder} has no set to compare methods on")
    stored: Any = {"config": recipe.as_dict(), "results": {"sets": sets}, "findings": []}
    written = record(KIND, seed=0, packages=PACKAGES, **stored)
    write_json(folder / "methods.json", written)
    return written
