"""Recipes: small YAML files that extend one another, checked key by key, changed by key=value."""

import dataclasses
import difflib
import math
import re
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from dph_theory.support.errors import argument_error

RECIPES = Path(__file__).parent / "recipes"
DTYPES = ("float32", "bfloat16", "float16")

_SCIENTIFIC = re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+")


@dataclass(frozen=True)
class ModelConfig:
    """The initial model: a local folder or a hub name; weights are safetensors, remote code is never run."""

    path: str = ""
    dtype: str = "float32"
    attention: str = "sdpa"
    chat: bool = False
    """Whether prompts go through the tokenizer's chat template."""
    lora: Mapping[str, Any] | None = None
    """Arguments of peft's LoraConfig, or none to train every weight."""


@dataclass(frozen=True)
class TaskConfig:
    """Which task, and where its data are."""

    name: str = ""
    data: str | None = None
    """A folder or file in the task's published layout, or a Hugging Face dataset name."""
    databases: str | None = None
    """SQL: the folder of SQLite databases, one folder <db_id> each."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What else the task's loader takes."""


@dataclass(frozen=True)
class SamplingConfig:
    """How completions are drawn."""

    temperature: float = 1.0
    top_p: float = 1.0
    max_new_tokens: int = 4096
    batch_size: int = 64
    backend: str = "transformers"


@dataclass(frozen=True)
class PresampleConfig:
    """D_pef: prompts with at least `threshold` of `k` rollouts correct, and one fresh rollout too."""

    k: int = 8
    threshold: int = 8
    fresh: bool = True
    buffer_per_prompt: int = 8
    """At most how many correct completions a prompt of D_pef gives to the rehearsal buffer."""


@dataclass(frozen=True)
class MethodConfig:
    """A method of `full_scale.recipe.methods` by name, and what departs from its defaults."""

    name: str = "GRPO"
    eta: float | None = None
    """Coefficient of the rehearsal (DPH)."""
    beta: float | None = None
    """Coefficient of the penalty on policy samples (GRPO with KL, RKL, KL control)."""
    mu: float | None = None
    """Target mean validity of KL control, in place of beta (theory A9)."""
    alpha: float | None = None
    """Of DPH-alpha and alpha-DPG."""
    gauge: str | float | None = None
    form: str = "generator"
    """Rehearsal from stored samples (`generator`) or from the online reference (`definition`)."""
    rehearsal_rows: int = 512
    """Rows of the rehearsal buffer in each optimizer step, over all processes."""
    two_backward: bool = False
    """Rehearsal backward before the exploration's: less memory at the peak, the same gradient."""


@dataclass(frozen=True)
class EvaluateConfig:
    """How many samples a prompt, at which k, on which sets (all of the task's if none is named)."""

    samples: int = 32
    k: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    sets: tuple[str, ...] = ()
    limit: int | None = None
    """At most how many prompts of a set."""


@dataclass(frozen=True)
class Recipe:
    """Everything a run is computed from."""

    name: str = ""
    output: str = "runs"
    seed: int = 0
    model: ModelConfig = field(default_factory=ModelConfig)
    task: TaskConfig = field(default_factory=TaskConfig)
    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    presample: PresampleConfig = field(default_factory=PresampleConfig)
    method: MethodConfig = field(default_factory=MethodConfig)
    train: Mapping[str, Any] = field(default_factory=dict)
    """Fields of TRL's GRPOConfig, handed on as they are."""
    evaluate: EvaluateConfig = field(default_factory=EvaluateConfig)

    def as_dict(self) -> dict[str, Any]:
        """The whole recipe as plain values."""
        return dataclasses.asdict(self)


def load_recipe(path: str | Path, overrides: Sequence[str] = ()) -> Recipe:
    """The recipe of a YAML file (or of the name of a packaged one), after `key=value` overrides.

    `extends: other.yaml` in a file starts from that one, looked for beside it, then among the packaged ones;
    mappings merge, everything else replaces; a file's `name`, where it gives none, is its own, never the
    other's, whose runs it would overwrite. ValueError names an unknown key, with the nearest known one, a
    value of the wrong type, a file that is not there, a circle of `extends`.
    """
    values = _read(_found(Path(path), None), ())
    for override in overrides:
        _override(values, override)
    recipe = build(Recipe, values, "")
    _check(recipe)
    return recipe


def recipe_names() -> list[str]:
    """The names of the packaged recipes."""
    return sorted(path.stem for path in RECIPES.glob("*.yaml") if not path.stem.startswith("_"))


def _found(path: Path, beside: Path | None) -> Path:
    named = path if path.suffix == ".yaml" else path.with_name(f"{path.name}.yaml")
    places = [named if beside is None else beside / named, RECIPES / named]
    for place in places:
        if place.is_file():
            return place.resolve()
    raise argument_error("config", str(path), f"a YAML file, or one of the packaged recipes {recipe_names()}")


