"""B8: the generator form's loss, through autograd on stored reference samples, descends D_f itself."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..divergences import COMPARED
from ..fdivergence import FDivergence
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Relation, Theorem, Verdict, neighbour


def generator_loss_by_autograd(pi: Values, ref: Values) -> Values:
    return _by_autograd(pi, ref, law=ref)


def on_policy_samples(pi: Values, ref: Values) -> Values:
    return _by_autograd(pi, ref, law=pi)


def _by_autograd(pi: Values, ref: Values, law: Values) -> Values:
    # PyTorch is loaded only when the entry is checked.
    from ..audit.batched import expected_gradients

    def form(divergence: FDivergence) -> Callable[..., Any]:
        return lambda log_pi, log_ref: divergence.on_log_ratio(log_pi - log_ref).value.sum()

    return expected_gradients({f.name: form(f) for f in COMPARED}, pi, ref, law)


def gradients(pi: Values, ref: Values) -> Values:
    return np.stack([f.gradient(pi, ref) for f in COMPARED], axis=1)


THEOREM = Theorem(
    name="B8.autograd",
    title="Autograd of f(u) on stored reference samples is the exact gradient of D_f(pi||ref)",
    source=Source("ours", "exact enumeration"),
    statement=r"\mathbb{E}_{y\sim\pi_{ref}}[\nabla_\theta f(u(y))] = \nabla_\theta D_f(\pi\|\pi_{ref})",
    relation=Relation.EQUAL,
    lhs=generator_loss_by_autograd,
    rhs=gradients,
    instances=chart(pi=simplex(3, spread=4), ref=simplex(3, spread=4)),
    expected=Verdict.HOLDS,
    certified=False,
    needs="torch",
    examples=(example(pi=".5 .3 .2", ref=".2 .2 .6"),),
    false_neighbours=(
        neighbour("on policy samples too", lhs=on_policy_samples),
        masses_clamped("ref", 2.5e-4, "lhs"),
    ),
)
