import sympy
from flint import arb

from dph_theory.numeric.compiled import compiled

u = sympy.Symbol("u", positive=True)


def test_whole_powers_of_a_ball_around_zero_are_finite_and_negative_ones_divide():
    around_one = arb(1, 1e-20)
    assert compiled((u - 1) ** 2, u, True)(around_one).is_finite()
    assert compiled((u - 1) ** 3, u, True)(around_one).contains(arb(0))
    assert compiled(1 / u**2, u, True)(arb(3)).overlaps(arb(1) / 9)
    assert compiled(u ** (-3) * 2, u, True)(arb(2)).overlaps(arb(1) / 4)
