"""E6. Convergence takes time 1/beta.

A stationary policy is the limit of training, not where a budget stops: near it a run relaxes at beta times
eigenvalues that stay of order one for the modes among valid answers.
"""

import numpy as np

from ..binary_reward import tilted
from ..numeric.elementary import Values
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex, uniform
from ..statement.theorem import neighbour, theorem


def flow_near_the_law(base: Values, valid: Values, beta: Values, push: Values, eps: float) -> Values:
    """The flow of E v - beta KL(pi || a) in logits, eps push away from p_beta, over beta eps."""
    weight = tilted(base, valid, beta) * np.exp(eps * push)
    law = weight / weight.sum(axis=-1, keepdims=True)
    gain = valid / beta[:, None] - np.log(law / base)
    return law * (gain - (law * gain).sum(axis=-1, keepdims=True)) / eps


def relaxation(base: Values, valid: Values, beta: Values, push: Values) -> Values:
    """-(diag p - p p^T) push."""
    law = tilted(base, valid, beta)
    return -law * (push - (law * push).sum(axis=-1, keepdims=True))


def without_the_mean(base: Values, valid: Values, beta: Values, push: Values) -> Values:
    return -tilted(base, valid, beta) * push


def at_the_base(base: Values, valid: Values, beta: Values, push: Values) -> Values:
    return -base * (push - (base * push).sum(axis=-1, keepdims=True))


RATE = theorem(
    "E6.rate",
    "Near p_beta the flow relaxes at beta times the eigenvalues of diag(p_beta) - p_beta p_beta^T",
    statement=r"\tfrac{d}{dt}\delta\theta ="
    r" -\beta\,(\mathrm{diag}(p_\beta) - p_\beta p_\beta^\top)\,\delta\theta",
    source=Source("ours", "stationary policies"),
    on=chart(base=simplex(4, spread=2.0), valid=masks(4), beta=log_uniform(0.2, 5), push=uniform(-1, 1, 4)),
    tends=(flow_near_the_law, relaxation),
    examples=(
        example(
            base=".3 .2 .1 .4",
            valid=[True, True, True, False],
            beta=".5",
            push="1 .5 0 -.5",
            lhs="-.1971536316367 .0214380950929 .0871559723052 .0885595642385",
            rhs="-.1971536316367 .0214380950929 .0871559723052 .0885595642385",
        ),
    ),
    note="Modes among valid answers keep eigenvalues of order one as beta falls: they relax in time 1/beta."
    " The slowest mode is that of the invalid mass: its eigenvalue dies with that mass.",
    tolerance=1e-4,
    floor=1e-2,
    ladder=(1e-2, 1e-4, 1e-6),
    coq="relaxation",
    false=(
        neighbour("diag(p) alone", rhs=without_the_mean),
        neighbour("the base in the place of the stationary policy", rhs=at_the_base),
    ),
)
