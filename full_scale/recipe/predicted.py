"""Conversion of a recipe to a run for `dph predict`: what is explored, and what solved prompts rehearse."""

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import yaml

from dph_theory.predict import configuration_of
from dph_theory.predict.configuration import Configuration, RehearsedPrompts
from dph_theory.predict.run_files import ConfiguredRun

from .methods import METHODS, setup
from .objective import DEFAULTS, objective_of
from .rehearsal import rehearsal_target, rehearses
from .schema import Recipe, load_recipe
from .settings import OWN

_KEYS = frozenset({field.name for field in fields(Recipe)} | {"extends", "methods"})
_TARGETS = {"one": "a pass rate of one", "base": "the base as it is", None: "neither one nor the base"}


def recipe_run(path: Path, overrides: Sequence[str] = ()) -> ConfiguredRun | None:
    """Convert a recipe's file to the run that it describes; None if the file is no recipe.

    Raises ValueError as `load_recipe`, and for a method whose coefficient depends on measured pass rates.
    """
    values = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    if not isinstance(values, dict) or not (
        {"extends", "method", "task"} & set(values) and set(values) <= _KEYS
    ):
        return None
    recipe = load_recipe(path, overrides)
    arguments = {**DEFAULTS, **setup(recipe.method, train=recipe.train).arguments}
    of_trl = {name: value for name, value in arguments.items() if name not in OWN}
    where = f"the recipe {recipe.name}, method {recipe.method.name}"
    return ConfiguredRun(where, (), of_trl, configuration=_configuration(recipe, arguments, of_trl))


def _configuration(recipe: Recipe, arguments: dict[str, Any], of_trl: dict[str, Any]) -> Configuration:
    read, objective = configuration_of(of_trl, "trl"), objective_of(arguments)
    if objective.term is not None and objective.term != read.objective.term:
        penalty, kl = f"{objective.coefficient:g} x {objective.term.formula}", str(objective)
        read = replace(read, penalty=penalty, stationary_kl=kl, selects=objective.term.selects)
    rehearsal, method = None, METHODS[recipe.method.name]
    if rehearses(arguments):
        target = _TARGETS[rehearsal_target(arguments)]
        rehearsal = RehearsedPrompts(method.name, float(arguments["eta"]), target)
    return replace(read, trainer="dph on TRL", objective=objective, rehearsal=rehearsal)
