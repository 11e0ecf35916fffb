"""What would turn a checked entry into a proved one is refused: by its commands, and by what Coq prints.

The claim is false: v(1 - v) <= 1/5 holds at the example, v = 1/5, and not at v = 1/2.
"""

from dataclasses import dataclass, replace

import pytest

from dph_theory.coq import compiler, printer
from dph_theory.theorems import THEOREMS
from dph_theory.verification.ties import untied

pytestmark = [
    pytest.mark.skipif(not compiler.installed(), reason=f"Coq is not installed ({compiler.INSTALL})"),
    pytest.mark.slow,
]
HEAD = "Require Import Reals Lra Psatz. From Kernel Require Import Laws{}. Open Scope R_scope.\n"
CLAIM = "forall v, 0 <= v <= 1 -> v * (1 - v) <= 1 / 5"
NO_MORE = "Proof. intros; apply Rmin_r. Qed.\n"


@dataclass(frozen=True)
class Attack:
    """A theorem's file, and an example's; {0} is the theorem's name, {1} the example's.

    command: the first sentence that is refused, "" if all are allowed; printed: what shows in the theorem's
    closed form; reason: why it is not tied, "" where only a reader of the closed form sees that.
    """

    theorem: str
    example: str
    command: str = ""
    printed: str = ""
    reason: str = ""


def at(arguments, steps="", before=""):
    """An example of the theorem with these arguments."""
    proof = f"Proof. split; {steps} apply Rabs_le; lra. Qed."
    return f"{before}Example {{1}} : bounds ({{0}} {arguments}) 0.16 0.2. {proof}\n"


def by(contradiction):
    """The claim, from a contradiction."""
    return f"Theorem {{0}} : {CLAIM}.\nProof. destruct {contradiction}. Qed.\n"


HONEST = Attack(
    "Theorem {0} : forall v, v * (1 - v) <= 1 / 4.\n"
    "Proof. intro v. assert (P := pow2_ge_0 (v - 1 / 2)). lra. Qed.\n",
    at("0.2").replace("0.2.", "0.25."),
)
ORDINARY = at("0.2 ltac:(lra)")
WITHOUT_LEAST = "rewrite ?Rmin_left by lra;"
ATTACKS = {
    # Seven that were tried on this project.
    "hypothesis": Attack(
        "Section S.\nContext (v : R) (narrow : v * (1 - v) <= 1 / 5).\n"
        f"Theorem {{0}} : {CLAIM.partition(', ')[2]}.\nProof. auto. Qed.\nEnd S.\n",
        at("0.2 ltac:(lra) ltac:(lra)"),
        command="Context (v : R) (narrow",
        printed="(_ : Rdefinitions.Rle (Rdefinitions.RbaseSymbolsImpl.Rmult v",
    ),
    "namesake": Attack(
        "Section S.\nContext (never : False).\n" + by("never") + "End S.\n",
        at("", before="Lemma {0} : 0.2 * (1 - 0.2) <= 1 / 5.\nProof. lra. Qed.\n"),
        command="Context (never : False).",
        printed="forall (_ : Logic.False)",
        reason="the kernel has 2 theorems {0}, not one",
    ),
    "notation": Attack(
        'Local Notation "x <= y" := (Rle (Rmin x y) y) : R_scope.\n'
        f"Theorem {{0}} : forall v, 0 <= v -> v * (1 - v) <= 1 / 5.\n{NO_MORE}",
        at("0.2 ltac:(apply Rmin_r)", WITHOUT_LEAST),
        command="Local Notation",
        printed="Rbasic_fun.Rmin",
    ),
    "definition": Attack(
        "Definition least (v : R) : R := Rmin (v * (1 - v)) (1 / 5).\n"
        f"Theorem {{0}} : forall v, least v <= 1 / 5.\n{NO_MORE}",
        at("0.2", f"unfold {{2}}.least; {WITHOUT_LEAST}"),
        printed="Rbasic_fun.Rmin",
    ),
    "obligation": Attack(
        "(* From Interval Require *) Require Import Program.\nModule PrimFloat.\n"
        "Program Definition anything : False := _.\nAdmit Obligations.\nEnd PrimFloat.\n"
        + by("PrimFloat.anything"),
        ORDINARY,
        command="Module PrimFloat.",
        reason="Kernel.{2}.PrimFloat.anything_obligation_1 is not allowed below it",
    ),
    "declared": Attack(
        "(* From Interval Require *) Require Import OrderedType.\n"
        "Declare Module PrimFloat : MiniOrderedType with Definition t := unit with Definition eq := "
        "(fun _ _ : unit => True) with Definition lt := (fun _ _ : unit => True).\n"
        + by("(@PrimFloat.lt_not_eq tt tt I I)"),
        ORDINARY,
        command="Declare Module",
        reason="Kernel.{2}.PrimFloat.lt_not_eq is not allowed below it",
    ),
    "other": Attack(
        HONEST.theorem + "Theorem more : forall x : R, x <= x + 0.04.\nProof. intros; lra. Qed.\n",
        at("0.16", before="Local Notation {0} := {2}.more.\n"),
        command="Local Notation",
        reason="{1} is not of {0}, but of Kernel.{2}.more",
    ),
    # And more.
    "unguarded": Attack(
        "Unset Guard Checking.\nFixpoint loop (n : nat) {{struct n}} : False := loop n.\n" + by("(loop 0)"),
        ORDINARY,
        command="Unset Guard Checking.",
        reason="loop is assumed to be guarded. is not allowed below it",
    ),
    "argument": Attack(
        "Definition least {{cap : R}} (v : R) (_ : cap <= 1) : R := Rmin v cap.\n"
        "Lemma less : 1 / 5 <= 1.\nProof. lra. Qed.\n"
        f"Theorem {{0}} : forall v, least (v * (1 - v)) less <= 1 / 5.\n{NO_MORE}",
        at("0.2", f"unfold {{2}}.least; {WITHOUT_LEAST}"),
        printed=".least (Rdefinitions.Rdiv",
    ),
    "part": Attack(
        HONEST.theorem,
        at("(conj (Rle_refl 0.2) ({0} 0.2))").replace("({0} (conj", "(proj1 (conj").replace("0.16", "0.2"),
        reason="{1} is not of {0}, but of ?",
    ),
    # By its short name the axiom of this file is one of those that are allowed.
    "ClassicalDedekindReals": Attack(
        "Axiom sig_not_dec : False.\n" + by("sig_not_dec"),
        ORDINARY,
        command="Axiom",
        reason="Kernel.ClassicalDedekindReals.sig_not_dec is not allowed below it",
    ),
}


