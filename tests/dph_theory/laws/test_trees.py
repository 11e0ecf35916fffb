import numpy as np
import pytest
from support.answer_trees import TWO_TOKENS, TWO_TOKENS_VALID, random_tree

from dph_theory import FORWARD_KL, REVERSE_KL
from dph_theory.laws import (
    answer_probabilities,
    law_divergence,
    law_excess_kl,
    law_validity,
    sequence_law,
    token_law,
    valid_answer_shares,
)
from dph_theory.laws.trees import conditionals


def test_answers_of_two_tokens():
    assert answer_probabilities(TWO_TOKENS) == pytest.approx(np.array([[0.45, 0.05], [0.05, 0.45]]))
    assert law_validity(TWO_TOKENS, TWO_TOKENS_VALID) == pytest.approx(0.5)
    shares = valid_answer_shares(TWO_TOKENS, TWO_TOKENS_VALID)
    assert shares == pytest.approx(np.array([[0.9, 0], [0.1, 0]]))


def test_tables_follow_from_the_answers_they_make():
    base, _ = random_tree(1, 2)
    again = conditionals(answer_probabilities(base), 3, base)
    for one, other in zip(base, again, strict=True):
        assert one == pytest.approx(other, rel=1e-12)


def test_the_chain_rule_gives_the_same_kl():
    base, valid = random_tree(2)
    law = token_law(base, valid, 0.3)
    first = REVERSE_KL(law[0], base[0])
    second = (law[0] * REVERSE_KL(law[1], base[1])).sum()
    third = (law[0][:, None] * law[1] * REVERSE_KL(law[2], base[2])).sum()
    assert law_divergence(law, base) == pytest.approx(first + second + third, rel=1e-12)
    assert law_divergence(law, base, FORWARD_KL) == pytest.approx(law_divergence(base, law), rel=1e-12)


def test_nothing_after_the_end_symbol_counts():
    base, valid = random_tree(3, tokens=3, length=2)
    end = 2
    answers = answer_probabilities(base, end)
    assert answers[end] == pytest.approx([0, 0, base[0][end]])
    changed = [base[0], base[1].copy()]
    changed[1][end] = [0.9, 0.05, 0.05]
    free = valid.copy()
    free[end, :2] = ~free[end, :2]
    for law in (sequence_law, token_law):
        one, other = law(base, valid, 0.4, end=end), law(changed, free, 0.4, end=end)
        assert law_divergence(one, other, end=end) == pytest.approx(0, abs=1e-15)
        assert law_validity(one, valid, end) == pytest.approx(law_validity(other, free, end), rel=1e-14)


def test_excess_kl_is_positive_for_tokens_and_zero_for_sequences():
    base, valid = random_tree(4)
    assert law_excess_kl(sequence_law(base, valid, 0.3), base, valid).excess == pytest.approx(0, abs=1e-14)
    parts = law_excess_kl(token_law(base, valid, 0.3), base, valid)
    assert parts.excess > 1e-3
    assert parts.total == pytest.approx(parts.validity + parts.excess, rel=1e-12)


@pytest.mark.parametrize(
    ("base", "valid", "end", "message"),
    [
        ([], TWO_TOKENS_VALID, None, "a table for each token"),
        ([[0.5, 0.4]], [1, 0], None, "sums to 0.9"),
        ([TWO_TOKENS[0], TWO_TOKENS[0]], TWO_TOKENS_VALID, None, "must end in 2 axes of 2"),
        (TWO_TOKENS, [1, 0], None, r"valid.shape=\(2,\)"),
        (TWO_TOKENS, [[1, 2], [0, 0]], None, "booleans"),
        (TWO_TOKENS, TWO_TOKENS_VALID, 2, "one of the 2 tokens"),
        (TWO_TOKENS, TWO_TOKENS_VALID[None] & np.ones((3, 1, 1), bool), None, "must broadcast"),
    ],
)
def test_bad_input_is_named(base, valid, end, message):
    with pytest.raises(ValueError, match=message):
        token_law(base, valid, np.ones(2), end=end)
