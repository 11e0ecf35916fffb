from itertools import product

import numpy as np
import pytest

from dph_theory.binary_reward import bernoulli_kl
from dph_theory.statement.charts import as_floats
from dph_theory.theorems import c04
from dph_theory.theorems.c04 import HORIZON


def test_at_a_longer_horizon_the_sum_is_the_kl_of_whole_runs():
    given = HORIZON.instances.completed(as_floats(HORIZON.examples[0].parts))
    horizon = 3
    kl, returns = 0.0, np.zeros(2)
    for run in product(range(3), repeat=2 * horizon):
        state, masses = 0, np.ones(2)
        for action, following in zip(run[::2], run[1::2], strict=True):
            own = np.array([given[name][0, state, action] for name in ("pi_pef", "pi")])
            masses, state = masses * own * given["P"][0, state, action, following], following
        if masses[0]:
            kl += masses[0] * np.log(masses[0] / masses[1])
        returns += masses * given["reward"][0, state]
    parts = {name: given[name] for name in ("P", "rho0", "pi", "pi_pef")}
    assert c04.token_kls(**parts, horizon=np.array([horizon])).item() == pytest.approx(kl, rel=1e-12)
    divergence = c04.kl_of_final_returns(**parts, reward=given["reward"], horizon=np.array([horizon]))
    assert divergence.item() == pytest.approx(bernoulli_kl(*returns), rel=1e-12)


def test_one_step_that_decides_everything_attains_the_bound():
    # From the second state the first action alone succeeds, and the policies agree elsewhere.
    example = as_floats(HORIZON.examples[0].parts)
    lead = np.array([[0.6, 0.4, 0.0], [0.7, 0.2, 0.1], [1.0, 0.0, 0.0]])
    example |= {"random": np.ones(1), "horizon": np.ones(1, dtype=int), "start": np.array([[0.0, 1.0, 0.0]])}
    example |= {"chance": c04.TWO_STEPS[None].astype(float), "worth": np.array([[0.0, 0.0, 1.0]])}
    example |= {
        "pi_pef": lead[None],
        "pi": np.where(np.eye(3)[1][:, None] > 0, [[0.4, 0.4, 0.2]], lead)[None],
    }
    lhs, rhs = HORIZON.sides(example)
    assert lhs == pytest.approx(0.7 * np.log(0.7 / 0.4) + 0.3 * np.log(0.5), rel=1e-12)
    assert rhs == pytest.approx(lhs, rel=1e-12)
