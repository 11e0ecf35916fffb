import numpy as np
import pytest
from scipy.integrate import solve_ivp

from dph_theory.binary_reward import pass_rate
from dph_theory.finite_training import decision

BASE, VALID = np.array([[0.3, 0.2, 0.1, 0.4]]), np.array([[True, True, True, False]])
AT_TEN = [0.550324414695, 0.264193832982, 0.103209092539, 0.082272659784]


def test_the_policy_at_time_ten():
    def slope(_, theta):
        return decision.plain_gradient(theta[None], VALID)[0]

    exact = solve_ivp(slope, (0, 10), np.log(BASE[0]), method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    assert decision.softmax(exact[None])[0] == pytest.approx(AT_TEN, abs=1e-12)
    theta = decision.integrate(decision.plain_gradient, BASE, VALID, np.array([10.0]), steps=800)
    assert decision.softmax(theta)[0] == pytest.approx(AT_TEN, abs=1e-12)


def test_the_field_is_the_policy_gradient():
    theta = np.log(BASE)
    field = decision.plain_gradient(theta, VALID)[0]
    for outcome, step in enumerate(1e-6 * np.eye(4)):
        up, down = (pass_rate(decision.softmax(theta + s), VALID)[0] for s in (step, -step))
        assert field[outcome] == pytest.approx((up - down) / 2e-6, rel=1e-7)


@pytest.mark.parametrize("left", [1e-12, 1e-3, 0.7])
def test_the_orbit_conserves_the_sum_of_the_logits(left):
    rng = np.random.default_rng(0)
    base = rng.dirichlet(np.full(6, 0.3), size=50)
    valid = np.arange(6) < 3
    moved = np.log(decision.orbit(base, valid, np.full(50, left)) / base)
    # Up to a shift of all logits, which the likeliest valid outcome gives: its own moved by -log(left).
    top = np.argmax(base * valid, axis=-1)[:, None]
    shift = np.take_along_axis(moved, top, axis=-1) + np.log(left)
    np.testing.assert_allclose((moved - shift).sum(axis=-1), 0, atol=1e-9)


def test_a_gradient_where_a_logit_overflows_an_exponential_is_its_limit():
    assert decision.natural_gradient([1000.0, 0.0], [1, 0]) == pytest.approx([0.0, -1.0], abs=1e-300)
    assert decision.plain_gradient([1000.0, 0.0], [1, 0]) == pytest.approx([0.0, 0.0], abs=1e-300)


def test_the_limit_has_no_mass_on_wrong_answers():
    assert decision.uniform_on_likeliest([0.0, 0.0], [1, 0]).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("base", [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]])
def test_a_base_without_mass_on_one_side_has_no_orbit(base):
    with pytest.raises(ValueError, match="mass on a valid and on an invalid outcome"):
        decision.orbit(base, [1, 0, 0], 0.5)


def test_weights_that_are_not_finite_have_no_likeliest_outcome():
    with pytest.raises(ValueError, match="base="):
        decision.uniform_on_likeliest([np.inf, 0.5, 0.5], [1, 1, 0])
