import pytest
import sympy
from support.small_theorems import BINOMIAL, PINSKER

from dph_theory.statement.theorem import Claim, Verdict
from dph_theory.verification.checks.symbolic import prove, symbolic

x, y = sympy.symbols("x y", positive=True)
f = sympy.Function("f")


def test_a_derivation_is_proved():
    assert symbolic(BINOMIAL).verdict is Verdict.PROVED


def test_no_derivation_is_no_proof():
    assert symbolic(PINSKER).verdict is Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("expression", "sign", "verdict"),
    [
        (sympy.log(x * y) - sympy.log(x) - sympy.log(y), "=0", Verdict.PROVED),
        (sympy.sin(x) ** 2 + sympy.cos(x) ** 2 - 1, "=0", Verdict.PROVED),
        (x**2 - 2 * x * y + y**2, ">=0", Verdict.PROVED),
        (x + y, ">0", Verdict.PROVED),
        (x - y, "=0", Verdict.REFUTED),
        (x - y - 100, ">=0", Verdict.REFUTED),
        (-x, ">0", Verdict.REFUTED),
        (sympy.log(2), "=0", Verdict.REFUTED),
        (f(x), ">0", Verdict.UNDECIDED),
    ],
)
def test_claims(expression, sign, verdict):
    assert prove(Claim("claim", expression, sign)) is verdict


def test_an_unknown_sign_is_named():
    with pytest.raises(ValueError, match="sign='<0' is not allowed"):
        prove(Claim("claim", x, "<0"))
