import importlib.util
from pathlib import Path

import pytest
from support.published_audits import IN_ONE_PROCESS, reports

from dph_theory.audit import audit
from dph_theory.audit.catalogue import audit_advantages, audit_form
from dph_theory.audit.published import CATALOGUE
from dph_theory.trainers.advantages import FORMS
from dph_theory.trainers.kl_terms import KL_TERMS
from dph_theory.trainers.policy_losses import POLICY_LOSSES

WEIGHED = "the reward's policy gradient, divided by the number of tokens"
DOCS = Path(__file__).parents[1] / "docs"
_SPEC = importlib.util.spec_from_file_location("audit_pages", DOCS / "audit_pages.py")
pages = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(pages)


@pytest.mark.slow
@IN_ONE_PROCESS
def test_the_committed_page_is_what_the_command_writes():
    published, trainers, first = map(reports, ("published", "KL terms", "policy losses"))
    later = reports("policy losses", "old_policy")
    page = pages.loss_page(published, trainers, list(zip(first, later, strict=True)))
    assert (DOCS / "appendix" / "kl-terms.md").read_text() == page, "run: make audit-pages"


def test_the_committed_page_of_advantages_is_what_the_command_writes():
    reports = audit_advantages()
    assert len(reports) == 3 * len(FORMS) - 1
    committed = (DOCS / "appendix" / "advantages.md").read_text()
    assert committed == pages.advantage_page(reports), "run: python docs/audit_pages.py"


def test_every_form_of_a_loss_has_its_row():
    text = (DOCS / "appendix" / "kl-terms.md").read_text()
    policies = text.index("## What its policy loss minimises")
    parts = text[:policies], text[policies : text.index("## How")], text[text.index("## The table") :]
    for part, forms, bars in zip(parts, (KL_TERMS, POLICY_LOSSES, CATALOGUE), (14, 17, 13), strict=True):
        table = [line for line in part.split("\n## Papers")[0].splitlines() if line.startswith("| ")]
        assert len(table) == len(forms) + 2
        assert all(line.replace(r"\|", "").count("|") == bars for line in table)


def test_a_row_has_every_column():
    first, later = (audit_form(1, "policy losses", samples=samples) for samples in (None, "old_policy"))
    *_, line = pages.loss_page([], [], [(first, later)]).split("## How")[0].strip().splitlines()
    cells = [cell.strip() for cell in line.strip("|").split(" | ")]
    assert cells[:2] == ["TRL", "1.16"]
    assert cells[5:10] == ["policy", "zero", WEIGHED, "no penalty", "none"]
    assert cells[-2].startswith("on single tokens: the reward's policy gradient, while every ratio pi/old is")
    assert cells[-1] == "pi/old >= 1.2 if A > 0, pi/old \\<= 0.8 if A \\< 0"
    with pytest.raises(ValueError, match="is no form of the table 'policy losses'"):
        pages.loss_page([], [], [(audit(POLICY_LOSSES[1].loss, name="mine"), later)])
