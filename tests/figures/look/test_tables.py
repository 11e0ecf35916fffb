import csv

import pytest

from figures.look.tables import Table, latex, written

TABLE = Table.of(("form", "KL to p_*", "k"), [("k3 & k2", 0.123456, 16), ("none", None, float("inf"))])


def test_cells_in_words():
    cells = ("a", 0.123456, 16, float("inf"), None)
    assert [written(cell) for cell in cells] == ["a", "0.1235", "16", "inf", "–"]


def test_csv_has_all_digits_and_nothing_for_what_is_not_known():
    read = list(csv.reader(TABLE.csv().splitlines()))
    assert read == [["form", "KL to p_*", "k"], ["k3 & k2", "0.123456", "16"], ["none", "", "inf"]]


def test_latex_has_rules_and_numbers_to_the_right():
    assert TABLE.latex() == (
        "\\begin{tabular}{lrr}\n\\toprule\nform & KL to p\\_* & k \\\\\n\\midrule\n"
        "k3 \\& k2 & 0.1235 & 16 \\\\\nnone & -- & $\\infty$ \\\\\n\\bottomrule\n\\end{tabular}\n"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("50% of a_b", r"50\% of a\_b"),
        ("KL(p || q)", r"KL(p $\|$ q)"),
        ("1.5e-07", r"$1.5 \times 10^{-7}$"),
        ("-inf", r"$-\infty$"),
        ("a\\b^{2}", r"a\textbackslash{}b\textasciicircum{}\{2\}"),
    ],
)
def test_text_that_latex_would_take_otherwise(text, expected):
    assert latex(text) == expected


def test_commands_are_letters_alone_and_tell_rows_apart():
    assert next(TABLE.commands("dph laws")) == ("dphLawsKThreeKTwoKLToP", "0.1235")
    alike = Table.of(("model", "at"), [("a", 1), ("a", 2), ("b", 3)])
    assert dict(alike.commands("x")) == {"xARowOneAt": "1", "xARowTwoAt": "2", "xBAt": "3"}
