"""E3. What each penalty converges to as beta falls.

The place of the KL and its estimator decide which model is left: the filtered model p_* for penalties on
whole answers, the locally filtered one for token reverse KL (what grammar-constrained decoding samples
from), a third one for token forward KL.
"""

import numpy as np

from ..divergences import FORWARD_KL, REVERSE_KL, alpha_divergence
from ..laws import filtered_law, locally_filtered, token_forward_limit, token_law
from ..numeric.elementary import Values
from ..references import Source
from ..statement.charts import example
from ..statement.theorem import neighbour, theorem
from ._laws import STRING, STRINGS, TREES, TWO_TOKENS, answers_of, flat, local_filter, tables, verifier


def law(base: list[Values], verdicts: Values, eps: float) -> Values:
    return answers_of(token_law(base, verdicts, eps))


def local(base: list[Values], verdicts: Values) -> Values:
    return answers_of(locally_filtered(base, verdicts))


def globally(base: list[Values], verdicts: Values) -> Values:
    return answers_of(filtered_law(base, verdicts))


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
    return answers_of(token_law(tables(first, second), verifier(first, valid), eps, FORWARD_KL))


def limit(first: Values, second: Values, valid: Values) -> Values:
    return answers_of(token_forward_limit(tables(first, second), verifier(first, valid)))


def local_of_two(first: Values, second: Values, valid: Values) -> Values:
    return answers_of(locally_filtered(tables(first, second), verifier(first, valid)))


def filtered_of_two(first: Values, second: Values, valid: Values) -> Values:
    return answers_of(filtered_law(tables(first, second), verifier(first, valid)))


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
    return answers_of(token_law(tables(first, second), verifier(first, valid), eps, alpha_divergence(0.5)))


def beyond_one(first: Values, second: Values, valid: Values, eps: float) -> Values:
    return answers_of(token_law(tables(first, second), verifier(first, valid), eps, alpha_divergence(1.5)))


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
