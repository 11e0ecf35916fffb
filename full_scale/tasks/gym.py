"""Tasks of reasoning-gym: generators with verifiers, whose scores become binary at a given threshold."""

import importlib
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any

from pydantic import Field
from pydantic.dataclasses import dataclass

from dph_theory.support.checking import CHECKED, build
from dph_theory.support.errors import argument_error

from ..recipe.schema import TaskConfig
from .benchmarks import filled
from .protocol import Prompt, Task
from .verifiers.extract import last_marked
from .verifiers.pool import Job, Limits, PooledVerifier, required_fields
from .verifiers.worker import JudgeOutcome

MEMORY = 2**32  # Bytes of each worker.
TEMPLATE = """{question}

Give the final answer between <answer> and </answer>."""


@dataclass(frozen=True, config=CHECKED)
class GymOptions:
    """Options `task.options` of the task `reasoning-gym`."""

    dataset: str = ""  # Name of the generator, such as `chain_sum`.
    arguments: Mapping[str, Any] = Field(default_factory=dict)
    """Arguments of the generator, such as difficulty and length."""
    size: Annotated[int, Field(ge=1)] = 1000
    evaluation_size: Annotated[int, Field(ge=1)] = 100
    seed: int = 0  # Of the training prompts; evaluation uses the next seed.
    threshold: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Minimal score, from 0 to 1, of a correct answer."""
    template: str = TEMPLATE
    system: str | None = None
    seconds: Annotated[float, Field(gt=0)] = 10.0  # Computing time per answer.
    workers: Annotated[int, Field(ge=1)] | None = None


def load(config: TaskConfig) -> Task:
    """Load the task; ValueError if reasoning-gym is missing or rejects the generator or an argument."""
    options = build(GymOptions, config.options, "task.options.")
    train, evaluation = (
        _examples(options, name, size, options.seed + i)
        for i, (name, size) in enumerate((("train", options.size), ("in_domain", options.evaluation_size)))
    )
    verifier = GymVerifier(options.threshold, seconds=options.seconds, workers=options.workers)
    return Task(config.name, train, {"in_domain": evaluation}, verifier, system=options.system)


def _examples(options: GymOptions, name: str, size: int, seed: int) -> list[Prompt]:
    # As text, so that JSON gives a worker the same generator again.
    source = json.dumps(
        {"dataset": options.dataset, "seed": seed, "size": size, "arguments": dict(options.arguments)},
        sort_keys=True,
    )
    return [
        Prompt(
            f"{name}/{i}",
            filled(options.template, question=entry["question"]),
            {"verifier": "gym", "source": source, "entry": i},
        )
        for i, entry in enumerate(_generator(source))
    ]


@lru_cache(maxsize=8)
def _generator(text: str) -> Any:
    source = json.loads(text)
    try:
        gym = importlib.import_module("reasoning_gym")
    except ModuleNotFoundError as error:
        allowed = 'another task, or install the extra: pip install -e ".[gym]"'
        raise argument_error("task.name", "reasoning-gym", allowed) from error
    sizes = {"size": source["size"], "seed": source["seed"]}
    try:
        return gym.create_dataset(source["dataset"], **sizes, **source["arguments"])
    except (ValueError, TypeError, AssertionError) as error:
        allowed = f"a generator of reasoning-gym with arguments that it takes ({error})"
        raise argument_error("task.options.dataset", source["dataset"], allowed) from error


class GymVerifier(PooledVerifier):
    r"""Scores the content of the last answer tags, or of the last \boxed{}, by the generator's verifier.

    A score of at least `threshold` is correct. `seconds` (of computing) bounds each answer. Raises ValueError
    for an incomplete reference.
    """

    def __init__(self, threshold: float = 1.0, *, seconds: float = 10.0, workers: int | None = None) -> None:
        self._threshold = threshold
        super().__init__(f"{__name__}:judge", Limits(seconds, MEMORY), workers)

    @property
    def bound(self) -> dict[str, Any]:
        """Settings on which rewards depend: the smallest score of a correct answer."""
        return {"threshold": self._threshold}

    def job(self, example: Prompt, completion: str) -> Job | None:
        """Job for the judge: marked answer, generator, entry, threshold; None without an answer."""
        source, entry = required_fields(example, "source", "entry")
        answer = last_marked(completion)
        if answer is None:
            return None
        return {"source": source, "entry": entry, "answer": answer, "threshold": self._threshold}


def judge(job: dict[str, Any]) -> dict[str, str]:
    """Outcome: `correct` if the generator scores the `answer` to `entry` at least `threshold`."""
    generator = _generator(job["source"])
    score = generator.score_answer(job["answer"], generator[job["entry"]])
    return {"outcome": JudgeOutcome.CORRECT if score >= job["threshold"] else JudgeOutcome.WRONG}
