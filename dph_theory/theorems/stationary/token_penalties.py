"""Stationary policies of penalties on tokens, their limits, and those of whole answers.

k2, k3 and their like in the loss take the prefixes as sampled and penalise each token alone: the policy
converges, at every prefix, to its best response to the pass rates after each token, which one backward pass
over the tree gives. As beta falls the place of the KL and its estimator decide which model is left: the
filtered model for penalties on whole answers, the locally filtered one for token reverse KL (the model that
grammar-constrained decoding samples from), a third one for token forward KL. Where one token decides whether
an answer is correct all agree, and prompts that the policy cannot distinguish act as one prompt with their
mean reward.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...binary_reward import pass_rate, tilted
from ...divergences import FORWARD_KL, REVERSE_KL, stacked
from ...fdivergence import FDivergence
from ...numeric.elementary import Values, add_axes, normalised
from ...references import Source
from ...stationary import (
    best_response,
    filtered_policy,
    locally_filtered,
    sequence_policy,
    token_forward_limit,
    token_policy,
)
from ...tokens import joint, sequences
from ...verification.charts import chart, example, log_uniform, masks, rates, simplex
from ...verification.statement import neighbour, theorem
from .._policies import centred
from .._token_pairs import ratio_where
from .._token_trees import STRING, STRINGS, TREE, TREES, flat, local_filter, verifier

Solver = Callable[..., list[np.ndarray]]
"""(base, rewards, beta, divergence) -> the stationary policy's tables."""


def update(
    policy: list[Values], base: list[Values], verdicts: Values, beta: Values, f: FDivergence
) -> Values:
    """Logit gradient (batch, logits) of E v - beta times the token-level D_f at sampled prefixes."""
    value, parts = verdicts.astype(float), []
    for t in reversed(range(len(base))):
        reach = joint(policy[:t])[..., None] if t else 1.0
        ratio = ratio_where(np.array(True), policy[t], base[t])
        gain = value - add_axes(beta, t + 1) * f.generator_derivative(ratio)
        parts.append(flat(reach * policy[t] * centred(policy[t], gain)))
        value = (policy[t] * value).sum(axis=-1)
    return np.concatenate(parts, axis=-1)


def token_update_at(solver: Solver, base: list[Values], verdicts: Values, beta: Values) -> Values:
    """`update` at the solver's policies for reverse and for forward KL, (batch, logits, 2)."""
    return stacked(
        lambda f: update(solver(base, verdicts, beta, f), base, verdicts, beta, f), (REVERSE_KL, FORWARD_KL)
    )


def update_with_values_of_base(base: list[Values], verdicts: Values, beta: Values) -> Values:
    """`update` (batch, logits, 1) at the best response to the pass rates of the base after each token."""
    value, policy = verdicts.astype(float), list[Values]()
    for t in reversed(range(len(base))):
        policy.insert(0, best_response(base[t], value, add_axes(beta, t)))
        value = (base[t] * value).sum(axis=-1)
    return update(policy, base, verdicts, beta, REVERSE_KL)[..., None]


STATIONARY = theorem(
    "At a e^{Q/beta} or beta a/(l - Q) at every prefix a token penalty's expected update is zero",
    statement=r"\nabla E_\pi v - \beta \sum_t E_{s_t}\nabla D_f(\pi(\cdot|s_t)\|a(\cdot|s_t)) = 0"
    r" \text{ at } \pi \propto a\,e^{Q/\beta} \text{ (reverse KL)},\; \pi = \tfrac{\beta a}{\ell - Q}"
    r" \text{ (forward KL)}",
    source=Source("ours", "stationary policies"),
    on=STRINGS,
    equal=(partial(token_update_at, token_policy), lambda beta: np.zeros((len(beta), 1, 1))),
    examples=(STRING,),
    floor=1.0,
    false=(
        neighbour(
            "at the stationary policy of the whole answer's penalty",
            lhs=partial(token_update_at, sequence_policy),
        ),
        neighbour(
            "Q is the base's pass rate after the token, not the policy's", lhs=update_with_values_of_base
        ),
    ),
)


def normaliser_less_beta(base: Values, after: Values, beta: Values) -> Values:
    """l - beta at each token, (batch, tokens), computed from pi = beta a/(l - Q)."""
    policy = best_response(base, after, beta, FORWARD_KL)
    return after + beta[:, None] * (base / policy - 1)


def best_rate(base: Values, after: Values, beta: Values, divergence: FDivergence = FORWARD_KL) -> Values:
    return (best_response(base, after, beta, divergence) * after).sum(axis=-1, keepdims=True)


