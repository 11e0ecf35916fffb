import pytest
import sympy
from support.false_claims import BROKEN_SOMEWHERE, PROVED_BY_FORCE, p, x, y

from dph_theory.statement.theorem import Claim, Verdict
from dph_theory.verification.proofs import by_sympy, by_z3, decision
from dph_theory.verification.proofs.decision import decide

f = sympy.Function("f")


def old_decider(claim):
    return sympy.expand(sympy.expand_log(sympy.logcombine(claim.difference()), force=True)).is_zero


@pytest.mark.parametrize("claim", PROVED_BY_FORCE, ids=lambda claim: claim.text)
def test_claims_that_force_proved_are_not_proved(claim):
    assert old_decider(claim)
    assert decide(claim).verdict is Verdict.REFUTED


@pytest.mark.parametrize("claim", BROKEN_SOMEWHERE, ids=lambda claim: claim.text)
def test_no_false_claim_is_proved(claim):
    assert decide(claim).verdict is not Verdict.PROVED


@pytest.mark.parametrize("claim", PROVED_BY_FORCE + BROKEN_SOMEWHERE[:-2], ids=lambda claim: claim.text)
def test_each_decider_alone_proves_none_of_them(claim):
    assert by_sympy.decide(claim) is not True
    assert by_z3.decide(claim) is not True


@pytest.mark.parametrize(
    ("claim", "by"),
    [
        (Claim("", sympy.log(x**2 * p**3), equals=2 * sympy.log(sympy.Abs(x)) + 3 * sympy.log(p)), None),
        (Claim("", sympy.exp(x) * sympy.cosh(x), equals=(sympy.exp(2 * x) + 1) / 2), ("z3",)),
        (Claim("", x**2 - 2 * x * y + y**2, ">=0"), ("z3", "sympy")),
        (Claim("", 1 - p, ">0", where=(p < 1,)), ("z3",)),
        (Claim("", sympy.log(1 + p), ">0"), ("z3", "sympy")),
        (Claim("", sympy.sin(x) ** 2 + sympy.cos(x) ** 2 - 1), ("sympy",)),
        (Claim("", sympy.Derivative(p * sympy.log(p), p), equals=sympy.log(p) + 1), ("z3", "sympy")),
        (Claim("", p * f(x) + y * f(x), equals=(p + y) * f(x)), ("z3", "sympy")),
        (Claim("", f(x), ">0"), None),
        (Claim("", 1 / p - 1, ">0", where=(p > 2, p < 1)), None),
    ],
)
def test_a_decision_names_its_deciders(claim, by):
    decided = decide(claim)
    assert decided.verdict is (Verdict.PROVED if by else Verdict.UNDECIDED), decided
    assert decided.by == (by or ())


def test_without_z3_sympy_decides_alone(monkeypatch):
    monkeypatch.setattr(decision, "find_spec", lambda name: None)
    assert decide(Claim("", p + x**2, ">0")).by == ("sympy",)


def test_deciders_that_disagree_prove_nothing(monkeypatch):
    monkeypatch.setattr(by_sympy, "decide", lambda claim: False)
    assert "proved by z3 and refuted by sympy" in decide(Claim("", p, ">0")).detail


def test_the_first_decider_is_enough_for_a_quick_answer():
    assert decide(Claim("", x**2 + 1, ">0"), first_only=True).by == ("z3",)
