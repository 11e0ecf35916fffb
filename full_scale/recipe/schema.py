"""Recipes: YAML files that extend one another, are checked key by key, and accept key=value overrides."""

import dataclasses
import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

import yaml
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass
from pydantic.fields import FieldInfo

from dph_theory.support.checking import CHECKED, build
from dph_theory.support.errors import argument_error, choice

RECIPES = Path(__file__).parent / "recipes"
Count = Annotated[int, Field(ge=1)]
_DOCUMENTED = ConfigDict(**CHECKED, use_attribute_docstrings=True)


@dataclass(frozen=True, config=_DOCUMENTED)
class ModelConfig:
    """The initial model: a local folder, a GGUF file or a Hub name. Remote code is never run.

    Weights are safetensors. Those of a GGUF file are converted to `dtype` (extra `gguf`).
    """

    path: str = ""
    """Folder, GGUF file or Hub name of the initial model; smollm2 and gemma3 are packaged."""
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    """Precision of the weights that are loaded."""
    attention: str = "sdpa"
    """Implementation of attention, as transformers names it."""
    chat: bool = False
    """Send prompts through the tokenizer's chat template."""
    template: Mapping[str, Any] = Field(default_factory=dict)
    """Arguments of the chat template, such as enable_thinking."""
    lora: Mapping[str, Any] | None = None
    """Arguments of peft's LoraConfig; null trains every weight."""


@dataclass(frozen=True, config=_DOCUMENTED)
class TaskConfig:
    """The task, and the location of its data."""

    name: str = ""
    """Task: tiny-sql, bird, spider, maths, dataset, dph-rl or reasoning-gym."""
    data: str | None = None
    """A folder or file in the task's published layout, or a Hugging Face dataset name."""
    databases: str | None = None
    """Folder of the SQLite databases, one folder <db_id> each, if not where they were published."""
    filter_overlong_prompts: bool = False
    """Leave out prompts that leave no room for an answer in the context, with a count."""
    options: Mapping[str, Any] = Field(default_factory=dict)
    """Further options of the task's loader."""


@dataclass(frozen=True, config=_DOCUMENTED)
class SamplingConfig:
    """Sampling of completions in every stage: pre-sampling, training, evaluation."""

    temperature: Annotated[float, Field(gt=0)] = 1.0
    """Sampling temperature."""
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Share of probability that is sampled from."""
    top_k: Annotated[int, Field(ge=0)] = 0
    """Number of likeliest tokens that are sampled from; 0 for all."""
    min_p: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Least probability of a token relative to the likeliest."""
    repetition_penalty: Annotated[float, Field(gt=0)] = 1.0
    """Penalty on tokens that occurred already; 1 for none."""
    max_new_tokens: Count = 4096
    """Largest number of tokens of an answer."""
    stop: tuple[str, ...] = ()
    """Tokens, as text, that end a completion beside those that the model declares; each is one token."""
    batch_size: Count = 64
    """Prompts measured, and rows that transformers generates, at once on a device."""
    batch_tokens: Count = 16_384
    """Tokens whose log-probabilities are computed at once, padding counted; one row at least."""
    backend: Literal["transformers", "vllm"] = "transformers"
    """Engine that samples."""
    vllm_memory: Annotated[float, Field(gt=0, lt=1)] = 0.85
    """Share of a device's memory that vLLM takes in pre-sampling and evaluation."""
    vllm_memory_training: Annotated[float, Field(gt=0, lt=1)] = 0.3
    """Share of a device's memory that vLLM takes beside a trainer."""
    vllm_length: Count | None = None
    """Tokens of prompt and completion that vLLM makes room for; null for the model's context."""
    vllm_tensor_parallel: Count = 1
    """Number of devices that one vLLM engine is spread over."""

    def drawing(self) -> dict[str, Any]:
        """Settings that decide which completions are drawn: the distribution, and use of random numbers."""
        return {name: value for name, value in vars(self).items() if name in _DRAWING}


DISTRIBUTION = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "max_new_tokens")
"""Settings that decide the probability of each completion."""
_DRAWING = (*DISTRIBUTION, "batch_size", "backend")


