import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dph_theory.finite_training.answers import BASELINES, FORMS, STORED, answer_tokens, reward_less, update

TOKENS, LENGTH, END = 3, 2, 2


def log_tables(rng):
    tables = [rng.dirichlet(np.ones(TOKENS), size=TOKENS**t).reshape(*[TOKENS] * (t + 1)) for t in (0, 1)]
    return [np.log(table) for table in tables], tables


def gathered(tokens, tables):
    flat = np.concatenate([table.ravel() for table in tables])
    return np.where(tokens.counted, flat[tokens.entries], 0.0)


def test_every_answer_stands_once_and_an_ended_one_is_padded():
    tokens = answer_tokens(TOKENS, LENGTH, END)
    assert len(tokens.answers) == 1 + 2 * 3
    assert tokens.lengths.tolist() == [2] * 6 + [1]
    assert tokens.answers[-1].tolist() == [END, END]
    assert len(answer_tokens(TOKENS, 3, None).answers) == 27
    table = np.arange(9).reshape(3, 3)
    assert tokens.per_answer(table).tolist() == [0, 1, 2, 3, 4, 5, 8]


@pytest.mark.parametrize("form", [form for form in FORMS if form not in STORED])
@given(seed=st.integers(0, 1000), baseline=st.sampled_from(sorted(BASELINES)))
def test_tensors_and_arrays_give_one_update(form, seed, baseline):
    rng = np.random.default_rng(seed)
    tokens = answer_tokens(TOKENS, LENGTH, END)
    rows = [gathered(tokens, log_tables(rng)[0]) for _ in range(2)]
    verdicts = rng.integers(0, 2, len(tokens.answers)).astype(float)
    settings = {"form": form, "beta": 0.3, "advantage": reward_less(baseline)}
    weight = 1 / tokens.lengths
    found = update(np, *rows, verdicts, **settings, weight=weight)
    tensors = update(
        torch, *map(torch.tensor, rows), torch.tensor(verdicts), **settings, weight=torch.tensor(weight)
    )
    for one, other in zip(found, tensors, strict=True):
        np.testing.assert_allclose(one, other.numpy(), rtol=1e-12, atol=1e-14)


def objective(logits, log_base, tokens, verdicts, beta, end=END):
    """E v - beta KL(pi || base) of whole answers, the logits those of every prefix."""
    parts = np.split(logits, [TOKENS])
    tables = [part.reshape(*[TOKENS] * (t + 1)) for t, part in enumerate(parts)]
    logs = [table - np.log(np.exp(table).sum(axis=-1, keepdims=True)) for table in tables]
    rows = gathered(tokens, logs)
    p = np.exp(rows.sum(axis=1))
    return (p * (verdicts - beta * (rows - log_base).sum(axis=1))).sum()


@pytest.mark.parametrize("form", ["sequence_kl", "future_kl"])
def test_the_update_is_the_slope_of_the_objective(form):
    rng = np.random.default_rng(0)
    tokens = answer_tokens(TOKENS, LENGTH, END)
    log_base, (logs, _) = gathered(tokens, log_tables(rng)[0]), log_tables(rng)
    verdicts = (tokens.answers[:, -1] == 0).astype(float)
    flat = np.concatenate([table.ravel() for table in logs])
    setting = {"form": form, "beta": 0.3, "advantage": reward_less("mean")}
    p, c = update(np, gathered(tokens, logs), log_base, verdicts, **setting)
    weights = np.bincount(tokens.entries.ravel(), (p[:, None] * c * tokens.counted).ravel(), len(flat))
    parts = [part.reshape(table.shape) for part, table in zip(np.split(weights, [3]), logs, strict=True)]
    slopes = [
        part - np.exp(table) * part.sum(axis=-1, keepdims=True)
        for part, table in zip(parts, logs, strict=True)
    ]
    found = np.concatenate([slope.ravel() for slope in slopes])

    def at(logits):
        return objective(logits, log_base, tokens, verdicts, 0.3)

    expected = [(at(flat + row) - at(flat - row)) / 2e-6 for row in 1e-6 * np.eye(len(flat))]
    np.testing.assert_allclose(found, expected, atol=1e-8)
