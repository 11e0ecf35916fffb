import pytest
import sympy

from dph_theory.statement.theorem import Claim
from dph_theory.verification.proofs.by_z3 import decide

p, q, s = sympy.symbols("p q s", positive=True)
x = sympy.Symbol("x", real=True)
m = sympy.Symbol("m", integer=True)
below, not_above, not_below, nowhere = (
    sympy.Symbol(name, real=True, **{assumption: value})
    for name, assumption, value in (
        ("below", "negative", True),
        ("not_above", "nonpositive", True),
        ("not_below", "nonnegative", True),
        ("nowhere", "zero", False),
    )
)


@pytest.mark.parametrize(
    ("claim", "known"),
    [
        (Claim("amid", p**2 + q**2 - 2 * p * q, ">=0"), True),
        (Claim("not strictly", p**2 + q**2 - 2 * p * q, ">0"), False),
        (Claim("a convex function's chord", p**2 / 2 + q**2 / 2 - ((p + q) / 2) ** 2, ">=0"), True),
        (Claim("third powers", p**3 + q**3 - p * q * (p + q), ">=0"), True),
        (Claim("a bound of a bounded one", p * (1 - p), ">0", where=(p < 1,)), True),
        (Claim("unbounded", p * (1 - p), ">0"), False),
        (Claim("a sign of the bottom", 1 / (p - q), ">0", where=(p > q,)), True),
        (Claim("a bottom that may vanish", p / (p - q) - 1 - q / (p - q)), None),
        (Claim("a power that rises", (p + s) ** q - p**q, ">0"), True),
        (Claim("and not the other way", p**q - (p + s) ** q, ">=0"), None),
        (Claim("a tangent of exp", sympy.exp(x) - 1 - x, ">=0"), True),
        (Claim("a tangent of log", p - 1 - sympy.log(p), ">=0"), True),
        (Claim("whole numbers are read as real ones", m**2 - m, ">=0"), None),
        (Claim("a number's sign", sympy.Integer(1), ">0"), True),
        (Claim("a negative symbol", -(below**3), ">0"), True),
        (Claim("one that is not positive", -(not_above**3), ">=0"), True),
        (Claim("one that is not positive may be zero", -(not_above**3), ">0"), False),
        (Claim("one that is not negative", not_below**3, ">=0"), True),
        (Claim("one that is not zero", nowhere**2, ">0"), True),
        (Claim("an absolute value", sympy.Max(p * x, p * q) - p * sympy.Max(x, q)), True),
    ],
    ids=lambda claim: claim.text if isinstance(claim, Claim) else "",
)
def test_claims(claim, known):
    assert decide(claim) is known
