from pathlib import Path

from dph_theory.audit.advantages.forms import FORMS
from dph_theory.audit.advantages.page import catalogue, findings, page

COMMITTED = Path(__file__).parents[4] / "docs" / "what-does-your-advantage-weigh.md"


def test_the_committed_page_is_what_the_command_writes():
    reports = catalogue()
    assert len(reports) == 3 * len(FORMS) - 1
    text = page(reports)
    command = "dph audit --catalogue --advantage --page docs/what-does-your-advantage-weigh.md"
    assert COMMITTED.read_text() == text, f"run: {command}"
    assert findings(reports[0]).row_count == 7
