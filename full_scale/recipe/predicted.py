"""A recipe of `dph train` for `dph predict`: its name, its objective, and TRL's settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import yaml

from dph_theory.losses.objective import Objective, RehearsedPrompts

from .methods import METHODS, setup
from .objective import DEFAULTS, objective_of
from .rehearsal import rehearsal_target, rehearses
from .schema import Recipe, load_recipe

_KEYS = frozenset({field.name for field in fields(Recipe)} | {"extends", "methods"})
_TARGETS = {"one": "a pass rate of one", "base": "the base as it is", None: "neither one nor the base"}


@dataclass(frozen=True)
class RecipeRun:
    """The run of a recipe: a name, the objective, and the trainer's settings."""

    name: str
    objective: Objective
    settings: Mapping[str, Any]


def recipe_run(path: Path, overrides: Sequence[str] = ()) -> RecipeRun | None:
    """Read a recipe's file; None if the file is no recipe.

    Raises:
        ValueError: As `load_recipe`, and for a method whose coefficient follows from measured pass rates.
    """
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except (yaml.YAMLError, ValueError, RecursionError):
        # The reader of other trainers' files names the fault; several documents are none of a recipe's.
        return None
    is_recipe = (
        isinstance(values, dict) and {"extends", "method", "task"} & set(values) and set(values) <= _KEYS
    )
    if not is_recipe:
        return None
    recipe = load_recipe(path, overrides)
    arguments = {**DEFAULTS, **setup(recipe.method, train=recipe.train).arguments}
    objective = objective_of(arguments)
    if rehearses(arguments):
        target = _TARGETS[rehearsal_target(arguments)]
        rehearsal = RehearsedPrompts(METHODS[recipe.method.name].name, float(arguments["eta"]), target)
        objective = replace(objective, rehearsal=rehearsal)
    return RecipeRun(f"{recipe.name}, method {recipe.method.name}", objective, arguments)
