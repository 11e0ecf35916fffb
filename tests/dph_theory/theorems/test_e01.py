import numpy as np
import pytest

from dph_theory import FORWARD_KL, REVERSE_KL
from dph_theory.divergences import SMOOTH
from dph_theory.laws import validity_at
from dph_theory.statement.charts import as_floats
from dph_theory.theorems import e01_dial, e01_forward, e01_mixture, e01_pearson


def test_the_mixture_costs_what_kappa_says():
    # The base gives the two valid answers .5: the reverse KL is kl(.7 || .5), whatever is within.
    by_hand = 0.7 * np.log(0.7 / 0.5) + 0.3 * np.log(0.3 / 0.5)
    for side in e01_mixture.THEOREM.sides(as_floats(e01_mixture.THEOREM.examples[0])):
        assert side[0, SMOOTH.index(REVERSE_KL)] == pytest.approx(by_hand, rel=1e-12)


def test_the_pull_is_one_over_beta_at_the_law():
    for divergence in (REVERSE_KL, FORWARD_KL):
        mu = validity_at(0.25, 0.5, divergence)
        assert e01_dial.pull(divergence, 0.25, mu) == pytest.approx(2, rel=1e-12)


def test_forward_kl_at_a_quarter():
    for beta, mu in ((1.0, 0.5), (0.5, 0.683013), (0.04, 0.970306)):
        assert validity_at(0.25, beta, FORWARD_KL) == pytest.approx(mu, abs=5e-7)
        assert e01_forward.pull(np.array([0.25]), np.array([beta])) == pytest.approx(1, rel=1e-12)


def test_pearson_leaves_no_failure_from_half_the_base_rate_down():
    at_law = e01_pearson.at_the_law(np.array([0.25]), np.array([0.125]))
    # The objective of certainty: 1 - beta chi^2 = 1 - .125 (9/4 + 3/4).
    assert at_law == pytest.approx(1 - 0.125 * 3, rel=1e-14)
