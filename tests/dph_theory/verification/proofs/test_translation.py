import pytest
import sympy
from sympy import Abs, Derivative, Max, Min, Rational, asinh, cosh, exp, log, sinh, sqrt

from dph_theory.verification.proofs.fractions import Fraction, OutOfReachError, constant, generator, term
from dph_theory.verification.proofs.translation import RestartError, Translation, assume, read


@pytest.mark.parametrize(
    ("assumptions", "holds"),
    [
        ({"positive": True}, lambda g: g > 0),
        ({"positive": True, "integer": True}, lambda g: g >= 1),
        ({"nonnegative": True}, lambda g: g >= 0),
        ({"negative": True}, lambda g: g < 0),
        ({"nonpositive": True}, lambda g: g <= 0),
        ({"nonzero": True}, lambda g: g != 0),
    ],
)
def test_a_symbol_brings_what_it_assumes_and_no_more(assumptions, holds):
    translation = Translation({})
    symbol = term(generator(translation.symbol(sympy.Symbol("s", real=True, **assumptions))))
    free = term(generator(translation.symbol(sympy.Symbol("t", real=True))))
    assert translation.facts.follows(holds(symbol)) is True
    assert translation.facts.follows(holds(free)) is False


def test_logarithms_and_exponentials_are_known_to_rise():
    translation = Translation({})
    x, y = (Fraction(generator(translation.symbol(sympy.Symbol(s, positive=True)))) for s in "xy")
    grown = translation.logarithm(x + y) - translation.logarithm(x)
    assert translation.facts.follows(term(grown.top) > 0) is True
    assert translation.facts.follows(term(translation.logarithm(x).top) > 0) is False
    assert translation.facts.follows(term(translation.exponential(x).top) > 1) is True


def test_a_root_of_a_higher_degree_restarts_the_reading():
    degrees = {}
    translation = Translation(degrees)
    x = Fraction(generator(translation.symbol(sympy.Symbol("x", positive=True))))
    translation.power(x, constant(1) / constant(2))
    with pytest.raises(RestartError):
        translation.power(x, constant(1) / constant(3))
    assert list(degrees.values()) == [6]


def test_a_maximum_has_no_derivative():
    translation = Translation({})
    index = translation.symbol(sympy.Symbol("x", real=True))
    x = Fraction(generator(index))
    with pytest.raises(OutOfReachError):
        translation.derivative(translation.highest(x, constant(0)), index)


p, q, b = sympy.symbols("p q b", positive=True)
x = sympy.Symbol("x", real=True)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (log(p**2 * q / 6), 2 * log(p) + log(q) - log(2) - log(3)),
        (log((p**2 - 2 * p * q + q**2 + p) / (p + q)), log(p + (p - q) ** 2) - log(p + q)),
        (exp((1 + 2 * b) / b), exp(1 / b) * exp(2)),
        ((p / q) ** b, exp(b * log(p) - b * log(q))),
        (p ** Rational(3, 4), sqrt(p) * p ** Rational(1, 4)),
        (sqrt(p * q) / q, sqrt(p / q)),
        (log(exp(p) * sqrt(q)), p + log(q) / 2),
        (2 * cosh(x / 2) ** 2, cosh(x) + 1),
        (2 * sinh(asinh(b)), 2 * b),
        (Derivative(p * log(p + q) + exp(x * p), p), log(p + q) + p / (p + q) + x * exp(x * p)),
        (Derivative(sqrt(p), (p, 2)), -(p ** Rational(-3, 2)) / 4),
        (sympy.E * exp(2), exp(3)),
    ],
)
def test_equal_expressions_are_read_as_one_fraction(left, right):
    degrees = {"g39": 4}
    translation = Translation(degrees)
    gap = read(translation, left) - read(translation, right)
    assert translation.quantities.reduce(gap.top).is_zero()


@pytest.mark.parametrize(
    "expression", [log(x), 1 / x, sqrt(x), 1 / (p - q), log(1 - p), sympy.zeta(p), sympy.pi]
)
def test_what_may_have_no_value_is_out_of_reach(expression):
    with pytest.raises(OutOfReachError):
        read(Translation({}), expression)


def test_a_condition_brings_more_within_reach():
    translation = Translation({})
    assume(translation, p < 1)
    assert read(translation, log((1 - p) ** 2)) == constant(2) * read(translation, log(1 - p))


def test_maxima_lie_above_and_are_one_of_the_values():
    translation = Translation({})
    size, top, low = (read(translation, e).top for e in (Abs(x), Max(p, q), Min(p, q)))
    facts = translation.facts
    value = read(translation, x).top
    assert facts.sign(size**2 - value**2) == 0
    assert not facts.nowhere_zero(size)
    assert facts.nowhere_zero(top)
    assert read(translation, Max(p, q) + Min(p, q) - p - q).top.is_zero() is False
    assert facts.sign(low) == 1
