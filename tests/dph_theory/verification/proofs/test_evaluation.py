import pytest
import sympy
from flint import arb, fmpq

from dph_theory.numeric.balls import precision
from dph_theory.verification.proofs.evaluation import NotEvaluatedError, is_known, value

x, y = sympy.symbols("x y", real=True)
AT = {x: fmpq(1, 3), y: fmpq(-5, 2)}


@pytest.mark.parametrize(
    "expression",
    [
        x**2 / y - 1,
        sympy.exp(x) * sympy.sqrt(x) + sympy.cosh(y) ** x,
        sympy.log(y) + sympy.pi * sympy.E,
        sympy.Abs(y) + sympy.Max(x, y) + sympy.Min(x, y),
        sympy.binomial(7, 3) + sympy.factorial(4) + sympy.gamma(x) + sympy.asinh(y) + sympy.tanh(x),
    ],
)
def test_values_are_those_of_sympy(expression):
    found, wanted = value(expression, AT), sympy.N(expression.subs({x: "1/3", y: "-5/2"}), 40)
    with precision(200):
        real, imaginary = (arb(str(sympy.N(part, 40))) for part in wanted.as_real_imag())
        assert abs(found.real - real) < 1e-35
        assert abs(found.imag - imaginary) < 1e-35


def test_a_value_is_known_to_50_digits_through_cancellation():
    assert is_known(value(sympy.cosh(200 * x) ** 2 - sympy.sinh(200 * x) ** 2, {x: fmpq(3)}))


def test_there_is_no_value_at_a_pole():
    assert not value(1 / (x - sympy.Rational(1, 2)), {x: fmpq(1, 2)}).is_finite()


def test_a_function_without_values_is_named():
    with pytest.raises(NotEvaluatedError, match="zeta"):
        value(sympy.zeta(x), AT)
