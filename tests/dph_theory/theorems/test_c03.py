import numpy as np
import pytest

from dph_theory.improvement import anchor_bound, anchor_penalty, best_bound, trpo_bound
from dph_theory.mdp import TabularMDP
from dph_theory.statement.charts import as_floats
from dph_theory.theorems import _mdps, c03_beats, c03_divergence, c03_maximum, c03_myopic

GIVEN = as_floats(_mdps.TRIPLE)
MDP = TabularMDP(GIVEN["P"], GIVEN["r"], GIVEN["gamma"], GIVEN["rho0"])
NEW, OLD, PEF = GIVEN["pi"], GIVEN["pi_old"], GIVEN["pi_pef"]


def test_the_anchor_bound_in_numbers():
    # Rewards (0, 1) in both states: J_old = 5, delta = .4, and the penalty is TVmax = .1 times a span of 1.
    assert MDP.return_(OLD).item() == pytest.approx(5, rel=1e-12)
    assert anchor_bound(MDP, NEW, OLD, PEF).item() == pytest.approx(8, rel=1e-12)
    assert MDP.return_(NEW).item() > 8
    assert anchor_penalty(MDP, NEW, PEF).item() == pytest.approx(0.1, rel=1e-12)


def test_it_beats_trpo_here_and_is_the_best_bound():
    assert trpo_bound(MDP, NEW, OLD).item() < 5
    assert best_bound(MDP, NEW, OLD, PEF) == anchor_bound(MDP, NEW, OLD, PEF)
    both = c03_maximum.best_and_mixture(MDP, NEW, OLD, PEF, np.array([0.5]))[0]
    assert both[0] == pytest.approx(0.8, rel=1e-12)
    assert both[1] == pytest.approx(0.05 * (8 + trpo_bound(MDP, NEW, OLD).item()), rel=1e-12)


def test_it_promises_more_than_the_old_return_up_to_a_share():
    # delta = .4 and c = .4: .4 - .25 * .4; and at the old policy itself nothing is left.
    sides = [c03_beats.promise, c03_beats.gain_less_share]
    for share, left in ((0.25, 0.3), (1.0, 0.0)):
        for side in sides:
            assert side(MDP, OLD, PEF, np.array([share])).item() == pytest.approx(left, abs=1e-12)


def test_the_share_is_that_of_the_worst_state_not_of_the_worst_of_each():
    # In the second state the anchor is the old policy: the larger span there costs nothing.
    mdp = TabularMDP(GIVEN["P"], np.array([[[0.0, 1.0], [0.0, 3.0]]]), GIVEN["gamma"], GIVEN["rho0"])
    anchor = np.stack([PEF[:, 0], OLD[:, 1]], axis=1)
    share = np.array([0.5])
    found = c03_beats.promise(mdp, OLD, anchor, share)
    assert found == pytest.approx(c03_beats.gain_less_share(mdp, OLD, anchor, share), rel=1e-10)
    assert found.item() > c03_beats.worst_of_each(mdp, OLD, anchor, share).item() + 0.1


def test_the_family_in_numbers():
    penalties = c03_divergence.penalties(MDP, NEW, PEF)[0]
    # eps_pef = .9; the farther state has KL(pef || pi) = .1 log(1/2) + .9 log(9/8).
    forward = 0.1 * np.log(0.5) + 0.9 * np.log(1.125)
    assert penalties[0] == pytest.approx(1.8 * np.sqrt(forward / 2), rel=1e-11)
    assert (penalties > 0.1).all()


def test_without_a_future_trpo_is_exact():
    myopic = c03_myopic.without_future(GIVEN["P"], GIVEN["r"], GIVEN["rho0"])["mdp"]
    trpo = trpo_bound(myopic, NEW, OLD)
    assert trpo == pytest.approx(myopic.return_(NEW), rel=1e-12)
    assert (anchor_bound(myopic, NEW, OLD, PEF) < trpo).all()