@dataclass(frozen=True, config=_DOCUMENTED)
class PresampleConfig:
    """Definition of D_pef: prompts with `threshold` or more of `k` rollouts correct, and one more if `fresh`.

    Anchors may replace D_pef.
    """

    k: int = 8
    """Rollouts of each prompt."""
    threshold: int = 8
    """Correct rollouts from which a prompt is solved (D_pef)."""
    fresh: bool = True
    """Ask a solved prompt for one more correct rollout."""
    buffer_per_prompt: Count = 8
    """Largest number of correct completions of a solved prompt that are rehearsed."""
    anchors: Annotated[int, Field(ge=0)] = 0
    """Number of prompts whose base answers, correct or not, are rehearsed in place of D_pef's."""
    kernel: str | None = None
    """Kernel file of `dph transfer` by which the anchors are chosen; null for a random choice."""

    def __post_init__(self) -> None:
        if self.kernel is not None and not self.anchors:
            raise argument_error(
                "presample.kernel", self.kernel, "null without presample.anchors, which it chooses"
            )
        if not 1 <= self.threshold <= self.k:
            raise argument_error("threshold", self.threshold, f"from 1 to k={self.k}")


@dataclass(frozen=True, config=_DOCUMENTED)
class MethodConfig:
    """A method of `full_scale.recipe.methods` by name, and changes to its defaults."""

    name: str = "GRPO"
    """Method, by its name in full_scale.recipe.methods."""
    eta: Annotated[float, Field(ge=0)] | None = None
    """Coefficient of the rehearsal (DPH)."""
    divergence: str | None = None
    """Divergence of the rehearsal: a name of dph_theory.DIVERGENCES, or yours as module:OBJECT."""
    beta: float | None = None
    """Coefficient of the KL penalty on policy samples."""
    beta_from: Annotated[float, Field(gt=0)] | None = None
    """KL-control-sequence: beta at the first step, from which it falls to beta by the middle."""
    excess_bound: Annotated[float, Field(gt=0)] | None = None
    """KL-control-sequence: beta falls only while the excess KL is below this many nats."""
    baseline: Literal["mean", "leave_one_out", "one", "none"] | None = None
    """Baseline of the rewards; `one` adds least noise. Advantages are then not std-normalised."""
    divided_by: Literal["std", "mean", "none"] | None = None
    """Divisor of the reward minus the group's mean; the mean retains most correct answers."""
    rate_power: Annotated[float, Field(gt=0, le=2)] | None = None
    """Undivided advantages are weighed by V^-rate_power, V from counts over many groups."""
    mu: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Target mean pass rate of KL control, in place of beta."""
    alpha: float | None = None
    """Order alpha of DPH-alpha and alpha-DPG."""
    gauge: Literal["printed", "normalised"] | float | None = None
    """Linear term of the divergence's generator."""
    rehearsal_form: (
        Literal["generator", "definition", "released_forward", "released_js", "released_alpha"] | None
    ) = None
    """Rehearsal of stored samples (generator), of policy samples (definition), or as released."""
    prompts: Literal["explored", "all"] = "explored"
    """Train on D_exp, or on all prompts as the baselines of the authors' release do."""
    rehearsal_rows: Count | None = None
    """Rehearsed rows of an optimizer step, over all processes; null for half as many as rollouts."""
    two_backward: bool = False
    """Run the rehearsal's backward pass first: less memory at the peak, the same gradient."""

    def __post_init__(self) -> None:
        if self.mu is not None and self.beta is not None:
            raise argument_error("mu", self.mu, "either a target pass rate mu or beta, not both")


@dataclass(frozen=True, config=_DOCUMENTED)
class EvaluateConfig:
    """Number of samples per prompt, the k of Pass@k, and the sets (default: all of the task's)."""

    samples: Count = 32
    """Sampled answers to each prompt."""
    k: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    """Numbers k of Pass@k."""
    sets: tuple[str, ...] = ()
    """Names of the evaluated sets; empty for all of the task's."""
    limit: Count | None = None
    """Largest number of prompts of a set; null for all."""

    def __post_init__(self) -> None:
        for k in self.k:
            if not 1 <= k <= self.samples:
                raise argument_error("k", k, f"from 1 to evaluate.samples={self.samples}")


