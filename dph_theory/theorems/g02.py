"""G2. A trap: dividing what vanishes.

KL in the reward leaves no noise at the stationary policy. Std-normalised, penalised rewards keep advantagesof
 size one on differences however small: what should come to rest is shaken for ever.
"""

import numpy as np

from ..binary_reward import tilted
from ..numeric.elementary import Values, trailing
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex, uniform
from ..statement.theorem import neighbour, scaled, theorem


def _centred(values: Values) -> Values:
    return values - values.mean(axis=-1, keepdims=True)


def _deviation(values: Values) -> Values:
    return np.sqrt((_centred(values) ** 2).mean(axis=-1, keepdims=True))


def _rewards(base: Values, valid: Values, beta: Values, push: Values, away: Values) -> Values:
    """The penalised rewards `away` times a push from p_beta in logits."""
    law = tilted(base, valid, beta) * np.exp(trailing(away, 1) * push)
    return valid - trailing(beta, 1) * np.log(law / law.sum(axis=-1, keepdims=True) / base)


def near_the_law(base: Values, valid: Values, beta: Values, push: Values, away: Values) -> Values:
    """Centred rewards of a group that holds each answer once, times the std of the pushes."""
    return _centred(_rewards(base, valid, beta, push, away)) * _deviation(push)


def of_the_push(base: Values, valid: Values, beta: Values, push: Values, away: Values) -> Values:
    """The same the other way round: cross-multiplied, nothing is divided by what may vanish."""
    return -_centred(push) * _deviation(_rewards(base, valid, beta, push, away))


def falling_with_it(base: Values, valid: Values, beta: Values, push: Values, away: Values) -> Values:
    return trailing(away, 1) * of_the_push(base, valid, beta, push, away)


TRAP = theorem(
    "G2.trap",
    "Std-normalised, the KL in the reward moves as much at any distance from the stationary policy",
    statement=r"\frac{r_i - \bar r}{\sigma_r} = -\frac{t_i - \bar t}{\sigma_t}, \quad"
    r" r = v - \beta\log(\pi/a),\ \pi \propto p_\beta\, e^{\epsilon t},\ \epsilon > 0",
    source=Source("ours", "finite training"),
    on=chart(
        base=simplex(4, spread=3),
        valid=masks(4),
        beta=log_uniform(0.1, 5),
        push=uniform(-1, 1, 4),
        away=log_uniform(0.01, 1),
    ),
    equal=(near_the_law, of_the_push),
    examples=(
        example(
            base=".35 .3 .2 .15",
            valid=[True, True, False, False],
            beta=".5",
            push=".6 -.4 .2 -.7",
            away=".05",
            value="-.0085527287997 .0041179805332 -.0034844450666 .0079191933331",
        ),
    ),
    floor=1.0,
    note="So its spread falls with no number of groups, and grows with the step (verl: use_kl_in_reward"
    " under GRPO's normalisation).",
    coq="trap",
    false=(
        neighbour("it falls with the distance", rhs=falling_with_it),
        neighbour("away from the stationary policy", rhs=scaled(of_the_push, -1.0)),
    ),
)
