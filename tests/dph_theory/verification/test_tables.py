import re
from io import StringIO

from rich.console import Console

from dph_theory.theorems import THEOREMS
from dph_theory.verification import tables
from dph_theory.verification.reports import Settings
from dph_theory.verification.run import verify_one

CHOSEN = [THEOREMS[name] for name in ("A5.validity", "C2.old", "A8.frontier")]


def test_the_table_is_grouped_by_paper_and_the_counts_come_last():
    console = Console(width=160, file=StringIO())
    reports = [verify_one(theorem, Settings(10, 8, 1, 1)) for theorem in CHOSEN]
    tables.print_reports(console, CHOSEN, reports)
    out = console.file.getvalue()
    assert (
        out.index("dymetman2026binary")
        < out.index("A5.validity")
        < re.search(r"ours +│", out).start()
        < out.index("A8.frontier")
    )
    assert THEOREMS["C2.old"].note.split(";")[0] in " ".join(out.split())
    assert "witness: {'P': " in out
    assert out.splitlines()[-1].startswith("3 theorems: 2 proved, 1 refuted; 3 as expected")


def test_the_list_has_a_line_for_each():
    assert [name for name, *_ in tables.listing(CHOSEN).rows] == ["A5.validity", "C2.old", "A8.frontier"]
