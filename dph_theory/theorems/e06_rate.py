"""E6: near its law a run relaxes at a rate proportional to beta."""

import numpy as np
import sympy

from ..binary_reward import tilted
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex, uniform
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour


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
    # Three answers at logits t; r = v - b log(pi/a) is one number at p_b, so only its own change counts.
    b = sympy.Symbol("b", positive=True)
    t, a = sympy.symbols("t0:3", real=True), sympy.symbols("a0:3", positive=True)
    c = sympy.Symbol("c", real=True)
    Z = sum(sympy.exp(s) for s in t)
    pi = [sympy.exp(s) / Z for s in t]
    # p_b has t_y = log a_y + v_y/b up to a constant c; v is eliminated by it.
    v = [b * (s - sympy.log(m)) + c for s, m in zip(t, a, strict=True)]
    frozen = sympy.symbols("v0:3", real=True)
    r = [w - b * sympy.log(p / m) for w, p, m in zip(frozen, pi, a, strict=True)]
    mean = sum(p * g for p, g in zip(pi, r, strict=True))
    for i in range(2):
        for j in range(2):
            slope = sympy.diff(pi[i] * (r[i] - mean), t[j]).subs(dict(zip(frozen, v, strict=True)))
            wanted = -b * pi[i] * ((1 if i == j else 0) - pi[j])
            yield Claim(f"entry {i}{j}", sympy.simplify(sympy.expand_log(slope - wanted, force=True)))


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
    ),
)
