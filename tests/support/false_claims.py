"""Claims that are false on the domain of their symbols, though true on the positive numbers or nearly so."""

import sympy
from sympy import Abs, Max, exp, log, sqrt

from dph_theory.statement.theorem import Claim

x, y = sympy.symbols("x y", real=True)
n = sympy.Symbol("n", negative=True)
z = sympy.Symbol("z", real=True, nonzero=True)
p, q = sympy.symbols("p q", positive=True)
i = sympy.Symbol("i", integer=True)

PROVED_BY_FORCE = [
    Claim("an even power of a real number", log(x**2) - 2 * log(x)),
    Claim("a product of two real numbers", log(x * y) - log(x) - log(y)),
    Claim("a factor of either sign", log(x**2 * p) - 2 * log(x) - log(p)),
    Claim("an inverse", log(1 / z) + log(z)),
    Claim("an odd power of a negative number", log(n**3) - 3 * log(n)),
    Claim("an even power of a negative number", log(n**2) - 2 * log(n)),
    Claim("a difference of either sign", log((p - 1) ** 2) - 2 * log(p - 1)),
    Claim("odds of more than one", log(p / (1 - p)) - log(p) + log(1 - p)),
    Claim("a ratio of real numbers", x * log(x / y) - x * log(x) + x * log(y)),
    Claim("complements of more than one", log((1 - p) * (1 - q)) - log(1 - p) - log(1 - q)),
    Claim("a ratio of such complements", log((1 - p) / (1 - q)) - log(1 - p) + log(1 - q)),
    Claim("a fourth power", log(z**4) / 2 - 2 * log(z)),
    Claim("a negative times a real number", log(n * x) - log(n) - log(x)),
]
"""Claims that sympy proves if logarithms may be expanded whatever the signs."""

BROKEN_SOMEWHERE = [
    Claim("sqrt(x^2) is |x|", sqrt(x**2) - x),
    Claim("|x| is not x", Abs(x) - x),
    Claim("a real number may be negative", x, ">=0"),
    Claim("p may exceed one", p * (1 - p), ">=0"),
    Claim("p may exceed one half", p * (1 - p), ">=0", where=(p < 2,)),
    Claim("an upper end that belongs to it", 1 - p, ">0", where=(p <= 1,)),
    Claim("a square may vanish", (x - y) ** 2, ">0"),
    Claim("a cube may be negative", x**3 + 1, ">0"),
    Claim("an inverse may be negative", 1 / z, ">0"),
    Claim("between 0 and 1", z**2 - z, ">=0"),
    Claim("between whole numbers it would fail, at 0 and 1 it vanishes", i**2 - i, ">0"),
    Claim("the tangent, and a bit more", exp(x) - 1 - x - p, ">=0"),
    Claim("a logarithm below one", log(p), ">=0"),
    Claim("a power of less than one", p**x - 1, ">=0"),
    Claim("a maximum may be this one", Max(x, y) - x, ">0"),
    Claim("2% too many", (p + q) ** 2 - sympy.Rational(102, 25) * p * q, ">=0"),
    Claim("a logarithm above its tangent", log(p) - p + 1, ">=0"),
    Claim("no value at p = 1", p / (1 - p) - 1 / (1 / p - 1)),
    Claim("no value at x = y", (x**2 - y**2) / (x - y), equals=x + y),
]
"""Other false claims, and claims that have no value at a point of their domain."""
