"""B6: k3 as a loss, as GRPO codes use it: its expected gradient is the FORWARD KL's."""

from functools import partial

import sympy

from ..divergences import FORWARD_KL, REVERSE_KL
from ..estimators import K3, x
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.neighbours import near
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ._lemmas import at_fixed_samples, same_gradient

THEOREM = Theorem(
    name="B6.forward",
    title="k3 as a loss gives the gradient of the FORWARD KL",
    source=Source("schulman2020kl"),
    statement=r"E_\pi[\nabla(r - 1 - \log r)] = \nabla\,\mathrm{KL}(\pi_{ref}\|\pi)"
    r" \quad\text{(samples fixed)}",
    relation=Relation.EQUAL,
    lhs=K3.loss_gradient,
    rhs=FORWARD_KL.gradient,
    instances=chart(pi=simplex(4), ref=simplex(4)),
    expected=Verdict.PROVED,
    examples=(example(pi=".5 .3 .2", ref=".2 .2 .6"),),
    symbolic=partial(same_gradient, sympy.diff(K3.expression, x), FORWARD_KL, partial(at_fixed_samples, K3)),
    false_neighbours=(
        neighbour("k3 as a loss gives the reverse-KL gradient", rhs=REVERSE_KL.gradient),
        near(0.01, pi=(0.24, 0.0002)),
    ),
    note="So a run 'with reverse KL' through a plain k3 loss (TRL before the corrected form became its"
    " default, verl, the RKL baseline of the DPH-RL code) descends the forward KL in expectation, estimated"
    " on policy samples, which hardly visit what the policy has forgotten.",
)
