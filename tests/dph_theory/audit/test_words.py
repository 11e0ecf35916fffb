import pytest

from dph_theory.audit.report import Match
from dph_theory.audit.words import both_words, match_words


@pytest.mark.parametrize(
    ("match", "words"),
    [
        (Match("zero", exact=True), "zero"),
        (Match("failed", exact=False), "-"),
        (Match("reverse KL", exact=True, constant=1.0), "reverse KL"),
        (Match("reverse KL", exact=True, constant=2.0, per_token=True), "2 times reverse KL, per token"),
        (Match("reverse KL", exact=False, bias=(-0.1, 0.5)), "biased; nearest reverse KL (-10% to +50%)"),
        (Match("entropy", exact=False, angle=12.3), "none; nearest entropy (12 degrees)"),
        (Match("none", exact=False), "none"),
    ],
)
def test_matches_in_words(match, words):
    assert match_words(match) == words


def test_sequences_are_told_where_they_differ_from_outcomes():
    one, sum_ = Match("KL", exact=True, constant=1.0), Match("token sum of KL", exact=True, constant=1.0)
    assert both_words(one, one) == "KL"
    assert both_words(one, sum_) == "KL; on sequences: token sum of KL"
    # On sequences of one token only: the same quantity, but no longer exactly.
    near = Match("KL", exact=False, angle=3.0)
    assert both_words(one, near) == "KL; on sequences: none; nearest KL (3 degrees)"
