import sys
from dataclasses import replace

import numpy as np
import pytest

from dph_theory.kernel import coq
from dph_theory.statement.theorem import Kernel, Verdict
from dph_theory.theorems import THEOREMS
from dph_theory.verification.checks import applies, kernel
from dph_theory.verification.run import expected_verdict

GIBBS, CHAIN = THEOREMS["L1.gibbs"], THEOREMS["B5.chain"]
CHECK = sys.modules["dph_theory.verification.checks.kernel"]
in_kernel = pytest.mark.parametrize(
    "theorem", [t for t in THEOREMS.values() if t.kernels], ids=lambda theorem: theorem.name
)


@in_kernel
def test_what_coq_proves_is_what_the_entry_states(theorem):
    found = kernel(theorem, seed=5)
    assert found.detail == ""
    if theorem.expected is not Verdict.REFUTED:
        assert (found.verdict is Verdict.PROVED) == theorem.proved_in_kernel
        assert (theorem.expected is Verdict.PROVED) >= theorem.proved_in_kernel


def test_a_part_proves_no_whole():
    assert kernel(CHAIN).verdict is Verdict.HOLDS
    assert expected_verdict(CHAIN, ("kernel",)) is Verdict.HOLDS


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rhs": lambda q: GIBBS.rhs(q) + 1e-6}, "gibbs says"),
        ({"kernel": Kernel("cauchy", where=lambda q, p: {"w": q, "a": p, "b": p})}, "cauchy says"),
        ({"kernel": Kernel("gibbs", where=lambda p: {"p": 2 * p})}, "it asks for more than the statement"),
        ({"kernel": Kernel("tangent")}, "0 relations for 1 components"),
    ],
)
def test_another_statement_is_seen(changes, words):
    found = kernel(replace(GIBBS, **changes))
    assert found.verdict is Verdict.UNDECIDED
    assert words in found.detail


def test_a_refuted_statement_needs_its_negation():
    entropy = THEOREMS["F4.entropy"]
    assert kernel(entropy).verdict is Verdict.REFUTED
    assert kernel(replace(entropy, rhs=entropy.lhs)).verdict is Verdict.UNDECIDED
    assert kernel(replace(entropy, kernel=Kernel("no_generator"))).verdict is Verdict.UNDECIDED


def test_a_part_that_speaks_of_no_instance_is_no_evidence():
    zeros = replace(
        CHAIN.kernel, where=lambda pi_tokens: {**CHAIN.kernel.where(pi_tokens, pi_tokens), "ref": _none}
    )
    assert "was compared nowhere" in kernel(replace(CHAIN, kernel=zeros)).detail


def _none(prefix):
    return np.zeros(3)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"files": {}}, "the record is of other files"),
        ({"theorems": ()}, "the record does not have gibbs"),
        ({"axioms": ("Cheat.proof",)}, "axioms besides those of the reals: Cheat.proof"),
    ],
)
def test_what_coq_has_not_accepted_is_not_proved(monkeypatch, changes, words):
    record = replace(coq.recorded(), **changes)
    monkeypatch.setattr(coq, "recorded", lambda: record)
    CHECK.unaccepted.cache_clear()
    try:
        found = kernel(GIBBS)
    finally:
        CHECK.unaccepted.cache_clear()
    assert found.verdict is Verdict.UNDECIDED
    assert words in found.detail


def test_without_a_theorem_of_the_kernel_the_check_does_not_apply():
    assert not applies("kernel", replace(GIBBS, kernel=None))
    assert kernel(replace(GIBBS, kernel=None)).verdict is Verdict.UNDECIDED
