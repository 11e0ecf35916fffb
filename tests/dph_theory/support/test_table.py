import csv
import io

from rich.console import Console

from dph_theory.intervals import Estimate
from dph_theory.support.table import Table, escaped, written

TABLE = Table.from_rows(("form", "KL to p_*", "k"), [("k3 & k2", 0.123456, 16), ("none", None, float("inf"))])


def test_cells_in_words_a_number_with_as_many_digits_as_its_interval_warrants():
    cells = ("a", 0.123456, 16, float("inf"), None, Estimate(0.12345, 0.1, 0.15), Estimate(-0.001, -30.0, 7))
    words = ["a", "0.1235", "16", "inf", "–", "0.123 [0.100, 0.150]", "0.0 [-30.0, 7.0]"]
    assert [written(cell) for cell in cells] == words
    assert written(Estimate(0.5, 0.5, 0.5)) == "0.5 [0.5, 0.5]"
    assert written(Estimate(0.3, 0.01, float("inf"))) == "0.30 [0.01, inf]"


def test_csv_has_no_word_that_a_spreadsheet_computes():
    words = [
        "=cmd|' /C calc'!A0",
        "+cmd",
        "-cmd",
        "-2+3+cmd",
        "@sum",
        "\t=1",
        "-1.5",
        "+.5",
        "-1e-5",
        "-",
        "-inf",
    ]
    read = list(csv.reader(Table.from_rows(("word",), [[word] for word in words]).csv().splitlines()))
    assert [cell for (cell,) in read[1:]] == [*(f"'{word}" for word in words[:6]), *words[6:]]


def test_csv_has_all_digits_and_nothing_for_what_is_not_known():
    read = list(csv.reader(TABLE.csv().splitlines()))
    assert read == [["form", "KL to p_*", "k"], ["k3 & k2", "0.123456", "16"], ["none", "", "inf"]]
    table = Table.from_rows(("law", "beta"), [("one", Estimate(0.25, 0.2, 0.3)), ("other", None)])
    assert table.csv() == "law,beta,beta low,beta high\none,0.25,0.2,0.3\nother,,,\n"


def test_marks_are_shown_as_they_are_in_markdown():
    assert escaped(r"a_b|c \d *e* `f` <g>") == r"a\_b\|c \\d \*e\* \`f\` \<g>"
    assert Table.from_rows(("x", "y"), [("a|b", "1")]).markdown() == "| x | y |\n| --- | --- |\n| a\\|b | 1 |"


def test_no_cell_is_cut_or_broken_into_two_rows():
    names = ("mine-grpo-seed0", "mine-dph-f-seed0")
    table = Table.from_rows(("run", "Pass@1", "Pass@128"), [(name, "0.5", "x\ny") for name in names])
    console = Console(file=io.StringIO(), width=30)
    console.print(table.rich())
    shown = "".join(
        character for character in console.file.getvalue() if character.isalnum() or character == "-"
    )
    assert "…" not in console.file.getvalue()
    assert shown.count("seed0") == 2
    assert "x y" in table.markdown()
