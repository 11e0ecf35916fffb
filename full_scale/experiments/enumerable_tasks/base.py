"""Base model of an enumerable task: a small Llama fitted to given next-token tables, and its own tables."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor
from transformers import LlamaForCausalLM

from ...models.generation import evaluating
from ...tasks.llama import random_llama
from .exact import Tables
from .tasks import EnumerableTask, check_size


@dataclass(frozen=True)
class LlamaFit:
    """Sizes of the Llama, and the length of its fit by Adam."""

    hidden: int = 64
    layers: int = 2
    heads: int = 2
    steps: int = 500
    learning_rate: float = 3e-3
    seed: int = 0


FIT = LlamaFit()


def build_base(task: EnumerableTask, folder: Path, fit: LlamaFit = FIT) -> Path:
    """Folder of a Llama whose next-token tables approximate the task's; built if missing.

    Training is compared with the fitted model's own tables, so the fit need not be close.
    """
    path = folder / f"{task.name}-{_digest(task.base, fit)}"
    if not (path / "config.json").is_file():
        model = _llama(task, fit)
        fit_tables(model, task, task.base, fit)
        save(model, task, path)
    return path


def save(model: LlamaForCausalLM, task: EnumerableTask, path: Path) -> None:
    """Save model and tokeniser as a folder, atomically: another process may have saved it meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=path.parent) as part:
        task.tokenizer().save_pretrained(part)
        model.save_pretrained(part)
        if not path.exists():
            Path(part).rename(path)
            Path(part).mkdir()


def fit_tables(
    model: LlamaForCausalLM, task: EnumerableTask, tables: Sequence[np.ndarray], fit: LlamaFit
) -> None:
    """Fit the model's next-token log-probabilities to `tables` by Adam on squared errors, in place."""
    targets = [torch.from_numpy(np.log(table)).float() for table in tables]
    counted = [torch.from_numpy(task.before_the_end(t)).float() for t in range(task.length)]
    rows = longest_prefixes(task.prompt_ids, task.vocabulary, task.length)
    optimizer = torch.optim.Adam(model.parameters(), fit.learning_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / fit.steps)
    model.train()
    for _ in range(fit.steps):
        log_probs = next_token_log_probs(model, rows, len(task.base[0]), task.vocabulary, task.length)
        errors = [
            ((table - target).square().mean(dim=-1) * counts).sum() / counts.sum() / len(target)
            for table, target, counts in zip(log_probs, targets, counted, strict=True)
        ]
        optimizer.zero_grad()
        torch.stack(errors).sum().backward()
        optimizer.step()
        schedule.step()
    model.eval()


def _llama(task: EnumerableTask, fit: LlamaFit) -> LlamaForCausalLM:
    return random_llama(
        fit.seed,
        vocabulary=task.vocabulary,
        hidden=fit.hidden,
        layers=fit.layers,
        heads=fit.heads,
        end=task.end,
        # A padding token would have no embedding, and the end symbol begins every text.
        pad_token_id=None,
        intermediate_size=2 * fit.hidden,
        max_position_embeddings=32,
        tie_word_embeddings=False,
    )


def _digest(tables: Sequence[np.ndarray], fit: LlamaFit) -> str:
    content = hashlib.sha256(repr(sorted(asdict(fit).items())).encode())
    for table in tables:
        content.update(np.ascontiguousarray(table, dtype=float).tobytes())
    return content.hexdigest()[:12]


def longest_prefixes(prompts: np.ndarray, vocabulary: int, length: int) -> Int[Tensor, "rows tokens"]:
    """All texts, each followed by all length-1 tokens: (texts * V^(length-1), prompt tokens + length - 1).

    `prompts` is (texts, prompt tokens). Raises ValueError if there are too many answers to enumerate.
    """
    check_size(len(prompts), vocabulary, length)
    prefixes = np.indices((vocabulary,) * (length - 1)).reshape(length - 1, vocabulary ** (length - 1)).T
    rows = [np.broadcast_to(text, (len(prefixes), len(text))) for text in prompts]
    pairs = [np.concatenate([row, prefixes], axis=1) for row in rows]
    return torch.from_numpy(np.concatenate(pairs)).long()


def next_token_log_probs(
    model: Any, rows: Int[Tensor, "rows tokens"], texts: int, vocabulary: int, length: int
) -> list[Tensor]:
    """Log-probabilities of each token given the earlier ones: table t has shape (texts, V, ..., V).

    `rows` are the `longest_prefixes`; one causal pass also gives the tables of shorter prefixes.
    """
    logits = model(input_ids=rows).logits[:, rows.shape[1] - length :].float()
    log_probs = logits.log_softmax(dim=-1).unflatten(0, (texts, *[vocabulary] * (length - 1)))
    return [log_probs[(slice(None),) * (t + 1) + (0,) * (length - 1 - t) + (t,)] for t in range(length)]


def next_token_tables(model: Any, task: EnumerableTask) -> Tables:
    """Next-token tables of the model on a task's texts, float64; the model is unchanged."""
    rows = longest_prefixes(task.prompt_ids, task.vocabulary, task.length)
    with evaluating(model):
        log_probs = next_token_log_probs(model, rows, len(task.prompt_ids), task.vocabulary, task.length)
    tables = [table.double().exp().numpy() for table in log_probs]
    return [table / table.sum(axis=-1, keepdims=True) for table in tables]
