"""A10, twelfth claim: where tokens cannot see each other, reverse KL drives the policy to one mode of two."""

import numpy as np
import sympy

from ..numeric.balls import Values, trailing
from ..references import Source
from ..statement.charts import chart, example, log_uniform, uniform
from ..statement.neighbours import near
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour

AGREE = np.array([True, False, False, True])
ZEROS = np.array([2, 1, 1, 0])
"""How many of an answer's two bits are 0, for 00, 01, 10, 11."""


def answers(lean: Values) -> Values:
    """Two independent bits, each 0 with probability (1 + lean)/2."""
    zero, one = trailing((1 + lean) / 2, 1), trailing((1 - lean) / 2, 1)
    return zero**ZEROS * one ** (2 - ZEROS)


def agreeing(odds: Values) -> Values:
    """The base: odds to 1 that the two bits agree, with 00 and 11 alike."""
    each = trailing(1 / (2 * (1 + odds)), 1)
    return np.where(AGREE, trailing(odds, 1) * each, each)


def added_speeds(lean: Values, odds: Values) -> Values:
    """The policy gradients of -KL(pi || a) and -KL(a || pi) in the bits' shared logit, answer by answer."""
    policy, base = answers(lean), agreeing(odds)
    score = ZEROS - trailing(1 + lean, 1)
    reverse = -(policy * score * np.log(policy / base)).sum(axis=-1)
    return np.stack([reverse, (base * score).sum(axis=-1)], axis=-1)


def closed_forms(lean: Values, odds: Values) -> Values:
    return np.stack([reverse_speed(lean, odds), -lean], axis=-1)


def reverse_speed(lean: Values, odds: Values) -> Values:
    return (1 - lean * lean) / 2 * (lean * np.log(odds) - np.log((1 + lean) / (1 - lean)))


def small_lean(lean: Values, odds: Values) -> Values:
    linear = lean * (np.log(odds) / 2 - 1)
    return np.stack([linear, -lean], axis=-1)


def derivation() -> Claims:
    m, L = sympy.symbols("m L", real=True)
    within = (m > -1, m < 1)
    zero, one = sympy.log((1 + m) / 2), sympy.log((1 - m) / 2)
    half, rest = (1 + m) / 2, (1 - m) / 2
    # log(pi/a) of 00, of 01 and 10, of 11, up to one constant, which the scores' mean cancels.
    terms = (
        half**2 * (1 - m) * (2 * zero - L)
        - 2 * half * rest * m * (zero + one)
        - rest**2 * (1 + m) * (2 * one - L)
    )
    speed = (1 - m**2) / 2 * (m * L - (zero - one))
    yield Claim("the reverse KL's gradient", -terms, equals=speed, where=within)
    # So a small lean to one mode grows if and only if L > 2.
    slope = sympy.Subs(sympy.Derivative(speed, m), m, 0)
    yield Claim("its slope in the lean at m = 0", slope, equals=L / 2 - 1)
    mean_score = half**2 * (1 - m) - 2 * half * rest * m - rest**2 * (1 + m)
    yield Claim("the scores' mean", mean_score)
    e = sympy.Symbol("e", positive=True)
    forward = (1 - e) / 2 * (1 - m) - e * m - (1 - e) / 2 * (1 + m)
    yield Claim("the forward KL's gradient", forward, equals=-m)


THEOREM = Theorem(
    name="A10.accelerates",
    title="Where tokens cannot see each other, reverse KL speeds the loss of a mode (odds above e^2)",
    source=Source("ours", "a family that cannot hold the base"),
    statement=r"\pi_m = \mathrm{Bern}(\tfrac{1+m}{2})^{\otimes 2},\;"
    r" a(00) = a(11) = e^{L} a(01) = e^{L} a(10):"
    r"\quad -\partial_\theta \mathrm{KL}(\pi_m\|a) = \tfrac{1-m^2}{2}\big(m L - \log\tfrac{1+m}{1-m}\big),"
    r"\quad -\partial_\theta \mathrm{KL}(a\|\pi_m) = -m,\quad m = \tanh(\theta/2)",
    relation=Relation.EQUAL,
    lhs=added_speeds,
    rhs=closed_forms,
    instances=chart(lean=uniform(-0.95, 0.95), odds=log_uniform(1e-3, 1e3)),
    expected=Verdict.PROVED,
    examples=(example(lean=".1", odds="20"), example(lean=".1", odds="2")),
    symbolic=derivation,
    digits=6,
    false_neighbours=(
        neighbour("to first order in the lean", rhs=small_lean),
        neighbour(
            "reverse KL restores the balance, as forward KL does",
            relation=Relation.AT_MOST,
            lhs=lambda lean, odds: trailing(lean, 1) * added_speeds(lean, odds),
            rhs=lambda lean: 0 * lean[:, None],
        ),
        near(0.01, lean=(0.35, 0.001)),
    ),
    note="In a small lean m to one mode the reverse KL adds beta m (L/2 - 1) to its growth: above L = 2 the"
    " penalty itself drives the policy to one mode, together with a reward for agreeing bits, which adds"
    " m (1 - m^2)/2. The forward KL adds -beta m: it restores the balance, whatever the base.",
)
