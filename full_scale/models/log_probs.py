"""Log-probabilities of given completions, in memory that no vocabulary and no batch of rows can exhaust."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from .generation import evaluating, padded
from .load import on_device

BATCH_TOKENS = 16_384
"""Tokens that go through a model at once by default, padding counted."""
SLICE_BYTES = 2**29
"""What the logits of a slice of tokens and vocabulary may take, with what is computed from them."""
_UNSCORED = -100


def sequence_logps(
    model: Any,
    prompts: Sequence[Sequence[int]],
    completions: Sequence[Sequence[int]],
    temperature: float,
    *,
    batch_tokens: int = BATCH_TOKENS,
) -> list[Float[np.ndarray, " tokens"]]:
    """Log pi(token | before) of each completion's tokens at that temperature: a float32 array each.

    Rows of like length go through the model together, as many as make `batch_tokens` tokens (one at least).
    Logits exist for a slice of tokens and of the vocabulary at a time, of at most SLICE_BYTES, and are folded
    into the logarithm of their sum in float32 (TRL's head). Neither the padding nor the other rows of
    a batch change a row but by rounding.
    """
    lengths = [len(before) + len(after) for before, after in zip(prompts, completions, strict=True)]
    log_probs = [np.empty(0, np.float32)] * len(lengths)
    with on_device(model), evaluating(model), _scoring(model, temperature):
        for rows in token_batches(lengths, batch_tokens):
            values = _log_probs(model, [prompts[i] for i in rows], [completions[i] for i in rows])
            for i, row in zip(rows, values, strict=True):
                log_probs[i] = row
    return log_probs


def token_batches(lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """The rows in batches, the longest first, each at most `batch_tokens` wide times high, or of one row."""
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    while order:
        rows = max(1, batch_tokens // max(1, lengths[order[0]]))
        yield order[:rows]
        order = order[rows:]


def _log_probs(
    model: Any, prompts: Sequence[Sequence[int]], completions: Sequence[Sequence[int]]
) -> list[np.ndarray]:
    pairs = list(zip(prompts, completions, strict=True))
    ids, mask = padded([[*before, *after] for before, after in pairs], "right", model.device)
    labels = torch.full_like(ids, _UNSCORED)
    for row, (before, after) in enumerate(pairs):
        scored = slice(len(before), len(before) + len(after))
        labels[row, scored] = ids[row, scored]
    scores = model(input_ids=ids, attention_mask=mask, labels=labels, fused_lm_head=True).log_probs
    values = scores.float().cpu().numpy()
    # Place t of the scores belongs to the token at t + 1.
    return [
        row[len(before) - 1 : len(before) + len(after) - 1]
        for row, (before, after) in zip(values, pairs, strict=True)
    ]


@contextmanager
def _scoring(model: Any, temperature: float) -> Iterator[None]:
    """The model with TRL's head at that temperature and slice; its forward, and TRL's slice, are put back."""
    import trl.trainer.utils as trl_utils  # Seconds, and not before something is scored.

    own, words = vars(model).get("forward"), trl_utils._CHUNKED_LOGPROB_CHUNK_SIZE
    trl_utils.add_fused_lm_head(model, temperature=temperature)
    trl_utils._CHUNKED_LOGPROB_CHUNK_SIZE = min(words, slice_of_words(model.device.type))
    try:
        yield
    finally:
        trl_utils._CHUNKED_LOGPROB_CHUNK_SIZE = words
        if own is None:
            del model.forward
        else:
            model.forward = own


def slice_of_words(device: str) -> int:
    """How much of the vocabulary TRL's head takes at a time, so that SLICE_BYTES hold it.

    By Triton it holds one tensor of the slice; elsewhere three float32 ones beside it.
    """
    from trl.kernels.chunked_logprob import TOKEN_CHUNK_SIZE

    tensors = 1 if device == "cuda" else 4
    return max(1, SLICE_BYTES // (4 * tensors * TOKEN_CHUNK_SIZE))
