"""Completions sampled from a model by transformers or vLLM, reproducible for a given seed."""

import hashlib
import importlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from inspect import signature
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoConfig, DynamicCache, GenerationConfig

from dph_theory.support.errors import argument_error

from ..recipe.schema import ModelConfig, Recipe, SamplingConfig
from ..tasks.protocol import Prompt, Task
from .load import LoadedModel, load_tokenizer, source, stop_tokens

LAUNCHED = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""Environment variables by which torchrun informs its processes about one another."""
DRAWN = ("temperature", "top_p", "top_k", "min_p")
"""Sampling settings that do not apply to greedy answers."""


def draw(
    model: Any,
    tokenizer: Any,
    prompts: Sequence[Sequence[int]],
    n: int,
    sampling: SamplingConfig,
    seed: int,
    *,
    greedy: bool,
) -> list[list[int]]:
    """Sample n completions of each prompt with vLLM, from the model's own folder; n rows per prompt.

    vLLM samples the weights in the folder from which the model was loaded. Later changes of the weights have
    no effect, and adapters are refused. Between calls the engine sleeps without device memory. Raises
    ValueError for adapters, or if vllm is not installed.
    """
    if hasattr(model, "peft_config"):
        raise argument_error(
            "sampling.backend", "vllm", "transformers, for a model with adapters; or merge them first"
        )
    spread = sampling.vllm_tensor_parallel
    if spread > 1 and int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise argument_error("sampling.vllm_tensor_parallel", spread, "1 where each process has an engine")
    drawing = {"temperature": 0.0} if greedy else {name: getattr(sampling, name) for name in DRAWN}
    # One random stream per prompt: vLLM seeds a prompt's i-th completion with seed + i.
    seeds = np.random.SeedSequence(seed).generate_state(len(prompts))
    parameters = [
        _vllm().SamplingParams(
            n=n,
            repetition_penalty=sampling.repetition_penalty,
            max_tokens=sampling.max_new_tokens,
            stop_token_ids=stop_tokens(model, tokenizer),
            seed=int(prompt_seed),
            **drawing,
        )
        for prompt_seed in seeds
    ]
    inputs = [{"prompt_token_ids": list(prompt)} for prompt in prompts]
    dtype = str(model.dtype).removeprefix("torch.")
    engine = _engine(model.name_or_path, dtype, sampling.vllm_memory, sampling.vllm_length, spread)
    engine.wake_up()
    try:
        answers = engine.generate(inputs, parameters, use_tqdm=False)
    finally:
        engine.sleep(level=1)
    return [list(output.token_ids) for answer in answers for output in answer.outputs]


@lru_cache(maxsize=1)
def _engine(path: str, dtype: str, memory: float, length: int | None, spread: int) -> Any:
    """Return the cached vLLM engine, or start one."""
    with _alone(all_devices=spread > 1):
        engine = _vllm().LLM(
            model=path,
            dtype=dtype,
            gpu_memory_utilization=memory,
            max_model_len=length,
            tensor_parallel_size=spread,
            generation_config="vllm",
            trust_remote_code=False,
            enable_sleep_mode=True,
        )
    engine.sleep(level=1)
    return engine


@contextmanager
def _alone(*, all_devices: bool) -> Iterator[None]:
    """Set the environment of a stand-alone process that sees only its own GPU, or `all_devices`.

    The engine runs in a child process, which would otherwise read the launch as parts of one engine and use
    the first GPU. Here each process of a launch has a whole engine; processes share out the prompts.
    """
    environment = dict(os.environ)
    named = environment.get("CUDA_VISIBLE_DEVICES", "")
    devices = named.split(",") if named else [str(i) for i in range(torch.cuda.device_count())]
    for name in LAUNCHED:
        os.environ.pop(name, None)
    if devices and not all_devices:
        os.environ["CUDA_VISIBLE_DEVICES"] = devices[int(environment.get("LOCAL_RANK", "0")) % len(devices)]
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(environment)


def _vllm() -> Any:
    try:
        return importlib.import_module("vllm")
    except ModuleNotFoundError as error:
        allowed = "transformers, or install vllm: pip install -e '.[vllm]'"
        raise argument_error("sampling.backend", "vllm", allowed) from error


@dataclass(frozen=True)
class Completion:
    """A sampled answer. `token_ids` includes the end token if it was generated."""

    text: str
    token_ids: tuple[int, ...]
    finished: bool


def prompt_of(example: Prompt, task: Task, chat: bool) -> str | list[dict[str, str]]:
    """Format an example's prompt as TRL does: a text, or messages for the chat template.

    The task's system message precedes a conversation without one. ValueError for a conversation without
    template.
    """
    if example.turns and not chat:
        raise argument_error("model.chat", chat, f"true: the prompt of {example.id!r} is a conversation")
    if not chat:
        return example.prompt
    turns = [dict(turn) for turn in example.turns] or [{"role": "user", "content": example.prompt}]
    own = turns[0]["role"] == "system"
    system = [{"role": "system", "content": task.system}] if task.system and not own else []
    return [*system, *turns]


def prompt_tokens(
    tokenizer: Any, task: Task, examples: Sequence[Prompt], config: ModelConfig
) -> list[list[int]]:
    """Token ids of the examples' prompts, formatted as TRL does."""
    prompts = [prompt_of(example, task, config.chat) for example in examples]
    if not config.chat:
        return [list(tokenizer(prompt)["input_ids"]) for prompt in prompts]
    settings = {"add_generation_prompt": True, "return_dict": True, **config.template}
    return [list(tokenizer.apply_chat_template(prompt, **settings)["input_ids"]) for prompt in prompts]


