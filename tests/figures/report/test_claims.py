import re

import pytest
from support.small_report import contents, verdict

from dph_theory.statement.theorem import Verdict
from dph_theory.theorems import THEOREMS
from figures.report.claims import CLAIMS, DIFFERENCES, claims, differences, in_short
from figures.report.markup import tag
from figures.report.words import FAMILIES


def text(children):
    return re.sub(r"\s+", " ", "".join(tag("div", children).itertext()))


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


def test_claims_bear_the_verdicts_of_this_run():
    shown = text(claims(contents("A8.frontier", "D3.shared")))
    assert "the contrary: D3.shared REFUTED" in shown
    assert "A4.unique not checked" in shown


def test_a_verdict_that_is_not_as_expected_is_marked():
    found = contents("A6.reverse")
    report = found.verdicts["results"]["reports"][0]
    assert "not as expected" not in text(claims(found))
    turned = report | {"verdict": "REFUTED"}
    changed = found.verdicts | {"results": {"reports": [turned]}}
    assert "A6.reverse REFUTED not as expected" in text(claims(contents("A6.reverse", verdicts=changed)))


def test_differences_bear_the_registrys_note():
    shown = text(differences(contents("C2.old")))
    assert THEOREMS["C2.old"].note in shown
    assert verdict("C2.old")["verdict"] == "REFUTED"
    assert "C2.old REFUTED" in shown
