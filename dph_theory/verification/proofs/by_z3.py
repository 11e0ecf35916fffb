"""The second decider: z3, on polynomials that python-flint makes of a claim; no code is shared with sympy."""

import sympy

from ...statement.theorem import Claim
from .fractions import OutOfReachError, related, term
from .translation import RestartError, Translation, assume, read

NAME = "z3"


def decide(claim: Claim) -> bool | None:
    """Whether the claim holds on the whole domain (True), fails at a point of it (False), or neither (None).

    None where the claim is out of reach.
    """
    degrees: dict[str, int] = {}
    while True:
        try:
            return _decide(claim, Translation(degrees))
        except RestartError:
            continue
        except OutOfReachError:
            return None


def _decide(claim: Claim, translation: Translation) -> bool | None:
    symbols = claim.symbols()
    for symbol in sorted(symbols, key=str):
        translation.symbol(symbol)
    for condition in claim.where:
        assume(translation, condition)
    value, equals = (read(translation, sympy.sympify(e)) for e in (claim.expression, claim.equals))
    value = value - equals
    top, bottom = (translation.quantities.reduce(part) for part in (value.top, value.bottom))
    if claim.sign == "=0" and top.is_zero():
        return True
    found = translation.facts.follows(
        related(claim.sign, term(top) if claim.sign == "=0" else term(top * bottom))
    )
    # A point that breaks it is one only if nothing was left open about the quantities.
    exact = len(translation.quantities.keys) == len(symbols) and not any(s.is_integer for s in symbols)
    return found if found or exact else None