def given_to(
    initial: LoadedModel, task: Task, examples: Sequence[Prompt], recipe: Recipe
) -> tuple[list[list[int]], int | None, int]:
    """Token ids of the prompts, the model's context length (None: unknown), and the longest answer."""
    tokens = prompt_tokens(initial.tokenizer, task, examples, recipe.model)
    context = getattr(initial.model.config, "max_position_embeddings", None)
    return tokens, context, recipe.sampling.max_new_tokens


def check_room(name: str, prompts: Sequence[Sequence[int]], context: int | None, new: int) -> None:
    """Raise ValueError, with a count, if prompts leave no room for an answer of `new` tokens."""
    lengths = [len(prompt) for prompt in prompts]
    room = max(lengths, default=0) if context is None else context - new
    over = sum(length > room for length in lengths)
    if over:
        allowed = (
            f"at most {room:,} tokens, beside sampling.max_new_tokens={new:,} in the model's context of "
            f"{context:,}; the longest has {max(lengths):,}: allow shorter answers, or leave "
            "them out with task.filter_overlong_prompts=true"
        )
        raise argument_error(f"{name} prompts", f"{over:,} of {len(lengths):,} longer", allowed)


def with_room(recipe: Recipe, task: Task, *, local: bool = False) -> tuple[Task, list[str]]:
    """Remove the prompts that `check_room` refuses if `task.filter_overlong_prompts` is set.

    Returns the task and one sentence per set on the removed prompts. Raises ValueError if a set becomes
    empty.
    """
    where = {**source(recipe.model.path), "local_files_only": local, "trust_remote_code": False}
    context = None
    if recipe.task.filter_overlong_prompts:
        context = getattr(AutoConfig.from_pretrained(**where), "max_position_embeddings", None)
    if context is None:
        return task, []
    tokenizer, room = load_tokenizer(recipe.model, local=local), context - recipe.sampling.max_new_tokens
    fitting, sentences = {}, []
    for name, examples in {"training": task.train, **task.evaluation}.items():
        lengths = map(len, prompt_tokens(tokenizer, task, examples, recipe.model))
        fitting[name] = [example for example, length in zip(examples, lengths, strict=True) if length <= room]
        if left := len(examples) - len(fitting[name]):
            sentences.append(
                f"left out: {left:,} of {len(examples):,} {name} prompts, longer than {room:,} tokens beside "
                f"sampling.max_new_tokens={recipe.sampling.max_new_tokens:,}"
            )
    return replace(task, train=fitting.pop("training"), evaluation=fitting), sentences


def sample(
    model: Any,
    tokenizer: Any,
    prompts: Sequence[Sequence[int]],
    n: int,
    sampling: SamplingConfig,
    seed: int,
    *,
    greedy: bool = False,
) -> list[list[Completion]]:
    """Draw n completions of each prompt (token ids) at the sampling temperature, or one greedy completion.

    The result depends on the arguments alone: the caller's random state is neither used nor changed, and the
    model's own generation settings (a top-k, a repetition penalty) are ignored, except for its end tokens.
    Rows are generated `batch_size` at a time. Raises ValueError for an empty prompt, n < 1, or n > 1 if
    greedy.
    """
    if n < 1 or (greedy and n > 1):
        raise argument_error("n", n, "at least 1, and 1 if greedy")
    if not all(len(prompt) for prompt in prompts):
        raise argument_error("prompts", "an empty one", "at least one token each")
    if sampling.backend == "vllm":
        rows: Iterable[list[int]] = draw(model, tokenizer, prompts, n, sampling, seed, greedy=greedy)
    else:
        rows = _generate(model, tokenizer, [p for p in prompts for _ in range(n)], sampling, seed, greedy)
    ends = stop_tokens(model, tokenizer)
    done = [_completion(tokenizer, row, ends) for row in rows]
    return [done[start : start + n] for start in range(0, len(done), n)]


