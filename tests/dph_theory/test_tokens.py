import numpy as np
import pytest

from dph_theory.divergences import FORWARD_KL, REVERSE_KL
from dph_theory.theorems._token_pairs import (
    BRANCH_AT_FIRST,
    BRANCH_AT_SECOND,
    STRINGS,
    filtered_token_loss,
    possible,
    success_and_failure,
    two_tables,
)
from dph_theory.tokens import on_policy_token_divergence, sequences, token_divergence
from dph_theory.verification.charts import as_floats

FIRST, SECOND = (two_tables(**as_floats(pair)) for pair in (BRANCH_AT_FIRST.parts, BRANCH_AT_SECOND.parts))


def test_success_and_failure_add_up():
    both = success_and_failure(FIRST["pi_tokens"], np.array([[1, 0.5, 0, 1]]))
    assert both[0] == pytest.approx([0.81 + 0.045 + 0.05, 0.045 + 0.05], rel=1e-14)


def test_tokens_without_mass_do_not_count():
    sure, half = np.array([1.0, 0.0]), np.array([0.5, 0.5])
    later, spread = np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([half, half])
    # The second prefix has no mass, and its divergence is infinite.
    assert token_divergence(FORWARD_KL, [half, later], [sure, spread]) == pytest.approx(np.log(2))
    assert on_policy_token_divergence(REVERSE_KL, [sure, spread], [half, later]) == pytest.approx(np.log(2))
    loss, valid = (lambda ratio: -np.log(ratio)), np.array([1, 0, 0, 0])
    # A policy may lose tokens of no correct sequence, and no others.
    assert filtered_token_loss(loss, [sure, spread], [half, spread], valid) == pytest.approx(-np.log(2))
    assert filtered_token_loss(loss, [sure[::-1], spread], [half, spread], valid) == np.inf
    assert filtered_token_loss(loss, [half, spread], [sure, spread], valid) == pytest.approx(np.log(2))


def test_nothing_but_the_end_follows_the_end():
    given = STRINGS.completed(STRINGS(np.random.default_rng(1).random((4, STRINGS.dimension))))
    strings = sequences(given["pi_tokens"])
    assert strings.sum(axis=-1) == pytest.approx(1)
    assert (strings[:, ~possible(3)] == 0).all()
    assert (strings[:, possible(3)] > 0).all()
    assert (possible(3).sum(), possible(2).sum()) == (15, 4)
