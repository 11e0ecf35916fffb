"""Coverage of the filtered model, against its definition over all words."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.toy_model_strategies import DYCK, DYCK_BASE, DYCK_LENGTH, cases

from toy_lm import Enumerated, MarkovLM, balanced, coverage, filtered_lm, m_projection

PROJECTION = m_projection(filtered_lm(DYCK_BASE, DYCK, DYCK_LENGTH))


@given(cases(), st.sampled_from([0.013, 0.11, 0.53, 0.97, 1.7]))
@settings(max_examples=40)
def test_coverage_is_as_enumerated(case, fraction):
    length, automaton, policy, base = case
    P, A = (Enumerated.of(law, automaton, length) for law in (policy, base))
    assume(A.validity() > 0)
    expected = P.coverage(A, fraction) if P.validity() > 0 else 0.0
    assert coverage(policy, base, automaton, length, fraction=fraction) == pytest.approx(expected, abs=1e-12)


def test_the_dyck_projection_covers_all_but_the_two_rarest_kinds_of_words():
    assert coverage(PROJECTION, DYCK_BASE, DYCK, DYCK_LENGTH) == pytest.approx(0.888065625055, rel=1e-10)
    assert coverage(PROJECTION, DYCK_BASE, DYCK, DYCK_LENGTH, fraction=0.1) > 0.99


def test_the_base_covers_everything_whatever_its_validity():
    # With all of its due a word still counts: nothing is above the base's own law.
    for fraction, share in ((0.5, 1), (1.0, 1), (1.01, 0)):
        found = coverage(DYCK_BASE, DYCK_BASE, DYCK, DYCK_LENGTH, fraction=fraction)
        assert found == pytest.approx(share, abs=1e-14)


def test_a_policy_with_one_valid_word_covers_that_word():
    one = MarkovLM.from_probabilities([1.0, 0.0], [[0.0, 1.0], [1.0, 0.0]])
    share = Enumerated.of(DYCK_BASE, DYCK, 8).filtered().probabilities.max()
    assert coverage(one, DYCK_BASE, DYCK, 8) == pytest.approx(share, rel=1e-12)
    none = MarkovLM.from_probabilities([0.0, 1.0], [[0.5, 0.5], [0.5, 0.5]])
    assert coverage(none, DYCK_BASE, DYCK, 8) == 0


def test_long_words_need_few_prefixes():
    # Catalan(20) = 6564120420 words, but a word's ratio is told by its number of peaks.
    deep = balanced("()", "(", ")", depth=20)
    share = coverage(PROJECTION, DYCK_BASE, deep, 40, at_most=2000)
    assert 0 < share < 1


def test_errors():
    with pytest.raises(ValueError, match="fraction=0"):
        coverage(PROJECTION, DYCK_BASE, DYCK, 8, fraction=0.0)
    with pytest.raises(ValueError, match="base="):
        coverage(PROJECTION, DYCK_BASE, DYCK, 7)
    with pytest.raises(ValueError, match=r"at_most=1 .* undecided"):
        coverage(PROJECTION, DYCK_BASE, DYCK, 8, at_most=1)
    with pytest.raises(ValueError, match=r"policy.batch=\(2,\)"):
        coverage(MarkovLM.random(2, batch=(2,), seed=0), DYCK_BASE, DYCK, 8)
