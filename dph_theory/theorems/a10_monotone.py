"""A10, ninth claim: over any family a smaller beta chooses more validity, further from the base."""

import numpy as np
import sympy

from ..numeric.balls import Values, only, trailing
from ..references import Source
from ..restricted import projection, shared_value, validity_and_cost
from ..statement.charts import chart, example, log_uniform, masks, simplex, uniform
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour


def validity_and_kl(family: Values, base: Values, valid: Values, beta: Values) -> Values:
    chosen = projection(family, base, valid, beta)
    return np.stack([shared_value(chosen, x) for x in validity_and_cost(family, base, valid)], axis=-1)


def at_smaller_beta(family: Values, base: Values, valid: Values, beta: Values, fraction: Values) -> Values:
    # Where the member stays the same both sides agree, which balls cannot order: 1 more stands for it.
    before, after = (projection(family, base, valid, b) for b in (beta, fraction * beta))
    stays = np.all(before == after, axis=-1)
    found = validity_and_kl(family, base, valid, fraction * beta)
    return found + only(1 + 0 * found, trailing(stays, 1))


def derivation() -> Claims:
    # The member of b is no worse at b, and that of b' < b no worse at b': with V, K and V', K' and slacks
    # x, y >= 0, K' - V'/b' + x = K - V/b' and K - V/b + y = K' - V'/b. Their sum is the first claim.
    x, y = sympy.symbols("x y", nonnegative=True)
    b, less = sympy.symbols("b less", positive=True)  # 1/b' = 1/b + less
    gained = (x + y) / less
    further = gained / b + y
    yield Claim("at b' the other member is no better", gained * (1 / b + less) - x, equals=further)
    yield Claim("validity gained", gained, ">=0")
    yield Claim("KL to the base gained", further, ">=0")


THEOREM = Theorem(
    name="A10.monotone",
    title="As beta decreases, the chosen member's validity and its KL to the base never fall, in any family",
    source=Source("ours", "two optimality conditions"),
    statement=r"\beta' \le \beta \;\Rightarrow\; V(\pi_\beta) \le V(\pi_{\beta'}),\quad"
    r" \mathrm{KL}(\pi_\beta\|a) \le \mathrm{KL}(\pi_{\beta'}\|a)",
    relation=Relation.AT_MOST,
    lhs=validity_and_kl,
    rhs=at_smaller_beta,
    instances=chart(
        family=simplex(4, 4, zeros=True),
        base=simplex(4),
        valid=masks(4),
        beta=log_uniform(1e-3, 1e3),
        fraction=uniform(0.01, 1),
    ),
    expected=Verdict.PROVED,
    examples=(
        example(
            family=["1 0 0 0", "0 1 0 0", "0 0 1 0", "0 0 0 1", ".3 .3 .2 .2"],
            base=".3 .2 .1 .4",
            valid=[True, True, False, False],
            beta="1",
            fraction=".3",
        ),
    ),
    symbolic=derivation,
    false_neighbours=(
        neighbour("validity never falls, and KL never rises", lhs=at_smaller_beta, rhs=validity_and_kl),
        neighbour(
            "at least 2% more of both once the member changes",
            rhs=lambda family, base, valid, beta, fraction: (
                at_smaller_beta(family, base, valid, beta, fraction) / 1.02
            ),
        ),
    ),
)
