from dataclasses import replace

import numpy as np
import pytest
from support.small_theorems import BINOMIAL

from dph_theory.numeric.enclosures import linear, rate
from dph_theory.statement.theorem import Relation, ScalarForm, Verdict
from dph_theory.verification.checks.enclosed import enclosed

UNIT = linear("0", "1")
SUM = ScalarForm(
    "all scalars",
    {"x": UNIT, "y": UNIT},
    lambda x, y: {"x": x, "y": y},
    sides=lambda x, y: [((x + y) ** 2, x * x + 2 * x * y + y * y)],
)
SQUARES = replace(
    BINOMIAL, relation=Relation.AT_MOST, lhs=lambda x, y: 2 * x * y, rhs=lambda x, y: x**2 + y**2
)
APART = ScalarForm(
    "y = x (1 - s)",
    {"s": UNIT},
    lambda s, x: {"x": x, "y": x * (1 - s)},
    gap=lambda s: [1 + (1 - s) ** 2 - 2 * (1 - s)],
    factor=lambda x: [x * x],
    zero=("s", 2),
    free={"x": rate("1e-6")},
)


def test_an_identity_is_enclosed_with_its_error_and_its_box():
    found = enclosed(replace(BINOMIAL, reductions=(SUM,)))
    assert found.verdict is Verdict.ENCLOSED
    assert found.boxes[0].box == "x in [0, 1], y in [0, 1]"
    assert found.boxes[0].finding.startswith("|lhs - rhs| <= ")


def test_a_bound_whose_sides_meet_is_enclosed_with_the_zero_divided_out():
    found = enclosed(replace(SQUARES, reductions=(APART,)))
    assert found.verdict is Verdict.ENCLOSED
    assert found.boxes[0].finding == "(rhs - lhs)/s^2 > 0"
    assert found.boxes[0].box == "s in [0, 1], x in [1e-6, 1 - 1e-6]"


def test_what_the_budget_leaves_over_is_said():
    found = enclosed(replace(SQUARES, reductions=(replace(APART, zero=None),)), budget=50)
    assert (found.verdict, found.boxes) == (Verdict.HOLDS, ())
    assert found.detail.startswith("left: s in [")


def test_a_bound_that_fails_on_a_piece_is_refuted_there():
    swapped = replace(SQUARES, lhs=SQUARES.rhs, rhs=SQUARES.lhs)
    gap = replace(APART, gap=lambda s: [2 * (1 - s) - 1 - (1 - s) ** 2], zero=None)
    found = enclosed(replace(swapped, reductions=(gap,)))
    assert found.verdict is Verdict.REFUTED
    assert found.detail.startswith("fails: s in [")


@pytest.mark.parametrize(
    "wrong",
    [
        replace(SUM, sides=lambda x, y: [((x + y) ** 2, x * x + x * y + y * y)]),
        replace(SUM, sides=lambda x, y: [(x, x)]),
        replace(SUM, sides=lambda x, y: []),
        replace(SUM, instance=lambda x, y: {"x": x, "y": x}),
    ],
)
def test_a_scalar_form_that_is_not_the_statement_is_no_evidence(wrong):
    found = enclosed(replace(BINOMIAL, reductions=(wrong,)))
    assert found.verdict is Verdict.UNDECIDED
    assert "the scalar form differs from the sides at x=" in found.detail


def test_boxes_that_leave_a_component_out_do_not_enclose_the_statement():
    two = replace(
        BINOMIAL,
        lhs=lambda x, y: np.stack([(x + y) ** 2, x], axis=-1),
        rhs=lambda x, y: np.stack([x**2 + 2 * x * y + y**2, x], axis=-1),
    )
    found = enclosed(replace(two, reductions=(replace(SUM, components=(0,)),)))
    assert found.verdict is Verdict.HOLDS
    assert found.detail == "left: component 1"