def _read(path: Path, above: tuple[Path, ...]) -> dict[str, Any]:
    if path in above:
        raise argument_error("extends", str(path), "recipes must not extend one another in a circle")
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except yaml.YAMLError as error:
        raise ValueError(f"{path} is no valid YAML: {error}") from error
    if not isinstance(values, dict):
        raise argument_error(str(path), values, "a recipe is a mapping of keys to values")
    parent = values.pop("extends", None)
    values.setdefault("name", path.stem)
    if parent is None:
        return values
    return _merged(_read(_found(Path(parent), path.parent), (*above, path)), values)


def _merged(below: dict[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _merged(merged[key], value) if both else value
    return merged


def _override(values: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    if not (equals and key):
        raise argument_error("override", override, "key=value, as in train.learning_rate=1e-6")
    *parents, last = key.split(".")
    for parent in parents:
        below = values.get(parent) or {}
        if not isinstance(below, Mapping):
            raise argument_error("override", override, f"{parent!r} is no mapping of keys to values")
        values[parent] = values = dict(below)
    try:
        values[last] = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise argument_error("override", override, "the value must be valid YAML") from error


def build(kind: type, values: Any, where: str) -> Any:
    """A dataclass from a mapping: ValueError names an unknown key and the nearest known one, or a wrong type.

    `where` goes before each key in errors, as in `task.options.`.
    """
    return kind(**arguments(typing.get_type_hints(kind), values, where))


def arguments(hints: Mapping[str, Any], values: Any, where: str) -> dict[str, Any]:
    """The values as keyword arguments of the annotated types, or an error as of `build`."""
    if not isinstance(values, Mapping):
        raise argument_error(where.rstrip(".") or "recipe", values, "a mapping of keys to values")
    for key in values:
        if key not in hints:
            near = difflib.get_close_matches(str(key), hints, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise argument_error(f"{where}key", key, f"one of {sorted(hints)}{hint}")
    return {key: _value(hints[key], value, f"{where}{key}") for key, value in values.items()}


def _value(kind: Any, value: Any, where: str) -> Any:
    """The value as the annotated type, or an error."""
    if dataclasses.is_dataclass(kind):
        return build(typing.cast(type, kind), {} if value is None else value, f"{where}.")
    value = _number(value)
    for option in typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,):
        origin = typing.get_origin(option) or option
        if origin is tuple and isinstance(value, list | tuple):
            return tuple(_value(typing.get_args(option)[0], entry, where) for entry in value)
        if origin is Mapping and isinstance(value, Mapping):
            return {key: _number(entry) for key, entry in value.items()}
        if origin is float and isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        # A boolean is an int to Python, and hardly ever to who wrote it.
        if (
            isinstance(origin, type)
            and isinstance(value, origin)
            and (origin is not int or not isinstance(value, bool))
        ):
            return value
    name = kind if isinstance(kind, types.UnionType) else kind.__name__
    raise argument_error(where, value, f"the type {name}")


def _number(value: Any) -> Any:
    """The number that is meant by 1e-6, which YAML reads as a string."""
    return float(value) if isinstance(value, str) and _SCIENTIFIC.fullmatch(value) else value


def _check(recipe: Recipe) -> None:
    """What no type can say."""
    presample, sampling, method, evaluate = recipe.presample, recipe.sampling, recipe.method, recipe.evaluate
    _check_method(method)
    if recipe.model.dtype not in DTYPES:
        raise argument_error("model.dtype", recipe.model.dtype, f"one of {', '.join(DTYPES)}")
    if Path(recipe.name).name != recipe.name:
        raise argument_error("name", recipe.name, "a plain name: folders are named after it")
    for name, number in (
        ("sampling.max_new_tokens", sampling.max_new_tokens),
        ("sampling.batch_size", sampling.batch_size),
        ("presample.buffer_per_prompt", presample.buffer_per_prompt),
        ("method.rehearsal_rows", method.rehearsal_rows),
        ("evaluate.samples", evaluate.samples),
        ("evaluate.limit", evaluate.limit),
    ):
        if number is not None and number < 1:
            raise argument_error(name, number, "at least 1")
    if not 1 <= presample.threshold <= presample.k:
        raise argument_error("presample.threshold", presample.threshold, f"from 1 to k={presample.k}")
    if sampling.temperature <= 0:
        raise argument_error("sampling.temperature", sampling.temperature, "above 0")
    if not 0 < sampling.top_p <= 1:
        raise argument_error("sampling.top_p", sampling.top_p, "above 0, at most 1")
    too_many = [k for k in evaluate.k if not 1 <= k <= evaluate.samples]
    if too_many:
        raise argument_error("evaluate.k", too_many[0], f"from 1 to evaluate.samples={evaluate.samples}")


def _check_method(method: MethodConfig) -> None:
    if method.eta is not None and not 0 <= method.eta < math.inf:
        raise argument_error("method.eta", method.eta, "a finite number, at least 0")
    if method.form not in ("generator", "definition"):
        raise argument_error("method.form", method.form, "generator or definition")
    if method.mu is not None and method.beta is not None:
        raise argument_error("method.mu", method.mu, "either a target validity mu or beta, not both")
