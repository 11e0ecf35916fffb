import re

import pytest

from dph_theory.coq import sources
from dph_theory.theorems import THEOREMS


def test_every_theorem_that_an_entry_names_is_there():
    assert {name for theorem in THEOREMS.values() for name in theorem.coq.split()} <= set(
        sources.statements()
    )
    with pytest.raises(ValueError, match="coq='no_such' is not allowed"):
        sources.statement("no_such")


def test_files_assume_nothing_and_come_after_those_that_they_require():
    assert sources.assumed() == ()
    before = set()
    for path in sources.paths():
        required = re.findall(r"From Kernel Require Import ([\w ]+)\.", path.read_text())
        assert set(" ".join(required).split()) <= before, path.name
        before.add(path.stem)


def test_a_statement_is_read_as_it_is_written():
    found = sources.statement("ln_below")
    assert (found.file, found.text) == ("Laws.v", "forall x, 0 < x -> ln x <= x - 1")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder in the place of the kernel's."""
    monkeypatch.setattr(sources, "FOLDER", tmp_path)
    sources.assumed.cache_clear()
    yield tmp_path
    sources.assumed.cache_clear()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Conjectures cheat : forall P, P.", "Conjectures"),
        ("Context (cheat : 0 = 1).", "Context"),
        ("Section S. Lemma a : True. Proof. exact I. Qed. End S.\nContext (cheat : 0 = 1).", "Context"),
        ("Primitive add := #int63_add.", "Primitive"),
        ("Unset Guard Checking.", "Unset"),
        ("#[bypass_check(guard)] Fixpoint f (n : nat) : False := f n.", "bypass_check"),
        ("Lemma a : 0 = 1.\nAdmitted.", "Admitted"),
    ],
)
def test_a_file_that_assumes_proves_nothing(folder, text, says):
    (folder / "Cheat.v").write_text(text + "\n")
    assert sources.assumed() == (f"Cheat.v says {says}",)


def test_a_section_s_context_is_a_hypothesis_and_a_comment_says_nothing(folder):
    (folder / "Fair.v").write_text("(* No Axiom. *)\nSection S.\nContext {A : Type}.\nEnd S.\n")
    assert sources.assumed() == ()
