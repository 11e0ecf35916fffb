import numpy as np
import pytest
from support.small_theorems import BINOMIAL, LIMIT, PINSKER

from dph_theory.numeric.enclosures import linear, rate
from dph_theory.statement.theorem import ScalarForm, Verdict, neighbour, scaled


def test_a_reduction_names_the_scalars_of_its_box_and_those_it_does_not_depend_on():
    reduction = ScalarForm("", {"p": rate("1e-6")}, dict, free={"t": linear("0", "1")})
    assert str(reduction) == "p in [1e-6, 1 - 1e-6], t in [0, 1]"


def test_a_reduction_states_a_gap_or_two_sides():
    with pytest.raises(ValueError, match="where there is no gap"):
        ScalarForm("", {"p": rate("1e-6")}, dict).pairs(p=1)


def at(**values):
    return {name: np.atleast_1d(np.asarray(value, dtype=float)) for name, value in values.items()}


def test_a_violation_is_relative_to_the_larger_side():
    false = BINOMIAL.changed(BINOMIAL.false_neighbours[0])
    assert false.violation(at(x=1.0, y=1.0))[0] == pytest.approx(1 / 4)
    assert BINOMIAL.violation(at(x=1.0, y=1.0))[0] == 0


def test_a_bound_with_room_has_a_negative_violation():
    instance = {"pi": np.array([[0.5, 0.5]]), "ref": np.array([[0.9, 0.1]])}
    assert PINSKER.violation(instance)[0] < 0
    violation, tightness = PINSKER.measured(instance)
    assert violation == PINSKER.violation(instance)
    assert 0 < tightness < 1
    # Of a batch the tightest counts: an even law against itself has no ratio.
    both = {name: np.vstack([value, [[0.5, 0.5]]]) for name, value in instance.items()}
    assert PINSKER.measured(both)[1] == tightness


@pytest.mark.parametrize(
    ("lhs", "rhs", "violation"),
    [(np.inf, np.inf, 0.0), (1.0, np.inf, -1.0), (np.inf, 1.0, 1.0), (np.nan, 1.0, np.inf), (0.0, 0.0, 0.0)],
)
def test_infinite_sides_compare_and_nan_never_passes(lhs, rhs, violation):
    assert PINSKER.gap(np.array([lhs]), np.array([rhs]))[0] == violation


def test_an_equality_of_infinities_holds_and_of_one_infinity_does_not():
    assert BINOMIAL.gap(np.array([np.inf, np.inf]), np.array([np.inf, 1.0])).tolist() == [0.0, 1.0]


def test_a_limit_must_end_near_and_come_nearer():
    assert LIMIT.violation(at(x=0.5))[0] < LIMIT.tolerance
    leaving = LIMIT.changed(LIMIT.false_neighbours[0])
    assert leaving.violation(at(x=0.5))[0] > 0.1


def test_a_false_neighbour_keeps_the_name_and_expects_refutation():
    false = PINSKER.changed(PINSKER.false_neighbours[0])
    assert (false.name, false.expected, false.derivation) == (PINSKER.name, Verdict.REFUTED, None)


def test_a_scaled_side_takes_the_same_parts_by_name():
    scaled_by = PINSKER.changed(neighbour("doubled", rhs=scaled(PINSKER.rhs, 2)))
    instance = PINSKER.instances(np.full((3, PINSKER.instances.dimension), 0.3))
    assert scaled_by.sides(instance)[1] == pytest.approx(2 * PINSKER.sides(instance)[1], rel=1e-15)


def test_a_side_that_asks_for_a_part_that_instances_lack_is_named():
    def side(z):
        return z

    with pytest.raises(ValueError, match="side='a function of z' is not allowed: instances have x, y"):
        BINOMIAL.changed(neighbour("misspelt", lhs=side)).violation(at(x=1.0, y=1.0))
