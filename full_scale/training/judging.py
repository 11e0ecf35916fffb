"""Rewards of a task during training: as TRL's reward function, and on occasional greedy answers."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from dph_theory.support.errors import argument_error

from ..tasks.protocol import VERDICT, Scorer, Task, bound_to, failures, failures_text, judged

_LOG = logging.getLogger(__name__)
_FAILURES = 10  # Kinds of failure that are warned of.


class VerifierReward:
    """The task's verifier in TRL's form of a reward function: 1 for a correct completion, 0 for any other.

    The share of each outcome (correct, wrong, timeout, ...) is logged as a metric.
    """

    __name__ = VERDICT

    def __init__(self, task: Task) -> None:
        self.verifier, self.bound = task.verifier, bound_to(task.verifier)
        self.examples = {example.id: example for example in task.train}
        self.outcomes: set[str] = set()  # Those seen so far: one that is missing from a batch counts 0 in it.
        self._warned: set[str] = set()

    def __call__(
        self, *, completions: Sequence[Any], example_id: Sequence[str], **columns: Any
    ) -> list[float]:
        """Return one reward for each completion; TRL passes the dataset's column `example_id`."""
        unknown = [name for name in example_id if name not in self.examples]
        if unknown:
            raise argument_error("example_id", unknown[0], "the id of one of the task's training examples")
        examples = [self.examples[name] for name in example_id]
        scores = judged(self.verifier, examples, [_text(completion) for completion in completions])
        new = {detail: count for detail, count in failures(scores).items() if detail not in self._warned}
        if new and len(self._warned) < _FAILURES:
            self._warned |= set(new)
            _LOG.warning("the verifier failed, which counts as wrong: %s", failures_text(new))
        log_metric = columns.get("log_metric")
        if log_metric is not None:
            counts = Counter(score.outcome for score in scores)
            self.outcomes |= set(counts)
            for outcome in sorted(self.outcomes):
                log_metric(f"outcomes/{outcome}", counts[outcome] / len(scores))
        return [float(score.correct) for score in scores]


class FurtherReward:
    """A reward of the task beside correctness, in TRL's form of a reward function."""

    def __init__(self, name: str, scorer: Scorer, task: Task) -> None:
        self.__name__, self.scorer = name, scorer
        self.examples, self.bound = {example.id: example for example in task.train}, bound_to(scorer)

    def __call__(
        self, *, completions: Sequence[Any], example_id: Sequence[str], **columns: Any
    ) -> list[float | None]:
        """Return one number for each completion, or None, which TRL leaves out of its means."""
        examples = [self.examples[name] for name in example_id]
        return self.scorer(examples, [_text(completion) for completion in completions])


class Verdicts:
    """Binary rewards of the answers that a trainer scored last, and the keys of their prompts.

    The reward function is named `verdict`; without a name it is the verifier's or the only one. `key` is the
    dataset column that names a prompt, or "prompt" for the prompt itself.
    """

    def __init__(self, trainer: Any, key: str, verdict: str | None = None) -> None:
        names = list(trainer.reward_func_names)
        name = verdict or (names[0] if len(names) == 1 else VERDICT)
        if name not in names:
            raise argument_error("verdict", verdict, f"the name of the binary reward among {names}")
        # Keys and rewards (batch,) of this process.
        self.last: tuple[list[Any], Tensor] = ([], torch.empty(0))
        calculate, rank = trainer._calculate_rewards, trainer.accelerator.process_index

        def noted(inputs: Sequence[Mapping[str, Any]], *rest: Any) -> Tensor:
            if key not in inputs[0]:
                raise argument_error("key", key, f"a column of the training set, one of {sorted(inputs[0])}")
            of_all: Tensor = calculate(inputs, *rest)
            mine = slice(rank * len(inputs), (rank + 1) * len(inputs))
            self.last = [row[key] for row in inputs], of_all[mine, names.index(name)]
            return of_all

        trainer._calculate_rewards = noted


def require_verdict_alone(trainer: Any, why: str) -> None:
    """Raise ValueError if another reward than the first, correctness, has a weight."""
    weights = trainer.reward_weights.tolist()
    if any(weights[1:]) or weights[0] != 1:
        named = dict(zip(trainer.reward_func_names, weights, strict=True))
        raise argument_error("reward weights", named, f"1 for correctness and 0 for the others with {why}")


def _text(completion: Any) -> str:
    """Text of a completion; through a chat template TRL passes a list of messages."""
    return completion if isinstance(completion, str) else completion[-1]["content"]
