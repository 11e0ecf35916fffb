import numpy as np
import pytest

from dph_theory import binary_reward
from dph_theory.binary_reward import mu_from_beta
from dph_theory.divergences import CHI_SQUARED, COMPARED, JENSEN_SHANNON
from dph_theory.statement.charts import as_floats
from dph_theory.theorems import b09

GIVEN = as_floats(b09.CURVATURE.examples[0].parts)


def test_local_ratios_tend_to_the_curvature():
    pi = b09.stepped(GIVEN["ref"], GIVEN["q"], np.array([1e-6]))
    chi = CHI_SQUARED(pi, GIVEN["ref"])
    ratios = [(d(pi, GIVEN["ref"]) / (d.curvature / 2 * chi)).item() for d in COMPARED]
    assert ratios == pytest.approx([1] * 4, abs=1e-5)
    assert JENSEN_SHANNON.curvature == 0.5


def test_jensen_shannon_needs_twice_the_coefficient():
    fair = b09.difference(**GIVEN)[0]
    unfair = b09.equal_coefficients(**GIVEN)[0]
    assert fair.max() < 0.02
    assert unfair[1] == pytest.approx(CHI_SQUARED(GIVEN["q"], GIVEN["ref"]).item() / 4, rel=0.02)
    assert [weight for _, weight in b09.WEIGHTED] == [1, 2, 1]


def test_forward_validity_is_stationary_and_reverse_known():
    A1, eta = np.array([0.25, 0.25, 0.001]), np.array([10.0, 0.5, 0.5])
    mu = binary_reward.mu_by_forward_kl(A1, eta)
    assert 1 + eta * (A1 / mu - (1 - A1) / (1 - mu)) == pytest.approx(np.zeros(3), abs=1e-11)
    assert mu_from_beta(0.25, 0.5) == pytest.approx(0.7112345942276, abs=5e-14)


def test_direction_matters_when_the_anchor_is_weak_and_hardly_when_strong():
    strong = b09.gap(np.array([0.001]), np.array([10.0])).item()
    weak = b09.gap(np.array([0.001]), np.array([0.5])).item()
    assert strong < 1e-5
    assert weak > 0.49
    assert b09.gap_and_what_reverse_can_do(np.array([0.001]), np.array([0.5])).item() > 0.5
