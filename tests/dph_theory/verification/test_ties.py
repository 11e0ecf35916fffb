"""What the kernel must have of an entry before it counts as proved."""

from dataclasses import replace

import pytest

from dph_theory.coq.compilation import recorded
from dph_theory.theorems import THEOREMS
from dph_theory.verification import ties
from dph_theory.verification.reports import settings_for
from dph_theory.verification.run import verify_one
from dph_theory.verification.statement import Verdict
from dph_theory.verification.ties import examples_of, untied

EXAMPLE = "Kernel.NumbersBinaryRewards.kl_control_pass_rate"
PROVED = [theorem for theorem in THEOREMS.values() if theorem.expected is Verdict.PROVED]
VALIDITY, POINTWISE, SLOPE = (
    THEOREMS[name] for name in ("kl_control.pass_rate", "kl_control.pointwise", "kl_control.slope")
)


def keeping(theorem, **values):
    """The theorem with other values at its first example."""
    return replace(theorem, examples=(theorem.examples[0].giving(**values),))


@pytest.mark.parametrize("theorem", PROVED, ids=lambda theorem: theorem.name)
def test_what_is_proved_is_used_at_an_example_with_the_digits_that_the_entry_keeps(theorem):
    assert examples_of(theorem, recorded())
    assert untied(theorem) == []


def test_every_printed_digit_counts_and_every_component_needs_an_example():
    assert untied(keeping(VALIDITY, value=".7112345942276")) == []
    (words,) = untied(keeping(VALIDITY, value=".7112345949999"))
    assert words.startswith(
        f"the entry keeps .7112345949999 and .7112345949999, the kernel's {EXAMPLE} 0.7112"
    )
    assert untied(keeping(VALIDITY, value=".71123459422760")) == []
    assert len(untied(keeping(SLOPE, lhs=".4455414072068", rhs=".4458463724647"))) == 1
    assert untied(keeping(VALIDITY, lhs=".7112345942276")) != []
    assert len(examples_of(POINTWISE, recorded())) == 4
    reason = untied(keeping(POINTWISE, lhs=".1 .2 .3", rhs=".4"))[-1]
    assert reason.startswith("3 components are kept, and 4 ")


def test_a_theorem_without_an_example_of_it_proves_nothing():
    not_of = f"{EXAMPLE} is not of {{}}, but of Kernel.KLControl.validity"
    assert untied(replace(VALIDITY, coq="cost")) == [not_of.format("cost")]
    elsewhere = replace(VALIDITY, name="kl_control.elsewhere")
    assert untied(elsewhere) == ["the kernel has no example of validity for it"]
    assert untied(replace(VALIDITY, coq="no_such")) == ["the kernel has 0 theorems no_such, not one"]
    report = verify_one(replace(VALIDITY, coq="cost"), settings_for(instances=10, quick=True))
    assert (report.verdict, report.as_expected) == (Verdict.CHECKED, False)


def test_files_that_coq_has_not_accepted_prove_nothing(monkeypatch):
    monkeypatch.setattr(ties.sources, "hashes", dict)
    assert untied(VALIDITY)[0].startswith("the record is of other files")


@pytest.mark.parametrize(("name", "other"), [
    ("many_prompts.dual", "targets"), ("group_advantages.ends", "the_limit"),
    ("samplers.best", "any_sampler"),
])  # fmt: skip
def test_another_theorem_is_no_proof_though_the_proof_names_it(name, other):
    reasons = untied(replace(THEOREMS[name], coq=other))
    assert any("is not of" in words or "has 0 theorems" in words for words in reasons)


def test_what_rests_on_more_than_is_allowed_proves_nothing():
    record, theorem = recorded(), "Kernel.KLControl.validity"
    added = {EXAMPLE: (*record.axioms[EXAMPLE], "Kernel.NumbersSamplers.cheat")}
    cheating = replace(record, axioms={**record.axioms, **added})
    assert untied(VALIDITY, cheating) == [f"Kernel.NumbersSamplers.cheat is not allowed below {EXAMPLE}"]
    # The machine's numbers are allowed below an example and below a counterexample, not below a theorem.
    computing = replace(record, axioms={**record.axioms, theorem: record.axioms[EXAMPLE]})
    assert "Coq.Floats.PrimFloat.add is not allowed below it" in untied(VALIDITY, computing)
    assert untied(THEOREMS["generators.generator"]) == []