@dataclass(frozen=True, config=_DOCUMENTED)
class Recipe:
    """All settings from which a run is computed."""

    name: str = ""
    """Name of the run's folder."""
    output: str = "runs"
    """Folder of the pre-sampling and of all runs."""
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    """Seed of every random number, from 0 to 2^32 - 1."""
    model: ModelConfig = Field(default_factory=ModelConfig)
    task: TaskConfig = Field(default_factory=TaskConfig)
    sampling: SamplingConfig = Field(default_factory=SamplingConfig)
    presample: PresampleConfig = Field(default_factory=PresampleConfig)
    method: MethodConfig = Field(default_factory=MethodConfig)
    train: Mapping[str, Any] = Field(default_factory=dict)
    """Fields of TRL's GRPOConfig, passed on unchanged."""
    evaluate: EvaluateConfig = Field(default_factory=EvaluateConfig)

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9._-]*", self.name) or self.name in (".", ".."):
            allowed = "letters, digits, '.', '_' and '-': folders and the model card are named after it"
            raise argument_error("name", self.name, allowed)
        for name, value in self.train.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise argument_error(f"train.{name}", value, "a finite number")
            if name == "data_seed" and isinstance(value, int) and not 0 <= value < 2**32:
                raise argument_error(f"train.{name}", value, "from 0 to 2^32 - 1")

    def as_dict(self) -> dict[str, Any]:
        """The whole recipe as plain values, as in JSON."""
        return json.loads(json.dumps(dataclasses.asdict(self)))


def load_recipe(path: str | Path, overrides: Sequence[str] = ()) -> Recipe:
    """Load the recipe of a YAML file, or of a packaged name, and apply `key=value` overrides.

    `extends: other.yaml` starts from another recipe in the same folder or among the packaged ones. Mappings
    are merged, null removes a mapping, and other values are replaced. A file's default `name` is its own,
    never that of the extended recipe, whose runs it would overwrite. `methods` contains changes that apply to
    one method. A run whose method is overridden is named after the method too. Raises ValueError for an
    unknown key (with the closest known one), a value of the wrong type, a missing file, or circular
    `extends`.
    """
    overriding: dict[str, Any] = {}
    for override in overrides:
        _override(overriding, override)
    layers = _layers(_recipe_file(Path(path), None), ())
    changed = {name for file, layer in layers if file.parent != RECIPES for name in _method_changes(layer)}
    values = _of_method([layer for _, layer in layers], overriding)
    for override in overrides:
        _override(values, override)
    sections = [field.name for field in dataclasses.fields(Recipe) if dataclasses.is_dataclass(field.type)]
    empty: dict[str, Any] = {name: {} for name in sections if name in values and values[name] is None}
    recipe = build(Recipe, {**values, **empty}, "")
    if changed:
        from .methods import METHODS  # Imports this module.

        for name in sorted(changed):
            choice("methods key", name, METHODS)
    return recipe


def _method_changes(layer: Mapping[str, Any]) -> Mapping[str, Any]:
    methods = layer.get("methods", {})
    if not isinstance(methods, Mapping):
        raise argument_error("methods", methods, "a mapping of methods to what changes for each")
    for name, own in methods.items():
        if own is not None and not isinstance(own, Mapping):
            raise argument_error(f"methods.{name}", own, "a mapping of keys to values")
    return methods


def _of_method(layers: Sequence[dict[str, Any]], overriding: Mapping[str, Any]) -> dict[str, Any]:
    """Merge a file's values over those it extends, each with its `methods` entry for the selected method."""
    sections = [
        layer["method"] for layer in (*layers, overriding) if isinstance(layer.get("method"), Mapping)
    ]
    names = [section["name"] for section in sections if "name" in section]
    name = names[-1] if names else MethodConfig().name
    if not isinstance(name, str):
        raise argument_error("method.name", name, "the name of a method")
    values: dict[str, Any] = {}
    for layer in layers:
        own = _method_changes(layer).get(name) or {}
        values = _merged(_merged(values, {key: layer[key] for key in layer if key != "methods"}), own)
    if isinstance(overriding.get("method"), Mapping) and "name" in overriding["method"]:
        values["name"] = f"{values['name']}-{str(name).lower()}"
    return values


def recipe_keys() -> list[tuple[str, str, str, str]]:
    """List every key of a recipe with its type, default and meaning, as text."""
    keys = []
    hints = get_type_hints(Recipe)
    for part in dataclasses.fields(Recipe):
        section = hints[part.name]
        nested = dataclasses.is_dataclass(section)
        owner: Any = section if nested else Recipe
        prefix = f"{part.name}." if nested else ""
        for key in dataclasses.fields(owner) if nested else (part,):
            meaning = owner.__pydantic_fields__[key.name].description
            kind = _type_name(get_type_hints(owner)[key.name])
            keys.append((f"{prefix}{key.name}", kind, _default(key), meaning))
    return keys


