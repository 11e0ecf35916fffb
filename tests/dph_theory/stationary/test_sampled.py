import numpy as np
import pytest
from support.answer_trees import TWO_TOKENS, TWO_TOKENS_VALID, random_tree

from dph_theory.stationary import (
    best_beta,
    filtered_policy,
    masked_policy,
    policy_after_resets,
    policy_at_temperature,
    sequence_policy,
    tempered,
    token_policy,
    truncated,
    valid_answer_shares,
)

ANSWERS, RIGHT = [[0.15, 0.1, 0.05, 0.4, 0.3]], [1, 1, 1, 0, 0]
FINISHED = [1, 1, 1, 1, 0]


def assert_same(policy, other, **tolerance):
    for mine, theirs in zip(policy, other, strict=True):
        np.testing.assert_allclose(mine, theirs, **tolerance)


@pytest.mark.parametrize(("temperature", "first"), [(0.6, 0.842269), (1.0, 0.872444), (1.5, 0.880190)])
def test_on_a_tree_a_temperature_is_no_other_beta(temperature, first):
    found = policy_at_temperature(TWO_TOKENS, TWO_TOKENS_VALID, 0.3, temperature)
    assert found[0][0] == pytest.approx(first, abs=5e-7)


@pytest.mark.parametrize(("temperature", "share"), [(0.5, 0.7162), (1.0, 0.75), (1.5, 0.7704)])
def test_as_beta_falls_a_temperature_leaves_another_model_than_the_filtered(temperature, share):
    base = [np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.3, 0.7]])]
    found = policy_at_temperature(base, TWO_TOKENS_VALID, 0.01, temperature)
    assert valid_answer_shares(found, TWO_TOKENS_VALID)[0, 0] == pytest.approx(share, abs=5e-5)


def test_a_temperature_goes_with_any_penalty():
    base, valid = random_tree(4)
    hot = policy_at_temperature(base, valid, 0.5, 1.3, solver=token_policy)
    assert_same(tempered(hot, 1.3), token_policy(tempered(base, 1.3), valid, 0.5), atol=1e-12)


@pytest.mark.parametrize(("settings", "kept"), [
    ({}, [0.15, 0.1, 0.05, 0.4, 0.3]), ({"top_p": 0.7}, [0, 0, 0, 4 / 7, 3 / 7]),
    ({"top_p": 0.71}, [0.15 / 0.85, 0, 0, 0.4 / 0.85, 0.3 / 0.85]), ({"top_p": 1e-300}, [0, 0, 0, 1, 0]),
    ({"top_k": 1}, [0, 0, 0, 1, 0]), ({"min_p": 0.3}, [0.15 / 0.85, 0, 0, 0.4 / 0.85, 0.3 / 0.85]),
    # top_p is of what top_k left.
    ({"top_k": 2, "top_p": 0.5}, [0, 0, 0, 1, 0]),
])  # fmt: skip
def test_a_truncated_sampler_keeps_the_likeliest(settings, kept):
    assert_same(truncated(ANSWERS, **settings), [kept], atol=1e-12)


def test_many_resets_are_a_smaller_beta_where_the_kl_is_in_the_reward():
    base, valid = random_tree(2)
    assert_same(policy_after_resets(base, valid, 2.0, 5), sequence_policy(base, valid, 0.4), atol=1e-12)
    mixed = policy_after_resets(ANSWERS, RIGHT, 2.0, 5, mixup=0.3)
    assert_same(mixed, sequence_policy(ANSWERS, RIGHT, 2 / 2.2), atol=1e-12)


def test_many_resets_of_a_token_penalty_select_the_filtered_model():
    def share(rounds):
        policy = policy_after_resets(TWO_TOKENS, TWO_TOKENS_VALID, rounds / 10, rounds, solver=token_policy)
        return float(valid_answer_shares(policy, TWO_TOKENS_VALID)[0, 0])

    assert [*map(share, (1, 10, 100))] == pytest.approx([0.501109, 0.857831, 0.896344], abs=1e-6)
    filtered = filtered_policy(TWO_TOKENS, TWO_TOKENS_VALID)
    assert valid_answer_shares(filtered, TWO_TOKENS_VALID)[0, 0] == pytest.approx(0.9)


def test_masking_leaves_truncation_odds_of_its_own():
    base, right = [0.1, 0.05, 0.3, 0.25, 0.3], [1, 1, 0, 0, 0]
    policy = masked_policy(base, right, FINISHED, 0.25)
    assert (1 - policy[-1]) / policy[-1] == pytest.approx(3.94264, abs=5e-6)
    finished = np.array(base[:4]) / 0.7
    (within,) = sequence_policy([finished], right[:4], 0.25)
    np.testing.assert_allclose(policy[:4] / policy[:4].sum(), within, atol=1e-12)


def test_with_the_mean_of_all_answers_masking_can_make_truncation_grow():
    policy = masked_policy([0.1, 0.05, 0.3, 0.25, 0.3], [1, 1, 0, 0, 0], FINISHED, 0.25, in_loss=True)
    rate = policy[:2].sum()
    assert rate == pytest.approx(0.15 * np.exp((1 - rate) / 0.25))
    assert policy[-1] > 0.3


def test_the_best_beta_under_hacks():
    # That it is the best, and what it reaches, `samplers.best_beta` in the registry shows.
    assert best_beta(0.2, 0.001, 0.05, 0.1) == pytest.approx(0.107668, abs=5e-7)
    assert best_beta(0.2, 0.0, 0.05, 0.1) == 0
    assert best_beta(0.2, 0.5, 0.05, 0.9) == np.inf
