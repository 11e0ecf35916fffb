"""Tables and captions in LaTeX: cells are shown as they stand, and captions set their formulas."""

import pytest

from dph_theory.support.table import Estimate, Table
from figures.latex import command, sentence, tabular


def lines_of(head, rows, **options):
    return tabular(Table.from_rows(head, rows, **options)).splitlines()


def test_a_table_has_rules_numbers_to_the_right_and_is_no_wider_than_the_line():
    rows = [
        ("k3 & k2", 0.123456, 16),
        ("DPH-F", None, float("inf")),
        ("50% of a_b", Estimate(0.3, 0.01, 1), 2),
    ]
    assert lines_of(("method", "KL to p_*", "k"), rows) == [
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"method & KL to p\_* & k \\",
        r"\midrule",
        r"k3 \& k2 & 0.1235 & 16 \\",
        r"DPH-F & -- & $\infty$ \\",
        r"50\% of a\_b & 0.30 [0.01, 1.00] & 2 \\",
        r"\bottomrule",
        r"\end{tabular}}",
    ]


@pytest.mark.parametrize(
    ("numbers", "cells"),
    [
        ((0.5, 0.12345, 0.7), ["0.5000", "0.1235", r"\textbf{0.7000}"]),  # The digits of the largest.
        ((12.3456, None, 3.0), [r"\textbf{12.35}", "--", "3.00"]),
        ((3, 16), ["3", r"\textbf{16}"]),
        ((2.0, 0.00012), [r"\textbf{2}", "0.00012"]),
        ((1.5, float("inf")), ["1.500", r"\textbf{$\infty$}"]),
        ((1.0, 1.5e-07), [r"\textbf{1}", r"$1.5 \times 10^{-7}$"]),
    ],
)
def test_a_column_has_one_number_of_decimals_and_its_best_in_bold(numbers, cells):
    lines = lines_of(("Pass@k",), [(number,) for number in numbers], best=("Pass@k",))
    assert [line.removesuffix(r" \\") for line in lines[5:-2]] == cells


def test_a_live_command_in_a_cell_is_text():
    assert r"KL(\textbackslash{}input\{x\}) \\" in lines_of(("name",), [(r"KL(\input{x})",)])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("50% of a_b", r"50\% of a\_b"),
        ("DPH-F keeps more than DPH-alpha", "DPH-F keeps more than DPH-alpha"),
        ("KL(p_* || p_beta)", r"$\mathrm{KL}(p_* \,\|\, p_{\beta})$"),
        ("alpha_G(V) on D_pef", r"$\alpha_G(V)$ on $\mathcal{D}_{\mathrm{pef}}$"),
        ("eta f''(1), a || b", r"$\eta f''(1)$, a $\|$ b"),
        ("see `dph audit loss`", r"see \texttt{dph audit loss}"),
        ("a\\b^{2}", r"a\textbackslash{}b\textasciicircum{}\{2\}"),
    ],
)
def test_a_caption_is_set_with_its_formulas(text, expected):
    assert sentence(text) == expected


def test_a_command_is_letters_alone():
    assert command("dph laws k3, k2: KL to p_*") == "dphLawsKThreeKTwoKLToP"


def test_a_formula_of_a_caption_is_no_command():
    assert sentence(r"KL(\input{x}) of 5%") == r"KL(\textbackslash{}input\{x\}) of 5\%"
