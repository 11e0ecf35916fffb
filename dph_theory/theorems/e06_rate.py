"""E6: near its law a run relaxes at a rate proportional to beta."""

import numpy as np
import sympy

from ..binary_reward import tilted
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex, uniform
from ..statement.neighbours import near
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._lemmas import softmax_slopes


def flow_near_the_law(base: Values, valid: Values, beta: Values, push: Values, eps: float) -> Values:
    """The flow of E v - beta KL(pi || a) in logits, eps push away from p_beta, over beta eps."""
    weight = tilted(base, valid, beta) * np.exp(eps * push)
    law = weight / weight.sum(axis=-1, keepdims=True)
    gain = valid / beta[:, None] - np.log(law / base)
    return law * (gain - (law * gain).sum(axis=-1, keepdims=True)) / eps


def relaxation(base: Values, valid: Values, beta: Values, push: Values) -> Values:
    """-(diag p - p p^T) push."""
    law = tilted(base, valid, beta)
    return -law * (push - (law * push).sum(axis=-1, keepdims=True))


def without_the_mean(base: Values, valid: Values, beta: Values, push: Values) -> Values:
    return -tilted(base, valid, beta) * push


def at_the_base(base: Values, valid: Values, beta: Values, push: Values) -> Values:
    return -base * (push - (base * push).sum(axis=-1, keepdims=True))


def derivation() -> Claims:
    # r = v - b log(pi/a) is one number at p_b: of the change of pi_i (r_i - E r) only pi_i times that of
    # r_i - E r is left. A small push of t_j changes r_i by -b dlog pi_i/dt_j, and E r by -b times the mean
    # slope of log pi, which is zero: pi_j (1 - pi_j) of j itself and -pi_j times the mass of all others.
    yield from softmax_slopes()
    b, pi_i, pi_j = sympy.symbols("b pi_i pi_j", positive=True)
    yield Claim("the mean slope of log pi is zero", pi_j * (1 - pi_j), equals=(1 - pi_j) * pi_j)
    for name, i_is_j in (("the same answer", 1), ("another answer", 0)):
        change = -b * (i_is_j - pi_j)
        yield Claim(
            f"{name}: -b times diag(p) - p p^T", pi_i * change, equals=-b * (pi_i * i_is_j - pi_i * pi_j)
        )


THEOREM = Theorem(
    name="E6.rate",
    title="Near p_beta a run relaxes at rates proportional to beta: selection takes time 1/beta",
    source=Source("ours", "laws of training"),
    statement=r"\tfrac{d}{dt}\delta\theta ="
    r" -\beta\,(\mathrm{diag}(p_\beta) - p_\beta p_\beta^\top)\,\delta\theta",
    relation=Relation.TENDS,
    lhs=flow_near_the_law,
    rhs=relaxation,
    instances=chart(
        base=simplex(4, spread=2.0), valid=masks(4), beta=log_uniform(0.2, 5), push=uniform(-1, 1, 4)
    ),
    expected=Verdict.PROVED,
    examples=(example(base=".3 .2 .1 .4", valid=[True, True, True, False], beta=".5", push="1 0 0 -.5"),),
    symbolic=derivation,
    certified=False,
    tolerance=1e-4,
    floor=1e-2,
    ladder=(1e-2, 1e-4, 1e-6),
    false_neighbours=(
        neighbour("diag(p) alone", rhs=without_the_mean),
        neighbour("the base in the place of its law", rhs=at_the_base),
        near(1, base=(0.26, 0.0002)),
    ),
)
