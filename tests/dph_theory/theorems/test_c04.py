from itertools import product

import numpy as np
import pytest

from dph_theory.binary_reward import bernoulli_kl
from dph_theory.divergences import FORWARD_KL
from dph_theory.statement.charts import as_floats
from dph_theory.theorems import (
    _tokens,
    c04_equality,
    c04_filtered,
    c04_horizon,
    c04_inverted,
    c04_reference,
)
from dph_theory.tokens import token_divergence
from dph_theory.verification.checks.around import certain_around
from dph_theory.verification.checks.result import plain

GIVEN = as_floats(_tokens.REWARDED_PAIR)
LAWS = _tokens.two_tables(**{name: value for name, value in GIVEN.items() if name != "reward"})


def test_the_stated_guarantee():
    given = as_floats(c04_filtered.THEOREM.examples[0])
    guarantee = c04_filtered.guarantee(**given).item()
    assert guarantee == pytest.approx(0.546681036972, abs=5e-13)
    assert c04_filtered.pass_rate(given["pi"], given["valid"]).item() == pytest.approx(0.55, rel=1e-14)


def test_the_right_shape_attains_it():
    given = as_floats(c04_equality.THEOREM.examples[0])
    shaped, arbitrary = c04_equality.guarantee(**given)[0]
    assert shaped == pytest.approx(0.55, rel=1e-13)
    assert arbitrary == pytest.approx(0.546681036972, abs=5e-13)


def test_returns_and_divergences_of_two_tokens():
    # Sequences (.72, .08, .1, .1) against (.42, .18, .08, .32), rewards (1, .25, 0, .75).
    ref, pi = np.array([0.72, 0.08, 0.1, 0.1]), np.array([0.42, 0.18, 0.08, 0.32])
    kl = (ref * np.log(ref / pi)).sum()
    assert c04_reference.both_kls(**LAWS)[0] == pytest.approx([kl, kl], rel=1e-13)
    returns = bernoulli_kl(0.815, 0.705)
    assert c04_reference.kl_of_returns(**LAWS, reward=GIVEN["reward"]).item() == pytest.approx(
        returns.item(), rel=1e-12
    )
    assert returns < kl


def test_the_inverted_guarantee_solves_the_bound():
    guarantee = c04_inverted.guarantee(**LAWS, reward=GIVEN["reward"]).item()
    assert guarantee < 0.705
    kl = token_divergence(FORWARD_KL, **LAWS).item()
    assert bernoulli_kl(0.815, guarantee).item() == pytest.approx(kl, rel=1e-11)


def test_at_a_longer_horizon_the_sum_is_the_kl_of_whole_runs():
    given = c04_horizon.THEOREM.instances.completed(as_floats(c04_horizon.THEOREM.examples[0]))
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
    assert c04_horizon.token_kls(**parts, horizon=np.array([horizon])).item() == pytest.approx(kl, rel=1e-12)
    divergence = c04_horizon.kl_of_returns(**parts, reward=given["reward"], horizon=np.array([horizon]))
    assert divergence.item() == pytest.approx(bernoulli_kl(*returns), rel=1e-12)


def test_one_step_that_decides_everything_attains_the_bound():
    # From the second state the first action alone succeeds, and the policies agree elsewhere.
    example = as_floats(c04_horizon.THEOREM.examples[0])
    lead = np.array([[0.6, 0.4, 0.0], [0.7, 0.2, 0.1], [1.0, 0.0, 0.0]])
    example |= {"random": np.ones(1), "horizon": np.ones(1, dtype=int), "start": np.array([[0.0, 1.0, 0.0]])}
    example |= {"chance": c04_horizon.TWO_STEPS[None].astype(float), "worth": np.array([[0.0, 0.0, 1.0]])}
    example |= {
        "pi_pef": lead[None],
        "pi": np.where(np.eye(3)[1][:, None] > 0, [[0.4, 0.4, 0.2]], lead)[None],
    }
    lhs, rhs = c04_horizon.THEOREM.sides(example)
    assert lhs == pytest.approx(0.7 * np.log(0.7 / 0.4) + 0.3 * np.log(0.5), rel=1e-12)
    assert rhs == pytest.approx(lhs, rel=1e-12)


def test_a_smaller_bound_on_returns_fails_on_a_whole_box():
    theorem = c04_reference.THEOREM
    smaller = theorem.changed(theorem.false_neighbours[0])
    nearly_attained = plain(c04_reference.FIRST_TOKEN_REWARDED)
    assert certain_around(smaller, nearly_attained) is not None
    assert certain_around(theorem, nearly_attained) is None
