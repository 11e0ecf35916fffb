import numpy as np
import pytest
from scipy.integrate import solve_ivp

from dph_theory.dynamics import decision
from dph_theory.theorems import _laws, a03

BASE = np.array([[0.3, 0.2, 0.1, 0.4]])
VALID = np.array([[True, True, True, False]])


@pytest.mark.parametrize("time", [0.5, 2.0, 10.0])
def test_the_flow_is_the_tilted_model(time):
    solution = solve_ivp(
        lambda _, theta: decision.natural_gradient(theta[None], VALID)[0],
        (0, time),
        np.log(BASE[0]),
        method="DOP853",
        rtol=1e-13,
        atol=1e-14,
    )
    tilted = a03.tilted_model(BASE, VALID, np.array([time]))[0]
    assert np.exp(solution.y[:, -1]) == pytest.approx(tilted, rel=1e-11)
    # Z = .4 + .6 e^t.
    weights = BASE[0] * np.where(VALID[0], np.exp(time), 1)
    assert tilted == pytest.approx(weights / (0.4 + 0.6 * np.exp(time)), rel=1e-14)


def test_the_natural_gradient_solves_the_fisher_system():
    policy = BASE[0]
    fisher = np.diag(policy) - np.outer(policy, policy)
    natural = VALID[0] - 0.6
    assert fisher @ natural == pytest.approx(a03.fisher_times_field(BASE, VALID)[0], rel=1e-14)
    least_norm = np.linalg.pinv(fisher) @ a03.fisher_image(BASE, VALID)[0]
    # Logits matter up to a common constant only.
    assert least_norm - least_norm[0] == pytest.approx(natural - natural[0], abs=1e-12)


def test_ratios_stay_those_of_the_base():
    inside = a03.inside_valid(BASE, VALID, np.array([2.0]))[0]
    assert inside == pytest.approx([1 / 2, 1 / 3, 1 / 6, 0], rel=1e-14)


def test_with_a_penalty_the_path_is_the_same_and_ends_at_the_tilted_model_of_beta():
    beta, long = np.array([0.5]), np.array([40.0])
    end = a03.delayed(BASE, VALID, long, beta)
    weights = BASE[0] * np.where(VALID[0], np.exp(2), 1)
    assert end[0] == pytest.approx(weights / weights.sum(), rel=1e-8)
    # An integration of its own, of the policy: d log q/dt = r - E_q r, r = v - beta log(q/a).
    log_base = np.log(BASE[0])

    def field(_, log_policy):
        gain = VALID[0] - 0.5 * (log_policy - log_base)
        return gain - (np.exp(log_policy) * gain).sum()

    solution = solve_ivp(field, (0, 2), log_base, method="DOP853", rtol=1e-12, atol=1e-13)
    delayed = a03.delayed(BASE, VALID, np.array([2.0]), beta)[0]
    assert np.exp(solution.y[:, -1]) == pytest.approx(delayed, rel=1e-9)


def test_the_penalty_slows_the_loss_of_the_base():
    times, beta = np.array([0.5, 2.0, 10.0]), np.array([0.5])
    without = _laws.lost_without(BASE, VALID, times)
    assert (_laws.lost_with_penalty(BASE, VALID, times, beta) < without).all()
    # log Z - A1 t, Z = .4 + .6 e^t.
    assert without == pytest.approx(np.log(0.4 + 0.6 * np.exp(times)) - 0.6 * times, rel=1e-12)
