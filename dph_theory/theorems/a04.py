"""A4. KL control has one optimum, the tilted model.

Reward minus beta times the KL to the base has one optimum, the tilted model p_beta ∝ a e^(v/beta): what
another policy loses is beta times its KL to p_beta, and the optimal value is beta log Z.
"""

import numpy as np

from ..binary_reward import filtered, kappa, log_partition, mu_from_beta, tilted, valid_mass
from ..divergences import REVERSE_KL, TOTAL_VARIATION
from ..numeric.elementary import Values, trailing
from ..references import Source
from ..statement.charts import chart, log_uniform, masks, simplex
from ..statement.theorem import neighbour, theorem
from ._laws import FOUR


def reward_and_distance(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    return valid_mass(policy, valid) + beta * REVERSE_KL(policy, tilted(base, valid, beta))


def value_and_cost(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    # The cost stands on this side, so that nothing cancels at large beta.
    value = beta * log_partition(valid_mass(base, valid), beta)
    return value + beta * REVERSE_KL(policy, base)


def exchanged(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    return valid_mass(policy, valid) + beta * REVERSE_KL(tilted(base, valid, beta), policy)


IDENTITY = theorem(
    "A4.identity",
    "E_q v - beta KL(q||a) = beta log Z - beta KL(q||p_beta) for every q",
    statement=r"\mathbb{E}_q v - \beta\,\mathrm{KL}(q\|a) + \beta\,\mathrm{KL}(q\|p_\beta)"
    r" = \beta \log Z_\beta, \quad Z_\beta = A_0 + A_1 e^{1/\beta}",
    source=Source("dymetman2026binary", "KL control"),
    on=chart(
        policy=simplex(4, spread=8, zeros=True),
        base=simplex(4, spread=8),
        valid=masks(4),
        beta=log_uniform(2e-3, 1e3),
    ),
    equal=(reward_and_distance, value_and_cost),
    examples=(FOUR.giving(value=".5817178710413"),),
    coq="control_identity",
    false=(neighbour("the KL to p_beta with its arguments exchanged", lhs=exchanged),),
)


def margin(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    return 2 * np.square(TOTAL_VARIATION(policy, tilted(base, valid, beta)))


def loss(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    """The maximum less the objective, in units of beta."""
    value = log_partition(valid_mass(base, valid), beta)
    return value - valid_mass(policy, valid) / beta + REVERSE_KL(policy, base)


UNIQUE = theorem(
    "A4.unique",
    "The maximiser is p_beta alone: any other policy loses at least 2 beta TV(q, p_beta)^2",
    statement=r"2\,\mathrm{TV}(q, p_\beta)^2 \le"
    r" \tfrac{1}{\beta} \big(\beta \log Z_\beta - \mathbb{E}_q v + \beta\,\mathrm{KL}(q\|a)\big)",
    source=Source("dymetman2026binary", "KL control"),
    on=chart(
        policy=simplex(4, spread=8, zeros=True),
        base=simplex(4, spread=8),
        valid=masks(4),
        beta=log_uniform(2e-3, 1e3),
    ),
    at_most=(margin, loss),
    # Near an even p_beta the margin is nearly the whole loss.
    examples=(FOUR.giving(lhs=".0519931887515", rhs=".0634357420826"),),
    # The loss is b KL(q||p_b), and that is Pinsker's inequality.
    coq="control_unique",
    false=(
        neighbour(
            "the maximiser is p_*",
            lhs=lambda policy, base, valid: 2 * np.square(TOTAL_VARIATION(policy, filtered(base, valid))),
        ),
    ),
)


def objective_at_tilted(base: Values, valid: Values, beta: Values) -> Values:
    """Computed on the whole policy, and on its pass rate alone."""
    policy, base_rate = tilted(base, valid, beta), valid_mass(base, valid)
    whole = valid_mass(policy, valid) - beta * REVERSE_KL(policy, base)
    mu = mu_from_beta(base_rate, beta)
    return np.stack([whole, mu - beta * kappa(mu, base_rate)], axis=-1)


def scaled_log_partition(base: Values, valid: Values, beta: Values) -> Values:
    return trailing(beta * log_partition(valid_mass(base, valid), beta), 1)


def validity(base: Values, valid: Values, beta: Values) -> Values:
    return trailing(mu_from_beta(valid_mass(base, valid), beta), 1)


VALUE = theorem(
    "A4.value",
    "The optimum with a KL penalty is beta log Z = mu - beta kappa(mu)",
    statement=r"\max_q \mathbb{E}_q v - \beta\,\mathrm{KL}(q\|a) = \beta \log Z_\beta"
    r" = \mu - \beta\,\kappa(\mu)",
    source=Source("dymetman2026binary", "KL control"),
    on=chart(base=simplex(5), valid=masks(5), beta=log_uniform(1e-3, 1e3)),
    equal=(objective_at_tilted, scaled_log_partition),
    examples=(FOUR.giving(value=".4772292963966"),),
    coq="control_value",
    false=(
        neighbour("the cost of the pass rate forgotten", rhs=validity),
        neighbour(
            "log Z in place of beta log Z",
            rhs=lambda base, valid, beta: trailing(log_partition(valid_mass(base, valid), beta), 1),
        ),
    ),
)
