import numpy as np
import pytest

from dph_theory.improvement import pinsker_constant, stated_bound
from dph_theory.mdp import TabularMDP
from dph_theory.statement.charts import as_floats
from dph_theory.theorems import _mdps, c02_generic, c02_new, c02_old

GIVEN = as_floats(_mdps.COUNTEREXAMPLE)
MDP = TabularMDP(GIVEN["P"], GIVEN["r"], GIVEN["gamma"], GIVEN["rho0"])
POLICIES = GIVEN["pi"], GIVEN["pi_old"], GIVEN["pi_pef"]


@pytest.mark.parametrize("reading", ["old", "new"])
def test_the_counterexample_under_both_readings(reading):
    excess = [
        (stated_bound(MDP, *POLICIES, d, reading) - MDP.return_(GIVEN["pi"])).item() for d in _mdps.STATED
    ]
    assert excess == pytest.approx([0.0886, 0.0880, 0.0884], abs=5e-5)
    # By hand: t/(1-g) - C_f g (1/2 + t) D_f/(1-g)^2 with t = .04, g = .9.
    forward = 0.54 * np.log(1.08) + 0.46 * np.log(0.92)
    assert excess[0] == pytest.approx(0.4 - 2 * 0.9 * 0.54 * forward / 0.01, rel=1e-10)


@pytest.mark.parametrize("reading", ["old", "new"])
def test_the_three_bounds_are_those_of_the_library(reading):
    bounds = _mdps.stated_bounds(MDP, *POLICIES, reading)[0]
    expected = [0.1 * stated_bound(MDP, *POLICIES, d, reading).item() for d in _mdps.STATED]
    assert bounds == pytest.approx(expected, rel=1e-12)


def test_all_three_divergences_fail_at_once():
    for module in (c02_old, c02_new):
        assert module.THEOREM.lhs(MDP, *POLICIES) > _mdps.normalised_return(MDP, GIVEN["pi"])


@pytest.mark.parametrize("gamma", [0.1, 0.9, 0.99])
@pytest.mark.parametrize("index", [0, 1, 2])
def test_a_step_that_defeats_the_true_constant(gamma, index):
    divergence = _mdps.STATED[index]
    r, gammas = np.array([0.0]), np.array([gamma])
    pi, constant = np.array([[[0.5, 0.25, 0.25]]]), np.array([pinsker_constant(divergence)])
    mdp = c02_generic.one_state(r, gammas)
    step = c02_generic.step_size(mdp, pi, constant)
    stated = stated_bound(mdp, pi, pi, c02_generic.anchor(mdp, pi, step), divergence)
    excess = (stated - mdp.return_(pi)).item()
    scaled = c02_generic.excess_of_stated_bound(r, gammas, pi, constant)[0, index]
    assert excess > 0
    assert excess * (1 - gamma) / step.item() == pytest.approx(scaled, rel=1e-9)
