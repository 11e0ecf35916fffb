import numpy as np
import pytest

from dph_theory.binary_reward import kappa, mu_from_beta
from dph_theory.statement.charts import as_floats
from dph_theory.theorems import a05

MU, KAPPA = 0.7112345942276, 0.4680105956619


def test_the_validity_at_a_quarter():
    for side in a05.VALIDITY.sides(as_floats(a05.VALIDITY.examples[0].parts)):
        assert side == pytest.approx(MU, abs=1e-13)


def test_the_cost_at_a_quarter():
    for side in a05.COST.sides(as_floats(a05.COST.examples[0].parts)):
        assert side == pytest.approx(KAPPA, abs=1e-13)


def test_the_mixture_by_hand():
    # Two outcomes each way: Y1 has (.3, .2), Y0 (.1, .4), and mu/(1-mu) = e^2.
    mu = np.e**2 / (1 + np.e**2)
    by_hand = [0.6 * mu, 0.4 * mu, 0.2 * (1 - mu), 0.8 * (1 - mu)]
    for side in a05.MIXTURE.sides(as_floats(a05.MIXTURE.examples[0].parts)):
        assert side[0] == pytest.approx(by_hand, rel=1e-14)


def test_the_slope_is_two_at_a_quarter_and_one_half():
    mu = mu_from_beta(0.25, 0.5)
    assert (kappa(mu + 1e-5, 0.25) - kappa(mu - 1e-5, 0.25)) / 2e-5 == pytest.approx(2, rel=1e-9)
    line, frontier = a05.SLOPE.sides(as_floats(a05.SLOPE.examples[0].parts))
    assert line == pytest.approx(KAPPA + 2 * (0.7 - MU), abs=1e-12)
    assert frontier == pytest.approx(0.7 * np.log(0.7 / 0.25) + 0.3 * np.log(0.3 / 0.75), rel=1e-14)
    assert line < frontier


def test_three_quarters_from_a_quarter():
    # Odds 3 from odds 1/3: e^(1/beta) = 9.
    instance = as_floats(a05.INVERSE.examples[0].parts)
    for side in a05.INVERSE.sides(instance):
        assert side == pytest.approx(0.75, rel=1e-14)
    assert a05.beta_from_mu(0.25, 0.75) == pytest.approx(1 / np.log(9), rel=1e-14)
