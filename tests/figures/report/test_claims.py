import pytest

from dph_theory.statement.theorem import Verdict
from dph_theory.theorems import FAMILIES, THEOREMS
from figures.report.claims import CLAIMS, DIFFERENCES, in_short


@pytest.mark.parametrize("entry", [e for part in (*CLAIMS, *DIFFERENCES) for e in part.entries])
def test_every_entry_is_in_the_registry(entry):
    assert entry in THEOREMS or entry in FAMILIES


def test_every_refuted_statement_is_told():
    refuted = {name for name, theorem in THEOREMS.items() if theorem.expected is Verdict.REFUTED}
    named = {name for part in (*CLAIMS, *DIFFERENCES) for name in THEOREMS for e in part.entries
             if name == e or name.startswith(f"{e}.")}  # fmt: skip
    assert refuted <= named


def test_the_short_list_names_every_difference_and_its_entries():
    lines = in_short().splitlines()
    assert len(lines) == len(DIFFERENCES)
    for line, difference in zip(lines, DIFFERENCES, strict=True):
        assert line.startswith(f"- {difference.title} (`{difference.entries[0]}`")
        assert line.endswith(difference.found)
