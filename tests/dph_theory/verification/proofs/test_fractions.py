import pytest
from flint import fmpq

from dph_theory.verification.proofs.fractions import (
    MOST,
    ONE,
    Facts,
    Fraction,
    OutOfReachError,
    Quantities,
    constant,
    factors,
    generator,
    monomial,
    primes,
    related,
    term,
    terms,
)

a, b = (Fraction(generator(i)) for i in (5, 6))


def test_arithmetic_is_exact_and_in_lowest_terms():
    assert (a * a - b * b) / (a - b) == a + b
    assert (a / b + b / a) * (a * b) - (a**2 + b**2) == constant(0)
    assert (constant(2) / (constant(4) * a)).bottom == generator(5)
    assert a**-2 * a**2 == constant(1)
    assert (a - a + constant(fmpq(3, 7))).number() == fmpq(3, 7)
    assert a.number() is None


def test_what_is_out_of_reach_is_said():
    with pytest.raises(OutOfReachError, match="division by zero"):
        a / (b - b)
    with pytest.raises(OutOfReachError, match="power"):
        a**1000
    quantities = Quantities({("symbol", str(i)): i for i in range(MOST)})
    assert quantities.index(("symbol", "3")) == 3
    with pytest.raises(OutOfReachError, match=f"more than {MOST}"):
        quantities.index(("symbol", "one more"))


def test_powers_of_a_root_reduce():
    quantities = Quantities()
    x = quantities.index(("symbol", "x"))
    root = quantities.index(("root", "x"))
    quantities.relations[root] = (2, generator(x))
    assert quantities.reduce(generator(root) ** 5 - generator(x) ** 2 * generator(root)).is_zero()
    assert quantities.reduce(generator(root)) == generator(root)


def test_factors_multiply_to_the_polynomial():
    polynomial = (a.top**2 - b.top**2) * 6 * a.top
    content, parts = factors(polynomial)
    product = ONE * content
    for part, power in parts:
        product = product * part**power
    assert product == polynomial
    assert list(primes(12)) == [(2, 2), (3, 1)]
    assert sum((monomial(e) * c for c, e in terms(polynomial)), start=ONE * 0) == polynomial


x, y = generator(1), generator(2)


def test_what_follows_and_what_does_not():
    facts = Facts()
    facts.add_positive(1)
    facts.needed.add(lambda: [term(y) > term(x)])
    assert facts.follows(term(y) > 0) is True
    assert facts.follows(term(y) > 1) is False
    assert facts.sign(x * x + 3 * x) == 1
    assert facts.sign(x - y) == -1
    assert facts.sign(x - 1) == 0
    assert facts.nowhere_zero(y - x)
    assert not facts.nowhere_zero(y - 1)


def test_helpful_facts_are_used():
    facts = Facts()
    assert facts.follows(term(x) > 2) is False
    facts.helpful.add(lambda: [term(x) > 3])
    assert facts.follows(term(x) > 2) is True


def test_a_question_that_is_too_hard_is_left_open(monkeypatch):
    monkeypatch.setattr("dph_theory.verification.proofs.fractions.EFFORT", 1)
    facts = Facts()
    facts.add_positive(1)
    assert facts.follows(related(">=0", term(x**7 * y**4 - 3 * x**2 * y**2 + x * y**6 + 1))) is None
