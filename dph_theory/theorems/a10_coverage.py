"""A10, fifth claim: forward KL to the filtered model keeps every valid outcome, over the same family."""

import numpy as np

from ..binary_reward import filtered
from ..divergences import FORWARD_KL, REVERSE_KL
from ..numeric.balls import Values, highest, lowest, minimisers, normalised
from ..references import Source
from ..restricted import chosen_law, critical_beta, projection, with_diracs
from ..statement.charts import chart, example, log_uniform, masks
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled


def forgetting(policy: Values, target: Values) -> Values:
    """max_y kl(p_*(y) || pi(y)): infinite as soon as one valid outcome has lost all its mass."""
    return highest(REVERSE_KL(_against_the_rest(target), _against_the_rest(policy)))


def _against_the_rest(policy: Values) -> Values:
    """(pi(y), the sum of the others) for each y: 1 - pi(y) would blur a rest that is exactly zero."""
    others = 1 - np.eye(policy.shape[-1], dtype=int)
    return np.stack([policy, (policy[..., None, :] * others).sum(axis=-1)], axis=-1)


def m_projection(laws: Values, base: Values, valid: Values) -> Values:
    """The member that minimises KL(p_* || pi) over all Diracs and the laws."""
    family = with_diracs(laws)
    return chosen_law(minimisers(FORWARD_KL(family, filtered(base, valid)[..., None, :])), family)


def forgotten(laws: Values, base: Values, valid: Values) -> Values:
    laws, base = normalised(laws), normalised(base)
    return forgetting(m_projection(laws, base, valid), filtered(base, valid))


def best_law(laws: Values, base: Values, valid: Values) -> Values:
    return lowest(FORWARD_KL(normalised(laws), filtered(normalised(base), valid)[..., None, :]))


def forgotten_by_reverse(laws: Values, base: Values, valid: Values) -> Values:
    family, base = with_diracs(normalised(laws)), normalised(base)
    chosen = projection(family, base, valid, critical_beta(family, base, valid) / 2)
    return forgetting(chosen_law(chosen, family), filtered(base, valid))


THEOREM = Theorem(
    name="A10.coverage",
    title="The M-projection of the filtered model keeps each valid outcome, though Diracs are in the family",
    source=Source("dymetman2026binary", "misspecification"),
    statement=r"\pi_F = \arg\min_{\pi\in\Pi} \mathrm{KL}(p_*\|\pi):\quad"
    r" \max_y \mathrm{kl}(p_*(y)\|\pi_F(y)) \le \min_{q \in \Pi,\, q > 0} \mathrm{KL}(p_*\|q) < \infty",
    relation=Relation.AT_MOST,
    lhs=forgotten,
    rhs=best_law,
    instances=chart(laws=log_uniform(1e-3, 1, 2, 4), base=log_uniform(1e-3, 1, 4), valid=masks(4)),
    expected=Verdict.CERTIFIED,
    examples=(example(laws=[".3 .3 .2 .2"], base=".3 .2 .1 .4", valid=[True, True, False, False]),),
    tight=True,
    false_neighbours=(
        neighbour("reverse KL to the tilted model at a small beta keeps them too", lhs=forgotten_by_reverse),
        neighbour("a bound 0.01% lower", rhs=scaled(best_law, 0.9999)),
    ),
)
