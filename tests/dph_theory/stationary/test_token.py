import numpy as np
import pytest
from support.answer_trees import TWO_TOKENS, TWO_TOKENS_VALID, random_tree

from dph_theory import FORWARD_KL, REVERSE_KL, alpha_divergence
from dph_theory.stationary import (
    answer_probabilities,
    policy_divergence,
    policy_excess_kl,
    sequence_policy,
    table_pass_rate,
    token_policy,
    valid_answer_shares,
)
from dph_theory.stationary.token import conditionals


def test_tables_follow_from_the_answers_they_make():
    base, _ = random_tree(1, 2)
    again = conditionals(answer_probabilities(base), 3, base)
    for one, other in zip(base, again, strict=True):
        assert one == pytest.approx(other, rel=1e-12)


def test_nothing_after_the_end_symbol_counts():
    base, valid = random_tree(3, tokens=3, length=2)
    end = 2
    answers = answer_probabilities(base, end)
    assert answers[end] == pytest.approx([0, 0, base[0][end]])
    changed = [base[0], base[1].copy()]
    changed[1][end] = [0.9, 0.05, 0.05]
    free = valid.copy()
    free[end, :2] = ~free[end, :2]
    for policy in (sequence_policy, token_policy):
        one, other = policy(base, valid, 0.4, end=end), policy(changed, free, 0.4, end=end)
        assert policy_divergence(one, other, end=end) == pytest.approx(0, abs=1e-15)
        pass_rate = table_pass_rate(other, free, end)
        assert table_pass_rate(one, valid, end) == pytest.approx(pass_rate, rel=1e-14)


def test_excess_kl_is_positive_for_tokens_and_zero_for_sequences():
    base, valid = random_tree(4)
    whole = policy_excess_kl(sequence_policy(base, valid, 0.3), base, valid)
    assert whole.excess == pytest.approx(0, abs=1e-14)
    parts = policy_excess_kl(token_policy(base, valid, 0.3), base, valid)
    assert parts.excess > 1e-3
    assert parts.total == pytest.approx(parts.pass_rate + parts.excess, rel=1e-12)


@pytest.mark.parametrize(
    ("divergence", "shares"),
    [
        (REVERSE_KL, (0.895654607233, 0.864168590419, 0.584252939844, 0.501109336231)),
        (FORWARD_KL, (0.844889443745, 0.768992625257, 0.711835027064, 0.693294539272)),
    ],
)
def test_values_of_the_theory(divergence, shares):
    policy = token_policy(TWO_TOKENS, TWO_TOKENS_VALID, np.array([1, 0.5, 0.2, 0.1]), divergence)
    first = valid_answer_shares(policy, TWO_TOKENS_VALID)[:, 0, 0]
    assert first == pytest.approx(shares, abs=5e-13)


def test_dead_prefixes_keep_the_base_and_batches_agree():
    base, valid = random_tree(7, 3)
    betas = np.array([0.05, 0.2, 1.0])
    for divergence in (REVERSE_KL, alpha_divergence(0.5)):
        policy = token_policy(base, valid, betas, divergence)
        assert policy[2][:, 0, 0] == pytest.approx(base[2][:, 0, 0], rel=1e-8)
        for i in range(3):
            one = token_policy([t[i] for t in base], valid[i], betas[i], divergence)
            assert policy_divergence([t[i] for t in policy], one) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("divergence", [REVERSE_KL, FORWARD_KL], ids=lambda d: d.name)
def test_answers_of_one_length_have_the_policy_of_sums(divergence):
    base, valid = random_tree(9, 2)
    means, sums = (token_policy(base, valid, 0.3, divergence, per_answer_mean=mean) for mean in (True, False))
    for mine, theirs in zip(means, sums, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-12)


@pytest.mark.parametrize("beta", [1e-12, 1e-15, 1e-16, 1e-17])
def test_a_beta_near_zero_costs_no_digits(beta):
    policy = token_policy(TWO_TOKENS, TWO_TOKENS_VALID, beta, FORWARD_KL)
    # The failures are of the size of beta, and so is what tells one prefix from the other.
    assert policy[0][0] == pytest.approx(0.675390529679, rel=1e-11)
