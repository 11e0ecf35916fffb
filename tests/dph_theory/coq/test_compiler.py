"""What Coq said of the kernel, and, where Coq is installed, what it says now."""

import re
import shutil
from dataclasses import replace

import pytest

from dph_theory.coq import compiler, sources

with_coq = pytest.mark.skipif(
    not compiler.installed(),
    reason=f"the proof kernel was not compiled: Coq is not installed ({compiler.INSTALL})",
)
DELIBERATE = {
    "Laws.v": ("f v <= f w /\\", "f v < f w /\\"),
    "Pinsker.v": ("2 * tv ys q p ^ 2 <= kl", "3 * tv ys q p ^ 2 <= kl"),
    "KLControl.v": (
        "valid = expit (logit (mass ys base valid) + 1 / beta)",
        "valid = expit (logit (mass ys base valid) + beta)",
    ),
    "Frontier.v": ("- ln (mass ys base valid).\nProof. intros", "+ ln (mass ys base valid).\nProof. intros"),
    "Divergences.v": ("l - beta = sum", "l + beta = sum"),
    "Updates.v": (
        "Derive (fun t => kl ys ref (moved ys th d t)) 0.",
        "Derive (fun t => kl ys (moved ys th d t) ref) 0.",
    ),
    "Trees.v": ("prob (local ts valid n a) h * - ln (kept", "prob a h * - ln (kept"),
    "Groups.v": ("weight by_deviation 3 V = 2 / sqrt 3", "weight by_deviation 3 V = 3 / sqrt 2"),
    "Refuted.v": ("(three (1 / 5) (1 / 5) (3 / 5)) < 0", "(three (1 / 5) (1 / 5) (3 / 5)) > 0"),
}
"""A wrong statement for each file: what is written, and what stands there instead."""


def test_the_record_is_of_these_files_and_rests_on_the_classical_reals_or_says_so():
    assert compiler.unaccepted() == (), "run python docs/generate.py where Coq is"
    record = compiler.recorded()
    assert record.axioms
    assert record.beyond_the_reals == []
    cheating = replace(record, axioms=(*record.axioms, "Cheat.proof"))
    assert cheating.beyond_the_reals == ["Cheat.proof"]
    assert "more than the classical reals: Cheat.proof" in cheating.told()
    told = replace(record, files={**record.files, "Laws.v": "0" * 64}).told()
    assert f"accepted by Coq {record.coq}" in told
    assert "not these files: Laws.v" in told
    assert "not these files" not in record.told()


def test_without_coq_the_reason_is_said(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(compiler.CoqError, match="coqc is not installed"):
        compiler.compiled()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which all files are compiled that a wrong one may require."""
    place, examples = tmp_path_factory.mktemp("kernel"), sources.required(sources.FOLDER / "NumbersA.v")
    compiler.compile_into(place, [*examples, *(name.removesuffix(".v") for name in DELIBERATE)])
    return place


@with_coq
@pytest.mark.slow
@pytest.mark.parametrize("name", DELIBERATE)
def test_a_deliberate_error_is_refused(folder, name):
    right, wrong = DELIBERATE[name]
    text = (sources.FOLDER / name).read_text()
    assert text.count(right) == 1
    (folder / "Wrong.v").write_text(text.replace(right, wrong))
    with pytest.raises(compiler.CoqError, match=r"Wrong\.v"):
        compiler.compile_one(folder, "Wrong.v")


@with_coq
@pytest.mark.slow
def test_an_axiom_would_be_seen(folder):
    (folder / "Cheat.v").write_text("Axiom cheat : 0 = 1.\nTheorem easy : 0 = 1.\nProof. exact cheat. Qed.\n")
    compiler.compile_one(folder, "Cheat.v")
    (folder / "Seen.v").write_text(
        'From Kernel Require Import Cheat.\nRedirect "seen" Print Assumptions easy.\n'
    )
    compiler.compile_one(folder, "Seen.v")
    assert "cheat" in (folder / "seen.out").read_text()


def example_in(folder, text):
    """Compile what stands before the first example of family A, and then this text."""
    before = (sources.FOLDER / "NumbersA.v").read_text().partition("Example ")[0]
    (folder / "Wrong.v").write_text(before + text)
    compiler.compile_one(folder, "Wrong.v")


@with_coq
@pytest.mark.slow
def test_a_changed_digit_and_a_vacuous_theorem_are_refused_at_an_example(folder):
    text = (sources.FOLDER / "NumbersA.v").read_text()
    tied = re.search(r"Example A5_validity .*?Qed\.\n", text, re.S)[0]
    example_in(folder, tied)
    value = sources.examples()["A5_validity"].values[0]
    with pytest.raises(compiler.CoqError, match=r"Wrong\.v"):
        example_in(folder, tied.replace(value, f"{value[:-2]}{(int(value[-2]) + 1) % 10}{value[-1]}"))
    # A contradiction as one more hypothesis proves what you like, and cannot be proved at the example.
    said = sources.statement("validity").text
    variables, _, rest = said.partition(",")
    vacuous = (
        f"Theorem vacuous {{Y : Type}} : {variables}, (forall z : R, z < 0) -> {rest}.\n"
        "Proof. intros. exfalso. assert (0 < 0) by auto. lra. Qed.\n"
    )
    example_in(folder, vacuous)
    for one_more in ("", " ltac:(holds)"):
        used = tied.replace("validity four base valid 0.5", f"vacuous four base valid 0.5{one_more}")
        assert used != tied
        with pytest.raises(compiler.CoqError, match=r"Wrong\.v"):
            example_in(folder, vacuous + used)
