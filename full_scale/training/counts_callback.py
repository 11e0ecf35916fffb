"""Counts of a fixed set of prompts along any training of transformers or TRL, for `dph compare`.

    callback = CountsCallback(prompts, is_correct, n=32, every=50, folder="counts")
    trainer = GRPOTrainer(..., callbacks=[callback])

Afterwards `dph compare counts/step0.jsonl counts/step50.jsonl` shows the effect of the first 50 steps.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from dph_theory.checkpoints.counts import MOST_ANSWERS
from dph_theory.support.errors import argument_error
from dph_theory.support.files import write_text

from ..models.generation import derived_seed, sample
from ..recipe.schema import SamplingConfig
from ..tasks.protocol import is_verdict

Prompt = str | Sequence[Mapping[str, str]]  # A text, or messages for the tokenizer's chat template.


class CountsCallback(TrainerCallback):
    """Writes {"id", "n", "c"} of each prompt to folder/stepN.jsonl: for the base, and every `every` steps.

    `prompts` by id; `verifier` maps a prompt and an answer's text to correctness; `n` answers to each are
    drawn at temperature 1 in evaluation mode, of at most `max_new_tokens`, `batch_size` at a time, by random
    numbers of `seed` and the step only: the training's own are unaffected. Files are written atomically; an
    existing file, of a resumed run, is left alone. Only the first process counts, so the model must be
    complete on it: ValueError for FSDP or DeepSpeed, and for numbers below 1.
    """

    def __init__(
        self,
        prompts: Mapping[str, Prompt],
        verifier: Callable[[Prompt, str], bool],
        n: int,
        every: int,
        folder: str | Path,
        *,
        max_new_tokens: int = 512,
        batch_size: int = 64,
        seed: int = 0,
    ) -> None:
        if not prompts:
            raise argument_error("prompts", prompts, "at least one, by id")
        if not 1 <= n <= MOST_ANSWERS:
            raise argument_error("n", n, f"from 1 to {MOST_ANSWERS:,} answers to each prompt")
        if every < 1:
            raise argument_error("every", every, "a whole number of steps, at least 1")
        self.prompts, self.verifier, self.n, self.every = dict(prompts), verifier, n, every
        self.folder, self.seed = Path(folder), seed
        self.sampling = SamplingConfig(max_new_tokens=max_new_tokens, batch_size=batch_size)

    def on_train_begin(self, args: Any, state: Any, control: Any, **objects: Any) -> None:
        """Count the base, unless the run is resumed."""
        for name in ("fsdp", "deepspeed"):
            if getattr(args, name, None):
                raise argument_error(name, getattr(args, name), "none: one process counts, with all weights")
        if state.global_step == 0:
            self._count(state, **objects)

    def on_step_end(self, args: Any, state: Any, control: Any, **objects: Any) -> None:
        """Count correct answers after every `every` steps."""
        if state.global_step % self.every == 0:
            self._count(state, **objects)

    def _count(self, state: Any, *, model: Any, processing_class: Any, **_: Any) -> None:
        path = self.folder / f"step{state.global_step}.jsonl"
        if path.is_file() or not state.is_world_process_zero:
            return
        tokens = [self._tokens(processing_class, prompt) for prompt in self.prompts.values()]
        seed = derived_seed(self.seed, "counts", state.global_step)
        answers = sample(model, processing_class, tokens, self.n, self.sampling, seed)
        rows = []
        for (name, prompt), drawn in zip(self.prompts.items(), answers, strict=True):
            verdicts = [self.verifier(prompt, answer.text) for answer in drawn]
            if wrong := [verdict for verdict in verdicts if not is_verdict(verdict)]:
                raise argument_error("verifier", wrong[0], "true or false of each answer")
            rows.append(json.dumps({"id": name, "n": self.n, "c": int(sum(verdicts))}))
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(path, "\n".join(rows) + "\n")

    @staticmethod
    def _tokens(tokenizer: Any, prompt: Prompt) -> list[int]:
        if isinstance(prompt, str):
            return list(tokenizer(prompt)["input_ids"])
        messages = [dict(message) for message in prompt]
        return list(
            tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=True)["input_ids"]
        )
