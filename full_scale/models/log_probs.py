"""Log-probabilities of given completions, with memory bounded for any vocabulary and number of rows."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from .generation import evaluating, padded
from .load import on_device

BATCH_TOKENS = 16_384
"""Default number of tokens, including padding, in one forward pass."""
SLICE_BYTES = 2**29
"""Largest memory, in bytes, of the logits of a slice and of the values computed from them."""
_UNSCORED = -100


def sequence_logps(
    model: Any,
    prompts: Sequence[Sequence[int]],
    completions: Sequence[Sequence[int]],
    temperature: float,
    *,
    batch_tokens: int = BATCH_TOKENS,
) -> list[Float[np.ndarray, " tokens"]]:
    """Log pi(token | prefix) of each completion's tokens at a temperature, one float32 array per completion.

    Rows of similar length share a forward pass of up to `batch_tokens` tokens (at least one row). Logits
    exist for one slice of tokens and vocabulary at a time, of at most SLICE_BYTES, and are reduced to their
    logsumexp in float32 (TRL's head). Padding and the other rows of a batch change a row only by rounding.
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
    """Yield indices of rows in batches of at most `batch_tokens` with padding (or one row), longest first."""
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
    # Score t belongs to the token at t + 1.
    return [
        row[len(before) - 1 : len(before) + len(after) - 1]
        for row, (before, after) in zip(values, pairs, strict=True)
    ]


@contextmanager
def _scoring(model: Any, temperature: float) -> Iterator[None]:
    """Give the model TRL's scoring head at this temperature, within the block."""
    import trl.trainer.utils as trl_utils  # The import takes seconds; only scoring needs it.

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
    """Number of vocabulary entries that TRL's head may process at a time within SLICE_BYTES.

    Triton allocates one tensor of the slice; other devices need three more float32 tensors.
    """
    from trl.kernels.chunked_logprob import TOKEN_CHUNK_SIZE

    tensors = 1 if device == "cuda" else 4
    return max(1, SLICE_BYTES // (4 * tensors * TOKEN_CHUNK_SIZE))
