"""Every entry of the registry, in the short form of `dph verify`."""

import numpy as np
import pytest

from dph_theory.statement.theorem import Verdict
from dph_theory.theorems import THEOREMS
from dph_theory.verification.exact import in_balls
from dph_theory.verification.reports import settings
from dph_theory.verification.run import verify_one
from dph_theory.verification.search import sample

every = pytest.mark.parametrize("theorem", THEOREMS.values(), ids=lambda t: t.name)

STATEMENTS = {f"A{i}" for i in range(1, 12)} | {f"B{i}" for i in range(1, 10)}
STATEMENTS |= {f"C{i}" for i in range(1, 5)} | {f"D{i}" for i in range(1, 4)}
STATEMENTS |= {f"E{i}" for i in range(1, 8)} | {f"F{i}" for i in range(1, 11)}
STATEMENTS |= {*(f"G{i}" for i in range(1, 11)), "H1", "H2", "L1", *(f"J{i}" for i in range(1, 9))}
IN_BALLS = (
    {f"A{i}" for i in range(4, 10)} | {f"B{i}" for i in range(1, 5)} | {"C2", "C4", "D1", "D2", "E1", "E4"}
)


def test_every_statement_of_the_theory_is_there():
    assert {name.split(".")[0] for name in THEOREMS} == STATEMENTS


def test_statements_that_balls_must_check_are_checked_by_them():
    assert {theorem.family for theorem in THEOREMS.values() if in_balls(theorem)} >= IN_BALLS


@every
def test_an_entry_is_complete(theorem):
    assert theorem.title
    assert theorem.statement
    names = [false.name for false in theorem.false_neighbours]
    assert len(set(names)) == len(names), "a neighbour listed twice counts one refutation twice"
    assert (theorem.expected is Verdict.REFUTED) <= bool(theorem.note), (
        "a refuted claim says what holds instead"
    )


@every
def test_sides_are_batched(theorem):
    # A batch gives the same numbers as its members one by one.
    cube = sample(theorem.instances, 3, np.random.default_rng(1))
    together = theorem.violation(theorem.instances(cube))
    alone = [theorem.violation(theorem.instances(cube[i : i + 1]))[0] for i in range(3)]
    assert together == pytest.approx(alone, rel=1e-6, abs=1e-9)


@every
def test_the_short_form_finds_what_is_expected(theorem):
    # The verdict, the values kept with examples, the fall of every false neighbour, what the kernel has.
    assert verify_one(theorem, settings(quick=True)).unexpected == ()
