"""E2, first claim: the law of a token penalty, by one backward pass, makes the expected update vanish."""

import numpy as np
import sympy

from ..divergences import FORWARD_KL, REVERSE_KL, each
from ..fdivergence import FDivergence, u
from ..laws import best_response, sequence_law, token_law
from ..numeric.balls import Values
from ..references import Source
from ..statement.neighbours import near
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._laws import TREES, TWO_TOKENS, flat, tables, verifier

TOKEN_FORMS = (REVERSE_KL, FORWARD_KL)


def update(law: list[Values], base: list[Values], valid: Values, beta: Values, f: FDivergence) -> Values:
    """The expected update in all logits: of E v, and of the token divergences at the prefixes sampled."""
    value, parts = valid.astype(float), []
    for reach, here, ref in ((law[0][..., None], law[1], base[1]), (1.0, law[0], base[0])):
        scale = beta.reshape(-1, *[1] * (here.ndim - 1))
        gain = value - scale * f.generator_derivative(here / ref)
        parts.append(flat(reach * here * (gain - (here * gain).sum(axis=-1, keepdims=True))))
        value = (here * value).sum(axis=-1)
    return np.concatenate(parts, axis=-1)


def at_the_token_law(first: Values, second: Values, valid: Values, beta: Values) -> Values:
    base, valid = tables(first, second), verifier(first, valid)
    return each(lambda f: update(token_law(base, valid, beta, f), base, valid, beta, f), TOKEN_FORMS)


def at_the_sequence_law(first: Values, second: Values, valid: Values, beta: Values) -> Values:
    base, valid = tables(first, second), verifier(first, valid)
    return each(lambda f: update(sequence_law(base, valid, beta, f), base, valid, beta, f), TOKEN_FORMS)


def with_the_bases_values(first: Values, second: Values, valid: Values, beta: Values) -> Values:
    """The best response at each prefix to the values that the base, not the policy, has after it."""
    base, valid = tables(first, second), verifier(first, valid)
    values = (second * valid).sum(axis=-1)
    law = [best_response(first, values, beta), token_law(base, valid, beta)[1]]
    return update(law, base, valid, beta, REVERSE_KL)[..., None]


def derivation() -> Claims:
    # The update at a prefix is d(s) pi_t (G_t - mean G) with G = Q - b f'(u): zero if all G_t are equal.
    Q, c, L = sympy.symbols("Q c l", real=True)
    b = sympy.Symbol("b", positive=True)
    reverse = sympy.Subs(sympy.Derivative(REVERSE_KL.expression, u), u, sympy.exp((Q - c) / b))
    yield Claim("reverse KL, u = e^{(Q-c)/b}: G = c - b", Q - b * reverse, equals=c - b)
    forward = sympy.Subs(sympy.Derivative(FORWARD_KL.expression, u), u, b / (L - Q))
    yield Claim("forward KL, u = b/(l-Q): G = l", Q - b * forward, equals=L, where=(L > Q,))


THEOREM = Theorem(
    name="E2.stationary",
    title="A token penalty's law: at every prefix s, argmax_p sum_t p_t Q(s,t) - beta D_f(p || a(.|s))",
    source=Source("ours", "laws of training"),
    statement=r"\nabla E_\pi v - \beta \sum_t E_{s_t}\nabla D_f(\pi(\cdot|s_t)\|a(\cdot|s_t)) = 0"
    r" \text{ at } \pi \propto a\,e^{Q/\beta} \text{ (reverse KL)},\; \pi = \tfrac{\beta a}{\ell - Q}"
    r" \text{ (forward KL)}",
    relation=Relation.EQUAL,
    lhs=at_the_token_law,
    rhs=lambda beta: np.zeros((len(beta), 1, 1)),
    instances=TREES,
    expected=Verdict.PROVED,
    examples=(TWO_TOKENS,),
    symbolic=derivation,
    certified=False,
    floor=1.0,
    false_neighbours=(
        neighbour("at the law of the whole answer's penalty", lhs=at_the_sequence_law),
        neighbour(
            "Q is the base's validity after the token, not the policy's",
            lhs=with_the_bases_values,
        ),
        near(0.01, beta=(1.7, 0.003)),
    ),
)
