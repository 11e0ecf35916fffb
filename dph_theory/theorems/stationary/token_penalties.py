"""E2. The stationary policy of a penalty on each token.

k2, k3 and their like in the loss take the prefixes as sampled, and penalise each token alone: the
policy converges, at every prefix, to its best response to the pass rates after each token (Q-values). One
backward pass over the tree gives it.

E3. What each penalty converges to as beta falls.

The place of the KL and its estimator decide which model is left: the filtered model p_* for penalties on
whole answers, the locally filtered one for token reverse KL (what grammar-constrained decoding samples
from), a third one for token forward KL.

E5. When the penalties agree.

Where one token decides whether an answer is correct, penalties on tokens and on whole answers converge
to one policy; and prompts that the policy cannot distinguish act as one prompt with their mean reward.
"""

from collections.abc import Callable

import numpy as np

from ...binary_reward import tilted, valid_mass
from ...divergences import FORWARD_KL, REVERSE_KL, alpha_divergence, each
from ...fdivergence import FDivergence
from ...numeric.elementary import Values, normalised, trailing
from ...references import Source
from ...stationary import (
    best_response,
    filtered_policy,
    locally_filtered,
    sequence_policy,
    token_forward_limit,
    token_policy,
)
from ...verification.charts import chart, example, log_uniform, masks, rates, simplex
from ...verification.statement import neighbour, theorem
from .._laws import STRING, STRINGS, TREES, TWO_TOKENS, answers_of, flat, local_filter, tables, verifier
from .._tokens import ratio_where

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
    return each(lambda f: update(token_policy(base, verdicts, beta, f), base, verdicts, beta, f), TOKEN_FORMS)


def at_the_sequence_law(base: list[Values], verdicts: Values, beta: Values) -> Values:
    return each(
        lambda f: update(sequence_policy(base, verdicts, beta, f), base, verdicts, beta, f), TOKEN_FORMS
    )


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


def law(base: list[Values], verdicts: Values, eps: float) -> Values:
    return answers_of(token_policy(base, verdicts, eps))


def local(base: list[Values], verdicts: Values) -> Values:
    return answers_of(locally_filtered(base, verdicts))


def globally(base: list[Values], verdicts: Values) -> Values:
    return answers_of(filtered_policy(base, verdicts))


LOCAL = theorem(
    "E3.local",
    "Token reverse KL (k2, or k3 with the importance ratio) selects the locally filtered model",
    statement=r"\pi_\beta(t|s) \to \frac{a(t|s)\,1[Y_1 \text{ reachable after } s,t]}"
    r"{\sum_{t'} a(t'|s)\,1[Y_1 \text{ reachable after } s,t']} \text{ as } \beta \to 0",
    source=Source("ours", "stationary policies; local filtering: park2024grammar"),
    on=STRINGS,
    tends=(law, local),
    examples=(STRING,),
    ladder=(1e-1, 1e-2, 1e-3),
    false=(
        neighbour("the filtered model p_*", rhs=globally),
        neighbour(
            "the limit of the token forward KL",
            rhs=lambda base, verdicts: answers_of(token_forward_limit(base, verdicts)),
        ),
    ),
)


def forward_law(first: Values, second: Values, valid: Values, eps: float) -> Values:
    return answers_of(token_policy(tables(first, second), verifier(first, valid), eps, FORWARD_KL))


def limit(first: Values, second: Values, valid: Values) -> Values:
    return answers_of(token_forward_limit(tables(first, second), verifier(first, valid)))


def local_of_two(first: Values, second: Values, valid: Values) -> Values:
    return answers_of(locally_filtered(tables(first, second), verifier(first, valid)))


def filtered_of_two(first: Values, second: Values, valid: Values) -> Values:
    return answers_of(filtered_policy(tables(first, second), verifier(first, valid)))


