"""What the kernel must have of an entry before it counts as proved."""

from dataclasses import replace

import pytest

from dph_theory.coq import compiler
from dph_theory.theorems import THEOREMS
from dph_theory.verification.reports import settings_for
from dph_theory.verification.run import verify_one
from dph_theory.verification.statement import Verdict
from dph_theory.verification.ties import examples_of, untied

PROVED = [theorem for theorem in THEOREMS.values() if theorem.expected is Verdict.PROVED]
VALIDITY, POINTWISE, SLOPE = (
    THEOREMS[name] for name in ("kl_control.validity", "kl_control.pointwise", "kl_control.slope")
)


def kept_at(theorem, **values):
    """The theorem with other values at its first example."""
    return replace(theorem, examples=(theorem.examples[0].giving(**values),))


@pytest.mark.parametrize("theorem", PROVED, ids=lambda theorem: theorem.name)
def test_what_is_proved_is_used_at_an_example_with_the_digits_that_the_entry_keeps(theorem):
    assert examples_of(theorem)
    assert untied(theorem) == []


def test_every_printed_digit_counts_and_every_component_needs_an_example():
    assert untied(kept_at(VALIDITY, value=".7112345942276")) == []
    (words,) = untied(kept_at(VALIDITY, value=".7112345949999"))
    assert words.startswith(
        "the entry keeps .7112345949999 and .7112345949999, the kernel's A5_validity 0.71123459"
    )
    assert untied(kept_at(VALIDITY, value=".71123459422760")) == []
    assert len(untied(kept_at(SLOPE, lhs=".4455414072068", rhs=".4458463724647"))) == 1
    assert untied(kept_at(VALIDITY, lhs=".7112345942276")) != []
    assert len(examples_of(POINTWISE)) == 4
    said = untied(kept_at(POINTWISE, lhs=".1 .2 .3", rhs=".4"))[-1]
    assert said.startswith("3 components are kept, and 4 ")


def test_a_theorem_without_an_example_of_it_proves_nothing():
    assert untied(replace(VALIDITY, coq="gibbs")) == ["A5_validity is not of gibbs"]
    assert untied(replace(VALIDITY, label="A5.elsewhere")) == ["the kernel has no example of validity for it"]
    assert untied(replace(VALIDITY, coq="no_such")) == ["the kernel has no theorem no_such"]
    report = verify_one(replace(VALIDITY, coq="gibbs"), settings_for(instances=10, quick=True))
    assert (report.verdict, report.as_expected) == (Verdict.CHECKED, False)


def test_files_that_coq_has_not_accepted_prove_nothing(monkeypatch):
    compiler.unaccepted.cache_clear()
    monkeypatch.setattr(compiler.sources, "hashes", dict)
    assert untied(VALIDITY)[0].startswith("the record is of other files")
    monkeypatch.undo()
    compiler.unaccepted.cache_clear()
    assert untied(VALIDITY) == []


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("many_prompts.dual", "targets"),
        ("group_advantages.ends", "the_limit"),
        ("samplers.best", "any_sampler"),
    ],
)
def test_another_theorem_is_no_proof_though_the_proof_names_it(name, other):
    said = untied(replace(THEOREMS[name], coq=other))
    assert any("is not of" in words or "hands on what another theorem says" in words for words in said)


def test_examples_that_rest_on_more_than_the_machine_s_numbers_prove_nothing(monkeypatch):
    compiler.unaccepted.cache_clear()
    record = compiler.recorded()
    more = replace(record, of_examples=(*record.of_examples, "NumbersJ.cheat"))
    monkeypatch.setattr(compiler, "recorded", lambda: more)
    assert "besides those of the reals and the primitives: NumbersJ.cheat" in untied(VALIDITY)[0]
    monkeypatch.undo()
    compiler.unaccepted.cache_clear()
    assert record.beyond_primitives == []
