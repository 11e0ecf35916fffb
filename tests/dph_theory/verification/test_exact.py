from dataclasses import replace
from math import inf

import numpy as np
import pytest
from flint import arb
from support.small_theorems import BINOMIAL, LIMIT, PINSKER

from dph_theory.statement.charts import as_floats, chart, example, uniform
from dph_theory.statement.theorem import Relation, neighbour
from dph_theory.verification.exact import Found, at, fails, falls, rational_instances, wrong_values

PLACE = example(x=".5", y=".25").parts


@pytest.mark.parametrize("theorem", [BINOMIAL, PINSKER], ids=lambda t: t.name)
def test_true_statements_hold_in_balls_and_neighbours_fail(theorem):
    places = [*rational_instances(theorem, 3, seed=1), theorem.examples[0].parts]
    assert [at(theorem, place) for place in places] == [Found.HOLDS] * 4
    (false,) = theorem.false_neighbours
    assert at(theorem.changed(false), places[-1]) is Found.FAILS
    assert falls(theorem, false)


def test_balls_see_a_difference_that_floats_cannot():
    def rhs(x, y):
        return (x + y) ** 2 + (arb(2) ** -90 if x.dtype == object else 0)

    off = replace(BINOMIAL, rhs=rhs)
    assert off.violation(as_floats(PLACE))[0] == 0
    assert at(off, PLACE) is Found.FAILS
    assert fails(off, PLACE)
    assert not fails(replace(off, exact=False), PLACE)


ONE, WIDE, INF = arb(1), arb(1, 1e-3), arb.pos_inf()
EQUAL = [
    (ONE, ONE, Found.HOLDS),
    (WIDE, ONE, Found.WIDE),
    (ONE, arb(2), Found.FAILS),
    (INF, INF, Found.HOLDS),
]
EQUAL += [(INF, -INF, Found.FAILS), (arb.nan(), ONE, Found.WIDE), (INF, ONE, Found.FAILS)]
AT_MOST = [(ONE, arb(2), Found.HOLDS), (arb(2), ONE, Found.FAILS), (ONE, ONE, Found.TIE)]
AT_MOST += [(WIDE, ONE, Found.WIDE), (ONE, INF, Found.HOLDS)]


def stated(relation, lhs, rhs):
    return replace(BINOMIAL, relation=relation, instances=chart(x=uniform(0, 1)), lhs=lhs, rhs=rhs)


def test_comparing_two_balls():
    for relation, cases in ((Relation.EQUAL, EQUAL), (Relation.AT_MOST, AT_MOST)):
        for lhs, rhs, found in cases:
            sides = (lambda x, value=value: np.array([value]) for value in (lhs, rhs))
            assert at(stated(relation, *sides), example(x=".5").parts) is found, (relation, lhs, rhs)


def test_precision_is_raised_until_the_balls_decide_and_a_tie_in_one_component_says_nothing_of_all():
    def tiny(x):
        return (x + arb(10) ** -100) - x

    place = example(x=".1").parts
    assert at(stated(Relation.AT_MOST, tiny, lambda x: 2 * tiny(x)), place) is Found.HOLDS
    sides = (lambda x, more=more: np.stack([x + more, x], axis=-1) for more in (0, 1))
    assert at(stated(Relation.AT_MOST, *sides), place) is Found.TIE


def test_only_what_the_chart_calls_outside_its_domain_is_no_evidence():
    def refusing(x, y):
        raise ValueError("x is not allowed")

    broken = replace(BINOMIAL, lhs=refusing)
    with pytest.raises(ValueError, match="not allowed"):
        at(broken, PLACE)
    bounded = replace(broken, instances=BINOMIAL.instances.within(lambda x: x < 0.5))
    assert at(bounded, PLACE) is Found.TIE


def test_a_neighbour_falls_at_its_own_witness():
    def off(x, y):
        return (x + y) ** 2 + ((x - 1 / 8) ** 2 < 1e-20) * 1.0

    kept = neighbour("off at x = 1/8", at=example(x=".125", y=".5"), rhs=off, exact=False)
    assert falls(BINOMIAL, kept)
    assert not falls(BINOMIAL, replace(kept, witness=None))
    assert falls(LIMIT, LIMIT.false_neighbours[0])


def test_values_kept_with_examples_must_be_given_to_their_last_digit():
    def with_value(theorem=BINOMIAL, **value):
        return wrong_values(replace(theorem, examples=(example(x=".5", y=".25", **value),)))

    assert with_value(value=".5625") == with_value(lhs=".563") == with_value(rhs=".56") == []
    assert with_value(value=".5635") == [f"example 1: {s} = 0.5625, not .5635" for s in ("lhs", "rhs")]
    # Floats would not see the twentieth digit; balls do.
    assert with_value(lhs=".56250000000000000003") != []
    assert with_value(lhs=".5625 .5") != []
    infinite = replace(BINOMIAL, lhs=lambda x, y: 0 * x + inf)
    assert with_value(infinite, lhs="inf") == []
    assert with_value(infinite, lhs="-inf") != []
    in_floats = replace(BINOMIAL, exact=False)
    assert with_value(in_floats, lhs=".5625000001") == []
    assert with_value(in_floats, lhs=".5625001") != []
    # A bound that is loosened a little is seen by both values.
    loose = replace(PINSKER, rhs=lambda pi, ref: 1.0001 * PINSKER.rhs(pi, ref))
    assert wrong_values(PINSKER) == []
    assert wrong_values(loose) == ["example 1: rhs = 0.000100030007335467, not .000100020005334934"]
