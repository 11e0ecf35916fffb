"""E2. The law of a penalty on each token.

k2, k3 and their like in the loss hold the prefixes as sampled, and pull at each of them alone: the policy
ends, at every prefix, at its best answer to the validities after each token. One backward pass over the
tree gives it.
"""

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, TypeAlias

import numpy as np
import sympy
from flint import arb

from ..divergences import FORWARD_KL, REVERSE_KL, each
from ..estimators import ratio_where
from ..fdivergence import FDivergence, u
from ..laws import best_response, sequence_law, token_law
from ..numeric.balls import Values, trailing
from ..numeric.enclosures import Range, Scalar, linear, logarithmic
from ..references import Source
from ..statement.charts import chart, example, log_uniform, rates, simplex
from ..statement.theorem import Claim, FalseStep, Kernel, ScalarForm, Steps, derived, neighbour, proved
from ._boxes import DROP, GAIN, SHARE, Law, chance, laws
from ._laws import STRING, STRINGS, answers_of, flat

Scale: TypeAlias = Callable[[Scalar], Scalar]


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


def stationary_steps() -> Steps:
    yield (
        "The update at a prefix is d(s) pi_t (G_t - mean G) with G = Q - b f'(u): zero if all G_t are equal."
    )
    Q, c, L = sympy.symbols("Q c l", real=True)
    b = sympy.Symbol("b", positive=True)
    reverse = sympy.Subs(sympy.Derivative(REVERSE_KL.expression, u), u, sympy.exp((Q - c) / b))
    yield Claim("reverse KL, u = e^{(Q-c)/b}: G = c - b", Q - b * reverse, equals=c - b)
    forward = sympy.Subs(sympy.Derivative(FORWARD_KL.expression, u), u, b / (L - Q))
    yield Claim("forward KL, u = b/(l-Q): G = l", Q - b * forward, equals=L, where=(L > Q,))
    yield FalseStep("with the penalty's sign turned", Q + b * forward, equals=L, where=(L > Q,))


def of_decisions(start: Law, after: Law, beta: Scalar) -> dict[str, Any]:
    """A base that begins with 0 or 1; the end after 0 is valid, and 1 is always followed by the end."""
    one, zero = arb(1), arb(0)
    ends = [zero, zero, one]
    strings = list(product(range(3), repeat=3))
    return {
        "first": [*start, zero],
        "second": [[zero, after[1], after[0]], ends, ends],
        "third": [[ends] * 3] * 3,
        "valid": [string == (0, 2, 2) for string in strings],
        "beta": beta,
    }


def at_decisions(after: Scalar, start: Scalar) -> list[tuple[Scalar, Scalar]]:
    """The update of the end after 0 and of 0 at the start, those of their rivals, and nothing elsewhere."""
    third, second, first = [arb(0)] * 27, [arb(0)] * 9, [arb(0)] * 3
    second[1:3] = -after, after
    first[:2] = start, -start
    return [(update, arb(0)) for update in (*third, *second, *first)]


def reverse_base(validity: Scalar, gain: Scalar) -> dict[str, Any]:
    """The base whose law takes the better token with this chance at both decisions."""
    failure = 1 - validity

    def before(value: Scalar) -> Law:
        weights = validity * (-gain * value).exp(), failure
        return [weight / sum(weights) for weight in weights]

    return of_decisions(before(validity), before(arb(1)), 1 / gain)


def reverse_updates(validity: Scalar, gain: Scalar) -> list[tuple[Scalar, Scalar]]:
    failure = 1 - validity

    def pull(value: Scalar) -> Scalar:
        """By how much Q - beta log u is higher than at the rival of value 0; u = e^(Q/b) sum p e^(-Q/b)."""
        partition = (validity * (-gain * value).exp() + failure).log()
        return value - (gain * value + partition) / gain + partition / gain

    spread = validity * failure
    return at_decisions(validity * spread * pull(arb(1)), spread * pull(validity))


def forward_laws(beta: Scalar, failure: Scalar, other: Scalar) -> tuple[tuple[Law, Law], tuple[Law, Law]]:
    """Policy and base at the start and after 0: the law of (p(1-s), 1-p+ps) is p at Q = s beta/(1-p)."""

    def decision(rest: Scalar, value: Scalar) -> tuple[Law, Law]:
        share = (1 - rest) * rest * value / beta
        return [1 - rest, rest], [1 - rest - share, rest + share]

    return decision(other, 1 - failure), decision(failure, arb(1))


def forward_base(scale: Scale, beta: Scalar, failure: Scalar, other: Scalar) -> dict[str, Any]:
    start, after = forward_laws(beta, scale(beta) * failure, scale(beta) * other)
    return of_decisions(start[1], after[1], beta)


def forward_updates(
    scale: Scale, beta: Scalar, failure: Scalar, other: Scalar
) -> list[tuple[Scalar, Scalar]]:
    start, after = forward_laws(beta, scale(beta) * failure, scale(beta) * other)

    def update(decision: tuple[Law, Law], value: Scalar) -> Scalar:
        """p(1-p) times Q + beta a/p at the better token less that at its rival."""
        (p, rest), base = decision
        return p * rest * value + beta * (rest * base[0] - p * base[1])

    return at_decisions(start[0][0] * update(after, arb(1)), update(start, after[0][0]))


