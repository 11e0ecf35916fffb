"""G4. The baseline is free for the mean, and decides the drift.

What is subtracted from rewards leaves the expected update as it is. With 1, where only incorrect answers
have a gradient, no draw sets two equal correct answers apart.
"""

import numpy as np

from ..binary_reward import valid_mass
from ..numeric.elementary import Values, trailing
from ..references import Source
from ..statement.charts import chart, example, masks, simplex, uniform
from ..statement.theorem import neighbour, theorem


def expected_update(law: Values, valid: Values, baseline: Values) -> Values:
    """E (v - c)(e_y - p), in logits."""
    pull = law * (valid - trailing(baseline, 1))
    return pull - law * trailing(pull.sum(axis=-1), 1)


def slope_of_the_rate(law: Values, valid: Values) -> Values:
    return law * (valid - trailing(valid_mass(law, valid), 1))


FREE = theorem(
    "G4.free",
    "Every baseline has the same expected update, that of the pass rate, and so the same speed",
    statement=r"E_\pi\,(v - c)\,\nabla\log\pi = \nabla V \quad \text{for every } c",
    source=Source("ours", "finite training"),
    on=chart(law=simplex(4, spread=4), valid=masks(4), baseline=uniform(-1, 2)),
    equal=(expected_update, slope_of_the_rate),
    examples=(
        example(law=".4 .3 .2 .1", valid=[True, True, False, False], baseline="1", value=".12 .09 -.14 -.07"),
    ),
    coq="every_baseline",
    floor=1.0,
    note="What is reported of negative-sample reinforcement (arXiv 2506.01347, as summarised: it keeps"
    " Pass@k) can so come from noise, and not from another objective.",
    false=(
        neighbour(
            "the baseline in the slope",
            rhs=lambda law, valid, baseline: law * (valid - trailing(baseline, 1)),
        ),
    ),
)


def separation(rate: Values, tilt: Values, baseline: Values) -> Values:
    """The second moment of what one answer adds to s, of correct answers of half the rate each."""
    wrong = 1 - rate
    law = np.stack([rate / 2, rate / 2, wrong * tilt, wrong * (1 - tilt)], axis=-1)
    valid = np.array([1.0, 1.0, 0.0, 0.0])
    apart = np.array([1.0, -1.0, 0.0, 0.0])
    # (e_y - p) along s: what of p is apart is the same number for every y.
    along = apart - trailing((law * apart).sum(axis=-1), 1)
    return (law * (valid - trailing(baseline, 1)) ** 2 * along**2).sum(axis=-1)


def by_right_answers(rate: Values, tilt: Values, baseline: Values) -> Values:
    return rate * (1 - baseline) ** 2 + 0 * tilt


def by_all_answers(rate: Values, tilt: Values, baseline: Values) -> Values:
    return rate * (1 - baseline) ** 2 + (1 - rate) * baseline**2 + 0 * tilt


NOISE = theorem(
    "G4.noise",
    "What a draw adds to the drift of equal correct answers goes with (1 - c)^2: nothing with c = 1",
    statement=r"E\,\big[(v-c)\,\partial_s\log\pi\big]^2 = \tfrac{2V}{K}(1-c)^2, \quad K = 2",
    source=Source("ours", "finite training"),
    on=chart(rate=uniform(0.02, 0.98), tilt=uniform(0.05, 0.95), baseline=uniform(0, 1)),
    equal=(separation, by_right_answers),
    examples=(example(rate=".3", tilt=".6", baseline=".25", value=".16875"),),
    note="The price of c = 1: while few answers are incorrect few steps have a gradient, and the pass rate is"
    " noisier on the way where most are incorrect.",
    coq="drift_of_a_draw",
    false=(neighbour("incorrect answers set them apart too", rhs=by_all_answers),),
)
