"""E5, second claim: prompts that the policy cannot tell apart act as one prompt with the mean verdict."""

import numpy as np
import sympy

from ..binary_reward import tilted, valid_mass
from ..divergences import REVERSE_KL
from ..numeric.balls import Values, normalised, trailing
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour


def objective(q: Values, base: Values, one: Values, other: Values, beta: Values) -> Values:
    """Mean over both prompts of E_q v - beta KL(q || a), over beta."""
    return (valid_mass(q, one) + valid_mass(q, other)) / 2 / beta - REVERSE_KL(q, base)


def tilt(base: Values, one: Values, other: Values, beta: Values) -> Values:
    """a e^(mean verdict/beta), not normalised."""
    gain = np.exp(trailing(1 / (2 * beta), 1))
    return base * np.where(one, gain, 1 + 0 * gain) * np.where(other, gain, 1 + 0 * gain)


def from_the_mean_tilt(q: Values, base: Values, one: Values, other: Values, beta: Values) -> Values:
    weight = tilt(base, one, other, beta)
    return np.log(weight.sum(axis=-1)) - REVERSE_KL(q, normalised(weight))


def from_the_mean_of_tilts(q: Values, base: Values, one: Values, other: Values, beta: Values) -> Values:
    law = (tilted(base, one, beta) + tilted(base, other, beta)) / 2
    return np.log(tilt(base, one, other, beta).sum(axis=-1)) - REVERSE_KL(q, law)


def derivation() -> Claims:
    q, a, b, Z = sympy.symbols("q a b Z", positive=True)
    mean = sympy.Symbol("vbar", real=True)
    law = a * sympy.exp(mean / b) / Z
    left = mean * q - b * q * sympy.log(q / a)
    yield Claim("one answer", left, equals=b * q * sympy.log(Z) - b * q * sympy.log(q / law))


THEOREM = Theorem(
    name="E5.shared",
    title="Prompts that the policy cannot tell apart have one law, a e^(mean verdict/beta)",
    source=Source("ours", "laws of training"),
    statement=r"\tfrac1n\textstyle\sum_x E_q v_x - \beta\,\mathrm{KL}(q\|a) = \beta\log Z - \beta\,"
    r"\mathrm{KL}(q\|p),\quad p = a e^{\bar v/\beta}/Z",
    relation=Relation.EQUAL,
    lhs=objective,
    rhs=from_the_mean_tilt,
    instances=chart(q=simplex(4), base=simplex(4), one=masks(4), other=masks(4), beta=log_uniform(0.05, 10)),
    expected=Verdict.PROVED,
    examples=(
        example(
            q=".25 .25 .25 .25",
            base=".3 .2 .1 .4",
            one=[True, True, False, False],
            other=[True, False, True, False],
            beta=".5",
        ),
    ),
    symbolic=derivation,
    false_neighbours=(
        neighbour("the mean of the prompts' own tilted models", rhs=from_the_mean_of_tilts),
        masses_clamped("q", 5e-11),
    ),
)
