"""E2, first claim: the law of a token penalty, by one backward pass, makes the expected update vanish."""

import numpy as np
import sympy

from ..divergences import FORWARD_KL, REVERSE_KL, each
from ..estimators import ratio_where
from ..fdivergence import FDivergence, u
from ..laws import best_response, sequence_law, token_law
from ..numeric.balls import Values, trailing
from ..references import Source
from ..statement.neighbours import near
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._laws import STRING, STRINGS, answers_of, flat

TOKEN_FORMS = (REVERSE_KL, FORWARD_KL)


def update(law: list[Values], base: list[Values], verdicts: Values, beta: Values, f: FDivergence) -> Values:
    """The expected update in all logits: of E v, and of the token divergences at the prefixes sampled."""
    value, parts = verdicts.astype(float), []
    for t in reversed(range(len(base))):
        reach = answers_of(law[:t]).reshape(law[t].shape[:-1])[..., None] if t else 1.0
        ratio = ratio_where(np.array(True), law[t], base[t])
        gain = value - trailing(beta, t + 1) * f.generator_derivative(ratio)
        parts.append(flat(reach * law[t] * (gain - (law[t] * gain).sum(axis=-1, keepdims=True))))
        value = (law[t] * value).sum(axis=-1)
    return np.concatenate(parts, axis=-1)


def at_the_token_law(base: list[Values], verdicts: Values, beta: Values) -> Values:
    return each(lambda f: update(token_law(base, verdicts, beta, f), base, verdicts, beta, f), TOKEN_FORMS)


def at_the_sequence_law(base: list[Values], verdicts: Values, beta: Values) -> Values:
    return each(lambda f: update(sequence_law(base, verdicts, beta, f), base, verdicts, beta, f), TOKEN_FORMS)


def with_the_bases_values(base: list[Values], verdicts: Values, beta: Values) -> Values:
    """The best response at each prefix to the values that the base, not the policy, has after it."""
    value = verdicts.astype(float)
    law: list[Values] = []
    for t in reversed(range(len(base))):
        law.insert(0, best_response(base[t], value, trailing(beta, t)))
        value = (base[t] * value).sum(axis=-1)
    return update(law, base, verdicts, beta, REVERSE_KL)[..., None]


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
    instances=STRINGS,
    expected=Verdict.PROVED,
    examples=(STRING,),
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
