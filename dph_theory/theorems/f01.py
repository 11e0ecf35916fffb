"""F1. k2 in the loss against k1 in the reward.

That k2 in the loss and k1 in the reward have one gradient is true for one token and false for sequences:
the loss leaves out the KL of the tokens to come.
"""

from ..divergences import REVERSE_KL
from ..numeric.elementary import Values
from ..references import Source
from ..statement.charts import example
from ..statement.theorem import neighbour, refuted, theorem
from ._estimators import K2
from ._tokens import FIRST_AND_SECOND, FIRST_DIFFERS, first_token_gradient, kl_to_come


def in_the_loss(first: Values, ref_first: Values) -> Values:
    """The first token's expected gradient, prefixes as sampled."""
    return K2.loss_gradient(first, ref_first)


def with_half_to_come(first: Values, second: Values, ref_first: Values, ref_second: Values) -> Values:
    return in_the_loss(first, ref_first) + kl_to_come(first, second, ref_second, 0.5)


LOSS = refuted(
    "F1.loss",
    "k2 in the loss equals k1 in the reward: refuted for sequences",
    statement=r"\nabla \textstyle\sum_t E_{s_t}\tfrac12\log^2\tfrac{\pi}{\pi_{ref}} = \nabla\,"
    r"\mathrm{KL}(\pi\|\pi_{ref}) \text{ of whole answers}",
    source=Source("liu2025rethinking", "as summarised; the paper was not read"),
    on=FIRST_AND_SECOND,
    equal=(in_the_loss, first_token_gradient),
    examples=(FIRST_DIFFERS,),
    note="True for answers of one token (B6.squared). For sequences the loss leaves out the KL of the tokens"
    " to come (F1.future), and its stationary policy is another one (E2, E3).",
    false=(neighbour("half of the KL to come is in it", lhs=with_half_to_come),),
)


def with_future(
    first: Values, second: Values, ref_first: Values, ref_second: Values, factor: float = 1
) -> Values:
    return REVERSE_KL.gradient(first, ref_first) + kl_to_come(first, second, ref_second, factor)


def uncentred(first: Values, second: Values, ref_first: Values, ref_second: Values) -> Values:
    return REVERSE_KL.gradient(first, ref_first) + first * REVERSE_KL(second, ref_second)


FUTURE = theorem(
    "F1.future",
    "The gradient of the KL of sequences is the token one plus the centred KL of the tokens to come",
    statement=r"\nabla_{\theta_x} \mathrm{KL}(\pi\|\pi_{ref}) ="
    r" \nabla_{\theta_x}\mathrm{KL}(\pi_1\|\pi_{ref,1})"
    r" + \pi_1(x)\big(K_x - E_{\pi_1} K\big),\; K_x \text{ the KL after } x",
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
    false=(neighbour("the KL to come not centred", rhs=uncentred),),
)
