"""E2, second claim: under the token forward KL the validity at a prefix is l - beta."""

from typing import Any

import sympy

from ..divergences import FORWARD_KL
from ..laws import best_response
from ..numeric.balls import Values
from ..numeric.boxes import Scalar, linear, logarithmic
from ..references import Source
from ..statement.charts import chart, example, log_uniform, rates, simplex
from ..statement.neighbours import near
from ..statement.reduction import Reduction
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._boxes import DROP, chance, laws


def root(base: Values, value: Values, beta: Values) -> Values:
    """l - beta, read at every token from pi = beta a/(l - Q)."""
    policy = best_response(base, value, beta, FORWARD_KL)
    return value + beta[:, None] * (base / policy - 1)


def validity(base: Values, value: Values, beta: Values) -> Values:
    policy = best_response(base, value, beta, FORWARD_KL)
    return (policy * value).sum(axis=-1, keepdims=True)


def reverse_validity(base: Values, value: Values, beta: Values) -> Values:
    return (best_response(base, value, beta) * value).sum(axis=-1, keepdims=True)


def derivation() -> Claims:
    # pi (l - Q) = b a at every token; summed, l - V = b.
    a, b = sympy.symbols("a b", positive=True)
    Q, L = sympy.symbols("Q l", real=True)
    pi = b * a / (L - Q)
    yield Claim("one token", pi * Q, equals=pi * L - b * a, where=(L > Q,))


def two_tokens(odds: Scalar, drop: Scalar, beta: Scalar, least: Scalar) -> dict[str, Any]:
    """The base a = (p(1-s), (1-p)(1+os)) and the values whose law is p: beta s (1+o) apart."""
    return {"base": laws(odds, drop)[1], "value": [least + beta * drop * (1 + odds), least], "beta": beta}


def validities(odds: Scalar, drop: Scalar, beta: Scalar, least: Scalar) -> list[tuple[Scalar, Scalar]]:
    # l - beta at each token, with a/p = 1-s and 1+os.
    mean = least + chance(odds) * beta * drop * (1 + odds)
    return [
        (least + beta * drop * (1 + odds) + beta * (1 - drop - 1), mean),
        (least + beta * (1 + odds * drop - 1), mean),
    ]


THEOREM = Theorem(
    name="E2.value",
    title="Token forward KL: V(s) = l - beta, with pi = beta a/(l - Q)",
    source=Source("ours", "laws of training"),
    statement=r"\pi(t|s) = \tfrac{\beta a(t|s)}{\ell - Q(s,t)},\; \sum_t \pi(t|s) = 1"
    r" \;\Rightarrow\; \sum_t \pi(t|s) Q(s,t) = \ell - \beta",
    relation=Relation.EQUAL,
    lhs=root,
    rhs=validity,
    instances=chart(
        base=simplex(4, spread=3.0), value=rates(4, low=1e-2, high=1e-2), beta=log_uniform(0.03, 30)
    ),
    expected=Verdict.PROVED,
    examples=(example(base=".4 .3 .2 .1", value=".9 .1 .5 .3", beta=".5"),),
    symbolic=derivation,
    reductions=(
        Reduction(
            "two tokens: the policy's odds of the better one, and the share of it that the base lacks",
            {
                "odds": logarithmic("1e-6", "1e8"),
                "drop": DROP,
                "beta": linear("0.01", "100"),
                "least": linear("0", "1"),
            },
            two_tokens,
            sides=validities,
        ),
    ),
    floor=1.0,
    false_neighbours=(
        neighbour("the validity of the reverse KL at the same beta", rhs=reverse_validity),
        near(0.01, beta=(2, 0.004)),
    ),
)
