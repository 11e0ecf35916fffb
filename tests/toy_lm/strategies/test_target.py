from dataclasses import replace

import numpy as np
import pytest

from dph_theory import beta_for_mean_validity, tilted
from toy_lm.strategies.config import Config
from toy_lm.strategies.target import mirror_ascent, targets

CONFIG = replace(
    Config(),
    learning_rate=1.0,
    steps=750,
    conditionings=(0.0, 0.1, 1.0),
    strengths=(1.0,),
    targets=(0.55, 0.75),
)


@pytest.fixture(scope="module")
def found():
    return targets(CONFIG)


def test_an_unrestricted_policy_reaches_its_target_exactly(found):
    np.testing.assert_allclose(found.predicted, CONFIG.targets, rtol=1e-13)
    np.testing.assert_allclose(found.unrestricted, CONFIG.targets, rtol=1e-12)


def test_beta_counts_every_prompt_once(found):
    rates = [0.97] * 15 + [0.12] * 10 + [0.1] * 7 + [0.08] * 7 + [0.06] * 6 + [0.04] * 5
    expected = [beta_for_mean_validity(rates, mu) for mu in CONFIG.targets]
    np.testing.assert_allclose(found.beta, expected, rtol=1e-12)
    # Types counted once each would ask for another beta.
    by_type = beta_for_mean_validity([0.97, 0.12, 0.1, 0.08, 0.06, 0.04], 0.55)
    assert abs(by_type / expected[0] - 1) > 0.01


def test_mirror_ascent_ends_at_the_tilted_model():
    task, beta = CONFIG.task, np.array([0.3, 1.0])
    law = mirror_ascent(task, beta, 60)
    for row, b in zip(law, beta, strict=True):
        np.testing.assert_allclose(row, tilted(task.base_law, task.valid, np.full(6, b)), rtol=1e-12)
    assert np.abs(mirror_ascent(task, beta, 3)[0] - law[0]).max() > 0.01


def test_shared_strategies_fall_short_unless_they_condition(found):
    reached, limit = np.array(found.reached), np.array(found.best_of_family)
    assert (limit < CONFIG.targets).all()
    assert (np.diff(reached, axis=0) > 0).all()
    np.testing.assert_allclose(reached[-1][0], limit[0], atol=3e-3)
    assert (limit - reached[1] > 0.1).all()


def test_with_time_the_best_of_the_family_is_reached():
    changes = {"conditioning": 1.0, "conditionings": (1.0,), "targets": (0.45,)}
    patient = targets(replace(CONFIG, **changes, learning_rate=2.0, steps=1200))
    np.testing.assert_allclose(patient.reached[0], patient.best_of_family, atol=3e-6)
