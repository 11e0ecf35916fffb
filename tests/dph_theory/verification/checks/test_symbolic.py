from dataclasses import replace

import pytest
import sympy
from support.small_theorems import BINOMIAL, LIMIT, PINSKER

from dph_theory.statement.theorem import Claim, FalseStep, Relation, Verdict
from dph_theory.verification.checks.symbolic import symbolic

x = sympy.Symbol("x", positive=True)
TRUE, FALSE, OPEN = Claim("true", x, ">0"), Claim("false", -x, ">0"), Claim("open", sympy.zeta(x))
REFUSED, ACCEPTED = FalseStep("refused", x - 1, ">0"), FalseStep("accepted", x + 1, ">0")


def found(*steps, theorem=PINSKER):
    return symbolic(replace(theorem, derivation=lambda: steps))


def test_claims_that_are_the_statement_prove_it():
    result = symbolic(BINOMIAL)
    assert result.verdict is Verdict.PROVED
    sentence, claim, false = result.steps
    assert (sentence.kind, sentence.verdict, sentence.text) == (
        "sentence",
        None,
        "Both sides are polynomials.",
    )
    assert (claim.kind, claim.by) == ("claim", ("z3", "sympy"))
    assert (false.kind, false.verdict, false.by) == ("false step", Verdict.PROVED, ("points",))


def test_steps_that_sentences_put_together_derive():
    assert found(TRUE, "and so on", REFUSED).verdict is Verdict.DERIVED


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ((), "no claim is given; no false step is given"),
        (("only words", REFUSED), "no claim is given"),
        ((TRUE,), "no false step is given"),
        ((TRUE, ACCEPTED), "accepted: is false, and was not refused"),
        ((TRUE, OPEN, REFUSED), "open: out of reach of z3 and sympy"),
    ],
)
def test_what_lacks_a_claim_or_a_false_step_or_leaves_one_open_derives_nothing(steps, words):
    result = found(*steps)
    assert result.verdict is Verdict.UNDECIDED
    assert result.detail == words


def test_no_derivation_is_no_proof():
    assert symbolic(PINSKER).verdict is Verdict.UNDECIDED


def test_a_false_claim_refutes():
    result = found(TRUE, OPEN, FALSE, REFUSED)
    assert result.verdict is Verdict.REFUTED
    assert "false: false at x = " in result.detail


@pytest.mark.parametrize("shift", [0, 1])
def test_a_true_claim_that_is_not_the_statement_does_not_prove_it(shift):
    a, b = sympy.symbols("a b", nonnegative=True)
    other = Claim(
        "square",
        (a + b + shift) ** 2,
        equals=sympy.expand((a + b + shift) ** 2),
        states=lambda x, y: {a: x, b: y},
    )
    result = found(other, REFUSED, theorem=BINOMIAL)
    assert result.verdict is (Verdict.UNDECIDED if shift else Verdict.PROVED)
    assert result.detail == ("square: is not the statement" if shift else "")


def test_every_component_must_be_stated_and_a_limit_cannot_be():
    a, b = sympy.symbols("a b", nonnegative=True)
    claim = Claim("square", (a + b) ** 2, equals=a**2 + 2 * a * b + b**2, states=lambda x, y: {a: x, b: y})
    two = replace(BINOMIAL, lhs=lambda x, y: _twice((x + y) ** 2), rhs=lambda x, y: _twice((x + y) ** 2))
    assert found(claim, REFUSED, theorem=two).detail == "component 1 is stated by no claim"
    assert found(claim, REFUSED, theorem=LIMIT).verdict is Verdict.UNDECIDED


def _twice(side):
    return side[..., None] + [0, 0]


def test_a_bound_is_stated_by_the_difference_of_its_sides():
    a = sympy.Symbol("a", nonnegative=True)
    bound = replace(
        BINOMIAL,
        relation=Relation.AT_MOST,
        lhs=lambda x, y: 2 * x * y,
        rhs=lambda x, y: x**2 + y**2,
        examples=(),
    )
    b = sympy.Symbol("b", nonnegative=True)
    claim = Claim("a square", (a - b) ** 2, ">=0", states=lambda x, y: {a: x, b: y})
    assert found(claim, REFUSED, theorem=bound).verdict is Verdict.PROVED
    larger = replace(claim, expression=(a - b) ** 2 + 1)
    assert found(larger, REFUSED, theorem=bound).verdict is Verdict.UNDECIDED
