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


f = sympy.Function("f")
HARD = sympy.log(x + 2) * sympy.exp(x**2 / y) + (x - y) ** sympy.Rational(3, 2) / sympy.cosh(x * y) + x**x


@pytest.mark.parametrize(
    "expression",
    [
        sympy.Derivative(HARD, x),
        sympy.Derivative(HARD, (x, 3)),
        sympy.Subs(sympy.Derivative(HARD, (x, 2)), x, x**2 + 1) - x,
        sympy.Derivative(f(x) / x, (x, 2)) * f(y),
        sympy.Derivative(y**3, x),
    ],
)
def test_derivatives_are_those_of_sympy(expression):
    known = expression.replace(f, lambda z: sympy.cosh(1 + z)).doit()
    found, wanted = value(expression, AT), value(known, AT)
    with precision(200):
        assert abs(found - wanted) < arb("1e-50") * (1 + abs(wanted))


def test_a_derivative_has_no_value_at_a_pole():
    assert not value(sympy.Derivative(sympy.log(x), x), {x: fmpq(0)}).is_finite()


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (sympy.Derivative(x**3 * y, x, y), "several variables"),
        (sympy.Derivative(sympy.log(x), (x, 10)), "high order"),
        (sympy.Derivative(sympy.tanh(x), x), "derivative of tanh"),
        (sympy.Subs(x * y, (x, y), (y, x**2)), "several symbols"),
    ],
)
def test_what_has_no_value_here_is_named(expression, message):
    with pytest.raises(NotEvaluatedError, match=message):
        value(expression, AT)


def test_a_value_is_known_to_50_digits_through_cancellation():
    assert is_known(value(sympy.cosh(200 * x) ** 2 - sympy.sinh(200 * x) ** 2, {x: fmpq(3)}))


def test_there_is_no_value_at_a_pole():
    assert not value(1 / (x - sympy.Rational(1, 2)), {x: fmpq(1, 2)}).is_finite()


def test_a_function_without_values_is_named():
    with pytest.raises(NotEvaluatedError, match="zeta"):
        value(sympy.zeta(x), AT)
