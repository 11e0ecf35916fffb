"""Completions drawn from a model, the same for the same seed; by transformers, or by vLLM if asked for."""

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
"""What torchrun lets its processes know of one another."""
DRAWN = ("temperature", "top_p", "top_k", "min_p")
"""Settings of sampling that a greedy answer has none of."""


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
    """Token ids of n completions of each prompt, n rows a prompt, by an engine on the model's own folder.

    The engine samples what lies in the folder that the model was loaded from: weights changed since, and
    adapters, are not seen, so the latter are refused. It sleeps between two calls, without memory on the
    device. ValueError says so, and if vllm is not installed.
    """
    if hasattr(model, "peft_config"):
        raise argument_error(
            "sampling.backend", "vllm", "transformers, for a model with adapters; or merge them first"
        )
    spread = sampling.vllm_tensor_parallel
    if spread > 1 and int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise argument_error("sampling.vllm_tensor_parallel", spread, "1 where each process has an engine")
    drawing = {"temperature": 0.0} if greedy else {name: getattr(sampling, name) for name in DRAWN}
    # One stream of random numbers a prompt; vLLM gives a prompt's i-th completion that of seed + i.
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
    """One engine stays loaded, asleep."""
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
    """The environment of a process that was launched by itself, and sees one GPU, its own, or `all_devices`.

    The engine runs in a process started within. There it would take a launch for parts of one engine, and
    every one the first GPU; so each process of a launch has a whole engine, and data parallelism is the
    sharing out of prompts.
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
    """One sampled answer; `token_ids` run up to and including the end token where it was reached."""

    text: str
    token_ids: tuple[int, ...]
    finished: bool


def prompt_of(example: Prompt, task: Task, chat: bool) -> str | list[dict[str, str]]:
    """An example's prompt as TRL takes it: the text itself, or messages for the chat template.

    The task's system message goes before a conversation that has none. ValueError for one without a template.
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
    """The token ids of the examples' prompts to a model, made as TRL makes them."""
    prompts = [prompt_of(example, task, config.chat) for example in examples]
    if not config.chat:
        return [list(tokenizer(prompt)["input_ids"]) for prompt in prompts]
    settings = {"add_generation_prompt": True, "return_dict": True, **config.template}
    return [list(tokenizer.apply_chat_template(prompt, **settings)["input_ids"]) for prompt in prompts]


def given_to(
    initial: LoadedModel, task: Task, examples: Sequence[Prompt], recipe: Recipe
) -> tuple[list[list[int]], int | None, int]:
    """The tokens of prompts, the context that the model declares, and the most of an answer."""
    tokens = prompt_tokens(initial.tokenizer, task, examples, recipe.model)
    context = getattr(initial.model.config, "max_position_embeddings", None)
    return tokens, context, recipe.sampling.max_new_tokens


def check_room(name: str, prompts: Sequence[Sequence[int]], context: int | None, new: int) -> None:
    """ValueError, with a count, if a set has prompts that leave no room for an answer of `new` tokens."""
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
    """The task without the prompts that `check_room` refuses, and of each set how many these were.

    As it is, unless `task.filter_overlong_prompts` asks for it. ValueError where of a set none is left.
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
    """Draw n completions of each prompt (token ids) at the sampling temperature, or one greedy one.

    A function of the arguments alone: neither the caller's random state nor the model's own generation
    settings (a top-k, a repetition penalty) take part, but for the tokens that it declares as ends; the
    random state is left as it was. Rows are generated `batch_size` at a time. ValueError for an empty prompt,
    n < 1, more than one greedy.
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
    # A min_p of 0 keeps every token; none spares the pass over the vocabulary.
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
    """Keys and values of all but the last token of each row's prompt; of equal prompts computed once.

    Nothing where no prompt occurs twice, where one is too short, or for a cache that cannot be repeated.
    """
    different = list(dict.fromkeys(map(tuple, rows)))
    if len(different) == len(rows) or min(map(len, different)) < 2:
        return {}
    ids, mask = padded(different, "left", model.device)
    ids, mask = ids[:, :-1], mask[:, :-1]
    places = (mask.cumsum(-1) - 1).clamp(min=0)
    given = {"attention_mask": mask, "position_ids": places, "use_cache": True, "logits_to_keep": 1}
    # transformers 5.23 has another name for it than 5.24.
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
    """Ragged token ids as one tensor, and its mask; what stands at padding does not matter and is 0."""
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
    """Without gradient, dropout and checkpointing; the model's mode is put back."""
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(training)


@contextmanager
def _settings(model: Any, settings: GenerationConfig) -> Iterator[None]:
    """These generation settings in place of the model's own, which would fill in whatever is left open."""
    own, model.generation_config = model.generation_config, settings
    try:
        yield
    finally:
        model.generation_config = own


@contextmanager
def _seeded(model: Any, seed: int, batch: int) -> Iterator[None]:
    """A random state that depends on the seed and the batch alone."""
    with torch.random.fork_rng(devices=[model.device] if model.device.type == "cuda" else []):
        torch.manual_seed(derived_seed(seed, batch))
        yield


def derived_seed(seed: int, *path: int | str) -> int:
    """The seed of a piece of a computation, named by numbers and words; other names, independent seeds."""
    digest = hashlib.sha256(json.dumps([seed, *path]).encode()).digest()
    return int.from_bytes(digest[:7])
