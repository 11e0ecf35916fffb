from dataclasses import replace

import numpy as np
import pytest
from support.small_theorems import BINOMIAL, NEEDLE, PINSKER

from dph_theory.references import Source
from dph_theory.verification.charts import example
from dph_theory.verification.examples import cannot_fail
from dph_theory.verification.reports import SearchSettings
from dph_theory.verification.run import verify_one
from dph_theory.verification.statement import Verdict, neighbour, refuted, theorem


def at(**values):
    return {name: np.atleast_1d(np.asarray(value, dtype=float)) for name, value in values.items()}


def test_a_violation_is_relative_to_the_larger_side_and_negative_where_a_bound_has_room():
    false = BINOMIAL.changed(BINOMIAL.false_neighbours[0])
    assert false.violation(at(x=1.0, y=1.0))[0] == pytest.approx(1 / 4)
    assert BINOMIAL.violation(at(x=1.0, y=1.0))[0] == 0
    assert PINSKER.violation({"pi": np.array([[0.5, 0.5]]), "ref": np.array([[0.9, 0.1]])})[0] < 0


def test_infinite_sides_compare_and_nan_never_passes():
    lhs, rhs = np.array([np.inf, 1.0, np.inf, np.nan, 0.0]), np.array([np.inf, np.inf, 1.0, 1.0, 0.0])
    assert PINSKER.gap(lhs, rhs).tolist() == [0.0, -1.0, 1.0, np.inf, 0.0]
    assert BINOMIAL.gap(lhs, rhs).tolist() == [0.0, 1.0, 1.0, np.inf, 0.0]


ENTRY = {"statement": "", "source": BINOMIAL.source, "on": BINOMIAL.instances}
ENTRY["false"] = BINOMIAL.false_neighbours


def test_the_verdict_follows_from_what_the_entry_has():
    false = PINSKER.changed(PINSKER.false_neighbours[0])
    assert (false.name, false.expected) == (PINSKER.name, Verdict.REFUTED)
    assert (PINSKER.expected, NEEDLE.expected) == (Verdict.CHECKED, Verdict.REFUTED)
    proved = {"coq": "gibbs", "equal": (max, min), **ENTRY}
    assert theorem("p", **proved).expected is Verdict.PROVED
    assert theorem("q", part="half", **proved).expected is Verdict.CHECKED


@pytest.mark.parametrize(
    ("key", "false", "origin"),
    [
        ("ours", False, "our own"),
        ("ours", True, "our own counterexample"),
        ("dymetman2026binary", False, "from M. Dymetman"),
        ("li2025choice", True, "a published claim of L. Li et al."),
    ],
)
def test_a_counterexample_to_our_own_guess_is_no_published_claim(key, false, origin):
    assert replace(PINSKER, source=Source(key), false=false).origin == origin


def limit(lhs, rhs, **fields):
    """An entry of a limit at eps = 1e-2 to 1e-8, with the default floor and tolerance."""
    return theorem("toy", **ENTRY, tends=(lhs, rhs), examples=(example(x="1", y="1"),), **fields)


def test_a_limit_whose_ladder_ends_below_its_floor_is_an_error_of_the_entry():
    def vanishing(x, eps):
        return x * eps**2

    def thrice(x, eps):
        return 3 * x * eps**2

    (reason,) = cannot_fail(limit(vanishing, thrice))
    assert "the check cannot fail" in reason
    assert reason in verify_one(limit(vanishing, thrice), SearchSettings(50, 8, 1, 1)).unexpected
    assert cannot_fail(limit(lambda x, eps: x + eps, lambda x: x)) == []
    # A limit that is zero is told from others where the ladder begins above the floor.
    assert cannot_fail(limit(lambda x, eps: x * eps, lambda x: 0 * x, floor=1.0)) == []
    assert cannot_fail(limit(lambda x, eps: 1e-13 * x * eps, lambda x: 0 * x)) != []


def test_an_entry_states_one_relation_and_has_a_neighbour_and_a_refuted_one_its_counterexample():
    for sides in ({}, {"equal": (max, min), "tends": (max, min)}):
        with pytest.raises(ValueError, match="one of equal, at_most and tends"):
            theorem("toy", **ENTRY, **sides)
    with pytest.raises(ValueError, match=r"at least one false variant of toy"):
        theorem("toy", equal=(max, min), **ENTRY | {"false": ()})
    with pytest.raises(ValueError, match=r"the counterexample of toy first"):
        refuted("toy", equal=(max, min), **ENTRY)


def test_a_side_that_asks_for_a_part_that_instances_lack_is_named():
    def side(z):
        return z

    with pytest.raises(ValueError, match="side='a function of z' is not allowed: test cases have x, y"):
        BINOMIAL.changed(neighbour("misspelt", lhs=side)).violation(at(x=1.0, y=1.0))
