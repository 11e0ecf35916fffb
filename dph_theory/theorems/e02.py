"""E2. The stationary policy of a penalty on each token.

k2, k3 and their like in the loss take the prefixes as sampled, and penalise each token alone: the
policy converges, at every prefix, to its best response to the pass rates after each token (Q-values). One
backward pass over the tree gives it.
"""

import numpy as np

from ..divergences import FORWARD_KL, REVERSE_KL, each
from ..fdivergence import FDivergence
from ..laws import best_response, sequence_law, token_law
from ..numeric.elementary import Values, trailing
from ..references import Source
from ..statement.charts import chart, example, log_uniform, rates, simplex
from ..statement.theorem import neighbour, theorem
from ._laws import STRING, STRINGS, answers_of, flat
from ._tokens import ratio_where

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


STATIONARY = theorem(
    "E2.stationary",
    "At a e^{Q/beta} or beta a/(l - Q) at every prefix a token penalty's expected update is zero",
    statement=r"\nabla E_\pi v - \beta \sum_t E_{s_t}\nabla D_f(\pi(\cdot|s_t)\|a(\cdot|s_t)) = 0"
    r" \text{ at } \pi \propto a\,e^{Q/\beta} \text{ (reverse KL)},\; \pi = \tfrac{\beta a}{\ell - Q}"
    r" \text{ (forward KL)}",
    source=Source("ours", "stationary policies"),
    on=STRINGS,
    equal=(at_the_token_law, lambda beta: np.zeros((len(beta), 1, 1))),
    examples=(STRING,),
    floor=1.0,
    false=(
        neighbour("at the stationary policy of the whole answer's penalty", lhs=at_the_sequence_law),
        neighbour("Q is the base's pass rate after the token, not the policy's", lhs=with_the_bases_values),
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


VALUE = theorem(
    "E2.value",
    "Token forward KL: V(s) = l - beta, with pi = beta a/(l - Q)",
    statement=r"\pi(t|s) = \tfrac{\beta a(t|s)}{\ell - Q(s,t)},\; \sum_t \pi(t|s) = 1"
    r" \;\Rightarrow\; \sum_t \pi(t|s) Q(s,t) = \ell - \beta",
    source=Source("ours", "stationary policies"),
    on=chart(base=simplex(4, spread=3.0), after=rates(4, low=1e-2, high=1e-2), beta=log_uniform(0.03, 30)),
    equal=(root, validity),
    examples=(example(base=".144 .348 .312 .196", after=".9 .5 .3 .1", beta=".5", value=".58"),),
    coq="value_of_prefix",
    floor=1.0,
    false=(neighbour("the pass rate of the reverse KL at the same beta", rhs=reverse_validity),),
)