FORWARD = theorem(
    "E3.forward",
    "Token forward KL (plain k3 in the loss) converges to a policy of its own",
    statement=r"\pi_\beta(t|s) \to \frac{a(t|s)}{1 + w(s,t) - w(s)} \text{ where } Y_1 \text{ is reachable},"
    r"\; w = 0 \text{ at leaves},\; \sum_t \pi(t|s) = 1",
    source=Source("ours", "stationary policies"),
    on=TREES,
    tends=(forward_law, limit),
    examples=(TWO_TOKENS.giving(rhs=".675390529679 0 .324609470321 0"),),
    tolerance=1e-5,
    ladder=(1e-4, 1e-6, 1e-8),
    share=0.05,
    false=(
        neighbour("the locally filtered model", rhs=local_of_two),
        neighbour("the filtered model p_*", rhs=filtered_of_two),
    ),
)


def half_law(first: Values, second: Values, valid: Values, eps: float) -> Values:
    return answers_of(token_policy(tables(first, second), verifier(first, valid), eps, alpha_divergence(0.5)))


def beyond_one(first: Values, second: Values, valid: Values, eps: float) -> Values:
    return answers_of(token_policy(tables(first, second), verifier(first, valid), eps, alpha_divergence(1.5)))


FAMILY = theorem(
    "E3.family",
    "Token penalties filter locally where failures die faster than beta: alpha = 1/2, not forward KL",
    statement=r"1 - Q_\beta = o(\beta) \;\Rightarrow\; \pi_\beta \to \text{the locally filtered model};"
    r"\quad \alpha < 1:\; 1 - Q_\beta = O(\beta^{1/\alpha})",
    source=Source("ours", "stationary policies"),
    on=TREES,
    tends=(half_law, local_of_two),
    examples=(TWO_TOKENS,),
    tolerance=1e-3,
    ladder=(1e-6, 1e-8, 1e-10),
    share=0.1,
    false=(neighbour("alpha = 1, forward KL", lhs=forward_law), neighbour("alpha = 1.5", lhs=beyond_one)),
)


def of_answers(base: list[Values], verdicts: Values) -> Values:
    law, _ = local_filter(base, verdicts)
    return REVERSE_KL(answers_of(law), answers_of(base))


def of_prefixes(base: list[Values], verdicts: Values) -> Values:
    """E_loc[-sum_t log alive mass(s_t)]."""
    law, masses = local_filter(base, verdicts)
    return _mean_surprise(law, masses)


def under_the_base(base: list[Values], verdicts: Values) -> Values:
    """The same masses averaged over the base's prefixes."""
    return _mean_surprise(base, local_filter(base, verdicts)[1])


def at_the_start_alone(base: list[Values], verdicts: Values) -> Values:
    """-log of the mass kept at the first token, as if the later ones never ran dry."""
    return -np.log(local_filter(base, verdicts)[1][0])


def _mean_surprise(law: list[Values], masses: list[Values]) -> Values:
    total, reach = -np.log(masses[0]), law[0]
    for table, kept in zip(law[1:], masses[1:], strict=True):
        total = total - flat(reach * np.log(kept)).sum(axis=-1)
        reach = reach[..., None] * table
    return total


COST = theorem(
    "E3.cost",
    "KL(loc || a) is the mean, under loc, of -log of the mass kept at each prefix",
    statement=r"\mathrm{KL}(\mathrm{loc}\|a) = E_{loc}\big[-\textstyle\sum_t \log"
    r" \sum_{t' \text{ kept}} a(t'|s_t)\big]",
    source=Source("ours", "stationary policies"),
    on=STRINGS,
    equal=(of_answers, of_prefixes),
    examples=(STRING.giving(value="1.2295568024662"),),
    coq="local_cost",
    false=(
        neighbour("averaged over the base's prefixes", rhs=under_the_base),
        neighbour("the first token's alone", rhs=at_the_start_alone),
    ),
)


def filtering_cost(first: Values, second: Values, valid: Values) -> Values:
    """-log A1 = KL(p_* || a)."""
    answers = answers_of([first, second])
    return -np.log(np.where(flat(verifier(first, valid)), answers, 0.0).sum(axis=-1))


