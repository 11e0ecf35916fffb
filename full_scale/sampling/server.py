"""Answers from a server with the interface of OpenAI's: vLLM, SGLang, llama.cpp."""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from dph_theory.support.errors import RefusedError

from ..models.generation import DRAWN, Completion, derived_seed, prompt_of
from ..recipe.schema import Recipe
from ..tasks.protocol import Prompt, Task

_SECONDS = 3600.0
"""A reply that takes longer will not come."""
_SHOWN = 300
"""Characters of a server's complaint."""


@dataclass(frozen=True)
class AnsweringServer:
    """A model that a server has, sampled as a recipe says; prompts of a batch are sent side by side.

    Where a server gives fewer answers to a request than it is asked for, it is asked again.
    """

    recipe: Recipe
    task: Task
    url: str

    def answers(self, examples: Sequence[Prompt], n: int, seed: int) -> list[list[Completion]]:
        """n answers to each prompt; RefusedError says why there are none."""
        with ThreadPoolExecutor(len(examples)) as threads:
            seeds = [derived_seed(seed, number) % 2**31 for number in range(len(examples))]
            return [*threads.map(partial(self._of_prompt, n), examples, seeds)]

    def _of_prompt(self, n: int, example: Prompt, seed: int) -> list[Completion]:
        chat, sampling = self.recipe.model.chat, self.recipe.sampling
        question = prompt_of(example, self.task, chat)
        fields: dict[str, Any] = {"model": self.recipe.model.path, "max_tokens": sampling.max_new_tokens}
        fields |= {name: getattr(sampling, name) for name in (*DRAWN, "repetition_penalty")}
        # What servers agree on as no limit; sent, since they have defaults of their own.
        fields |= {"top_k": sampling.top_k or -1, "messages" if chat else "prompt": question}
        answers: list[Completion] = []
        while len(answers) < n:
            fields |= {"n": n - len(answers), "seed": seed + len(answers)}
            for choice in self._choices("chat/completions" if chat else "completions", fields):
                text = (choice["message"]["content"] if chat else choice["text"]) or ""
                answers.append(Completion(text, (), choice.get("finish_reason") == "stop"))
        return answers[:n]

    def _choices(self, path: str, fields: dict[str, Any]) -> list[Any]:
        """The choices of a reply, one at least."""
        base = self.url.rstrip("/").removesuffix("/v1")
        headers = {"Content-Type": "application/json"}
        try:
            request = Request(f"{base}/v1/{path}", json.dumps(fields).encode(), headers)
            with urlopen(request, timeout=_SECONDS) as reply:
                choices = json.load(reply)["choices"]
            if not choices:
                raise ValueError("a reply without choices")
        except HTTPError as error:
            with error:
                reason = error.read().decode(errors="replace")[:_SHOWN]
            raise self._refused(f"{error.code} {error.reason}: {reason}") from error
        except (OSError, HTTPException, ValueError, LookupError, TypeError) as error:
            raise self._refused(f"{type(error).__name__}: {error}") from error
        return list(choices)

    def _refused(self, reason: str) -> RefusedError:
        note = "finished batches of prompts are kept, and the same command goes on from there"
        return RefusedError(f"server={self.url!r} gave no answers: {reason}; {note}")
