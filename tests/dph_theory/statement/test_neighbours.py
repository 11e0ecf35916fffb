from dataclasses import replace

import numpy as np
import pytest
from support.small_theorems import BINOMIAL

from dph_theory.statement.charts import as_balls, chart, example, simplex
from dph_theory.statement.neighbours import masses_clamped, near, nearness, rates_clamped
from dph_theory.statement.theorem import Verdict
from dph_theory.verification.checks.adversarial import adversarial
from dph_theory.verification.checks.certified import certify
from dph_theory.verification.checks.numeric import numeric

FALSE = near(0.01, x=(0.3, 1e-3), y=(0.6, 1e-3))


def test_a_neighbour_is_off_at_its_point_and_true_elsewhere():
    statement = BINOMIAL.changed(FALSE)
    assert FALSE.name == "off by 0.01 near x = 0.3, y = 0.6"
    assert statement.expected is Verdict.REFUTED
    at = {"x": np.array([0.3, 0.3, 0.9]), "y": np.array([0.6, 0.7, 0.6])}
    assert statement.violation(at) == pytest.approx([0.01 / 0.82, 0, 0], abs=1e-15)
    assert BINOMIAL.violation(at).max() < 1e-15


def test_a_side_keeps_what_it_takes_by_default():
    def scaled_sum(x, y, factor=1.0):
        return BINOMIAL.rhs(x, y) * factor

    statement = replace(BINOMIAL, rhs=scaled_sum).changed(FALSE)
    assert statement.violation({"x": np.array([0.3]), "y": np.array([0.6])}) == pytest.approx([0.01 / 0.82])


def test_the_search_finds_what_random_points_miss():
    statement = BINOMIAL.changed(FALSE)
    assert numeric(replace(statement, examples=()), instances=1000, seed=1).verdict is Verdict.HOLDS
    assert adversarial(statement, seed=1).verdict is Verdict.REFUTED


def test_nearness_takes_several_numbers_of_a_part_and_balls():
    values = {"law": np.array([[0.2, 0.3, 0.5], [0.2, 0.4, 0.4]])}
    assert nearness({"law": ((0.2, 0.3), 0.1)}, values) == pytest.approx([1, 1 / 2])
    assert certify(BINOMIAL.changed(FALSE), example(x=".3", y=".6")) is Verdict.REFUTED
    exact = as_balls(example(law=".2 .3 .5"))
    assert float(nearness({"law": ((0.2, 0.3), 0.1)}, exact)[0]) == pytest.approx(1)


def test_other_changes_come_first():
    changed = near(0.01, {"rhs": lambda x: x, "lhs": lambda x: x}, x=(0.5, 1e-3))
    statement = BINOMIAL.changed(changed)
    at = {"x": np.array([0.5, 0.9]), "y": np.array([0.1, 0.1])}
    assert statement.violation(at) == pytest.approx([0.01 / 0.51, 0], abs=1e-15)


LEAST = replace(
    BINOMIAL,
    instances=chart(law=simplex(2)).deriving(lambda law: {"least": law.min(axis=-1)}),
    examples=(),
    lhs=lambda law: law.min(axis=-1),
    rhs=lambda least: least,
    floor=1e-12,
)
"""The smaller mass of a law, from the law and as a part derived from it."""


@pytest.mark.parametrize(("side", "where"), [("lhs", "left"), ("rhs", "right")])
def test_clamped_masses_are_normalised_and_what_derives_from_them_follows(side, where):
    law = {"law": np.array([[0.25, 0.75], [0.0, 1.0]])}
    false = masses_clamped("law", 0.01, side)
    assert false.name == f"masses of law clamped at 0.01 on the {where}"
    statement = LEAST.changed(false)
    assert statement.sides(law)[side == "rhs"] == pytest.approx([0.25, 0.01 / 1.01])
    assert statement.violation(law) == pytest.approx([0, 1])
    assert statement.expected is Verdict.REFUTED
    assert LEAST.violation(law).max() == 0


def test_clamped_masses_in_balls():
    first = replace(LEAST, rhs=lambda law: law[..., 0], lhs=lambda law: law[..., 0])
    raised = first.changed(masses_clamped("law", 0.5))
    lhs, rhs = raised.sides(as_balls(example(law=".25 .75")))
    assert (float(lhs[0]), float(rhs[0])) == pytest.approx((0.25, 0.4))


def test_clamped_rates_keep_away_from_both_ends():
    same = replace(BINOMIAL, lhs=lambda x: x, rhs=lambda x: x)
    at = {"x": np.array([0.001, 0.3, 0.999]), "y": np.zeros(3)}
    false = rates_clamped("x", 0.01)
    assert false.name == "rates of x clamped at 0.01 on the right"
    lhs, rhs = same.changed(false).sides(at)
    assert (lhs.tolist(), rhs.tolist()) == (at["x"].tolist(), pytest.approx([0.01, 0.3, 0.99]))
