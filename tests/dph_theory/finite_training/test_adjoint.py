from itertools import product

import numpy as np
import pytest
import torch

from dph_theory.finite_training import drift_deviation
from dph_theory.finite_training.adjoint import (
    DifferentiableTraining,
    Draws,
    decision_update,
    group_baseline,
    spread_along,
    spread_over_seeds,
)

VALID = torch.tensor([1.0, 1.0, *[0.0] * 8], dtype=torch.float64)
BASE = torch.tensor([0.15, 0.15, *[0.7 / 8] * 8], dtype=torch.float64)
COEFFICIENTS = {
    "mean": lambda p: VALID - (p * VALID).sum(-1, keepdim=True),
    "none": lambda p: VALID,
    "one": lambda p: VALID - 1,
}
UPDATES = {name: decision_update(c) for name, c in COEFFICIENTS.items()}


class Tabular(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.logits = torch.nn.Parameter(BASE.log())


class TwoLayers(torch.nn.Module):
    """Logits that share parameters, so that the kernel is not the identity; of so many runs side by side."""

    def __init__(self, *runs: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        inner = torch.randn(4, generator=generator, dtype=torch.float64)
        outer = 0.5 * torch.randn(4, 10, generator=generator, dtype=torch.float64)
        for name, part in {"inner": inner, "outer": outer, "logits": BASE.log()}.items():
            setattr(self, name, torch.nn.Parameter(part.expand(*runs, *part.shape).clone()))


def of_tabular(model):
    return model.logits.log_softmax(dim=-1)


def of_two_layers(model):
    mixed = (model.inner.tanh()[..., None] * model.outer).sum(dim=-2)
    return (model.logits + 0.3 * mixed).log_softmax(dim=-1)


def log_ratio(log_p):
    return log_p[..., 0] - log_p[..., 1]


def passed(log_p):
    return (log_p.exp() * VALID).sum() - 0.7


def test_on_logits_of_their_own_it_is_the_drift_of_the_theory():
    for baseline, update in UPDATES.items():
        course = DifferentiableTraining(Tabular(), of_tabular, update, 64, "sgd", lambda step: 0.2)
        found = spread_along(course, 1000, {"ratio": log_ratio}, until=passed, checkpoint=37)
        expected = drift_deviation(0.3, 0.7, valid=2, invalid=8, step=0.2, answers=64, baseline=baseline)
        # A step of .2 is not the flow: its end lies up to a step beyond .7.
        assert found.deviations["ratio"] == pytest.approx(float(expected), rel=0.02, abs=1e-9)
        assert float(log_ratio(found.log_probs)) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("optimiser", "rate"), [("SGD", 0.1), ("Adam", 0.005)])
def test_it_is_the_spread_of_sampled_trainings(optimiser, rate):
    batch, steps, runs = 256, 40, 500
    setting = {"learning_rate": rate, "batch": batch, "steps": steps, "optimiser": optimiser.lower()}
    found = spread_over_seeds(TwoLayers(), of_two_layers, UPDATES["mean"], log_ratio, **setting)
    # The same, each gradient by autograd at answers that were drawn.
    draw, many = torch.Generator().manual_seed(1), TwoLayers(runs)
    descent = getattr(torch.optim, optimiser)(many.parameters(), lr=rate)
    for _ in range(steps):
        log_p = of_two_layers(many)
        p = log_p.detach().exp()
        drawn = torch.multinomial(p, batch, replacement=True, generator=draw)
        descent.zero_grad()
        pulled = COEFFICIENTS["mean"](p) * log_p
        (-pulled.gather(1, drawn).mean(dim=1)).sum().backward()
        descent.step()
    ends = log_ratio(of_two_layers(many).detach())
    # A deviation over 500 runs is known to 3%.
    assert float(ends.std()) == pytest.approx(found.deviation, rel=0.1)
    assert float(ends.mean()) == pytest.approx(found.measure, abs=5 * found.deviation / np.sqrt(runs))
    assert found.steps == steps


def test_checkpoints_change_nothing_and_the_model_stays():
    model = TwoLayers()
    before = [part.clone() for part in model.parameters()]
    setting = {"learning_rate": lambda step: 0.1 / (1 + step / 10), "batch": 16, "steps": 25}
    given = model, of_two_layers, UPDATES["mean"], log_ratio
    found = [spread_over_seeds(*given, **setting, checkpoint=every).deviation for every in (1, 7, 100)]
    assert found == pytest.approx([found[0]] * 3, rel=1e-12)
    assert all(torch.equal(one, other) for one, other in zip(before, model.parameters(), strict=True))


@pytest.mark.parametrize(("changes", "named"), [
    ({"optimiser": "lion"}, "optimiser='lion'"), ({"batch": 0}, "batch=0"),
    ({"learning_rate": -1.0}, "learning_rate=-1.0"),
    ({"until": lambda log_p: log_p.sum() * 0}, "until=.*below 0 at the start"),
])  # fmt: skip
def test_what_is_not_allowed_is_named(changes, named):
    setting = {"learning_rate": 0.1, "batch": 8, "steps": 2, **changes}
    with pytest.raises(ValueError, match=named):
        spread_over_seeds(Tabular(), of_tabular, UPDATES["mean"], log_ratio, **setting)


@pytest.mark.parametrize("size", [2, 4])
def test_a_groups_own_mean_as_baseline_adds_the_noise_of_all_groups(size):
    p, rewards = torch.tensor([[[0.5, 0.3, 0.2]], [[1.0, 0.4, -0.3]]], dtype=torch.float64)
    draws = Draws(
        p,
        torch.arange(3)[None, :, None],
        (rewards - (p * rewards).sum())[..., None],
        torch.ones(1, 3, 1).double(),
        *group_baseline(p, rewards, size - 1),
    )
    course = DifferentiableTraining(
        Tabular(), of_tabular, lambda log_p, step: draws, size, "sgd", lambda step: 1.0
    )
    direction = torch.tensor([0.7, -0.2, 0.4], dtype=torch.float64)
    # The slope of each log-probability along a direction of logits.
    scores = direction - (p[0] * direction).sum()
    groups = np.array(list(product(range(3), repeat=size)))
    chances = p[0].numpy()[groups].prod(axis=1)
    drawn, own = scores.numpy()[groups], rewards[0].numpy()[groups]
    others = (own.sum(axis=1, keepdims=True) - own) / (size - 1)
    gradients = ((own - others) * drawn).mean(axis=1)
    expected = chances @ gradients**2 - (chances @ gradients) ** 2
    assert float(course._over_draws(draws, scores[:, None])[0]) == pytest.approx(expected, rel=1e-12)