def _type_name(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return " or ".join(map(str, get_args(hint)))
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(map(_type_name, get_args(hint)))
    if hint is NoneType:
        return "null"
    return re.sub(r"[\w.]*\.(?=\w)", "", hint.__name__ if isinstance(hint, type) else str(hint))


def _default(key: dataclasses.Field[Any]) -> str:
    value = key.default
    if isinstance(value, FieldInfo):
        value = value.get_default(call_default_factory=True)
    return json.dumps(value)


def recipe_names() -> list[str]:
    """Names of the packaged recipes."""
    return sorted(path.stem for path in RECIPES.glob("*.yaml") if not path.stem.startswith("_"))


class _Loader(yaml.SafeLoader):
    """A YAML 1.2 loader: `no` is a text, `010` is ten, 1e-6 is a number.

    Aliases, which may expand without bound, and repeated keys in a mapping are errors.
    """

    yaml_implicit_resolvers: ClassVar[dict[str, list[tuple[str, re.Pattern[str]]]]] = {}

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Compose a node; YAMLError for an alias."""
        if self.check_event(yaml.AliasEvent):
            alias = self.peek_event()
            raise yaml.YAMLError(f"write out the alias *{alias.anchor}{alias.start_mark}")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """Construct a mapping; YAMLError for a key that is repeated or not a text."""
        names: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag != _TEXT:
                raise yaml.YAMLError(f"a key that is no text{key.start_mark}: quote it")
            if key.value in names:
                raise yaml.YAMLError(f"the key {key.value!r} appears twice{key.start_mark}")
            names.add(key.value)
        return super().construct_mapping(node, deep=deep)

    def construct_number(self, node: Any) -> int | float:
        """Construct a float, or an integer in decimal, hexadecimal (0x) or octal (0o) notation."""
        text = node.value
        if node.tag == _FLOAT:
            return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
        base = {"0x": 16, "0o": 8}.get(text[:2], 10)
        return int(text[2:] if base != 10 else text, base)


_TEXT, _INT, _FLOAT = (f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float"))
for _tag, _form, _first in (
    ("tag:yaml.org,2002:bool", "true|True|TRUE|false|False|FALSE", "tTfF"),
    ("tag:yaml.org,2002:null", "~|null|Null|NULL|", ["~", "n", "N", ""]),
    (_INT, r"[-+]?\d+|0o[0-7]+|0x[\da-fA-F]+", "-+0123456789"),
    (
        _FLOAT,
        r"[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        "-+.0123456789",
    ),
):
    _Loader.add_implicit_resolver(_tag, re.compile(rf"(?:{_form})$"), [*_first])
for _tag in (_INT, _FLOAT):
    _Loader.add_constructor(_tag, _Loader.construct_number)

_UNREADABLE = (yaml.YAMLError, ValueError, RecursionError)
"""Errors of YAML, of numbers with more digits than Python reads, and of too deep nesting."""


def _recipe_file(path: Path, folder: Path | None) -> Path:
    """Find a recipe's file in the folder (default: the working folder), or among the packaged recipes."""
    named = path if path.suffix == ".yaml" else path.with_name(f"{path.name}.yaml")
    places = [named if folder is None else folder / named, RECIPES / named]
    for place in places:
        if place.is_file():
            return place.resolve()
    raise argument_error("config", str(path), f"a YAML file, or one of the packaged recipes {recipe_names()}")


def _layers(path: Path, above: tuple[Path, ...]) -> list[tuple[Path, dict[str, Any]]]:
    """Read a file after all files that it extends, the most distant first, each with its values."""
    if path in above:
        raise argument_error("extends", str(path), "recipes must not extend one another in a circle")
    try:
        values = yaml.load(path.read_text(encoding="utf-8-sig"), _Loader) or {}
    except _UNREADABLE as error:
        raise ValueError(f"{path} is no valid YAML: {error}") from error
    if not isinstance(values, dict):
        raise argument_error(str(path), values, "a recipe is a mapping of keys to values")
    parent = values.pop("extends", None)
    values.setdefault("name", path.stem)
    if not isinstance(parent, str | None):
        raise argument_error("extends", parent, "the name of a recipe, or a YAML file")
    below = [] if parent is None else _layers(_recipe_file(Path(parent), path.parent), (*above, path))
    return [*below, (path, values)]


def _merged(below: dict[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        if not isinstance(merged.get(key), Mapping):
            merged[key] = value
        elif value is None:
            del merged[key]
        else:
            merged[key] = _merged(merged[key], value) if isinstance(value, Mapping) else value
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
        values[last] = yaml.load(text, _Loader)
    except _UNREADABLE as error:
        raise argument_error("override", override, "the value must be valid YAML") from error
