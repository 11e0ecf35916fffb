import csv

import pytest

from dph_theory.intervals import Estimate
from dph_theory.support.table import Table, command, escaped, latex, written

TABLE = Table.from_rows(("form", "KL to p_*", "k"), [("k3 & k2", 0.123456, 16), ("none", None, float("inf"))])


def test_cells_in_words_a_number_with_as_many_digits_as_its_interval_warrants():
    cells = ("a", 0.123456, 16, float("inf"), None, Estimate(0.12345, 0.1, 0.15), Estimate(-0.001, -30.0, 7))
    words = ["a", "0.1235", "16", "inf", "–", "0.123 [0.100, 0.150]", "0.0 [-30.0, 7.0]"]
    assert [written(cell) for cell in cells] == words
    assert written(Estimate(0.5, 0.5, 0.5)) == "0.5 [0.5, 0.5]"
    unbounded = written(Estimate(0.3, 0.01, float("inf")))
    assert (unbounded, latex(unbounded)) == ("0.30 [0.01, inf]", r"0.30 [0.01, $\infty$]")


def test_csv_has_no_word_that_a_spreadsheet_computes():
    words = ["=cmd|' /C calc'!A0", "+cmd", "-cmd", "@sum", "\t=1", "-1.5", "+.5", "-", "-inf"]
    read = list(csv.reader(Table.from_rows(("word",), [[word] for word in words]).csv().splitlines()))
    assert [cell for (cell,) in read[1:]] == [*(f"'{word}" for word in words[:5]), *words[5:]]


def test_csv_has_all_digits_and_nothing_for_what_is_not_known():
    read = list(csv.reader(TABLE.csv().splitlines()))
    assert read == [["form", "KL to p_*", "k"], ["k3 & k2", "0.123456", "16"], ["none", "", "inf"]]
    table = Table.from_rows(("law", "beta"), [("one", Estimate(0.25, 0.2, 0.3)), ("other", None)])
    assert table.csv() == "law,beta,beta low,beta high\none,0.25,0.2,0.3\nother,,,\n"


def test_latex_has_rules_numbers_to_the_right_and_is_no_wider_than_the_line():
    assert TABLE.latex() == (
        "\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%\n"
        "\\begin{tabular}{lrr}\n\\toprule\nform & KL to $p_*$ & $k$ \\\\\n\\midrule\n"
        "k3 \\& k2 & 0.1235 & 16 \\\\\nnone & -- & $\\infty$ \\\\\n\\bottomrule\n\\end{tabular}}\n"
    )
    lines = Table.from_rows(("gain over the base",), [(1.5,)]).latex().splitlines()
    assert lines[3] == r"\shortstack{gain over \\ the base} \\"


@pytest.mark.parametrize(
    ("numbers", "cells"),
    [
        ((0.5, 0.12345, 0.7), ["0.5000", "0.1235", r"\textbf{0.7000}"]),  # The digits of the largest.
        ((12.3456, None, 3.0), [r"\textbf{12.35}", "--", "3.00"]),
        ((3, 16), ["3", r"\textbf{16}"]),
        ((2.0, 0.00012), [r"\textbf{2}", "0.00012"]),
        ((1.5, float("inf")), ["1.500", r"\textbf{$\infty$}"]),
    ],
)
def test_a_column_in_latex_has_one_number_of_decimals_and_its_best_in_bold(numbers, cells):
    lines = (
        Table.from_rows(("Pass@k",), [(number,) for number in numbers], best=("Pass@k",)).latex().splitlines()
    )
    assert lines[3] == r"Pass@$k$ \\"
    assert [line.removesuffix(r" \\") for line in lines[5:-2]] == cells


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("50% of a_b", r"50\% of a\_b"),
        ("a || b of V", r"a $\|$ b of $V$"),
        ("KL(p_* || p_beta)", r"$\mathrm{KL}(p_* \,\|\, p_{\beta})$"),
        ("alpha_G(V) on D_pef", r"$\alpha_G(V)$ on $\mathcal{D}_{\mathrm{pef}}$"),
        ("eta f''(1), DPH-alpha", r"$\eta f''(1)$, DPH-$\alpha$"),
        ("see `dph audit loss`", r"see \texttt{dph audit loss}"),
        ("1.5e-07", r"$1.5 \times 10^{-7}$"),
        ("-inf", r"$-\infty$"),
        ("a\\b^{2}", r"a\textbackslash{}b\textasciicircum{}\{2\}"),
    ],
)
def test_text_that_latex_would_take_otherwise(text, expected):
    assert latex(text) == expected


def test_a_command_is_letters_alone_and_marks_are_shown_as_they_are_in_markdown():
    assert command("dph laws k3, k2: KL to p_*") == "dphLawsKThreeKTwoKLToP"
    assert escaped(r"a_b|c \d *e* `f` <g>") == r"a\_b\|c \\d \*e\* \`f\` \<g>"
    assert Table.from_rows(("x", "y"), [("a|b", "1")]).markdown() == "| x | y |\n| --- | --- |\n| a\\|b | 1 |"
