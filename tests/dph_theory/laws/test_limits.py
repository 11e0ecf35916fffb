import numpy as np
import pytest
from support.answer_trees import TWO_TOKENS, TWO_TOKENS_VALID, random_tree

from dph_theory import FORWARD_KL, JENSEN_SHANNON, alpha_divergence
from dph_theory.laws import (
    answer_probabilities,
    filtered_law,
    law_divergence,
    law_validity,
    locally_filtered,
    sequence_law,
    token_forward_limit,
    token_law,
    valid_answer_shares,
)


def distance(law, other):
    """Total variation between two laws of answers."""
    return np.abs(answer_probabilities(law) - answer_probabilities(other)).sum() / 2


def test_values_of_the_theory():
    local = locally_filtered(TWO_TOKENS, TWO_TOKENS_VALID)
    assert valid_answer_shares(local, TWO_TOKENS_VALID)[0, 0] == pytest.approx(0.5)
    assert law_divergence(local, TWO_TOKENS) == pytest.approx(1.20397280433, abs=5e-12)
    filtered = filtered_law(TWO_TOKENS, TWO_TOKENS_VALID)
    assert law_divergence(filtered, TWO_TOKENS) == pytest.approx(0.693147180560, abs=5e-13)
    third = token_forward_limit(TWO_TOKENS, TWO_TOKENS_VALID)
    assert valid_answer_shares(third, TWO_TOKENS_VALID)[0, 0] == pytest.approx(0.675390529679, abs=5e-13)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_each_law_reaches_its_limit_at_its_rate(seed):
    base, valid = random_tree(seed)
    local, third = locally_filtered(base, valid), token_forward_limit(base, valid)
    # Exponentially fast: beyond any power of beta.
    assert distance(token_law(base, valid, 0.02), local) < 1e-12
    # Linearly: a tenth of beta, a tenth of the distance.
    far, near = (distance(token_law(base, valid, beta, FORWARD_KL), third) for beta in (1e-4, 1e-5))
    assert 9.5 < far / near < 10.5
    assert distance(sequence_law(base, valid, 0.02), filtered_law(base, valid)) < 1e-12
    assert min(distance(local, third), distance(local, filtered_law(base, valid))) > 1e-3
    for law in (local, third, filtered_law(base, valid)):
        assert law_validity(law, valid) == pytest.approx(1, abs=1e-14)


def test_token_penalties_whose_failures_die_faster_than_beta_filter_locally():
    base, valid = random_tree(3)
    local = locally_filtered(base, valid)
    assert distance(token_law(base, valid, 0.02, JENSEN_SHANNON), local) < 1e-10
    # alpha: failures die as beta^(1/alpha), so the distance does as beta^(1/alpha - 1).
    far, near = (distance(token_law(base, valid, b, alpha_divergence(0.5)), local) for b in (1e-4, 1e-5))
    assert 9.5 < far / near < 10.5
    assert distance(token_law(base, valid, 1e-5, FORWARD_KL), local) > 1e-3


def test_local_filtering_costs_at_least_as_much():
    for seed in range(10):
        base, valid = random_tree(seed)
        local = law_divergence(locally_filtered(base, valid), base)
        assert local >= law_divergence(filtered_law(base, valid), base)


def test_the_lacking_validity_of_the_third_limit():
    base, valid = random_tree(4)
    lacking = [1 - law_validity(token_law(base, valid, b, FORWARD_KL), valid) for b in (1e-6, 1e-7)]
    assert lacking[0] / lacking[1] == pytest.approx(10, rel=1e-4)


def test_dead_prefixes_keep_the_base_and_a_dead_root_is_refused_where_nothing_can_be_filtered():
    base, valid = random_tree(5)
    for law in (locally_filtered(base, valid), token_forward_limit(base, valid)):
        assert law[2][0, 0] == pytest.approx(base[2][0, 0])
    nothing = np.zeros_like(valid)
    assert law_divergence(locally_filtered(base, nothing), base) == pytest.approx(0, abs=1e-14)
    assert law_divergence(token_forward_limit(base, nothing), base) == pytest.approx(0, abs=1e-14)
    with pytest.raises(ValueError, match=r"no mass on valid answers at batch index \(\)"):
        filtered_law(base, nothing)


def test_an_impossible_token_is_not_kept():
    base = [np.array([0.5, 0.5, 0.0]), np.tile([0.5, 0.25, 0.25], (3, 1))]
    valid = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 1]])
    assert locally_filtered(base, valid)[0] == pytest.approx([0, 1, 0])
    assert token_forward_limit(base, valid)[0] == pytest.approx([0, 1, 0])
