"""Every entry of the registry, in the short form of `dph verify`."""

from graphlib import TopologicalSorter

import numpy as np
import pytest

from dph_theory.statement.theorem import Relation, Verdict
from dph_theory.theorems import THEOREMS
from dph_theory.verification.checks.enclosed import differs
from dph_theory.verification.checks.search import sample
from dph_theory.verification.checks.witness import refuted_by
from dph_theory.verification.run import verify_one
from dph_theory.verification.settings import QUICK_INSTANCES, Settings

QUICK = Settings(instances=QUICK_INSTANCES, quick=True)
every = pytest.mark.parametrize("theorem", THEOREMS.values(), ids=lambda t: t.name)

STATEMENTS = {f"A{i}" for i in range(1, 12)} | {f"B{i}" for i in range(1, 10)}
STATEMENTS |= {f"C{i}" for i in range(1, 5)} | {f"D{i}" for i in range(1, 4)}
STATEMENTS |= {f"E{i}" for i in range(1, 8)} | {f"F{i}" for i in range(1, 11)}
STATEMENTS |= {*(f"G{i}" for i in range(1, 11)), "H1", "H2", "L1"}
CERTIFIED = (
    {f"A{i}" for i in range(4, 10)} | {f"B{i}" for i in range(1, 5)} | {"C2", "C4", "D1", "D2", "E1", "E4"}
)


def test_every_statement_of_the_theory_is_there():
    assert {name.split(".")[0] for name in THEOREMS} == STATEMENTS


def test_statements_that_must_be_certified_are():
    assert {
        n.split(".")[0] for n, t in THEOREMS.items() if t.certified and t.relation is not Relation.TENDS
    } >= CERTIFIED


@every
def test_an_entry_is_complete(theorem):
    assert theorem.title
    assert theorem.statement
    assert theorem.false_neighbours, "a check must be shown to fail"
    names = [false.name for false in theorem.false_neighbours]
    assert len(set(names)) == len(names), "a neighbour listed twice counts one refutation twice"
    assert theorem.expected is not Verdict.UNDECIDED
    derived = theorem.expected in (Verdict.PROVED, Verdict.DERIVED)
    assert derived <= (theorem.derivation is not None)
    assert (theorem.expected is Verdict.ENCLOSED) <= bool(theorem.reductions)
    assert (theorem.expected is Verdict.REFUTED) <= bool(theorem.note), (
        "a refuted claim says what holds instead"
    )


def test_a_derivation_leans_on_entries_that_hold_and_never_on_itself():
    # Each entry after all that it leans on; a circle has no such order.
    order = list(TopologicalSorter({name: t.given for name, t in THEOREMS.items()}).static_order())
    assert set(order) == set(THEOREMS)
    for theorem in THEOREMS.values():
        assert not theorem.given or theorem.derivation
        given = [THEOREMS[name].expected for name in theorem.given]
        assert Verdict.REFUTED not in given
        if theorem.expected in (Verdict.PROVED, Verdict.DERIVED) and not theorem.proved_in_kernel:
            assert theorem.expected.at_most(given) is theorem.expected, "better than what it rests on"


@every
def test_sides_are_batched(theorem):
    # A batch gives the same numbers as its members one by one.
    cube = sample(theorem.instances, 3, np.random.default_rng(1))
    together = theorem.violation(theorem.instances(cube))
    alone = [theorem.violation(theorem.instances(cube[i : i + 1]))[0] for i in range(3)]
    assert together == pytest.approx(alone, rel=1e-6, abs=1e-9)


@every
def test_the_short_form_finds_what_is_expected(theorem):
    # The verdict, the fall of every false neighbour, and the tightness of what is called tight.
    report = verify_one(theorem, QUICK)
    assert report.unexpected == ()
    for check in report.checks:
        assert check.verdict is not Verdict.UNDECIDED


@pytest.mark.parametrize("name", [n for n, t in THEOREMS.items() if t.expected is Verdict.REFUTED])
def test_a_refuted_claim_falls_at_the_counterexample_kept_with_it(name):
    theorem = THEOREMS[name]
    assert refuted_by(theorem, theorem.examples[0].parts)


@pytest.mark.parametrize("name", [name for name, theorem in THEOREMS.items() if theorem.reductions])
def test_the_scalars_of_a_reduction_state_what_its_sides_do(name):
    theorem = THEOREMS[name]
    assert [differs(theorem, reduction, seed=3) for reduction in theorem.reductions] == [
        "" for _ in theorem.reductions
    ]
