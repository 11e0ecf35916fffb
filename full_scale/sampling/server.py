"""Answers from a server with the interface of OpenAI's: vLLM, SGLang, llama.cpp."""

import json
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from http.client import HTTPException
from threading import Thread
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from dph_theory.support.errors import RefusedError
from dph_theory.support.rows import parsed_json

from ..models.generation import DRAWN, Completion, derived_seed, prompt_of
from ..recipe.schema import Recipe
from ..tasks.protocol import Prompt, Task

_SECONDS, _BYTES = 3600.0, 2**30
"""A reply that takes longer, or is larger, is no answer."""
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
        """Request n answers to each prompt, a list per prompt; RefusedError with the server's reason."""
        drawn: list[list[Completion]] = [[] for _ in examples]
        errors: list[BaseException] = []

        def answer(number: int) -> None:
            try:
                drawn[number] = self._of_prompt(n, examples[number], derived_seed(seed, number) % 2**31)
            except BaseException as error:
                errors.append(error)

        # Daemons: an interruption does not wait for a slow server.
        threads = [Thread(target=answer, args=(number,), daemon=True) for number in range(len(examples))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        return drawn

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
                answers.append(self._completion(choice, chat))
        return answers[:n]

    def _completion(self, choice: Any, chat: bool) -> Completion:
        """Completion from one choice of a reply; RefusedError unless it has text or was cut off."""
        try:
            text = choice["message"]["content"] if chat else choice["text"]
            ended = choice.get("finish_reason")
        except (LookupError, TypeError, AttributeError) as error:
            raise self._refused(f"a choice without text: {_shown(choice)}") from error
        if text is None and ended == "length":
            text = ""
        if not isinstance(text, str):
            raise self._refused(f"an answer that is no text: {_shown(choice)}")
        return Completion(text, (), ended == "stop")

    def _choices(self, path: str, fields: dict[str, Any]) -> list[Any]:
        """Choices (at least one) of the server's reply to a request; RefusedError without any."""
        base = self.url.rstrip("/").removesuffix("/v1")
        headers = {"Content-Type": "application/json"}
        try:
            body = _reply(Request(f"{base}/v1/{path}", json.dumps(fields).encode(), headers))
        except (OSError, HTTPException, ValueError) as error:
            raise self._refused(f"{type(error).__name__}: {error}") from error
        try:
            received = parsed_json(body)
        except ValueError as error:
            shown = body[:_SHOWN].decode(errors="replace")
            raise self._refused(f"a reply that {error}: {shown}") from error
        choices = received.get("choices") if isinstance(received, dict) else None
        if not isinstance(choices, list) or not choices:
            raise self._refused(f"a reply without choices: {_shown(received)}")
        return list(choices)

    def _refused(self, reason: str) -> RefusedError:
        note = "finished batches of prompts are kept, and the same command goes on from there"
        return RefusedError(f"server={self.url!r} gave no answers: {reason}; {note}")


def _reply(request: Request) -> bytes:
    """Body of a reply; OSError if it is too long, or takes longer than _SECONDS from the first header."""
    reply: Future[bytes] = Future()

    def receive() -> None:
        try:
            with urlopen(request, timeout=_SECONDS) as response:
                reply.set_result(response.read(_BYTES + 1))
        except HTTPError as error:
            with error:
                words = error.read(_SHOWN).decode(errors="replace")
            reply.set_exception(OSError(f"{error.code} {error.reason}: {words}"))
        except BaseException as error:
            reply.set_exception(error)

    # A socket's own time limit begins anew with every byte, also of a header.
    Thread(target=receive, daemon=True).start()
    try:
        body = reply.result(_SECONDS)
    except TimeoutError as error:
        raise TimeoutError(f"no whole reply in {_SECONDS:g} s") from error
    if len(body) > _BYTES:
        raise OSError(f"a reply of more than {_BYTES:,} bytes")
    return body


def _shown(value: Any) -> str:
    """Beginning of a reply as text, for an error message."""
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
