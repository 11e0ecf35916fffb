"""Sampling by vLLM in place of transformers' generate: a thin adapter, loaded only where it is asked for."""

import importlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from dph_theory.support.errors import argument_error

from ..recipe.schema import SamplingConfig

LAUNCHED = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""What torchrun tells its processes of one another."""


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
    adapters, are not seen, so the latter are refused. ValueError says so, and if vllm is not installed.
    """
    if hasattr(model, "peft_config"):
        raise argument_error(
            "sampling.backend", "vllm", "transformers, for a model with adapters; or merge them first"
        )
    vllm = _vllm()
    # One stream of random numbers a prompt; vLLM gives a prompt's i-th completion that of seed + i.
    seeds = np.random.SeedSequence(seed).generate_state(len(prompts))
    parameters = [
        vllm.SamplingParams(
            n=n,
            temperature=0.0 if greedy else sampling.temperature,
            top_p=1.0 if greedy else sampling.top_p,
            top_k=-1,
            max_tokens=sampling.max_new_tokens,
            stop_token_ids=[tokenizer.eos_token_id],
            seed=int(prompt_seed),
        )
        for prompt_seed in seeds
    ]
    wanted = [{"prompt_token_ids": list(prompt)} for prompt in prompts]
    engine = _engine(model.name_or_path, str(model.dtype).removeprefix("torch."))
    answers = engine.generate(wanted, parameters, use_tqdm=False)
    return [list(output.token_ids) for answer in answers for output in answer.outputs]


@lru_cache(maxsize=1)
def _engine(path: str, dtype: str) -> Any:
    """One engine stays loaded: it holds most of the device's memory."""
    with _alone():
        return _vllm().LLM(model=path, dtype=dtype, generation_config="vllm", trust_remote_code=False)


@contextmanager
def _alone() -> Iterator[None]:
    """The environment of a process that was launched by itself, and sees one GPU: its own.

    The engine runs in a process started within. There it would take a launch for parts of one engine, and
    every one the first GPU; so each process of a launch has a whole engine, and data parallelism is the
    sharing out of prompts.
    """
    kept = dict(os.environ)
    named = kept.get("CUDA_VISIBLE_DEVICES", "")
    devices = named.split(",") if named else [str(i) for i in range(torch.cuda.device_count())]
    for name in LAUNCHED:
        os.environ.pop(name, None)
    if devices:
        os.environ["CUDA_VISIBLE_DEVICES"] = devices[int(kept.get("LOCAL_RANK", "0")) % len(devices)]
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(kept)


def _vllm() -> Any:
    try:
        return importlib.import_module("vllm")
    except ModuleNotFoundError as error:
        raise argument_error("sampling.backend", "vllm", "transformers, or install vllm") from error
