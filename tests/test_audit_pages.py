import importlib.util
import math
from pathlib import Path

import pytest

from dph_theory.audit import audit_policy_loss
from dph_theory.audit.catalogue import audit_advantages, audit_catalogue, audit_kl_terms
from dph_theory.audit.policy_loss import audit_policy_losses, audit_trainer_policy_loss, zone_words
from dph_theory.methods.advantages import FORMS
from dph_theory.methods.estimators import CATALOGUE
from dph_theory.methods.kl_terms import KL_TERMS
from dph_theory.methods.policy_losses import POLICY_LOSSES

DOCS = Path(__file__).parents[1] / "docs"
_SPEC = importlib.util.spec_from_file_location("audit_pages", DOCS / "audit_pages.py")
pages = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(pages)


@pytest.mark.slow
def test_the_committed_page_is_what_the_command_writes():
    made = pages.loss_page(audit_catalogue(), audit_kl_terms(), audit_policy_losses())
    assert (DOCS / "what-does-your-kl-do.md").read_text() == made, "run: python docs/audit_pages.py"


def test_the_committed_page_of_advantages_is_what_the_command_writes():
    reports = audit_advantages()
    assert len(reports) == 3 * len(FORMS) - 1
    committed = (DOCS / "what-does-your-advantage-weigh.md").read_text()
    assert committed == pages.advantage_page(reports), "run: python docs/audit_pages.py"


def test_every_form_of_a_loss_has_its_row():
    text = (DOCS / "what-does-your-kl-do.md").read_text()
    policies = text.index("## What its policy loss descends")
    parts = text[:policies], text[policies : text.index("## How")], text[text.index("## The table") :]
    for part, forms, bars in zip(parts, (KL_TERMS, POLICY_LOSSES, CATALOGUE), (14, 16, 11), strict=True):
        table = [line for line in part.split("\n## Papers")[0].splitlines() if line.startswith("| ")]
        assert len(table) == len(forms) + 2
        assert all(line.replace(r"\|", "").count("|") == bars for line in table)


def test_zones_in_words():
    assert zone_words(()) == "none"
    assert zone_words(((0.0, 0.8), (3.0, math.inf))) == "r <= 0.8, r >= 3"
    assert zone_words(((0.5, 0.8),)) == "0.5 <= r <= 0.8"


def test_a_row_has_every_column():
    text = pages._policy_losses([audit_trainer_policy_loss(1, 0)])
    *_, line = text.strip().splitlines()
    cells = [cell.strip() for cell in line.strip("|").split(" | ")]
    assert cells[:2] == ["TRL", "1.16"]
    assert cells[5:9] == ["zero", "minus expected reward", "no penalty", "none"]
    assert cells[11:13] == ["r >= 1.2", "r \\<= 0.8"]
    with pytest.raises(ValueError, match="is no policy loss of the table"):
        pages._policy_losses([audit_policy_loss(POLICY_LOSSES[1].loss, name="mine")])
