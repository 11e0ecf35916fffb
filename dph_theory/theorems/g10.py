"""G10. Annealing beta.

Each p_beta has the base's proportions of correct answers. A run that follows a falling beta slowly is never
asked to change them: what a small beta from the start loses on the way, it need not lose.
"""

import numpy as np

from ..binary_reward import tilted, valid_mass
from ..numeric.elementary import Values, trailing
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex
from ..statement.theorem import neighbour, theorem


def motion(base: Values, valid: Values, beta: Values, eps: float) -> Values:
    """The change of log p_beta as beta falls by eps beta, over eps."""
    before, after = (tilted(base, valid, beta * factor) for factor in (1 + eps / 2, 1 - eps / 2))
    return np.log(after / before) / eps


def by_the_verdict(base: Values, valid: Values, beta: Values) -> Values:
    rate = valid_mass(tilted(base, valid, beta), valid)
    return (valid - trailing(rate, 1)) / trailing(beta, 1)


def by_the_surprise(base: Values, valid: Values, beta: Values) -> Values:
    """As a penalty on each answer's own log-ratio would move it."""
    law = tilted(base, valid, beta)
    return by_the_verdict(base, valid, beta) - np.log(law)


MOTION = theorem(
    "G10.motion",
    "As beta falls the stationary policy changes by the reward alone: no correct answer against another",
    statement=r"-\beta\,\frac{d \log p_\beta(y)}{d\beta} = \frac{v(y) - V_\beta}{\beta}",
    source=Source("ours", "finite training"),
    on=chart(base=simplex(4, spread=3), valid=masks(4), beta=log_uniform(0.1, 5)),
    tends=(motion, by_the_verdict),
    examples=(
        example(
            base=".15 .1 .45 .3",
            valid=[True, True, False, False],
            beta=".5",
            lhs=".5775308115448 .5775308115448 -1.4224691884552 -1.4224691884552",
            rhs=".5775308115448 .5775308115448 -1.4224691884552 -1.4224691884552",
        ),
    ),
    tolerance=1e-5,
    ladder=(1e-2, 1e-3, 1e-4),
    note="From beta = 1 to .05 in a time of 400 the flow's KL to p_* among correct answers peaks at .0059"
    " where beta falls geometrically, at .2305 where it is .05 throughout.",
    coq="motion",
    false=(neighbour("by the answer's own mass too", rhs=by_the_surprise),),
)
