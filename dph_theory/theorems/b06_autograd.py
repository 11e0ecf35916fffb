"""B6: what PyTorch's autograd really computes for the KL terms in use, enumerated exactly."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..divergences import FORWARD_KL, REVERSE_KL
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Relation, Theorem, Verdict, neighbour


def by_autograd(pi: Values, ref: Values) -> Values:
    # PyTorch is loaded only when the entry is checked.
    from ..audit import catalogue_forms as forms
    from ..audit.batched import expected_gradients

    losses: dict[str, Callable[..., Any]] = {
        "k1": forms.k1,
        "k2": forms.k2,
        "k3": forms.k3,
        "corrected k3": forms.corrected_k3,
        "k1 in the reward": forms.k1_in_return,
    }
    return expected_gradients(losses, pi, ref, law=pi)


def by_theory(pi: Values, ref: Values) -> Values:
    forward, reverse = FORWARD_KL.gradient(pi, ref), REVERSE_KL.gradient(pi, ref)
    return np.stack([0 * pi, reverse, forward, reverse, reverse], axis=1)


def as_hoped(pi: Values, ref: Values) -> Values:
    reverse = REVERSE_KL.gradient(pi, ref)
    return np.stack([reverse] * 5, axis=1)


THEOREM = Theorem(
    name="B6.autograd",
    title="Autograd on policy samples: k1 gives nothing, k3 the FORWARD KL, the others the reverse KL",
    source=Source("ours", "exact enumeration"),
    statement=r"\mathbb{E}_{y\sim\pi}[\nabla_\theta \ell(y)] = 0,\; \nabla\mathrm{KL}(\pi\|\pi_{ref}),\;"
    r" \nabla\mathrm{KL}(\pi_{ref}\|\pi),\; \nabla\mathrm{KL}(\pi\|\pi_{ref}),\;"
    r" \nabla\mathrm{KL}(\pi\|\pi_{ref})",
    relation=Relation.EQUAL,
    lhs=by_autograd,
    rhs=by_theory,
    # Ratios up to e^16 lose that many digits in exp(log ref - log pi) - 1.
    instances=chart(pi=simplex(3, spread=4), ref=simplex(3, spread=4)),
    expected=Verdict.HOLDS,
    certified=False,
    needs="torch",
    examples=(example(pi=".5 .3 .2", ref=".2 .2 .6"),),
    false_neighbours=(
        neighbour("every form descends the reverse KL", rhs=as_hoped),
        masses_clamped("pi", 2e-4),
    ),
)
