import re
from io import StringIO

from rich.console import Console

from dph_theory.theorems import THEOREMS
from dph_theory.verification import tables
from dph_theory.verification.run import verify_one
from dph_theory.verification.settings import Settings

CHOSEN = [THEOREMS[name] for name in ("A5.validity", "A8.frontier")]


def test_the_table_is_grouped_by_paper_and_the_counts_come_last():
    console = Console(width=160, file=StringIO())
    reports = [verify_one(theorem, Settings(checks=("symbolic",), quick=True)) for theorem in CHOSEN]
    tables.print_reports(console, CHOSEN, reports, quick=True)
    out = console.file.getvalue()
    assert (
        out.index("dymetman2026binary")
        < out.index("A5.validity")
        < re.search(r"ours +│", out).start()
        < out.index("A8.frontier")
    )
    assert "All valid outcomes are weighted by x" in out
    assert "a false step, refused: odds that gain 1/beta: points" in out
    assert "A8.decomposition" in out[out.index("A8.frontier") :]
    assert "(PROVED)" in out
    assert out.splitlines()[-1].startswith("2 theorems: 2 derived (1 of them given other entries)")


def test_the_list_has_a_line_for_each():
    assert [name for name, *_ in tables.listing(CHOSEN).rows] == ["A5.validity", "A8.frontier"]
