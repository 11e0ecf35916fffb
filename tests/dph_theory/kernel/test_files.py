import re

import pytest

from dph_theory.kernel import files
from dph_theory.theorems import THEOREMS
from dph_theory.verification.run import kernel_theorems

MOST_LINES = 1500
NEIGHBOURS_IN_KERNEL = 8
every_file = pytest.mark.parametrize("path", files.paths(), ids=lambda path: path.name)


def test_every_theorem_that_an_entry_names_is_there():
    assert set(kernel_theorems()) <= set(files.statements())
    with pytest.raises(ValueError, match="kernel='no_such' is not allowed"):
        files.statement("no_such")


@every_file
def test_no_file_assumes_what_it_should_prove(path):
    words = re.findall(r"\w+", " ".join(files.sentences(path)))
    assert not set(words) & set(files.FORBIDDEN)


def test_the_kernel_stays_small():
    assert sum(len(path.read_text().splitlines()) for path in files.paths()) <= MOST_LINES


@every_file
def test_a_file_comes_after_those_that_it_requires(path):
    order = [each.stem for each in files.paths()]
    required = re.findall(r"From Kernel Require Import ([\w ]+)\.", path.read_text())
    for name in " ".join(required).split():
        assert order.index(name) < order.index(path.stem)


def test_a_statement_is_read_as_it_is_written():
    found = files.statement("ln_below")
    assert (found.file, found.text) == ("Laws.v", "forall x, 0 < x -> ln x <= x - 1")
    assert found.term[:2] == ("forall", ("x",))


def test_false_statements_and_neighbours_are_refuted_in_the_kernel():
    refuted = [
        t.name for t in THEOREMS.values() for k in t.kernels if files.statement(k.theorem).text.count("<>")
    ]
    families = {name.partition(".")[0] for name in refuted}
    bounds = {t.family for t in THEOREMS.values() if t.expected == "REFUTED" and t.kernels}
    assert len(families | bounds) >= NEIGHBOURS_IN_KERNEL
