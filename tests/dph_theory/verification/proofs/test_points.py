import pytest
import sympy
from flint import acb, fmpq

from dph_theory.statement.theorem import Claim
from dph_theory.verification.proofs.points import POINTS, obeys, points, trial

x = sympy.Symbol("x", real=True)
p = sympy.Symbol("p", positive=True)
n = sympy.Symbol("n", integer=True, nonnegative=True)


def drawn(expression, **conditions):
    return list(points(Claim("drawn", expression, **conditions)))


def test_points_reach_all_that_the_assumptions_allow_and_no_more():
    real, positive = ([point[s] for point in drawn(s)] for s in (x, p))
    assert min(real) < 0 < max(real)
    assert 0 in real
    assert min(positive) > 0
    assert max(positive) / min(positive) > 100
    whole = [point[n] for point in drawn(n)]
    assert all(number.q == 1 and number >= 0 for number in whole)
    assert 0 in whole


def test_points_obey_the_conditions_and_two_symbols_are_sometimes_equal():
    found = drawn(x + p, where=(p < 1, x <= p))
    assert len(found) == POINTS
    assert all(point[p] < 1 and point[x] <= point[p] for point in found)
    assert any(point[p] == point[x] for point in found)


def test_points_are_the_same_for_the_same_claim():
    assert drawn(x + p) == drawn(x + p)


def test_a_break_is_preferred_to_a_point_without_a_value():
    tried = trial(Claim("inverse", 1 / x, ">0"))
    assert tried.broken_at[x] < 0
    assert trial(Claim("no value on either side", 1 / x + 1, equals=(1 + x) / x)).undefined_at == {x: fmpq(0)}


def test_a_domain_that_chance_does_not_reach_leaves_nothing_known():
    assert trial(Claim("nowhere", p, ">0", where=(p < x, x < p))).known == 0


@pytest.mark.parametrize(
    ("ball", "sign", "holds"),
    [
        (acb(0), "=0", True),
        (acb(0), ">0", False),
        (acb(0), ">=0", True),
        (acb(-1), ">=0", False),
        (acb(1), "=0", False),
        (acb(0, 1), "=0", False),
        (acb(1, 1), ">0", False),
        (acb(1), ">0", True),
    ],
)
def test_what_obeys_a_sign(ball, sign, holds):
    assert obeys(ball, sign) is holds


def test_what_cancels_beyond_the_first_precision_is_known_all_the_same():
    x = sympy.Symbol("x", positive=True)
    claim = Claim("cosh^2 - sinh^2", sympy.cosh(40 * x) ** 2, equals=1 + sympy.sinh(40 * x) ** 2)
    assert trial(claim).known == POINTS
