"""What Coq said of the kernel, and, where Coq is installed, what it says now."""

import re
import shutil
from dataclasses import replace

import pytest

from dph_theory.coq import compiler, printer, sources
from dph_theory.coq.compilation import Printed, recorded
from dph_theory.theorems import THEOREMS

with_coq = pytest.mark.skipif(
    not compiler.installed(),
    reason=f"the Coq proofs were not compiled: Coq is not installed ({compiler.INSTALL})",
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


def test_the_record_is_of_these_files_and_rests_on_what_is_allowed_or_says_so():
    record = recorded()
    assert record.files == sources.hashes(), "run python docs/generate.py where Coq is"
    proved = [name for theorem in THEOREMS.values() if not theorem.false for name in theorem.coq.split()]
    full_names = [full for name in proved for full in record.named(name)]
    assert len(full_names) == len(proved)
    assert record.not_allowed(full_names, computing=False) == []
    assert record.not_allowed(record.axioms, computing=True) == []
    # A counterexample is computed, and rests on the machine's numbers as examples do.
    assert "Coq.Numbers.Cyclic.Int63.PrimInt63.add" in record.not_allowed(
        ["Kernel.Refuted.no_generator"], computing=False
    )
    cheating = replace(record, axioms={**record.axioms, "Kernel.Laws.gibbs": ("Kernel.Cheat.proof",)})
    assert "not allowed: Kernel.Cheat.proof" in cheating.summary()
    summary = replace(record, files={**record.files, "Laws.v": "0" * 64}).summary()
    assert f"accepted by Coq {record.coq}" in summary
    assert "not these files: Laws.v" in summary
    assert "not these files" not in record.summary()


def test_the_closed_form_has_all_that_a_statement_reaches():
    record = recorded()
    lines = dict(line.split(" : ", 1) for line in record.closed_form("Kernel.KLControl.validity"))
    reached = ("Laws.law", "Laws.weights", "KLControl.tilted", "KLControl.one")
    numbers = ("Numbers.gives", "Numbers.bounds", "Numbers.the_limit")
    assert {f"Kernel.{name}" for name in (*reached, *numbers)} <= lines.keys()
    assert lines["Coq.Reals.Rtrigo_def.exp"] == ""
    assert all(lines[name] for name in lines if name.startswith("Kernel."))
    assert "Kernel.Updates.softmax" not in lines
    # A section's variables are hypotheses of the closed theorem.
    assert record.theorems["Kernel.Sharp.sharp_form"].readable.startswith(
        "forall (S0 A : Type) (ss : list S0)"
    )
    law = Printed("True", "Logic.True")
    changed = replace(
        record,
        definitions={**record.definitions, "Kernel.Laws.law": law},
        paths={**record.paths, "Logic.True": "Coq.Init.Logic.True"},
    )
    assert changed.closed_form("Kernel.KLControl.validity") != record.closed_form("Kernel.KLControl.validity")


def test_without_coq_the_reason_is_said(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(compiler.CoqError, match="coqc is not installed"):
        printer.compiled([])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which all files are compiled that a wrong one may require."""
    place = tmp_path_factory.mktemp("kernel")
    examples = sources.required(sources.FOLDER / "NumbersBinaryRewards.v")
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
    with pytest.raises(compiler.CoqError, match=r'File "\./Wrong\.v"'):
        compiler.run_coq(folder, "Wrong.v")


@with_coq
@pytest.mark.parametrize("sentence", [
    "Conjectures cheat : forall P : Prop, P.", "Context (cheat : 0 = 1).", "Primitive add := #int63_add.",
    "Unset Guard Checking.", "#[bypass_check(guard)] Fixpoint f (n : nat) {struct n} : False := f n.",
    "Notation cheat := True.", "Admitted.",
])  # fmt: skip
def test_what_could_assume_is_refused_by_file_and_line_however_it_is_written(tmp_path, sentence):
    before, after = (
        ("Lemma a : True.", "") if sentence == "Admitted." else ("", "Lemma a : True. Proof. exact I. Qed.")
    )
    text = f'(* "Axiom" (* Context *) *)\nDefinition quoted : Prop := True.\n{before}\n{sentence}\n{after}\n'
    if "int63" in sentence:
        text = "Require Import PrimInt63.\n" + text
    (tmp_path / "Cheat.v").write_text(text)
    with pytest.raises(compiler.CoqError, match=r"Cheat\.v, line \d: .* not among the commands") as refused:
        compiler.compile_one(tmp_path, "Cheat.v")
    assert sentence in str(refused.value)


def example_in(folder, text):
    """Compile what stands before the first example on binary rewards, and then this text."""
    before = (sources.FOLDER / "NumbersBinaryRewards.v").read_text().partition("Example ")[0]
    (folder / "Wrong.v").write_text(before + text)
    compiler.run_coq(folder, "Wrong.v")


@with_coq
@pytest.mark.slow
def test_a_changed_digit_and_a_vacuous_theorem_are_refused_at_an_example(folder):
    text = (sources.FOLDER / "NumbersBinaryRewards.v").read_text()
    tied = re.search(r"Example kl_control_pass_rate .*?Qed\.\n", text, re.S)[0]
    example_in(folder, tied)
    value = recorded().examples["Kernel.NumbersBinaryRewards.kl_control_pass_rate"].values[0]
    with pytest.raises(compiler.CoqError, match=r'File "\./Wrong\.v"'):
        example_in(folder, tied.replace(value, f"{value[:-2]}{(int(value[-2]) + 1) % 10}{value[-1]}"))
    # A contradiction as one more hypothesis proves what you like, and cannot be proved at the example.
    readable = recorded().theorems["Kernel.KLControl.validity"].readable
    variables, _, rest = readable.replace("(Y : Type) ", "").partition(",")
    vacuous = (
        f"Theorem vacuous {{Y : Type}} : {variables}, (forall z : R, z < 0) -> {rest}.\n"
        "Proof. intros. exfalso. assert (0 < 0) by auto. lra. Qed.\n"
    )
    example_in(folder, vacuous)
    for one_more in ("", " ltac:(holds)"):
        used = tied.replace("validity four base valid 0.5", f"vacuous four base valid 0.5{one_more}")
        assert used != tied
        with pytest.raises(compiler.CoqError, match=r'File "\./Wrong\.v"'):
            example_in(folder, vacuous + used)
