"""A user's own functions as verifiers and rewards: of (answer, reference), or in the form of TRL or verl.

A reward of TRL takes `completions`, one of verl `solution_str` and `ground_truth`; both may be asynchronous.
"""

import asyncio
import inspect
import math
import numbers
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from dph_theory.support.errors import argument_error
from dph_theory.support.user_code import imported

from ..protocol import Prompt, is_verdict, own_modules, source_of
from .pool import Job, Limits, Pool, PooledVerifier
from .worker import JudgeOutcome

JUDGE = f"{__name__}:judge"
_SHOWN = 40
"""Characters of a value that is no verdict."""
_TRL_OWN = ("prompt", "completion", "completion_ids", "prompts", "completions", "verifier")
"""Columns that TRL does not pass to a reward function, and one that is ours."""


def judge(job: dict[str, Any]) -> dict[str, Any]:
    """Reply with a function's result for an `answer` and its `reference`; without an answer, its source.

    Runs in a worker process. A result that is not true or false, or not a number if `scored`, raises: a
    `crash`. With `least`, a number of at least that is true.
    """
    function = _function(job["function"])
    if "answer" not in job:
        module = imported(job["function"].rpartition(":")[0]).__name__
        source = source_of(*own_modules(module), getattr(function, "__module__", ""))
        batched = "completions" in inspect.signature(function).parameters
        return {"outcome": JudgeOutcome.CORRECT, "source": source, "batched": batched}
    verdict = _returned(function, job)
    if job["scored"]:
        if not math.isfinite(verdict):
            raise ValueError(f"{job['function']} returned {verdict}")
        return {"outcome": JudgeOutcome.CORRECT, "score": float(verdict)}
    if job["least"] is not None:
        verdict = verdict >= job["least"]
    if not is_verdict(verdict):
        reply = {
            "outcome": JudgeOutcome.CRASH,
            "detail": f"{job['function']} returned {verdict!r}, not true or false",
        }
        # None and nan are no answers of the verifier's; anything else may be what it says of a correct one.
        missing = verdict is None or (isinstance(verdict, float) and math.isnan(verdict))
        value = float(verdict) if _is_number(verdict) else repr(verdict)[:_SHOWN]
        return reply if missing else {**reply, "value": value}
    return {"outcome": JudgeOutcome.CORRECT if verdict else JudgeOutcome.WRONG}


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and math.isfinite(value)


def _returned(function: Callable[..., Any], job: dict[str, Any]) -> Any:
    """Result of a function for one answer, in the function's own calling convention; awaited if async."""
    parameters, answer, reference = inspect.signature(function).parameters, job["answer"], job["reference"]
    if "prompt" in job:
        result = function(**_trl_columns(job))
    elif {"solution_str", "ground_truth"} <= parameters.keys():
        result = function(**_verl_arguments(answer, reference))
    else:
        result = function(answer, reference)
    if inspect.isawaitable(result):
        result = asyncio.run(_awaited(result))
    if "prompt" in job:
        (result,) = result
    # A score of verl may come with values to be logged.
    return result["score"] if isinstance(result, Mapping) and "score" in result else result


async def _awaited(result: Awaitable[Any]) -> Any:
    return await result


def _trl_columns(job: dict[str, Any]) -> dict[str, Any]:
    """Columns of one entry as TRL passes them: text for a text, messages for a conversation."""
    prompt, answer = job["prompt"], job["answer"]
    completion = answer if isinstance(prompt, str) else [{"role": "assistant", "content": answer}]
    columns = {name: [value] for name, value in job["reference"].items() if name not in _TRL_OWN}
    return {"prompts": [prompt], "completions": [completion], **columns}


def _verl_arguments(answer: str, reference: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of verl's compute_score, from the columns of its data, or from `answer`."""
    rule = reference.get("reward_model")
    truths = [reference, rule if isinstance(rule, Mapping) else {}]
    truth = next((columns["ground_truth"] for columns in truths if "ground_truth" in columns), None)
    if truth is None:
        truth = reference["answer"]
    more = {"data_source": reference.get("data_source", ""), "extra_info": reference.get("extra_info") or {}}
    return {"solution_str": answer, "ground_truth": truth, **more}


@lru_cache(maxsize=8)
def _function(name: str) -> Callable[..., Any]:
    module, _, function = name.rpartition(":")
    return getattr(imported(module), function)


class _OwnFunction:
    """A user's own function in worker processes, whose module is imported before the limits apply."""

    option: str  # Option that names the function.

    def __init__(
        self,
        function: str,
        *,
        seconds: float = 10.0,
        memory: int = 2**32,
        write: int = 0,
        environment: tuple[str, ...] = (),
        workers: int | None = None,
        correct_from: float | None = None,
    ) -> None:
        for name in environment:
            if name not in os.environ:
                allowed = "names of the environment that are set where dph is started"
                raise argument_error("task.options.own.environment", name, allowed)
        limits = Limits(seconds, memory, write, tuple(environment), function.rpartition(":")[0])
        self._pool, self._function, self._least = Pool(JUDGE, limits, workers), function, correct_from
        # Otherwise every reward of a function that a worker does not find would be a crash later.
        (reply,) = self._pool.map([{"function": function}])
        if reply["outcome"] != JudgeOutcome.CORRECT:
            reason = reply.get("detail", reply["outcome"])
            allowed = f"module:function or FILE.py:function that can be imported from here ({reason})"
            raise argument_error(self.option, function, allowed)
        self._source: dict[str, str] = reply["source"]
        self._batched: bool = reply["batched"]

    @property
    def bound(self) -> dict[str, Any]:
        """Settings on which rewards depend: the function, its modules' sources, and the minimal reward."""
        least = {} if self._least is None else {"correct_from": self._least}
        return {"function": self._function, **self._source, **least}

    def _job(self, example: Prompt, completion: str, *, scored: bool) -> dict[str, Any]:
        prompt = {"prompt": [*example.turns] or example.prompt} if self._batched else {}
        reference = dict(example.reference)
        own = {"function": self._function, "reference": reference, "answer": completion, "scored": scored}
        return own | prompt

    def close(self) -> None:
        """End the worker processes."""
        self._pool.close()


class OwnVerifier(_OwnFunction, PooledVerifier):
    """Reward by a function of (answer, reference) that returns true or false, in worker processes.

    A reward function in TRL's form, with a parameter `completions`, or in verl's, with `solution_str` and
    `ground_truth`, also works: 1 is correct and 0 is not, or with `correct_from` a reward of at least that.
    Another number is the score's `value`, for which `judged` asks for the threshold. `seconds` (of computing)
    bounds each answer, `memory` (bytes) each worker, `write` (bytes) each file that it writes; `environment`
    names the variables it sees beside PATH, HOME and LANG. An exception or another result is a `crash`.
    Raises ValueError if the function is not found, or a name is not set.
    """

    option = "verifier"

    def job(self, example: Prompt, completion: str) -> Job:
        """Job for the judge: completion, reference, function and minimal reward."""
        return self._job(example, completion, scored=False) | {"least": self._least}


class OwnReward(_OwnFunction):
    """Number by a function of (answer, reference), in worker processes; None if it gave none in time."""

    option = "task.options.rewards"

    def __call__(self, examples: Sequence[Prompt], completions: Sequence[str]) -> list[float | None]:
        """Return one number for each pair, in order."""
        pairs = zip(examples, completions, strict=True)
        replies = self._pool.map([self._job(*pair, scored=True) for pair in pairs])
        return [reply.get("score") for reply in replies]
