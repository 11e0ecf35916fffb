"""Token sums against sequence divergences.

For forward KL the token divergences add up to that of sequences, exactly. For Jensen-Shannon and alpha they
do not, in either direction; only for independent tokens the sum is an upper bound.
"""

from functools import partial

import numpy as np

from ...divergences import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, alpha_divergence
from ...fdivergence import FDivergence
from ...numeric.elementary import Values
from ...references import Source
from ...tokens import on_policy_token_divergence, sequence_divergence, token_divergence
from ...verification.statement import Theorem, neighbour, refuted, theorem
from .._token_pairs import (
    BRANCH_AT_FIRST,
    BRANCH_AT_SECOND,
    INDEPENDENT,
    INDEPENDENT_PAIR,
    JS_AND_ALPHAS,
    STRINGS,
    STRINGS_PAIR,
    TWO_ALPHAS,
    TWO_TOKENS,
    independent,
    independent_divergences,
    summed_divergences,
)

CHAIN = theorem(
    "Forward KL of sequences is the sum of token forward KLs under reference prefixes",
    statement=r"\sum_t E_{y_{<t}\sim\pi_{ref}} \mathrm{KL}(\pi_{ref}(\cdot|y_{<t})\|\pi(\cdot|y_{<t}))"
    r" = \mathrm{KL}(\pi_{ref}\|\pi)",
    source=Source("li2025choice", "chain rule"),
    on=STRINGS,
    equal=(partial(token_divergence, FORWARD_KL), partial(sequence_divergence, FORWARD_KL)),
    examples=(STRINGS_PAIR.giving(value=".3716554812265"),),
    coq="chain_rule",
    false=(
        neighbour("prefixes sampled from the policy", lhs=partial(on_policy_token_divergence, FORWARD_KL)),
        neighbour(
            "reverse KL under reference prefixes",
            lhs=partial(token_divergence, REVERSE_KL),
            rhs=partial(sequence_divergence, REVERSE_KL),
        ),
    ),
)


TOKEN_SUM = r"\sum_t E_{y_{<t}\sim\pi_{ref}} D(\pi(\cdot|y_{<t})\|\pi_{ref}(\cdot|y_{<t}))"
BRANCHES = {"exceeds": BRANCH_AT_FIRST, "falls_short": BRANCH_AT_SECOND}
NOTES = {
    "exceeds": "Prefixes that the policy visits and the reference does not are missing from the token sum,"
    " so the sequence divergence can exceed it. For forward KL the two are equal"
    " (tokens_and_sequences.chain), for product"
    " measures the token sum is the larger (tokens_and_sequences.product).",
    "falls_short": "Once the first token has separated policy and reference, a second difference adds little"
    " to the sequence divergence and its full amount to the token sum. The sum is the larger one for product"
    " measures (tokens_and_sequences.product), and exact for forward KL (tokens_and_sequences.chain).",
}


def not_the_sum(
    subject: str, divergence: FDivergence, direction: str, lhs: str | None, rhs: str | None
) -> Theorem:
    """Refuted theorem: D_f of sequences is at most ("exceeds") or at least (else) the sum over tokens.

    `subject` names the divergence in the title; `lhs` and `rhs` are the sides at the counterexample, as
    decimals.
    """
    sequence, tokens = (partial(side, divergence) for side in (sequence_divergence, token_divergence))
    on_policy = partial(on_policy_token_divergence, divergence)
    above = direction == "exceeds"
    sides, formula = (
        ((sequence, tokens), r"D(\pi\|\pi_{ref}) \le " + TOKEN_SUM)
        if above
        else ((tokens, sequence), TOKEN_SUM + r" \le D(\pi\|\pi_{ref})")
    )
    example = BRANCHES[direction]
    return refuted(
        f"{subject} of sequences at most the token sum: refuted"
        if above
        else f"{subject} token sum at most that of sequences: refuted",
        statement=formula,
        source=Source("ours", "token against sequence"),
        on=TWO_TOKENS,
        at_most=sides,
        examples=(example.giving(lhs=lhs, rhs=rhs),),
        note=NOTES[direction],
        coq="tokens_are_not_the_answer" if above and divergence is HALF else "",
        false=(
            neighbour(
                "prefixes sampled from the policy",
                at=BRANCHES["falls_short" if above else "exceeds"],
                **{"rhs" if above else "lhs": on_policy},
            ),
        ),
    )