def _generate(
    model: Any,
    tokenizer: Any,
    prompts: Sequence[Sequence[int]],
    sampling: SamplingConfig,
    seed: int,
    greedy: bool,
) -> Iterator[list[int]]:
    # A min_p of 0 has no effect; None saves a pass over the vocabulary.
    drawn = {name: getattr(sampling, name) for name in DRAWN} | {"min_p": sampling.min_p or None}
    settings = GenerationConfig(
        do_sample=not greedy,
        max_new_tokens=sampling.max_new_tokens,
        repetition_penalty=sampling.repetition_penalty,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=stop_tokens(model, tokenizer),
        **({} if greedy else drawn),
    )
    for batch, start in enumerate(range(0, len(prompts), sampling.batch_size)):
        rows = prompts[start : start + sampling.batch_size]
        ids, mask = padded(rows, "left", model.device)
        with evaluating(model), _settings(model, settings), _seeded(model, seed, batch):
            out = model.generate(input_ids=ids, attention_mask=mask, **_prefilled(model, rows))
        yield from out[:, ids.shape[1] :].tolist()


def _prefilled(model: Any, rows: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Generation arguments with keys and values of all but the last prompt token, once per distinct prompt.

    Empty if no prompt repeats, a prompt is too short, or the cache cannot be repeated.
    """
    different = list(dict.fromkeys(map(tuple, rows)))
    if len(different) == len(rows) or min(map(len, different)) < 2:
        return {}
    ids, mask = padded(different, "left", model.device)
    ids, mask = ids[:, :-1], mask[:, :-1]
    places = (mask.cumsum(-1) - 1).clamp(min=0)
    given = {"attention_mask": mask, "position_ids": places, "use_cache": True, "logits_to_keep": 1}
    # transformers 5.23 and 5.24 name this attribute differently.
    name = "cache" if "cache" in signature(type(model).forward).parameters else "past_key_values"
    cache = getattr(model(input_ids=ids, **given), name)
    if type(cache) is not DynamicCache:
        return {}
    number = {prompt: i for i, prompt in enumerate(different)}
    cache.batch_select_indices(torch.tensor([number[tuple(row)] for row in rows], device=ids.device))
    return {name: cache}


def padded(
    rows: Sequence[Sequence[int]], side: str, device: Any
) -> tuple[Int[Tensor, "rows tokens"], Int[Tensor, "rows tokens"]]:
    """Token ids padded to one tensor on `side` ("left" or "right"), and the mask of real tokens."""
    ids = [torch.tensor(row, dtype=torch.long) for row in rows]
    ones = [torch.ones_like(row) for row in ids]
    tokens, mask = (pad_sequence(part, batch_first=True, padding_side=side) for part in (ids, ones))
    return tokens.to(device), mask.to(device)


def _completion(tokenizer: Any, row: Sequence[int], ends: Sequence[int]) -> Completion:
    end = next((at for at, token in enumerate(row) if token in ends), None)
    ids = tuple(row if end is None else row[: end + 1])
    return Completion(tokenizer.decode(ids, skip_special_tokens=True), ids, end is not None)


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Disable gradients, dropout and checkpointing, and restore the model's mode afterwards."""
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(training)


@contextmanager
def _settings(model: Any, settings: GenerationConfig) -> Iterator[None]:
    """Replace the model's own generation settings, which would fill in unspecified values."""
    own, model.generation_config = model.generation_config, settings
    try:
        yield
    finally:
        model.generation_config = own


@contextmanager
def _seeded(model: Any, seed: int, batch: int) -> Iterator[None]:
    """Set a random state that depends only on the seed and the batch."""
    with torch.random.fork_rng(devices=[model.device] if model.device.type == "cuda" else []):
        torch.manual_seed(derived_seed(seed, batch))
        yield


def derived_seed(seed: int, *path: int | str) -> int:
    """Derive the seed of a named part of a computation; different names give independent seeds."""
    digest = hashlib.sha256(json.dumps([seed, *path]).encode()).digest()
    return int.from_bytes(digest[:7])
