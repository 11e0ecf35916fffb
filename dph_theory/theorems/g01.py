"""G1. Noise at the stationary policy.

Where training stands still on average it may still shake: a sampled answer moves the policy by its
coefficient, what multiplies the gradient of its log-probability. With the KL of the whole answer in the
reward every coefficient vanishes at p_beta, so that a constant step leaves no noise; a penalty in the loss is
not centred, and keeps one.
"""

import numpy as np

from ..binary_reward import tilted, valid_mass
from ..divergences import REVERSE_KL
from ..dynamics.drift import spread_at_law
from ..numeric.elementary import Values, trailing
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex, uniform
from ..statement.theorem import neighbour, scaled, theorem


def coefficients(base: Values, valid: Values, beta: Values) -> Values:
    """Of each answer at p_beta: with the KL in the reward, and with k2 or the corrected k3 in the loss."""
    law, b = tilted(base, valid, beta), trailing(beta, 1)
    log_u = np.log(law / base)
    reward = valid - b * log_u
    in_reward = reward - trailing((law * reward).sum(axis=-1), 1)
    return np.stack([in_reward, valid - trailing(valid_mass(law, valid), 1) - b * log_u], axis=-1)


def none_and_cost(base: Values, valid: Values, beta: Values) -> Values:
    cost = trailing(beta * REVERSE_KL(tilted(base, valid, beta), base), 1) + 0 * base
    return np.stack([0 * cost, -cost], axis=-1)


def none_and_other_cost(base: Values, valid: Values, beta: Values) -> Values:
    cost = trailing(beta * REVERSE_KL(base, tilted(base, valid, beta)), 1) + 0 * base
    return np.stack([0 * cost, -cost], axis=-1)


def not_centred(base: Values, valid: Values, beta: Values) -> Values:
    """With a baseline of the rewards alone in the reward too."""
    found = coefficients(base, valid, beta)
    return np.stack([found[..., 1], found[..., 1]], axis=-1)


def balanced_spread(base: Values, beta: Values) -> Values:
    """The variance of s at which relaxation and the noise of one answer a step of size one balance.

    Over outcomes of which the first two are correct and equally likely: s relaxes at its slope, and each
    answer drawn adds its coefficient times its score.
    """
    base = np.stack([base, base, 1 - 2 * base], axis=-1)
    valid = np.array([1.0, 1.0, 0.0]) + 0 * base
    law = tilted(base, valid, beta)
    apart = np.array([1.0, -1.0, 0.0])
    spread = law[..., :, None] * np.eye(3) - law[..., :, None] * law[..., None, :]
    along = spread @ apart
    # The covariance of one answer's update: its coefficient is the same number for every answer.
    noise = coefficients(base, valid, beta)[..., 0, 1] ** 2 * (along @ apart)
    return noise / (2 * beta * along[..., 0])


def spread_by_the_formula(base: Values, beta: Values) -> Values:
    return spread_at_law(2 * base, beta, form="k2", step=1.0, answers=1) ** 2


COEFFICIENT = theorem(
    "G1.coefficient",
    "At p_beta an answer's coefficient is 0 with the KL in the reward, and -beta KL with k2 in the loss",
    statement=r"v - \beta\log u - E_{p_\beta}(v - \beta\log u) = 0, \quad"
    r" v - V - \beta\log u = -\beta\,\mathrm{KL}(p_\beta\|a), \qquad u = p_\beta/a",
    source=Source("ours", "finite training"),
    on=chart(base=simplex(4, spread=4), valid=masks(4), beta=log_uniform(0.05, 20)),
    equal=(coefficients, none_and_cost),
    examples=(
        example(
            base=".15 .1 .45 .3",
            valid=[True, True, False, False],
            beta=".5",
            value="0 -.234005297831 0 -.234005297831 0 -.234005297831 0 -.234005297831",
        ),
    ),
    floor=1.0,
    note="Plain k3 has a mean of zero at its own stationary policy (E1), and so no such noise;"
    " std-normalised, advantages keep size one on differences that vanish, and the noise stays whatever the"
    " form.",
    coq="coefficients",
    false=(
        neighbour("the KL from the base to the stationary policy", rhs=none_and_other_cost),
        neighbour("in the reward with a baseline of the rewards alone", lhs=not_centred),
    ),
)

SPREAD = theorem(
    "G1.spread",
    "With k2 or the corrected k3 in the loss a log ratio keeps the variance eta beta KL^2/N for ever",
    statement=r"\mathrm{Var}\, s = \tfrac{\eta}{N}\,\beta\,\mathrm{KL}(p_\beta\|a)^2,"
    r" \quad s = \log\tfrac{\pi(y_1)}{\pi(y_2)},\ a(y_1) = a(y_2)",
    source=Source("ours", "finite training"),
    on=chart(base=uniform(0.05, 0.45), beta=log_uniform(0.1, 5)),
    equal=(balanced_spread, spread_by_the_formula),
    examples=(example(base=".35", beta=".5"),),
    note="First order in the noise; .1348 sqrt(eta/N) for A1 = .7 at beta = .5.",
    false=(neighbour("half of it", rhs=scaled(spread_by_the_formula, 0.5)),),
)