VALUE = theorem(
    "Token forward KL: V(s) = l - beta, with pi = beta a/(l - Q)",
    statement=r"\pi(t|s) = \tfrac{\beta a(t|s)}{\ell - Q(s,t)},\; \sum_t \pi(t|s) = 1"
    r" \;\Rightarrow\; \sum_t \pi(t|s) Q(s,t) = \ell - \beta",
    source=Source("ours", "stationary policies"),
    on=chart(base=simplex(4, spread=3.0), after=rates(4, low=1e-2, high=1e-2), beta=log_uniform(0.03, 30)),
    equal=(normaliser_less_beta, best_rate),
    examples=(example(base=".144 .348 .312 .196", after=".9 .5 .3 .1", beta=".5", value=".58"),),
    coq="value_of_prefix",
    floor=1.0,
    false=(
        neighbour(
            "the pass rate of the reverse KL at the same beta", rhs=partial(best_rate, divergence=REVERSE_KL)
        ),
    ),
)


def token_answers(
    base: list[Values], verdicts: Values, eps: float, divergence: FDivergence = REVERSE_KL
) -> Values:
    """Answers' probabilities (batch, answers) of the stationary policy of a token penalty at beta = eps."""
    return sequences(token_policy(base, verdicts, eps, divergence))


def locally_filtered_answers(base: list[Values], verdicts: Values) -> Values:
    return sequences(locally_filtered(base, verdicts))


def filtered_answers(base: list[Values], verdicts: Values) -> Values:
    return sequences(filtered_policy(base, verdicts))


def forward_limit_answers(base: list[Values], verdicts: Values) -> Values:
    return sequences(token_forward_limit(base, verdicts))


LOCAL = theorem(
    "Token reverse KL (k2, or k3 with importance weight) selects constrained decoding",
    statement=r"\pi_\beta(t|s) \to \frac{a(t|s)\,1[Y_1 \text{ reachable after } s,t]}"
    r"{\sum_{t'} a(t'|s)\,1[Y_1 \text{ reachable after } s,t']} \text{ as } \beta \to 0",
    source=Source("ours", "stationary policies; local filtering: park2024grammar"),
    on=STRINGS,
    tends=(token_answers, locally_filtered_answers),
    examples=(STRING,),
    ladder=(1e-1, 1e-2, 1e-3),
    false=(
        neighbour("the filtered model p_*", rhs=filtered_answers),
        neighbour("the limit of the token forward KL", rhs=forward_limit_answers),
    ),
)


def tree_tables(first: Values, second: Values, valid: Values) -> dict[str, Any]:
    """Parts `base` (next-token tables) and `verdicts` (rewards, (batch, symbols, symbols))."""
    return {"base": [first, second], "verdicts": verifier(first, valid)}


BASES = TREES.deriving(tree_tables)

FORWARD = theorem(
    "Token forward KL (k3 without importance weight in the loss) converges to a policy of its own",
    statement=r"\pi_\beta(t|s) \to \frac{a(t|s)}{1 + w(s,t) - w(s)} \text{ where } Y_1 \text{ is reachable},"
    r"\; w = 0 \text{ at leaves},\; \sum_t \pi(t|s) = 1",
    source=Source("ours", "stationary policies"),
    on=BASES,
    tends=(partial(token_answers, divergence=FORWARD_KL), forward_limit_answers),
    examples=(TREE.giving(rhs=".675390529679 0 .324609470321 0"),),
    tolerance=1e-5,
    ladder=(1e-4, 1e-6, 1e-8),
    share=0.05,
    false=(
        neighbour("constrained decoding", rhs=locally_filtered_answers),
        neighbour("the filtered model p_*", rhs=filtered_answers),
    ),
)


def local_cost(base: list[Values], verdicts: Values) -> Values:
    policy, _ = local_filter(base, verdicts)
    return REVERSE_KL(sequences(policy), sequences(base))


def surprise_of_masses(base: list[Values], verdicts: Values) -> Values:
    """Mean sum over prefixes of -log of the mass allowed there, under constrained decoding; (batch,)."""
    return _mean_surprise(*local_filter(base, verdicts))


def surprise_under_base(base: list[Values], verdicts: Values) -> Values:
    """Mean sum over prefixes of -log of the mass allowed there, with prefixes from the base; (batch,)."""
    return _mean_surprise(base, local_filter(base, verdicts)[1])


