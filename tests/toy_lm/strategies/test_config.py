from dataclasses import asdict, replace

import numpy as np
import pytest

from toy_lm.strategies.config import Config


def test_the_default_task_is_weighted_by_its_prompts():
    config = Config()
    np.testing.assert_allclose(config.task.weights, [0.30, 0.20, 0.14, 0.14, 0.12, 0.10], rtol=1e-15)
    assert config.optimiser == (0.5, 2000, 8)
    assert [d.curvature for d in config.divergences.values()] == [1, 0.5, 1, 1]


def test_the_quick_run_keeps_the_task_and_the_reference_point():
    full, quick = asdict(Config()), asdict(Config.quick())
    same = ("prompts", "base", "easy_rate", "hard_rate", "group", "learning_rate", "conditioning", "strength")
    assert all(full[name] == quick[name] for name in same)
    thinner = ("conditionings", "strengths", "alphas", "targets")
    assert all(set(quick[name]) < set(full[name]) for name in thinner)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"prompts": (15, 10, 0, 7, 6, 5)}, "prompts=0"),
        ({"prompts": (15, 10)}, "weights.shape"),
        ({"base": (0.5, 0.5, 0.5, 0.1, 0.1)}, "base sums to"),
        ({"easy_rate": 1.0}, "easy_rate=1"),
        ({"hard_rate": 0.0}, "hard_rate=0"),
        ({"group": 1}, "group=1"),
        ({"learning_rate": -0.5}, "learning_rate=-0.5"),
        ({"steps": 0}, "steps=0"),
        ({"conditioning": 0.2}, r"conditioning=0.2.*one of the sweep's values \(0.0, 0.03"),
        ({"conditioning": -1.0}, "conditioning=-1"),
        ({"strength": 0.3}, "strength=0.3.*one of the sweep's values"),
        ({"alpha": 0.4}, "alpha=0.4.*one of the sweep's values"),
        ({"alpha": 1.0}, "alpha=1.0"),
        ({"alphas": (0.5, 1.0)}, "alphas=1"),
        ({"conditionings": ()}, "conditionings=.*at least one"),
        ({"strengths": (0.0, 1.0)}, "strengths=0"),
        ({"strengths": (1.0, 20.0)}, "strengths=20.0.*below 12"),
        ({"targets": (1.2,)}, "targets=1.2"),
        ({"draws": ()}, "draws=.*at least one"),
        ({"draws": (0,)}, "draws=0"),
        ({"coverage_draws": 0}, "coverage_draws=0"),
        ({"rises": (0.0,)}, "rises=0"),
        ({"fall": 1.0}, "fall=1"),
        ({"random_tasks": 1}, "random_tasks=1"),
    ],
)
def test_every_field_says_what_it_allows(changed, message):
    with pytest.raises(ValueError, match=message):
        replace(Config(), **changed)
