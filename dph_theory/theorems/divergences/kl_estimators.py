"""KL estimators and the gradients they give.

k1, k2 and k3 as values estimate one KL; differentiated as losses at fixed samples they minimise different
ones: k1 in the loss none, k3 the FORWARD KL; k2, k3 with importance weight, and k1 in the reward the reverse.
Of sequences k2 in the loss leaves out the KL of the tokens to come, which k1 in the reward has.
"""

from typing import Any

from ...divergences import FORWARD_KL, REVERSE_KL, stacked
from ...numeric.elementary import Values, add_axes
from ...references import Source
from ...verification.charts import chart, example, simplex
from ...verification.statement import Side, Theorem, neighbour, refuted, scaled, theorem
from .._estimators import K1, K2, K3
from .._policies import PI_REF
from .._token_pairs import FIRST_AND_SECOND, FIRST_DIFFERS, first_token_gradient, kl_to_come

SOURCE = Source("schulman2020kl")
CHART = chart(pi=simplex(4), ref=simplex(4))


def expected_k1_and_k3(pi: Values, ref: Values) -> Values:
    return stacked(lambda estimator: estimator.expected_value(pi, ref), (K1, K3))


def reverse_kl(pi: Values, ref: Values) -> Values:
    return add_axes(REVERSE_KL(pi, ref), 1)


VALUES = theorem(
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
    title: str, statement: str, sides: tuple[Side, Side], value: str, **fields: Any
) -> Theorem:
    """Theorem that the expected gradients on both sides agree; `value` is the gradient at `PI_REF`."""
    return theorem(
        title,
        statement=statement,
        source=SOURCE,
        on=CHART,
        equal=sides,
        examples=(PI_REF.giving(value=value),),
        **fields,
    )


FORWARD_TOO: dict[str, Any] = {"rhs": FORWARD_KL.gradient}
GRADIENTS = {
    "nothing": gradient_entry(
        "k1 as a loss has expected gradient zero",
        r"E_\pi[\nabla(-\log r)] = E_\pi[\nabla\log\pi] = 0 \quad\text{(samples fixed)}",
        (K1.loss_gradient, lambda pi: 0 * pi),
        value="0",
        coq="k1_in_the_loss",
        false=(neighbour("k1 as a loss minimises the reverse KL", rhs=REVERSE_KL.gradient),),
    ),
    "squared": gradient_entry(
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
    "forward": gradient_entry(
        "k3 as a loss gives the gradient of the FORWARD KL",
        r"E_\pi[\nabla(r - 1 - \log r)] = \nabla\,\mathrm{KL}(\pi_{ref}\|\pi)"
        r" \quad\text{(samples fixed)}",
        (K3.loss_gradient, FORWARD_KL.gradient),
        value=".3 -.05 -.05 -.2",
        coq="k3_in_the_loss",
        note="So a run 'with reverse KL' through a k3 loss (TRL before the importance weight became its"
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
    "corrected": gradient_entry(
        "k3 times the importance ratio gives the exact reverse-KL gradient",
        r"E_{\pi_{old}}\big[\nabla\tfrac{\pi}{\pi_{old}}(r - 1 - \log r)\big]_{\pi_{old} = \pi}"
        r" = \nabla\,\mathrm{KL}(\pi\|\pi_{ref})",
        (K3.corrected_loss_gradient, REVERSE_KL.gradient),
        value=".4130047038999 -.1523799843592 -.1153852305369 -.1452394890038",
        coq="k3_with_the_ratio",
        false=(
            neighbour("the ratio not differentiated", lhs=K3.loss_gradient),
            neighbour("the importance weight changes nothing", **FORWARD_TOO),
        ),
    ),
    "reward": gradient_entry(
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
}


def k2_gradient(first: Values, ref_first: Values) -> Values:
    """Expected gradient of k2 in the loss in the first token's logits, (batch, symbols)."""
    return K2.loss_gradient(first, ref_first)


def with_half_to_come(first: Values, second: Values, ref_first: Values, ref_second: Values) -> Values:
    return k2_gradient(first, ref_first) + kl_to_come(first, second, ref_second, 0.5)


LOSS = refuted(
    "k2 in the loss equals k1 in the reward: refuted for sequences",
    statement=r"\nabla \textstyle\sum_t E_{s_t}\tfrac12\log^2\tfrac{\pi}{\pi_{ref}} = \nabla\,"
    r"\mathrm{KL}(\pi\|\pi_{ref}) \text{ of whole answers}",
    source=Source("liu2025rethinking", "as summarised; the paper was not read"),
    on=FIRST_AND_SECOND,
    equal=(k2_gradient, first_token_gradient),
    examples=(FIRST_DIFFERS,),
    note="True for answers of one token (kl_estimators.squared). For sequences the loss leaves out the KL"
    " of the tokens"
    " to come (kl_estimators.future), and its stationary policy is another one (token_penalties.stationary).",
    false=(neighbour("half of the KL to come is in it", lhs=with_half_to_come),),
)


def with_future(first: Values, second: Values, ref_first: Values, ref_second: Values) -> Values:
    return REVERSE_KL.gradient(first, ref_first) + kl_to_come(first, second, ref_second)


def with_uncentred_future(first: Values, second: Values, ref_first: Values, ref_second: Values) -> Values:
    return REVERSE_KL.gradient(first, ref_first) + first * REVERSE_KL(second, ref_second)


FUTURE = theorem(
    "The gradient of the KL of sequences is the token one plus the centred KL of the tokens to come",
    statement=r"\nabla_{\theta_x} \mathrm{KL}(\pi\|\pi_{ref}) ="
    r" \nabla_{\theta_x}\mathrm{KL}(\pi_1\|\pi_{ref,1})"
    r" + \pi_1(x)\big(K_x - E_{\pi_1} K\big),\; K_x \text{ the KL after } x,\; \pi > 0",
    source=Source("tang2025pitfalls", "known; also yao2026future"),
    on=FIRST_AND_SECOND,
    equal=(first_token_gradient, with_future),
    examples=(
        example(
            first=".5 .3 .2",
            second=[".5 .3 .2", ".2 .7 .1", ".3 .3 .4"],
            ref_first=".3 .3 .4",
            ref_second=[".2 .4 .4", ".6 .3 .1", ".25 .25 .5"],
            value=".1973024929842 .0071862295951 -.2044887225793",
        ),
    ),
    coq="kl_to_come",
    false=(neighbour("the KL to come not centred", rhs=with_uncentred_future),),
)
