import numpy as np
import pytest
from scipy.integrate import solve_ivp

from dph_theory import excess_kl, tilted
from dph_theory.theorems import e06

BASE, VALID = np.array([0.3, 0.2, 0.1, 0.4]), np.array([1, 1, 1, 0])


def flow(beta, until):
    """Times, and the policies along the gradient flow of E v - beta KL(pi || a) in logits, from the base."""

    def velocity(_, theta):
        policy = np.exp(theta - theta.max())
        policy /= policy.sum()
        gain = VALID - beta * np.log(policy / BASE)
        return policy * (gain - policy @ gain)

    times = np.linspace(0, until, 3001)
    run = solve_ivp(velocity, (0, until), np.log(BASE), method="LSODA", rtol=1e-9, atol=1e-11, t_eval=times)
    weight = np.exp(run.y.T - run.y.max(axis=0)[:, None])
    return times, weight / weight.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize(("beta", "least"), [(1, 0.150352), (0.5, 0.097763), (0.3, 0.030075)])
def test_the_least_eigenvalue_times_beta_is_the_slowest_rate(beta, least):
    law = tilted(BASE, VALID, beta)
    spectrum, modes = np.linalg.eigh(np.diag(law) - np.outer(law, law))
    assert spectrum[1] == pytest.approx(least, abs=5e-7)
    slowest = modes[:, 1][None]
    change = e06.flow_near_the_law(BASE[None], VALID[None], np.array([beta]), slowest, 1e-6)
    assert change == pytest.approx(-spectrum[1] * slowest, abs=1e-5)


@pytest.mark.parametrize(("beta", "inside"), [(0.5, (0.193937, 0.374265)), (0.1, (0.205396, 0.405698))])
def test_the_modes_among_valid_answers_keep_their_eigenvalues(beta, inside):
    law = tilted(BASE, VALID, beta)
    spectrum = np.linalg.eigvalsh(np.diag(law) - np.outer(law, law))
    assert spectrum[-2:] == pytest.approx(inside, abs=5e-7)
    if beta == 0.1:
        assert spectrum[1] == pytest.approx(0.000040, abs=5e-6)


@pytest.mark.parametrize(
    ("beta", "peak", "halved"),
    [(0.5, 0.0026, 16.9), (0.2, 0.0095, 39.2), (0.05, 0.0371, 131.1), (0.01, 0.1120, 544.8)],
)
def test_valid_answers_are_pulled_apart_on_the_way(beta, peak, halved):
    times, policies = flow(beta, 1.5 * halved)
    parts = excess_kl(policies, BASE, VALID)
    inside = parts.valid / policies[:, :3].sum(axis=-1)
    top = int(np.argmax(inside))
    assert inside[top] == pytest.approx(peak, abs=5e-5)
    assert times[top:][inside[top:] <= inside[top] / 2][0] == pytest.approx(halved, rel=0.01)
