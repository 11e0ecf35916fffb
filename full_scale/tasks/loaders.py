"""Loader of tasks by name: the built-in one, published data, generators; each with its sets and verifier."""

import dataclasses
import importlib
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import Field
from pydantic.dataclasses import dataclass

from dph_theory.support.checking import CHECKED, build
from dph_theory.support.errors import argument_error, choice

from ..recipe.schema import TaskConfig
from .benchmarks import LAYOUTS, ExampleSource, examples, has_split
from .protocol import RESERVED, VERDICT, Task, Verifier, WeightedReward
from .verifiers import texts
from .verifiers.maths import MathsVerifier
from .verifiers.own import OwnReward, OwnVerifier
from .verifiers.pool import Dispatch, with_options
from .verifiers.sql import SqlVerifier

TEXTS = f"{texts.__name__}:"
VERIFIERS = {"math": "maths", "sql": "sql", "exact": f"{TEXTS}exact", "regex": f"{TEXTS}regex"}
"""Names of the built-in verifiers for users, and the names by which a task's options select them."""


def verifier_name(verifier: str) -> str:
    """A verifier as a task's options name it; ValueError for one that is neither here nor a function."""
    if verifier not in VERIFIERS and not all(verifier.rpartition(":")):
        allowed = f"{', '.join(VERIFIERS)}, MODULE:FUNCTION or FILE.py:FUNCTION"
        raise argument_error("verifier", verifier, allowed)
    return VERIFIERS.get(verifier, verifier)


@dataclass(frozen=True, config=CHECKED)
class Options(ExampleSource):
    """Options `task.options` of a published task: source of its training set, and further settings."""

    evaluation: Mapping[str, Any] = Field(default_factory=dict)
    """Evaluation sets by name (`in_domain`, `cross_domain`, `out_of_domain`, ...): `ExampleSource`s."""
    system: str | None = None
    """System message, if the model is used through its chat template."""
    # Arguments of `SqlVerifier`: seconds, rows, memory, workers.
    sql: Mapping[str, Any] = Field(default_factory=dict)
    # Arguments of `MathsVerifier`: seconds, memory, workers.
    maths: Mapping[str, Any] = Field(default_factory=dict)
    own: Mapping[str, Any] = Field(default_factory=dict)
    """Arguments of `OwnVerifier` and of every reward: seconds, memory, write, environment, workers."""
    rewards: Mapping[str, Any] = Field(default_factory=dict)
    """Further rewards of the training by name, each `{function: module:function, weight: ...}`."""


@dataclass(frozen=True, config=CHECKED)
class RewardOptions:
    """A reward beside correctness: a function of (answer, reference), and its weight."""

    function: str = ""
    weight: float = 0.0  # 0 only logs the reward; correctness has weight 1.


def load_task(config: TaskConfig) -> Task:
    """Load the task of a recipe, with examples and verifier.

    ValueError names an unknown task, option or set, a missing file, or the bad row and field.
    """
    choice("task.name", config.name, TASKS)
    return TASKS[config.name](config)


def _published(config: TaskConfig) -> Task:
    options = build(Options, config.options, "task.options.")
    if not config.data:
        raise argument_error(
            "task.data", config.data, "a file, a folder in the published layout, or a dataset's name"
        )
    train = dataclasses.replace(options, task=config.name, data=config.data, databases=config.databases)
    sources = _evaluation(options, train)
    for source in (train, *sources.values()):
        if source.verifier is not None and source.task != "dataset":
            allowed = f"none for the task {source.task!r}, which has its own; `dataset` takes one"
            raise argument_error("verifier", source.verifier, allowed)
    needed = {source.verifier or LAYOUTS[source.task].verifier for source in (train, *sources.values())}
    return Task(
        config.name,
        examples(train, "train"),
        {name: examples(source, name) for name, source in sources.items()},
        verifier_of(options, needed),
        system=options.system,
        rewards=_rewards(options),
    )


def _rewards(options: Options) -> dict[str, WeightedReward]:
    rewards = {}
    for name, values in options.rewards.items():
        where = f"task.options.rewards.{name}"
        if name == VERDICT or not name.isidentifier():
            raise argument_error(where, name, f"a plain name other than {VERDICT!r}")
        reward = build(RewardOptions, values, f"{where}.")
        rewards[name] = WeightedReward(_own(OwnReward, reward.function, options), reward.weight)
    return rewards


def _evaluation(options: Options, train: ExampleSource) -> dict[str, ExampleSource]:
    """Sources of the evaluation sets: the named ones, else those of the published layout if available."""
    if not options.evaluation and train.split == "train" and has_split(train.task, train.data, "dev"):
        return {"in_domain": dataclasses.replace(train, split="dev", limit=None)}
    sources = {}
    for name, values in options.evaluation.items():
        where = f"task.options.evaluation.{name}"
        if name in RESERVED:
            raise argument_error(where, name, f"any name but {RESERVED}")
        source = build(ExampleSource, values, f"{where}.")
        source = dataclasses.replace(source, task=source.task or train.task)
        if source.task == train.task:
            source = dataclasses.replace(source, verifier=source.verifier or train.verifier)
        choice(f"{where}.task", source.task, LAYOUTS)
        if not source.data:
            raise argument_error(f"{where}.data", source.data, "a file, a folder or a dataset's name")
        sources[name] = source
    return sources


def verifier_of(options: Options, needed: set[str]) -> Verifier:
    """Verifier of these names, `sql`, `maths` or functions; several are dispatched by each prompt's own."""
    makers: dict[str, Any] = {"sql": SqlVerifier, "maths": MathsVerifier}
    verifiers = {
        name: with_options(makers[name], getattr(options, name), f"task.options.{name}.")
        if name in makers
        else _own(OwnVerifier, name, options)
        for name in sorted(needed)
    }
    return Dispatch(verifiers) if len(verifiers) > 1 else verifiers[needed.pop()]


def _own(maker: Any, function: str, options: Options) -> Any:
    if not all(function.rpartition(":")):
        raise argument_error("function", function, "module:function, as in my_task:is_correct")
    return with_options(maker, options.own, "task.options.own.", function)


def _by(module: str) -> Callable[[TaskConfig], Task]:
    """Loader that imports a module when called and calls its `load`."""
    return lambda config: importlib.import_module(module).load(config)


TASKS: dict[str, Callable[[TaskConfig], Task]] = {
    "tiny-sql": _by("full_scale.tasks.tiny_sql.task"),
    "reasoning-gym": _by("full_scale.tasks.gym"),
    **dict.fromkeys(LAYOUTS, _published),
}
