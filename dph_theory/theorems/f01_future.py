"""F1, repaired: what the token penalty leaves out is the KL of the tokens to come, as a reward."""

from functools import partial

import sympy

from ..divergences import REVERSE_KL
from ..numeric.balls import Values
from ..references import Source
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._lemmas import softmax_slopes
from ._tokens import FIRST_AND_SECOND, FIRST_DIFFERS, first_token_gradient, kl_to_come


def with_future(
    first: Values, second: Values, ref_first: Values, ref_second: Values, factor: float = 1
) -> Values:
    return REVERSE_KL.gradient(first, ref_first) + kl_to_come(first, second, ref_second, factor)


def uncentred(first: Values, second: Values, ref_first: Values, ref_second: Values) -> Values:
    return REVERSE_KL.gradient(first, ref_first) + first * REVERSE_KL(second, ref_second)


def derivation() -> Claims:
    # KL = KL(first) + sum_x pi(x) K_x, K_x the KL after x. The second part has, by dpi_z/dtheta_x =
    # pi_z ((1 if z = x, else 0) - pi_x), the slope pi_x K_x - pi_x E K: of x itself, and of all others.
    yield from softmax_slopes()
    pi_x, K_x, mean = sympy.symbols("pi_x K_x mean", real=True)
    own, others = pi_x * (1 - pi_x) * K_x, -pi_x * (mean - pi_x * K_x)
    yield Claim("the KL to come enters as a reward", own + others, equals=pi_x * (K_x - mean))
    # The KL of sequences splits into the two: a first token x and the tokens y after it.
    p, q, p_y, q_y = sympy.symbols("p q p_y q_y", positive=True)
    split = p * p_y * sympy.log(p / q) + p * (p_y * sympy.log(p_y / q_y))
    yield Claim("one sequence's term", p * p_y * sympy.log(p * p_y / (q * q_y)), equals=split)


THEOREM = Theorem(
    name="F1.future",
    title="The gradient of the KL of sequences is the token one plus the centred KL of the tokens to come",
    source=Source("tang2025pitfalls", "known; also yao2026future"),
    statement=r"\nabla_{\theta_x} \mathrm{KL}(\pi\|\pi_{ref}) ="
    r" \nabla_{\theta_x}\mathrm{KL}(\pi_1\|\pi_{ref,1})"
    r" + \pi_1(x)\big(K_x - E_{\pi_1} K\big),\; K_x \text{ the KL after } x",
    relation=Relation.EQUAL,
    lhs=first_token_gradient,
    rhs=with_future,
    instances=FIRST_AND_SECOND,
    expected=Verdict.PROVED,
    examples=(FIRST_DIFFERS,),
    symbolic=derivation,
    false_neighbours=(
        neighbour("2% of it left out", rhs=partial(with_future, factor=0.98)),
        neighbour("the KL to come not centred", rhs=uncentred),
        masses_clamped("ref_first", 5e-6),
    ),
)
