import numpy as np
import pytest

from dph_theory.audit.advantages import audit_advantage, forms


def test_the_headlines():
    assert (
        "its weight on grad V is 0.7071 at every V"
        in audit_advantage(forms.sample_deviation, group_size=2).verdict
    )
    assert (
        "its weight on grad V is 1.155 at every V"
        in audit_advantage(forms.sample_deviation, group_size=3).verdict
    )
    found = audit_advantage(forms.sample_deviation, group_size=8)
    # The limit of large groups, 1/sqrt(V (1-V)), is off by a factor of four at V = .01.
    assert (1 / np.sqrt(0.01 * 0.99)) / found.weight[0] == pytest.approx(4.12, abs=0.01)
    assert "log V truncated at order 7" in audit_advantage(forms.over_the_mean, group_size=8).verdict


def test_a_baseline_s_bias_and_the_ends():
    found = audit_advantage(forms.mean_of_all, group_size=8)
    assert found.baseline_bias == pytest.approx((-1 / 8,) * 7)
    assert found.all_right == found.all_wrong == 0
    assert dict(found.other_sizes)[16] == pytest.approx((15 / 16,) * 7)
    assert audit_advantage(lambda r: r).all_right == 1


def test_replaced_groups_weigh_by_the_chance_to_be_kept():
    found = audit_advantage(forms.sample_deviation, group_size=2, drops_equal_groups=True)
    v = np.array(found.validities)
    np.testing.assert_allclose(found.weight, 0.5**0.5 / (2 * v * (1 - v)))
    assert found.maximises == ()


def test_what_is_not_finite_and_what_couples_is_in_the_verdict():
    assert (
        "NOT FINITE in groups with 0, 8 right" in audit_advantage(lambda r: (r - r.mean()) / r.std()).verdict
    )
    assert "COUPLES the groups" in audit_advantage(forms.batch_normalised).verdict