def surprise_at_start(base: list[Values], verdicts: Values) -> Values:
    """-log of the base mass of first tokens that can still become correct, (batch,)."""
    return -np.log(local_filter(base, verdicts)[1][0])


def _mean_surprise(policy: list[Values], masses: list[Values]) -> Values:
    total, reach = -np.log(masses[0]), policy[0]
    for table, mass in zip(policy[1:], masses[1:], strict=True):
        total = total - flat(reach * np.log(mass)).sum(axis=-1)
        reach = reach[..., None] * table
    return total


COST = theorem(
    "KL(loc || a) is the mean, under loc, of -log of the mass kept at each prefix",
    statement=r"\mathrm{KL}(\mathrm{loc}\|a) = E_{loc}\big[-\textstyle\sum_t \log"
    r" \sum_{t' \text{ kept}} a(t'|s_t)\big]",
    source=Source("ours", "stationary policies"),
    on=STRINGS,
    equal=(local_cost, surprise_of_masses),
    examples=(STRING.giving(value="1.2295568024662"),),
    coq="local_cost",
    false=(
        neighbour("averaged over the base's prefixes", rhs=surprise_under_base),
        neighbour("the first token's alone", rhs=surprise_at_start),
    ),
)


def filtering_cost(base: list[Values], verdicts: Values) -> Values:
    """KL(p_* || base) = -log of the base's pass rate, (batch,)."""
    return -np.log(pass_rate(sequences(base), flat(verdicts)))


DEARER = theorem(
    "KL(loc || a) >= -log A1 = KL(p_* || a), with equality iff loc = p_*",
    statement=r"\mathrm{KL}(\mathrm{loc}\|a) = \mathrm{KL}(\mathrm{loc}\|p_*) - \log A_1 \ge -\log A_1",
    source=Source("ours", "stationary policies"),
    on=BASES,
    at_most=(filtering_cost, local_cost),
    examples=(
        example(
            first=".5 .3 .2",
            second=[".7 .2 .1", ".4 .5 .1", "0 0 1"],
            valid=[True, True, False, True, False, False, False, False, True],
            beta=".5",
        ).giving(lhs=".2613647641344", rhs=".3275674773912"),
    ),
    coq="local_dearer",
    false=(neighbour("the other way round", lhs=local_cost, rhs=filtering_cost),),
)


def objective(q: Values, base: Values, one: Values, other: Values, beta: Values) -> Values:
    """V/beta, averaged over two prompts with masks `one` and `other`, minus KL(q || base); (batch,)."""
    return (pass_rate(q, one) + pass_rate(q, other)) / 2 / beta - REVERSE_KL(q, base)


def tilt(base: Values, one: Values, other: Values, beta: Values) -> Values:
    """Base times e^(mean reward of the two prompts/beta), unnormalised, (batch, answers)."""
    gain = np.exp(add_axes(1 / (2 * beta), 1))
    return base * np.where(one, gain, 1.0) * np.where(other, gain, 1.0)


def from_the_mean_tilt(q: Values, base: Values, one: Values, other: Values, beta: Values) -> Values:
    weight = tilt(base, one, other, beta)
    return np.log(weight.sum(axis=-1)) - REVERSE_KL(q, normalised(weight))


def from_the_mean_of_tilts(q: Values, base: Values, one: Values, other: Values, beta: Values) -> Values:
    mean = (tilted(base, one, beta) + tilted(base, other, beta)) / 2
    return np.log(tilt(base, one, other, beta).sum(axis=-1)) - REVERSE_KL(q, mean)


SHARED = theorem(
    "Prompts that the policy cannot distinguish have one stationary policy, a e^(mean reward/beta)",
    statement=r"\tfrac1n\textstyle\sum_x E_q v_x - \beta\,\mathrm{KL}(q\|a) = \beta\log Z - \beta\,"
    r"\mathrm{KL}(q\|p),\quad p = a e^{\bar v/\beta}/Z",
    source=Source("ours", "stationary policies"),
    on=chart(q=simplex(4), base=simplex(4), one=masks(4), other=masks(4), beta=log_uniform(0.05, 10)),
    equal=(objective, from_the_mean_tilt),
    examples=(
        example(
            q=".3 .25 .25 .2",
            base=".3 .2 .1 .4",
            one=[True, True, False, False],
            other=[True, False, True, False],
            beta=".5",
            value=".9537708653149",
        ),
    ),
    coq="one_law_for_all",
    false=(neighbour("the mean of the prompts' own tilted models", rhs=from_the_mean_of_tilts),),
)
