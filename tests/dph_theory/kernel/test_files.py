import re

import pytest

from dph_theory.kernel import files
from dph_theory.theorems import THEOREMS


def test_every_theorem_that_an_entry_names_is_there():
    assert {name for theorem in THEOREMS.values() for name in theorem.coq.split()} <= set(files.statements())
    with pytest.raises(ValueError, match="coq='no_such' is not allowed"):
        files.statement("no_such")


def test_files_assume_nothing_and_come_after_those_that_they_require():
    assert files.assumed() == ()
    before = set()
    for path in files.paths():
        required = re.findall(r"From Kernel Require Import ([\w ]+)\.", path.read_text())
        assert set(" ".join(required).split()) <= before, path.name
        before.add(path.stem)


def test_a_statement_is_read_as_it_is_written():
    found = files.statement("ln_below")
    assert (found.file, found.text) == ("Laws.v", "forall x, 0 < x -> ln x <= x - 1")
