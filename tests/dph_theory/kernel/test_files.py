import re

import pytest

from dph_theory.kernel import files
from dph_theory.theorems import THEOREMS

FORBIDDEN = (
    *("Admitted", "admit", "Axiom", "Axioms", "Parameter", "Parameters"),
    *("Conjecture", "Hypothesis", "Hypotheses", "Variable", "Variables"),
)
"""Words by which a file could assume what it should prove."""
every_file = pytest.mark.parametrize("path", files.paths(), ids=lambda path: path.name)


def test_every_theorem_that_an_entry_names_is_there():
    assert {name for theorem in THEOREMS.values() for name in theorem.coq.split()} <= set(files.statements())
    with pytest.raises(ValueError, match="coq='no_such' is not allowed"):
        files.statement("no_such")


@every_file
def test_no_file_assumes_what_it_should_prove(path):
    words = re.findall(r"\w+", " ".join(files.sentences(path)))
    assert not set(words) & set(FORBIDDEN)


@every_file
def test_a_file_comes_after_those_that_it_requires(path):
    order = [each.stem for each in files.paths()]
    required = re.findall(r"From Kernel Require Import ([\w ]+)\.", path.read_text())
    for name in " ".join(required).split():
        assert order.index(name) < order.index(path.stem)


def test_a_statement_is_read_as_it_is_written():
    found = files.statement("ln_below")
    assert (found.file, found.text) == ("Laws.v", "forall x, 0 < x -> ln x <= x - 1")
