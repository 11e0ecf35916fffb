"""The worker's side of the verifier of reasoning-gym tasks."""

import json
from functools import lru_cache
from typing import Any

import reasoning_gym

from .worker import JudgeOutcome


def judge(job: dict[str, Any]) -> dict[str, str]:
    """`correct` if the generator gives the `answer` to the `entry`-th question `threshold` at least."""
    generator = _generator(job["source"])
    score = generator.score_answer(job["answer"], generator[job["entry"]])
    return {"outcome": JudgeOutcome.CORRECT if score >= job["threshold"] else JudgeOutcome.WRONG}


@lru_cache(maxsize=8)
def _generator(source: str) -> Any:
    told = json.loads(source)
    return reasoning_gym.create_dataset(
        told["dataset"], size=told["size"], seed=told["seed"], **told["arguments"]
    )
