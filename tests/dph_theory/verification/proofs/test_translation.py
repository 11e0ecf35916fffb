import pytest
import sympy

from dph_theory.verification.proofs.facts import term
from dph_theory.verification.proofs.fractions import Fraction, OutOfReachError, constant, generator
from dph_theory.verification.proofs.translation import RestartError, Translation


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
