from dataclasses import replace

import sympy
from support.small_theorems import BINOMIAL, PINSKER

from dph_theory.statement.theorem import Claim, Verdict
from dph_theory.verification.checks.symbolic import symbolic

x = sympy.Symbol("x", positive=True)
TRUE, FALSE, OPEN = Claim("true", x, ">0"), Claim("false", -x, ">0"), Claim("open", sympy.zeta(x))


def test_a_derivation_is_proved():
    result = symbolic(BINOMIAL)
    assert result.verdict is Verdict.PROVED
    assert all(claim.by == ("z3", "sympy") for claim in result.claims)


def test_no_derivation_is_no_proof():
    assert symbolic(PINSKER).verdict is Verdict.UNDECIDED


def test_one_step_that_is_not_proved_is_enough():
    def found(*claims):
        return symbolic(replace(PINSKER, symbolic=lambda: claims))

    assert found(TRUE, OPEN).verdict is Verdict.UNDECIDED
    assert found(TRUE, OPEN, FALSE).verdict is Verdict.REFUTED
    assert "false: false at x = " in found(FALSE, TRUE).detail