def local_cost(first: Values, second: Values, valid: Values) -> Values:
    law, _ = local_filter([first, second], verifier(first, valid))
    return REVERSE_KL(answers_of(law), answers_of([first, second]))


DEARER = theorem(
    "E3.dearer",
    "KL(loc || a) >= -log A1 = KL(p_* || a), with equality iff loc = p_*",
    statement=r"\mathrm{KL}(\mathrm{loc}\|a) = \mathrm{KL}(\mathrm{loc}\|p_*) - \log A_1 \ge -\log A_1",
    source=Source("ours", "stationary policies"),
    on=TREES,
    at_most=(filtering_cost, local_cost),
    examples=(
        example(
            first=".5 .3 .2",
            second=[".7 .2 .1", ".4 .5 .1", "0 0 1"],
            valid=[True, True, False, True, False, False, False, False, True],
            beta=".5",
            lhs=".2613647641344",
            rhs=".3275674773912",
        ),
    ),
    coq="local_dearer",
    false=(neighbour("the other way round", lhs=local_cost, rhs=filtering_cost),),
)


FORMS = (REVERSE_KL, FORWARD_KL, alpha_divergence(0.5))


def by_the_first(first: Values, valid: Values) -> Values:
    """The reward of the first token with the first second token, whatever the second is."""
    answers = verifier(first, valid)
    return np.broadcast_to(answers[..., :1], answers.shape)


def token_laws(first: Values, second: Values, valid: Values, beta: Values) -> Values:
    return _laws_of(token_policy, first, second, by_the_first(first, valid), beta)


def sequence_laws(first: Values, second: Values, valid: Values, beta: Values) -> Values:
    return _laws_of(sequence_policy, first, second, by_the_first(first, valid), beta)


def token_laws_of_both(first: Values, second: Values, valid: Values, beta: Values) -> Values:
    return _laws_of(token_policy, first, second, verifier(first, valid), beta)


def sequence_laws_of_both(first: Values, second: Values, valid: Values, beta: Values) -> Values:
    return _laws_of(sequence_policy, first, second, verifier(first, valid), beta)


def _laws_of(
    law: Callable[..., list[np.ndarray]], first: Values, second: Values, verdicts: Values, beta: Values
) -> Values:
    return each(lambda f: answers_of(law(tables(first, second), verdicts, beta, f)), FORMS)


LAST = theorem(
    "E5.last",
    "Where the first token decides, token and sequence penalties have one stationary policy, for every f",
    statement=r"v(y) = v(y_1) \;\Rightarrow\; \text{the token penalty's policy is the whole answer's}",
    source=Source("ours", "stationary policies"),
    on=TREES,
    equal=(token_laws, sequence_laws),
    examples=(TWO_TOKENS,),
    share=0.1,
    false=(neighbour("decided by both tokens", lhs=token_laws_of_both, rhs=sequence_laws_of_both),),
)


def objective(q: Values, base: Values, one: Values, other: Values, beta: Values) -> Values:
    """Mean over both prompts of E_q v - beta KL(q || a), over beta."""
    return (valid_mass(q, one) + valid_mass(q, other)) / 2 / beta - REVERSE_KL(q, base)


def tilt(base: Values, one: Values, other: Values, beta: Values) -> Values:
    """a e^(mean reward/beta), not normalised."""
    gain = np.exp(trailing(1 / (2 * beta), 1))
    return base * np.where(one, gain, 1.0) * np.where(other, gain, 1.0)


def from_the_mean_tilt(q: Values, base: Values, one: Values, other: Values, beta: Values) -> Values:
    weight = tilt(base, one, other, beta)
    return np.log(weight.sum(axis=-1)) - REVERSE_KL(q, normalised(weight))


def from_the_mean_of_tilts(q: Values, base: Values, one: Values, other: Values, beta: Values) -> Values:
    law = (tilted(base, one, beta) + tilted(base, other, beta)) / 2
    return np.log(tilt(base, one, other, beta).sum(axis=-1)) - REVERSE_KL(q, law)


SHARED = theorem(
    "E5.shared",
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
