import numpy as np
import pytest

from dph_theory.statement.charts import as_floats
from dph_theory.theorems import _mdps, c01_divergence, c01_sharp, c01_span

GIVEN = _mdps.STEPS.completed(as_floats(_mdps.STEP))
STEP = {name: GIVEN[name] for name in ("mdp", "pi", "pi_old")}


def test_one_step_in_numbers():
    # gamma = 1/2, TV = .1 in both states, eps = 1: all sides times (1-gamma)^2 = 1/4. The new visitation is
    # (.45, .55), the gains (.2, -.2), so that L - J = 2 * .05 * .4 = .04.
    assert _mdps.scaled_loss(**STEP).item() == pytest.approx(0.01, rel=1e-12)
    assert _mdps.scaled_trpo_penalty(**STEP).item() == pytest.approx(0.02, rel=1e-12)
    assert c01_sharp.sharp_penalty(**STEP).item() == pytest.approx(0.02 * 0.5 / 0.55, rel=1e-12)
    assert c01_span.span_penalty(**STEP).item() == pytest.approx(0.02, rel=1e-12)


def test_the_family_in_numbers():
    # eps gamma C_f D_f with eps gamma = 1/2, and C_f = 2, for Jensen-Shannon 4.
    old, new = np.array([0.5, 0.5]), np.array([0.4, 0.6])
    middle = (old + new) / 2
    forward, reverse = (old * np.log(old / new)).sum(), (new * np.log(new / old)).sum()
    js = (new * np.log(new / middle)).sum() + (old * np.log(old / middle)).sum()
    half = 4 * (1 - np.sqrt(old * new).sum())
    expected = [forward, reverse, 2 * js, half]
    assert c01_divergence.penalties(**STEP)[0] == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize(("gamma", "tv", "eps"), [(0.9, 0.5, 1.0), (0.5, 0.1, 0.2), (0.999, 0.01, 1.0)])
def test_the_sharp_form_is_attained(gamma, tv, eps):
    parts = _mdps.worst_chain(*(np.array([x]) for x in (gamma, tv, eps)))
    exact = 4 * eps * gamma * tv**2 * (1 - gamma) / (1 - gamma + gamma * tv)
    assert _mdps.scaled_loss(**parts).item() == pytest.approx(exact, rel=1e-10)
    assert c01_sharp.sharp_penalty(**parts).item() == pytest.approx(exact, rel=1e-11)


def test_no_constant_can_be_smaller():
    step = c01_divergence.balanced_step(*(np.array([x]) for x in (1e-3, 1e-2, 1.0)))
    assert (c01_divergence.loss(**step) / c01_divergence.penalties(**step)).min() > 0.998
