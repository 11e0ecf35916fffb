from pathlib import Path

import pytest

from dph_theory.audit.catalogue import CATALOGUE, audit_catalogue
from dph_theory.audit.page import page
from dph_theory.audit.policy_losses.table import POLICY_LOSSES, audit_policy_losses
from dph_theory.audit.trainers import TRAINERS, audit_trainers

COMMITTED = Path(__file__).parents[3] / "docs" / "what-does-your-kl-do.md"


@pytest.fixture(scope="module")
def text():
    return COMMITTED.read_text()


@pytest.mark.slow
def test_the_committed_page_is_what_the_command_writes(text):
    made = page(audit_catalogue(), audit_trainers(), audit_policy_losses())
    assert text == made, "run: dph audit --catalogue --page docs/what-does-your-kl-do.md"


def test_every_form_has_a_row_and_a_section(text):
    table = [line for line in text.split("## The table")[1].splitlines() if line.startswith("| ")]
    assert len(table) == len(CATALOGUE) + 2
    assert all(line.replace(r"\|", "").count("|") == 11 for line in table)
    for form in CATALOGUE:
        assert f"`{form.formula}`" in text
    assert text.count("\n> ") == len(CATALOGUE)


def test_it_opens_with_the_trainers(text):
    first, policies = text.split("## How")[0].split("## What its policy loss descends")
    assert first.splitlines()[2] == "## Find your trainer"
    for part, forms, bars in ((first, TRAINERS, 14), (policies, POLICY_LOSSES, 16)):
        table = [line for line in part.splitlines() if line.startswith("| ")]
        assert len(table) == len(forms) + 2
        assert all(line.replace(r"\|", "").count("|") == bars for line in table)


def test_the_surprises_are_listed(text):
    assert "The gradient is zero in expectation: k1 (policy)." in text
    assert "The value estimates one divergence, the gradient descends another: k3 (policy)." in text
    assert "Rehearses the filtered model p\\_\\*: forward KL, printed (filtered)." in text


def test_the_papers_are_named(text):
    papers = text.split("## Papers")[1]
    assert "schulman2020kl: J. Schulman, Approximating KL Divergence" in papers
    assert "achiam2017cpo" not in papers
