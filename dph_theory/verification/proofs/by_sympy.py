"""The first decider: sympy rewrites the claim under its symbols' assumptions until they settle it."""

from collections.abc import Callable

import sympy

from ...statement.theorem import Claim

NAME = "sympy"


def decide(claim: Claim) -> bool | None:
    """Whether the claim holds everywhere (True), fails everywhere (False), or neither is found (None).

    No rewriting goes beyond the assumptions: log(x^2) is 2 log x only for a positive x.
    """
    difference = claim.difference().doit()
    for form in _FORMS:
        reduced = form(difference)
        known = {"=0": reduced.is_zero, ">0": reduced.is_positive, ">=0": reduced.is_nonnegative}[claim.sign]
        if known is not None:
            return bool(known)
    return None


def _expanded(expression: sympy.Expr) -> sympy.Expr:
    return sympy.expand(sympy.expand_log(sympy.logcombine(expression)))


def _unchanged(expression: sympy.Expr) -> sympy.Expr:
    return expression


_FORMS: tuple[Callable[[sympy.Expr], sympy.Expr], ...] = (
    _unchanged,
    _expanded,
    sympy.factor,
    sympy.simplify,
    lambda expression: sympy.simplify(_expanded(expression)),
)
