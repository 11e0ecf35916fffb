"""KL estimators and the gradients they give.

k1, k2 and k3 as values estimate one KL; differentiated as losses at fixed samples they minimise different
ones: k1 in the loss none, plain k3 the FORWARD KL; k2, the corrected k3 and k1 in the reward the reverse KL.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...divergences import FORWARD_KL, REVERSE_KL, stacked
from ...numeric.elementary import Values, trailing
from ...references import Source
from ...verification.charts import chart, example, simplex
from ...verification.statement import Side, Theorem, neighbour, scaled, theorem
from .._estimators import K1, K2, K3
from .._policies import FAR_PAIR, PI_REF

SOURCE = Source("schulman2020kl")
CHART = chart(pi=simplex(4), ref=simplex(4))


def expected_k1_and_k3(pi: Values, ref: Values) -> Values:
    return stacked(lambda estimator: estimator.expected_value(pi, ref), (K1, K3))


def reverse_kl(pi: Values, ref: Values) -> Values:
    return trailing(REVERSE_KL(pi, ref), 1)


VALUES = theorem(
    "B6.values",
    "As values, k1 and k3 are unbiased for the reverse KL",
    statement=r"E_\pi[-\log r] = E_\pi[r - 1 - \log r] = \mathrm{KL}(\pi\|\pi_{ref}),\; r = \pi_{ref}/\pi,"
    r"\; \pi > 0",
    source=SOURCE,
    on=CHART,
    equal=(expected_k1_and_k3, reverse_kl),
    examples=(PI_REF.giving(value=".3537826013701"),),
    coq="estimators_as_values",
    false=(
        neighbour(
            "k2 is unbiased too",
            lhs=lambda pi, ref: stacked(lambda k: k.expected_value(pi, ref), (K1, K2, K3)),
        ),
        neighbour("unbiased for the forward KL", rhs=lambda pi, ref: reverse_kl(ref, pi)),
    ),
)


def gradient_entry(
    name: str, title: str, statement: str, sides: tuple[Side, Side], value: str, **fields: Any
) -> Theorem:
    """An entry that says which gradient an estimator gives."""
    return theorem(
        f"B6.{name}",
        title,
        statement=statement,
        source=SOURCE,
        on=CHART,
        equal=sides,
        examples=(PI_REF.giving(value=value),),
        **fields,
    )


FORWARD_TOO: dict[str, Any] = {"rhs": FORWARD_KL.gradient}
GRADIENTS = (
    gradient_entry(
        "nothing",
        "k1 as a loss has expected gradient zero",
        r"E_\pi[\nabla(-\log r)] = E_\pi[\nabla\log\pi] = 0 \quad\text{(samples fixed)}",
        (K1.loss_gradient, lambda pi: 0 * pi),
        value="0",
        coq="k1_in_the_loss",
        false=(neighbour("k1 as a loss minimises the reverse KL", rhs=REVERSE_KL.gradient),),
    ),
    gradient_entry(
        "squared",
        "k2 as a loss gives the exact reverse-KL gradient",
        r"E_\pi[\nabla\tfrac12(\log r)^2] = \nabla\,\mathrm{KL}(\pi\|\pi_{ref})"
        r" \quad\text{(samples fixed)}",
        (K2.loss_gradient, REVERSE_KL.gradient),
        value=".4130047038999 -.1523799843592 -.1153852305369 -.1452394890038",
        coq="k2_in_the_loss",
        false=(
            neighbour("k2 as a loss gives the forward-KL gradient", **FORWARD_TOO),
            neighbour("log(r)^2 without its half", lhs=scaled(K2.loss_gradient, 2)),
        ),
    ),
    gradient_entry(
        "forward",
        "k3 as a loss gives the gradient of the FORWARD KL",
        r"E_\pi[\nabla(r - 1 - \log r)] = \nabla\,\mathrm{KL}(\pi_{ref}\|\pi)"
        r" \quad\text{(samples fixed)}",
        (K3.loss_gradient, FORWARD_KL.gradient),
        value=".3 -.05 -.05 -.2",
        coq="k3_in_the_loss",
        note="So a run 'with reverse KL' through a plain k3 loss (TRL before the corrected form became its"
        " default, verl, the RKL baseline of the DPH-RL code) minimises the forward KL in expectation,"
        " estimated on policy samples, which hardly visit what the policy has forgotten.",
        false=(
            neighbour(
                "k3 as a loss gives the reverse-KL gradient",
                at=example(pi=".8 .2", ref=".2 .8"),
                rhs=REVERSE_KL.gradient,
            ),
        ),
    ),
    gradient_entry(
        "corrected",
        "k3 times the importance ratio gives the exact reverse-KL gradient",
        r"E_{\pi_{old}}\big[\nabla\tfrac{\pi}{\pi_{old}}(r - 1 - \log r)\big]_{\pi_{old} = \pi}"
        r" = \nabla\,\mathrm{KL}(\pi\|\pi_{ref})",
        (K3.corrected_loss_gradient, REVERSE_KL.gradient),
        value=".4130047038999 -.1523799843592 -.1153852305369 -.1452394890038",
        coq="k3_with_the_ratio",
        false=(
            neighbour("the ratio not differentiated", lhs=K3.loss_gradient),
            neighbour("the corrected form gives the forward-KL gradient", **FORWARD_TOO),
        ),
    ),
    gradient_entry(
        "reward",
        "k1 inside the reward gives the exact reverse-KL gradient",
        r"E_\pi[(-\log r)\,\nabla\log\pi] = \nabla\,\mathrm{KL}(\pi\|\pi_{ref})",
        (K1.reward_gradient, REVERSE_KL.gradient),
        value=".4130047038999 -.1523799843592 -.1153852305369 -.1452394890038",
        coq="k1_in_the_reward",
        false=(
            neighbour("k1 in the reward gives the forward-KL gradient", **FORWARD_TOO),
            neighbour("k2 in the reward does as well", lhs=K2.reward_gradient),
            neighbour("k3 in the reward does as well", lhs=K3.reward_gradient),
        ),
    ),
)


def by_autograd(pi: Values, ref: Values) -> Values:
    # PyTorch is loaded only when the entry is checked.
    from ...audit.called_loss import expected_gradients
    from ...losses import kl_term

    losses: dict[str, Callable[..., Any]] = {
        "k1": kl_term("loss", "k1"),
        "k2": kl_term("loss", "k2"),
        "k3": kl_term("loss", "k3"),
        "corrected k3": kl_term("ratio", "k3"),
        "k1 in the reward": kl_term("reward", "k1"),
    }
    return expected_gradients(losses, pi, ref, sampler=pi)


def by_theory(pi: Values, ref: Values) -> Values:
    forward, reverse = FORWARD_KL.gradient(pi, ref), REVERSE_KL.gradient(pi, ref)
    return np.stack([0 * pi, reverse, forward, reverse, reverse], axis=1)


def as_hoped(pi: Values, ref: Values) -> Values:
    reverse = REVERSE_KL.gradient(pi, ref)
    return np.stack([reverse] * 5, axis=1)


AUTOGRAD = theorem(
    "B6.autograd",
    "Autograd on policy samples: k1 gives nothing, k3 the FORWARD KL, the others the reverse KL",
    statement=r"\mathbb{E}_{y\sim\pi}[\nabla_\theta \ell(y)] = 0,\; \nabla\mathrm{KL}(\pi\|\pi_{ref}),\;"
    r" \nabla\mathrm{KL}(\pi_{ref}\|\pi),\; \nabla\mathrm{KL}(\pi\|\pi_{ref}),\;"
    r" \nabla\mathrm{KL}(\pi\|\pi_{ref})",
    source=Source("ours", "exact enumeration"),
    # Ratios up to e^16 lose that many digits in exp(log ref - log pi) - 1.
    on=chart(pi=simplex(3, spread=4), ref=simplex(3, spread=4)),
    equal=(by_autograd, by_theory),
    needs="torch",
    examples=(FAR_PAIR,),
    false=(neighbour("every form minimises the reverse KL", rhs=as_hoped),),
)