def forward(text: str, beta: Range, scale: Scale) -> ScalarForm:
    return ScalarForm(
        f"forward KL: two first tokens, one may end valid; chances of its rival and of failure {text}",
        {"beta": beta, "failure": SHARE, "other": SHARE},
        partial(forward_base, scale),
        sides=partial(forward_updates, scale),
        components=tuple(range(1, 78, 2)),
    )


STATIONARY = derived(
    "E2.stationary",
    "At a token penalty's law, a e^{Q/beta} or beta a/(l - Q) at every prefix, the expected update is zero",
    statement=r"\nabla E_\pi v - \beta \sum_t E_{s_t}\nabla D_f(\pi(\cdot|s_t)\|a(\cdot|s_t)) = 0"
    r" \text{ at } \pi \propto a\,e^{Q/\beta} \text{ (reverse KL)},\; \pi = \tfrac{\beta a}{\ell - Q}"
    r" \text{ (forward KL)}",
    source=Source("ours", "laws of training"),
    on=STRINGS,
    equal=(at_the_token_law, lambda beta: np.zeros((len(beta), 1, 1))),
    examples=(STRING,),
    derivation=stationary_steps,
    reductions=(
        ScalarForm(
            "reverse KL: two first tokens, one of which may end valid; the law's chance of it and of that",
            {"validity": SHARE, "gain": GAIN},
            reverse_base,
            sides=reverse_updates,
            components=tuple(range(0, 78, 2)),
        ),
        forward("under the law", linear("1", "100"), lambda beta: arb(1)),
        forward("under the law, in units of beta", linear("0.01", "1"), lambda beta: beta),
    ),
    floor=1.0,
    false=(
        neighbour("at the law of the whole answer's penalty", lhs=at_the_sequence_law),
        neighbour("Q is the base's validity after the token, not the policy's", lhs=with_the_bases_values),
    ),
)


def root(base: Values, after: Values, beta: Values) -> Values:
    """l - beta, read at every token from pi = beta a/(l - Q)."""
    policy = best_response(base, after, beta, FORWARD_KL)
    return after + beta[:, None] * (base / policy - 1)


def validity(base: Values, after: Values, beta: Values) -> Values:
    policy = best_response(base, after, beta, FORWARD_KL)
    return (policy * after).sum(axis=-1, keepdims=True)


def reverse_validity(base: Values, after: Values, beta: Values) -> Values:
    return (best_response(base, after, beta) * after).sum(axis=-1, keepdims=True)


def one_root(base: Values, after: Values, beta: Values) -> list[dict[str, Values]]:
    """The kernel's l, once for every token at which it is read."""
    return [{"l": beta + root} for root in root(base[None], after[None], beta[None])[0]]


def value_steps() -> Steps:
    yield (
        "Q is the validity after a token, V that at the prefix, the mean of Q under pi; l makes pi sum to "
        "one."
    )
    a, b = sympy.symbols("a b", positive=True)
    Q, L = sympy.symbols("Q l", real=True)
    pi = b * a / (L - Q)
    yield Claim("one token", pi * Q, equals=pi * L - b * a, where=(L > Q,))
    yield FalseStep("l + b in the place of l - b", pi * Q, equals=pi * L + b * a, where=(L > Q,))
    yield "The pi and the a sum to one: V = l - b."


def two_tokens(odds: Scalar, drop: Scalar, beta: Scalar, least: Scalar) -> dict[str, Any]:
    """The base a = (p(1-s), (1-p)(1+os)) and the values whose law is p: beta s (1+o) apart."""
    return {"base": laws(odds, drop)[1], "after": [least + beta * drop * (1 + odds), least], "beta": beta}


def validities(odds: Scalar, drop: Scalar, beta: Scalar, least: Scalar) -> list[tuple[Scalar, Scalar]]:
    # l - beta at each token, with a/p = 1-s and 1+os.
    mean = least + chance(odds) * beta * drop * (1 + odds)
    return [
        (least + beta * drop * (1 + odds) + beta * (1 - drop - 1), mean),
        (least + beta * (1 + odds * drop - 1), mean),
    ]


VALUE = proved(
    "E2.value",
    "Token forward KL: V(s) = l - beta, with pi = beta a/(l - Q)",
    statement=r"\pi(t|s) = \tfrac{\beta a(t|s)}{\ell - Q(s,t)},\; \sum_t \pi(t|s) = 1"
    r" \;\Rightarrow\; \sum_t \pi(t|s) Q(s,t) = \ell - \beta",
    source=Source("ours", "laws of training"),
    on=chart(base=simplex(4, spread=3.0), after=rates(4, low=1e-2, high=1e-2), beta=log_uniform(0.03, 30)),
    equal=(root, validity),
    examples=(
        example(base=".4 .3 .2 .1", after=".9 .1 .5 .3", beta=".5"),
        # l^2 - 3l/2 + 1/4 = 0: V = l - 1/2 = (1/2 + sqrt(5/4))/2.
        example(base=".5 .5", after="1 0", beta=".5", rhs=".809016994375"),
    ),
    kernel=Kernel("value_of_prefix", where=one_root),
    derivation=value_steps,
    reductions=(
        ScalarForm(
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
    false=(neighbour("the validity of the reverse KL at the same beta", rhs=reverse_validity),),
)
