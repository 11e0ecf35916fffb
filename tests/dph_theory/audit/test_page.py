from pathlib import Path

import pytest

from dph_theory.audit.catalogue import CATALOGUE, audit_catalogue
from dph_theory.audit.page import both_words, match_words, page
from dph_theory.audit.report import Match
from dph_theory.audit.trainers import TRAINERS, audit_trainers

COMMITTED = Path(__file__).parents[3] / "docs" / "what-does-your-kl-do.md"


@pytest.fixture(scope="module")
def text():
    return COMMITTED.read_text()


@pytest.mark.slow
def test_the_committed_page_is_what_the_command_writes(text):
    made = page(audit_catalogue(), audit_trainers())
    assert text == made, "run: dph audit --catalogue --page docs/what-does-your-kl-do.md"


def test_every_form_has_a_row_and_a_section(text):
    table = [line for line in text.split("## The table")[1].splitlines() if line.startswith("| ")]
    assert len(table) == len(CATALOGUE) + 2
    assert all(line.replace(r"\|", "").count("|") == 11 for line in table)
    for form in CATALOGUE:
        assert f"`{form.formula}`" in text
    assert text.count("\n> ") == len(CATALOGUE)


def test_it_opens_with_the_trainers(text):
    first = text.split("## How")[0]
    assert first.splitlines()[2] == "## Find your trainer"
    table = [line for line in first.splitlines() if line.startswith("| ")]
    assert len(table) == len(TRAINERS) + 2
    assert all(line.replace(r"\|", "").count("|") == 13 for line in table)


def test_the_surprises_are_listed(text):
    assert "The gradient is zero in expectation: k1 (policy)." in text
    assert "The value estimates one divergence, the gradient descends another: k3 (policy)." in text
    assert "Rehearses the filtered model p\\_\\*: forward KL, printed (filtered)." in text


def test_the_papers_are_named(text):
    papers = text.split("## Papers")[1]
    assert "schulman2020kl: J. Schulman, Approximating KL Divergence" in papers
    assert "achiam2017cpo" not in papers


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
