import pytest
import sympy

from dph_theory.statement.theorem import Claim
from dph_theory.verification.proofs.by_sympy import decide

x, y = sympy.symbols("x y", positive=True)
z = sympy.Symbol("z", real=True)


@pytest.mark.parametrize(
    ("expression", "sign", "known"),
    [
        (sympy.log(x * y) - sympy.log(x) - sympy.log(y), "=0", True),
        (sympy.log(z**2) - 2 * sympy.log(z), "=0", None),
        (sympy.sin(x) ** 2 + sympy.cos(x) ** 2 - 1, "=0", True),
        (sympy.Derivative(x**2, x) - 2 * x, "=0", True),
        (x**2 - 2 * x * y + y**2, ">=0", True),
        (x + y, ">0", True),
        (-x, ">0", False),
        (sympy.log(2), "=0", False),
        (x - y, "=0", None),
    ],
)
def test_claims(expression, sign, known):
    assert decide(Claim("claim", expression, sign)) is known
