import numpy as np
import pytest

from dph_theory.statement.charts import as_floats
from dph_theory.theorems import a06

MU = 0.7112345942276


def test_the_total_variation_at_a_quarter():
    for side in a06.VARIATION.sides(as_floats(a06.VARIATION.examples[0].parts)):
        assert side == pytest.approx(1 - MU, abs=1e-13)


def test_the_forward_kl_at_a_quarter():
    instance = as_floats(a06.FORWARD.examples[0].parts)
    assert a06.filtered_to_tilted(**instance)[0, 0] == pytest.approx(-np.log(MU), abs=1e-12)
    assert a06.both_forms(**instance)[0] == pytest.approx(
        [-np.log(MU), np.log(1 + 3 * np.exp(-2))], abs=1e-12
    )


def test_the_pointwise_bound_is_nearly_met_when_cold():
    instance = as_floats(a06.POINTWISE.examples[0].parts)
    deviation, bound = a06.POINTWISE.sides(instance)
    # A1 = A0: 1 - mu = 1/(1 + e^10), of which p_* = (.6, .4) and p_0 = (.2, .8) give the shares.
    assert deviation[0] == pytest.approx(np.array([0.6, 0.4, 0.2, 0.8]) / (1 + np.exp(10)), rel=1e-11)
    assert bound[0] == pytest.approx(np.exp(-10), rel=1e-14)


@pytest.mark.parametrize("beta", [2e-3, 0.1, 1.0, 1e3])
def test_the_kl_to_the_filtered_model_is_infinite(beta):
    instance = {**as_floats(a06.REVERSE.examples[0].parts), "beta": np.array([beta])}
    assert a06.to_filtered(**instance).tolist() == [[np.inf, np.inf]]
    assert np.isfinite(a06.from_filtered(**instance)).all()
    assert np.isfinite(a06.from_conditional(**instance)).all()
