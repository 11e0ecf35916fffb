from dataclasses import replace

import numpy as np
import pytest
from flint import arb
from support.small_theorems import BINOMIAL, PINSKER

from dph_theory.statement.charts import as_floats, chart, example, uniform
from dph_theory.statement.theorem import Relation, Verdict
from dph_theory.verification.checks.certified import certified, certify, compare


@pytest.mark.parametrize("theorem", [BINOMIAL, PINSKER], ids=lambda t: t.name)
def test_true_statements_are_certified_and_neighbours_refuted(theorem):
    assert certified(theorem, seed=1).verdict is Verdict.CERTIFIED
    false = certified(theorem.changed(theorem.false_neighbours[0]), seed=1)
    assert false.verdict is Verdict.REFUTED
    assert false.witness


def test_balls_see_a_difference_that_floats_cannot():
    off = replace(
        BINOMIAL, rhs=lambda x, y: (x + y) ** 2 + arb(2) ** -90 if x.dtype == object else (x + y) ** 2
    )
    place = example(x=".5", y=".25").parts
    assert off.violation(as_floats(place))[0] == 0
    assert certify(off, place) is Verdict.REFUTED


@pytest.mark.parametrize(
    ("relation", "lhs", "rhs", "verdict"),
    [
        (Relation.EQUAL, arb(1), arb(1), Verdict.CERTIFIED),
        (Relation.EQUAL, arb(1, 1e-3), arb(1), Verdict.UNDECIDED),
        (Relation.EQUAL, arb(1), arb(2), Verdict.REFUTED),
        (Relation.EQUAL, arb.pos_inf(), arb.pos_inf(), Verdict.CERTIFIED),
        (Relation.EQUAL, arb.pos_inf(), arb.neg_inf(), Verdict.REFUTED),
        (Relation.EQUAL, arb.nan(), arb(1), Verdict.UNDECIDED),
        (Relation.EQUAL, arb(0).log(), arb(0).log(), Verdict.UNDECIDED),
        (Relation.EQUAL, arb.pos_inf(), arb(1), Verdict.REFUTED),
        (Relation.AT_MOST, arb(1), arb(2), Verdict.CERTIFIED),
        (Relation.AT_MOST, arb(2), arb(1), Verdict.REFUTED),
        (Relation.AT_MOST, arb(1), arb(1), Verdict.HOLDS),
        (Relation.AT_MOST, arb(1, 1e-3), arb(1), Verdict.UNDECIDED),
        (Relation.AT_MOST, arb(1), arb.pos_inf(), Verdict.CERTIFIED),
    ],
)
def test_comparing_two_balls(relation, lhs, rhs, verdict):
    assert compare(relation, lhs, rhs) is verdict


def test_precision_is_raised_until_the_balls_decide():
    tiny = replace(
        BINOMIAL,
        relation=Relation.AT_MOST,
        instances=chart(x=uniform(0, 1)),
        lhs=lambda x: (x + arb(10) ** -100) - x,
        rhs=lambda x: 2 * ((x + arb(10) ** -100) - x),
    )
    assert certify(tiny, example(x=".1").parts) is Verdict.CERTIFIED


def test_a_tie_is_no_evidence():
    tied = replace(PINSKER, rhs=PINSKER.lhs)
    assert certify(tied, example(pi=".5 .5", ref=".2 .8").parts) is Verdict.HOLDS
    result = certified(tied)
    assert (result.verdict, result.instances) == (Verdict.UNDECIDED, 0)


def test_a_tie_in_one_component_lets_the_others_certify_nothing():
    both = replace(
        BINOMIAL,
        relation=Relation.AT_MOST,
        lhs=lambda x, y: np.stack([x, y], axis=-1),
        rhs=lambda x, y: np.stack([x + 1, y], axis=-1),
    )
    assert certify(both, example(x=".5", y=".25").parts) is Verdict.HOLDS
    result = certified(both)
    assert (result.verdict, result.instances) == (Verdict.UNDECIDED, 0)


def refusing(x, y):
    raise ValueError("x is not allowed")


def test_only_what_the_chart_calls_outside_its_domain_is_no_evidence():
    broken = replace(BINOMIAL, lhs=refusing)
    with pytest.raises(ValueError, match="not allowed"):
        certify(broken, example(x=".5", y=".25").parts)
    bounded = replace(broken, instances=BINOMIAL.instances.within(lambda x: x < 0.5))
    assert certify(bounded, example(x=".5", y=".25").parts) is Verdict.HOLDS
    with pytest.raises(ValueError, match="not allowed"):
        certify(bounded, example(x=".25", y=".25").parts)


def test_a_random_instance_that_stays_wide_turns_no_verdict_and_an_example_does():
    wide = replace(
        BINOMIAL, rhs=lambda x, y: np.where(x == arb(1) / 2, (x + y) ** 2, (x + y) ** 2 * arb.nan())
    )
    decided = replace(wide, examples=(example(x=".5", y=".25"),))
    result = certified(decided, count=4)
    assert (result.verdict, result.instances) == (Verdict.CERTIFIED, 1)
    assert result.detail == "4 random instances stayed undecided"
    undecided = replace(wide, examples=(example(x=".25", y=".5"),))
    assert certified(undecided, count=4).verdict is Verdict.UNDECIDED