def names(kind):
    """Of an attack: its theorem, its example, its file."""
    return f"{kind}_claim", f"attack_{kind}", kind if kind[0].isupper() else f"Cheat_{kind}"


def entry(kind):
    """The entry that an attack would have proved."""
    theorem = THEOREMS["kl_control.pass_rate"]
    (example,) = theorem.examples
    first = example.giving(lhs=".16", rhs=".25" if kind in ("honest", "part") else ".2")
    return replace(theorem, coq=names(kind)[0], name=f"attack.{kind}", examples=(first,))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which what examples require is compiled."""
    place = tmp_path_factory.mktemp("kernel")
    compiler.compile_into(place, ["Numbers"])
    return place


@pytest.fixture(scope="module")
def record(folder):
    """What Coq prints of all attacks, and of an honest theorem, if all commands were allowed."""
    for kind, attack in (ATTACKS | {"honest": HONEST}).items():
        write(folder, kind, attack)
        for file in (f"{names(kind)[2]}.v", f"Numbers{names(kind)[2]}.v"):
            compiler.run_coq(folder, file)
    return printer.printed(folder, [names(kind)[0] for kind in (*ATTACKS, "honest")])


def write(folder, kind, attack):
    """Its two files."""
    file = names(kind)[2]
    (folder / f"{file}.v").write_text(HEAD.format("") + attack.theorem.format(*names(kind)))
    text = HEAD.format(f" Numbers {file}") + attack.example.format(*names(kind))
    (folder / f"Numbers{file}.v").write_text(text)


@pytest.mark.parametrize("kind", [kind for kind in ATTACKS if ATTACKS[kind].command])
def test_its_command_is_refused_by_file_and_line(folder, kind):
    attack = ATTACKS[kind]
    write(folder, kind, attack)
    theorem, example = f"{names(kind)[2]}.v", f"Numbers{names(kind)[2]}.v"
    if attack.command not in attack.theorem:
        compiler.compile_one(folder, theorem)
    file = theorem if attack.command in attack.theorem else example
    with pytest.raises(compiler.CoqError, match=r"\.v, line \d+: .* is not among the commands") as refused:
        compiler.compile_one(folder, file)
    assert f": {attack.command}" in str(refused.value)


@pytest.mark.parametrize("kind", ATTACKS)
def test_its_print_shows_what_it_is(record, kind):
    attack, reasons = ATTACKS[kind], untied(entry(kind), record)
    assert bool(reasons) is bool(attack.reason)
    assert attack.reason.format(*names(kind)) in " ".join(reasons)
    assert attack.printed in " ".join(record.closed_form(record.named(names(kind)[0])[0]))
    # One that only a reader can refuse cannot replace what has been read: the pin is another.
    assert (
        attack.printed not in " ".join(record.closed_form("Kernel.Cheat_honest.honest_claim"))
        or not attack.printed
    )


def test_an_honest_theorem_is_tied(record):
    assert untied(entry("honest"), record) == []
    assert untied(replace(entry("honest"), coq="more"), record) != []
