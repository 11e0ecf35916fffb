"""Charts of sequences of two tokens, their examples, and the derivation that two statements share."""

import sympy

from ..divergences import JENSEN_SHANNON, alpha_divergence
from ..numeric.balls import Values
from ..statement.charts import Chart, chart, example, masks, simplex, uniform
from ..statement.theorem import Claim, Claims
from ..tokens import sequences

TWO_TOKENS = chart(
    pi_first=simplex(3, zeros=True),
    pi_second=simplex(3, 3, zeros=True),
    ref_first=simplex(3, zeros=True),
    ref_second=simplex(3, 3, zeros=True),
)
"""Policy and reference over two tokens of three symbols: the first law, and the second given the first."""
BRANCH_AT_FIRST = example(
    pi_first=".9 .1", pi_second=[".9 .1", ".5 .5"], ref_first=".1 .9", ref_second=[".1 .9", ".5 .5"]
)
"""Policy and reference differ after the first symbol only, which the policy prefers and ref avoids."""
BRANCH_AT_SECOND = example(
    pi_first=".9 .1", pi_second=[".5 .5", ".9 .1"], ref_first=".1 .9", ref_second=[".5 .5", ".1 .9"]
)
"""Policy and reference differ after the second symbol only, which the policy avoids and ref prefers."""
INDEPENDENT = chart(
    **{name: simplex(3, zeros=True) for name in ("pi_first", "pi_second", "ref_first", "ref_second")}
)
"""Two laws of two independent tokens."""
INDEPENDENT_PAIR = example(
    pi_first=".9 .05 .05", pi_second=".8 .1 .1", ref_first=".1 .7 .2", ref_second=".2 .2 .6"
)
TWO_ALPHAS = (0.25, 0.5)
JS_AND_ALPHAS = (JENSEN_SHANNON, *map(alpha_divergence, TWO_ALPHAS))


def token_deficits() -> Claims:
    """For independent tokens: by how much the sum of the token divergences exceeds the sequences'."""
    # Jensen-Shannon, the policy's share of one sequence xy; the reference's is alike with q for p. Summed
    # over y (over x) the token terms lose the other factor, since it sums to one.
    p1, p2, m1, m2, m = sympy.symbols("p_1 p_2 m_1 m_2 m", positive=True)
    tokens = p1 * p2 * (sympy.log(p1 / m1) + sympy.log(p2 / m2))
    sequence = p1 * p2 * sympy.log(p1 * p2 / m)
    # Adding both shares gives the weight p_1 p_2 + q_1 q_2 = 2m to this logarithm: 2 KL(m || m_1 m_2).
    yield Claim("Jensen-Shannon, one share", tokens - sequence, equals=p1 * p2 * sympy.log(m / (m1 * m2)))
    # alpha: 1 - alpha(1-alpha) D = sum p^{1-alpha} q^alpha is multiplicative over independent tokens.
    D1, D2, a = sympy.symbols("D_1 D_2 alpha", real=True)
    w = a * (1 - a)
    yield Claim("alpha", 1 - w * (D1 + D2 - w * D1 * D2), equals=(1 - w * D1) * (1 - w * D2))
    q1, q2 = sympy.symbols("q_1 q_2", positive=True)
    product = p1 ** (1 - a) * q1**a * p2 ** (1 - a) * q2**a
    yield Claim(
        "one sequence's term is the tokens' product", (p1 * p2) ** (1 - a) * (q1 * q2) ** a, equals=product
    )


def laws_of_sequences(
    pi_first: Values, pi_second: Values, base_first: Values, base_second: Values
) -> dict[str, Values]:
    """Policy and base as laws of the four sequences."""
    return {"pi": sequences(pi_first, pi_second), "base": sequences(base_first, base_second)}


def sampled(zeros: bool) -> Chart:
    """Policy and base over sequences of two tokens, and a verifier of the four sequences."""
    return chart(
        pi_first=simplex(2, zeros=zeros),
        pi_second=simplex(2, 2, zeros=zeros),
        base_first=simplex(2),
        base_second=simplex(2, 2),
        valid=masks(4),
    ).deriving(laws_of_sequences)


SAMPLED, SAMPLED_POSITIVE = sampled(zeros=True), sampled(zeros=False)
"""The policy with tokens of no mass, and without."""
SAMPLED_PAIR = example(
    pi_first=".6 .4",
    pi_second=[".5 .5", ".7 .3"],
    base_first=".3 .7",
    base_second=[".2 .8", ".6 .4"],
    valid=[True, False, True, False],
)
"""Both first symbols begin a correct sequence and an incorrect one."""
REWARDED = chart(
    ref_first=simplex(2, zeros=True),
    ref_second=simplex(2, 2, zeros=True),
    pi_first=simplex(2, zeros=True),
    pi_second=simplex(2, 2, zeros=True),
    reward=uniform(0, 1, 4),
)
"""Two tokens of a vocabulary of two, and a reward in [0, 1] for each of the four sequences."""
REWARDED_PAIR = example(
    ref_first=".8 .2",
    ref_second=[".9 .1", ".5 .5"],
    pi_first=".6 .4",
    pi_second=[".7 .3", ".2 .8"],
    reward="1 .25 0 .75",
)
"""Both policies likely to earn the first sequence's full reward."""
