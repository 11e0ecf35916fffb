"""A4, first claim: the KL-regularised objective is its maximum less beta times the KL to the tilted model."""

from ..binary_reward import filtered, log_partition, tilted, valid_mass
from ..divergences import REVERSE_KL
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claims, Relation, Theorem, Verdict, neighbour
from ._lemmas import tilted_identity


def reward_and_distance(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    return valid_mass(policy, valid) + beta * REVERSE_KL(policy, tilted(base, valid, beta))


def value_and_cost(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    # The cost stands on this side, so that nothing cancels at large beta.
    value = beta * log_partition(valid_mass(base, valid), beta)
    return value + beta * REVERSE_KL(policy, base)


def exchanged(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    return valid_mass(policy, valid) + beta * REVERSE_KL(tilted(base, valid, beta), policy)


def to_mixture(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    """With the even mixture of filtered and base model in place of the tilted one."""
    other = (filtered(base, valid) + base) / 2
    return valid_mass(policy, valid) + beta * REVERSE_KL(policy, other)


def derivation() -> Claims:
    # Summed over outcomes, for every policy; KL >= 0 with equality only at q = p_b then makes p_b the unique
    # maximiser and b log Z the value (A4.unique).
    yield from tilted_identity()


THEOREM = Theorem(
    name="A4.identity",
    title="E_q v - beta KL(q||a) = beta log Z - beta KL(q||p_beta) for every q",
    source=Source("dymetman2026binary", "KL control"),
    statement=r"\mathbb{E}_q v - \beta\,\mathrm{KL}(q\|a) + \beta\,\mathrm{KL}(q\|p_\beta)"
    r" = \beta \log Z_\beta, \quad Z_\beta = A_0 + A_1 e^{1/\beta}",
    relation=Relation.EQUAL,
    lhs=reward_and_distance,
    rhs=value_and_cost,
    instances=chart(
        policy=simplex(4, spread=8, zeros=True),
        base=simplex(4, spread=8),
        valid=masks(4),
        beta=log_uniform(2e-3, 1e3),
    ),
    expected=Verdict.PROVED,
    examples=(example(policy=".6 .4", base=".25 .75", valid=[True, False], beta=".5"),),
    symbolic=derivation,
    false_neighbours=(
        neighbour("the KL to p_beta with its arguments exchanged", lhs=exchanged),
        neighbour("another model in place of p_beta", lhs=to_mixture),
        masses_clamped("policy", 1e-11),
    ),
)
