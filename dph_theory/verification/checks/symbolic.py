"""The symbolic check: sympy proves every step of a theorem's derivation."""

import sympy

from ...statement.theorem import Claim, Theorem, Verdict
from .result import CheckResult


def symbolic(theorem: Theorem, *, seed: int = 0) -> CheckResult:
    """PROVED if every claim is, REFUTED if one is false at a point, UNDECIDED otherwise."""
    if theorem.symbolic is None:
        return CheckResult("symbolic", Verdict.UNDECIDED, 0, detail="no derivation given")
    claims = list(theorem.symbolic())
    for claim in claims:
        verdict = prove(claim)
        if verdict is not Verdict.PROVED:
            return CheckResult("symbolic", verdict, len(claims), detail=claim.text)
    return CheckResult("symbolic", Verdict.PROVED, len(claims), detail="; ".join(c.text for c in claims))


def prove(claim: Claim) -> Verdict:
    """Whether sympy can prove or refute the claim."""
    if claim.sign not in ("=0", ">0", ">=0"):
        raise ValueError(f'sign={claim.sign!r} is not allowed: one of "=0", ">0", ">=0"')
    expression = sympy.sympify(claim.expression)
    forms = (lambda e: e, _expanded, sympy.factor, sympy.simplify, lambda e: sympy.simplify(_expanded(e)))
    for form in forms:
        reduced = form(expression)
        known = {"=0": reduced.is_zero, ">0": reduced.is_positive, ">=0": reduced.is_nonnegative}[claim.sign]
        if known is not None:
            return Verdict.PROVED if known else Verdict.REFUTED
    return Verdict.REFUTED if _false_somewhere(expression, claim.sign) else Verdict.UNDECIDED


def _expanded(expression: sympy.Expr) -> sympy.Expr:
    return sympy.expand(sympy.expand_log(sympy.logcombine(expression), force=True))


def _false_somewhere(expression: sympy.Expr, sign: str) -> bool:
    """Whether the claim fails, in 40 digits, at one of a few rational points of the symbols' domain."""
    symbols = sorted(expression.free_symbols, key=str)
    for shift in range(1, 6):
        point = {s: sympy.Rational(7 * i + 3 + shift, 11 * i + 29) for i, s in enumerate(symbols)}
        value = sympy.N(expression.subs(point), 40)
        if not value.is_real:
            continue
        tiny = sympy.Float("1e-30")
        if (sign == "=0" and abs(value) > tiny) or (sign != "=0" and value < -tiny):
            return True
    return False
