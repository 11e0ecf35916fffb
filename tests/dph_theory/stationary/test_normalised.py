from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from dph_theory import FORWARD_KL, REVERSE_KL, mu_from_beta
from dph_theory.stationary import (
    group_weight,
    mixed_share,
    normalised_pass_rate_at,
    normalised_validities,
    pass_rate_at,
    several_policies_below,
)


@pytest.mark.parametrize(
    ("group_size", "beta", "values"),
    [(32, 0.42, (0.504222, 0.849315, 0.999782)), (64, 0.5, (0.371869, 0.917545, 0.999986))],
)
def test_several_policies_and_the_start_decides(group_size, beta, values):
    roots = normalised_validities(0.01, beta, group_size)
    assert [root.pass_rate for root in roots] == pytest.approx(values, abs=5e-7)
    assert [root.stable for root in roots] == [True, False, True]
    starts = [0.01, values[1] - 0.01, values[1] + 0.01, 1.0]
    reached = normalised_pass_rate_at(0.01, beta, group_size, start=starts)
    assert reached == pytest.approx([values[0], values[0], values[2], values[2]], abs=5e-7)


@pytest.mark.parametrize(("group_size", "base_rate", "beta"), [(8, 0.0026871, 0.2465), (32, 0.332524, 0.82)])
def test_below_some_base_rate_one_beta_has_several_policies(group_size, base_rate, beta):
    assert several_policies_below(group_size) == pytest.approx(base_rate, rel=1e-4)
    assert len(normalised_validities(0.5 * base_rate, beta, group_size)) == 3
    for other in np.linspace(0.8, 1.6, 8) * beta:
        assert len(normalised_validities(1.05 * base_rate, other, group_size)) == 1
    assert several_policies_below(3) == several_policies_below(8, "none") == 0


def test_a_root_at_a_point_of_the_grid_is_found():
    # From a base rate of one half on, the grid is 0, .009, .018, ...: 0.5/beta is its point 8.
    (root,) = normalised_validities(0.5, 1 / 0.144, 2, "none")
    assert root.pass_rate == pytest.approx(mu_from_beta(0.5, 2 / 0.144), rel=1e-13)
    assert root.stable


def test_other_divergences_and_scales():
    for scale in ("none", "std", "mean"):
        mu = normalised_pass_rate_at(0.2, 0.4, 5, scale, FORWARD_KL)
        effective = 0.4 / group_weight(5, mu, scale)
        assert pass_rate_at(0.2, effective, FORWARD_KL) == pytest.approx(mu, rel=1e-10)
    assert normalised_pass_rate_at(0.2, 0.4, 5, "none") == pytest.approx(mu_from_beta(0.2, 0.5), rel=1e-12)
    assert normalised_pass_rate_at([0.0, 1.0], 0.4, 5) == pytest.approx([0, 1])
    assert normalised_pass_rate_at(0.2, 1e-3, 5) == 1


def test_near_a_fold_the_nearer_policy_is_found():
    # Two of three roots are closer than one step of the grid on which a change of sign is looked for.
    found = [root.pass_rate for root in normalised_validities(0.001, 0.26, 16)]
    assert found == pytest.approx([0.626067806727, 0.668522472906, 0.999439457075], abs=1e-11)


@pytest.mark.parametrize(("mixed_only", "pass_rate"), [(False, 0.972), (True, 0.997)])
def test_a_kl_on_mixed_groups_alone_hardly_holds_what_is_nearly_solved(mixed_only, pass_rate):
    (root,) = normalised_validities(0.1, 0.3, 4, "population_std", mixed_only=mixed_only)
    assert root.pass_rate == pytest.approx(pass_rate, abs=5e-4)


def test_how_often_a_group_is_mixed_is_counted_out():
    size, rate = 4, 0.3
    chances = [0.0, 0.0]
    for verdicts in product((0, 1), repeat=size):
        chance = np.prod([rate if v else 1 - rate for v in verdicts])
        if 0 < sum(verdicts) < size:
            chances[verdicts[0]] += chance
    right, wrong = mixed_share(size, rate)
    assert chances == pytest.approx([wrong * (1 - rate), right * rate])


@pytest.mark.parametrize("divergence", [REVERSE_KL, FORWARD_KL])
def test_in_mixed_groups_alone_the_policy_is_where_the_exact_drift_of_samples_vanishes(divergence):
    base, beta, size = 0.2, 0.4, 4
    (root,) = normalised_validities(base, beta, size, "population_std", divergence, mixed_only=True)
    rate, drift = root.pass_rate, 0.0
    for right in range(1, size):
        spread = np.sqrt(right * (size - right)) / size
        chance = binom.pmf(right, size, rate)
        u = (rate / base, (1 - rate) / (1 - base))
        slopes = [np.log(of) if divergence == REVERSE_KL else 1 - 1 / of for of in u]
        each = ((1 - right / size) / spread - beta * slopes[0], -right / size / spread - beta * slopes[1])
        # The score of the log odds is 1 - V of a right answer, -V of a wrong one.
        drift += chance * (right * (1 - rate) * each[0] - (size - right) * rate * each[1])
    assert drift == pytest.approx(0, abs=1e-9)
