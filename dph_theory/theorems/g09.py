"""G9. A verifier that errs.

Errors that do not depend on the answer, given its truth, turn the mean reward into phi + J v with
J = 1 - phi - nu: training sees the same reward, J times as large, and beta acts as beta/J.
"""

import numpy as np

from ..binary_reward import tilted
from ..laws import effective_beta
from ..numeric.elementary import Values, normalised, trailing
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex, uniform
from ..statement.theorem import neighbour, theorem


def under_errors(base: Values, valid: Values, beta: Values, accepted: Values, refused: Values) -> Values:
    """The optimum of the mean reward less beta KL."""
    mean = trailing(accepted, 1) + trailing(1 - accepted - refused, 1) * valid
    return normalised(base * np.exp((mean - 1) / trailing(beta, 1)))


def at_effective_beta(base: Values, valid: Values, beta: Values, accepted: Values, refused: Values) -> Values:
    return tilted(base, valid, effective_beta(beta, accepted, refused))


def at_beta(base: Values, valid: Values, beta: Values, accepted: Values, refused: Values) -> Values:
    return tilted(base, valid, beta)


def at_smaller_beta(base: Values, valid: Values, beta: Values, accepted: Values, refused: Values) -> Values:
    return tilted(base, valid, beta * (1 - accepted - refused))


LAW = theorem(
    "G9.law",
    "Errors that do not depend on the answer: the stationary policy of a correct verifier at beta/J",
    statement=r"a\,e^{(\varphi + Jv)/\beta}/Z = p_{\beta/J}, \quad J = 1 - \varphi - \nu > 0",
    source=Source("ours", "finite training"),
    on=chart(
        base=simplex(4, spread=4),
        valid=masks(4),
        beta=log_uniform(0.05, 20),
        accepted=uniform(0, 0.45),
        refused=uniform(0, 0.45),
    ),
    equal=(under_errors, at_effective_beta),
    examples=(
        example(
            base=".15 .1 .45 .3",
            valid=[True, True, False, False],
            beta=".5",
            accepted=".05",
            refused=".2",
            value=".3594126161783 .2396084107855 .2405873838217 .1603915892145",
        ),
    ),
    coq="errors_scale_beta",
    note="So a verifier that errs changes the rate and not the fate (arXiv 2601.04411, as summarised):"
    " without a KL the path is the same, J times slower. Errors tied to answers are no noise: an incorrect"
    " answer that is always accepted is retained as a correct one.",
    false=(neighbour("at beta itself", rhs=at_beta), neighbour("at beta J", rhs=at_smaller_beta)),
)