HALF = alpha_divergence(0.5)
NOT_THE_SUM = {
    f"{name}_{direction}": not_the_sum(subject, divergence, direction, *values)
    for name, subject, divergence, values_both_ways in (
        (
            "js",
            "Jensen-Shannon",
            JENSEN_SHANNON,
            ((".882438927756", ".809741255771"), ("1.398643987240", None)),
        ),
        ("alpha", "alpha = 1/2", HALF, ((None, None), (None, None))),
    )
    for direction, values in zip(BRANCHES, values_both_ways, strict=True)
}


def deficits(pi_first: Values, pi_second: Values, ref_first: Values, ref_second: Values) -> Values:
    """Sum over two tokens minus D_f of the pair, in closed form, for JS and two alphas; (..., 3)."""
    mixture = (independent(pi_first, pi_second) + independent(ref_first, ref_second)) / 2
    apart = independent((pi_first + ref_first) / 2, (pi_second + ref_second) / 2)
    products = [
        a * (1 - a) * divergence(pi_first, ref_first) * divergence(pi_second, ref_second)
        for a, divergence in zip(TWO_ALPHAS, JS_AND_ALPHAS[1:], strict=True)
    ]
    return np.stack([2 * REVERSE_KL(mixture, apart), *products], axis=-1)


def tokens_less_deficits(
    pi_first: Values, pi_second: Values, ref_first: Values, ref_second: Values
) -> Values:
    tokens = (pi_first, pi_second, ref_first, ref_second)
    return summed_divergences(JS_AND_ALPHAS, *tokens) - deficits(*tokens)


DEFICIT = theorem(
    "Independent tokens: sequence = token sum - 2 KL(m||m_1 m_2) for JS, - alpha(1-alpha) D_1 D_2",
    statement=r"D_{JS} = D_{JS,1} + D_{JS,2} - 2\,\mathrm{KL}(m\|m_1 \otimes m_2),\quad"
    r" D_\alpha = D_{\alpha,1} + D_{\alpha,2} - \alpha(1-\alpha) D_{\alpha,1} D_{\alpha,2},\quad"
    r" m = \tfrac{\pi + \pi_{ref}}{2},\; \pi > 0",
    source=Source("ours", "product measures"),
    on=INDEPENDENT,
    equal=(partial(independent_divergences, JS_AND_ALPHAS), tokens_less_deficits),
    examples=(INDEPENDENT_PAIR.giving(value=".9048193214912 2.2512977236829 2.1533417999923"),),
    coq="deficit",
    false=(neighbour("the token sum itself", rhs=partial(summed_divergences, JS_AND_ALPHAS)),),
)


HALF_CHI_SQUARED = (alpha_divergence(-1),)
"""alpha(1-alpha) is negative, so its deficit is a surplus."""

PRODUCT = theorem(
    "Independent tokens: sequence divergence at most the token sum, for JS and alpha in (0, 1)",
    statement=r"D_f(\pi_1\otimes\pi_2\|\pi_{ref,1}\otimes\pi_{ref,2}) \le D_f(\pi_1\|\pi_{ref,1})"
    r" + D_f(\pi_2\|\pi_{ref,2}),\quad f = f_{JS},\; f_\alpha,\; \alpha \in (0,1),\; \pi > 0",
    source=Source("ours", "product measures"),
    on=INDEPENDENT,
    at_most=(partial(independent_divergences, JS_AND_ALPHAS), partial(summed_divergences, JS_AND_ALPHAS)),
    examples=(
        INDEPENDENT_PAIR.giving(
            lhs=".9048193214912 2.2512977236829 2.1533417999923",
            rhs="1.1602695260393 2.5164942087491 2.5061872005827",
        ),
    ),
    coq="independent_tokens",
    false=(
        neighbour(
            "alpha = -1, outside of (0, 1)",
            lhs=partial(independent_divergences, HALF_CHI_SQUARED),
            rhs=partial(summed_divergences, HALF_CHI_SQUARED),
        ),
    ),
)
