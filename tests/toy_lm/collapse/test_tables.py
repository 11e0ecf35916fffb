from rich.console import Console

from toy_lm.collapse import read, tables
from toy_lm.collapse.results import select


def printed(record):
    """Each table as text, 130 columns wide."""
    shown = []
    for table in tables(record):
        console = Console(width=130)
        with console.capture() as capture:
            console.print(table)
        shown.append(capture.get())
    return shown


def row(text, start):
    """The cells of the row whose first cell is this."""
    rows = [[cell.strip() for cell in line.strip("│\n").split("│")] for line in text.splitlines()]
    (found,) = [cells for cells in rows if cells[0] == start]
    return found


def test_every_fit_of_the_reference_has_a_row(small_record):
    homogeneous, inhomogeneous, *_ = printed(small_record)
    assert row(homogeneous, "1/beta = 10")[1:3] == ["0.9997", "0.9997"]
    assert row(homogeneous, "1/beta = 4.5")[-2:] == ["+0.251", "+0.251"]
    assert row(homogeneous, "1/beta = 4")[-2:] == ["reached", "reached"]
    assert row(homogeneous, "alpha = 0.5")[6] == "7/7 (Dirac)"
    assert row(homogeneous, "forward KL")[4:] == ["0.8881", "1.2045", "-", "-", "-", "-"]
    assert float(row(homogeneous, "E[v]")[1]) > 0.99
    assert row(inhomogeneous, "1/beta = 10")[3] == "5.8095"


def test_jumps(small_record):
    text = printed(small_record)[2]
    assert row(text, "homogeneous")[1:3] == ["4 and 4.5", "4.1755"]


def test_targets_and_what_was_reached(small_record):
    text = printed(small_record)[3]
    assert row(text, "0.7") == ["0.7", "3.8899", "0.0873", "0.8526"]


def test_rates_of_collapse(small_record):
    found = printed(small_record)
    assert len(found) == 4 + 4
    (rate,) = select(read(small_record).random[0].rates, family="homogeneous", objective="reward")
    cells = row(found[4], "E[v]")
    assert cells[1:3] == ["ascent", f"{rate.collapsed}/1"]
    assert cells[4] == f"{rate.effective_kept:.3f}"
    assert cells[-2:] == ["-", "-"]
    assert "random counts, inhomogeneous bigrams; 90 of 729 words valid" in found[-1]


def test_nothing_is_cut_off(small_record):
    assert not any("…" in text for text in printed(small_record))
