import numpy as np
import pytest
import torch
import trl.trainer.utils as trl_utils
from hypothesis import given
from hypothesis import strategies as st
from support.rule_task import loaded
from support.tiny_llama import plain_log_probs, tiny_llama
from torch.utils._python_dispatch import TorchDispatchMode

from full_scale.models import log_probs
from full_scale.models.log_probs import sequence_logps, token_batches

PROMPTS = [[3], [4, 5, 6], [7, 8], [9, 10, 3, 4]]
COMPLETIONS = [[11, 12, 1], [13], [14, 15, 16, 17, 1], [18, 19]]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return loaded(tiny_llama(tmp_path_factory.mktemp("llama"), hidden=16, scale=2.0)).model


@pytest.mark.parametrize(("temperature", "batch_tokens"), [(1.0, 1), (0.5, 14), (1.0, 1000)])
def test_log_probabilities_are_those_of_a_plain_forward(model, temperature, batch_tokens):
    model.train()
    found = sequence_logps(model, PROMPTS, COMPLETIONS, temperature, batch_tokens=batch_tokens)
    assert model.training
    assert "forward" not in vars(model)
    for prompt, completion, row in zip(PROMPTS, COMPLETIONS, found, strict=True):
        with torch.no_grad():
            expected = plain_log_probs(model.eval(), prompt, completion, temperature)
        assert row.dtype == np.float32
        np.testing.assert_allclose(row, expected.numpy(), atol=2e-6)
    assert sequence_logps(model, [], [], 1.0) == []


class Largest(TorchDispatchMode):
    """The most entries of any tensor that an operation makes."""

    entries = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        # A buffer holds nothing yet, and a view nothing of its own.
        if torch.is_tensor(made) and not any(name in str(func) for name in ("empty", "slice")):
            self.entries = max(self.entries, made.numel())
        return made


def test_no_tensor_holds_the_vocabulary_for_all_tokens(tmp_path, monkeypatch):
    """A slice of it is bounded in tokens by TRL, in bytes by us, and changes rounding alone."""
    wide = loaded(tiny_llama(tmp_path, hidden=16, layers=1, words=[f"w{i}" for i in range(800)])).model
    texts = [[3 + i % 7 for i in range(20)] for _ in range(4)]
    whole, own = sequence_logps(wide, texts, texts, 1.0), trl_utils._CHUNKED_LOGPROB_CHUNK_SIZE
    with monkeypatch.context() as patch, Largest() as seen:
        # Four float32 tensors of 4096 tokens and 128 words.
        patch.setattr(log_probs, "SLICE_BYTES", 4 * 4 * 4096 * 128)
        sliced = sequence_logps(wide, texts, texts, 1.0)
    assert seen.entries <= 4 * 40 * 128 < 4 * 40 * wide.config.vocab_size / 6
    np.testing.assert_allclose(np.array(whole), np.array(sliced), atol=2e-6)
    assert own == trl_utils._CHUNKED_LOGPROB_CHUNK_SIZE
    monkeypatch.setattr("trl.kernels.chunked_logprob.TOKEN_CHUNK_SIZE", 8)
    with Largest() as seen:
        sequence_logps(wide, texts, texts, 1.0)
    assert seen.entries <= max(8 * wide.config.vocab_size, wide.lm_head.weight.numel())


@given(st.lists(st.integers(0, 50), max_size=30), st.integers(1, 120))
def test_batches_hold_every_row_once_within_the_limit(lengths, limit):
    batches = list(token_batches(lengths, limit))
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    assert all(len(b) == 1 or len(b) * max(lengths[i] for i in b) <= limit for b in batches)
