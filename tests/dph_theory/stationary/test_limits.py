import numpy as np
import pytest
from support.answer_trees import TWO_TOKENS, TWO_TOKENS_VALID, random_tree

from dph_theory.stationary import (
    filtered_policy,
    locally_filtered,
    policy_divergence,
    token_forward_limit,
    valid_answer_shares,
)


def test_values_of_the_theory():
    local = locally_filtered(TWO_TOKENS, TWO_TOKENS_VALID)
    assert valid_answer_shares(local, TWO_TOKENS_VALID)[0, 0] == pytest.approx(0.5)
    assert policy_divergence(local, TWO_TOKENS) == pytest.approx(1.20397280433, abs=5e-12)
    filtered = filtered_policy(TWO_TOKENS, TWO_TOKENS_VALID)
    assert policy_divergence(filtered, TWO_TOKENS) == pytest.approx(0.693147180560, abs=5e-13)
    third = token_forward_limit(TWO_TOKENS, TWO_TOKENS_VALID)
    assert valid_answer_shares(third, TWO_TOKENS_VALID)[0, 0] == pytest.approx(0.675390529679, abs=5e-13)


def test_dead_prefixes_keep_the_base():
    base, valid = random_tree(5)
    for policy in (locally_filtered(base, valid), token_forward_limit(base, valid)):
        assert policy[2][0, 0] == pytest.approx(base[2][0, 0])
    nothing = np.zeros_like(valid)
    assert policy_divergence(locally_filtered(base, nothing), base) == pytest.approx(0, abs=1e-14)
    assert policy_divergence(token_forward_limit(base, nothing), base) == pytest.approx(0, abs=1e-14)


def test_an_impossible_token_is_not_retained():
    base = [np.array([0.5, 0.5, 0.0]), np.tile([0.5, 0.25, 0.25], (3, 1))]
    valid = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 1]])
    assert locally_filtered(base, valid)[0] == pytest.approx([0, 1, 0])
    assert token_forward_limit(base, valid)[0] == pytest.approx([0, 1, 0])
