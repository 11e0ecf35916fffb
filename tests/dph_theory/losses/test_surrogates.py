import math

import pytest
import torch

from dph_theory.losses import REDUCTIONS
from dph_theory.losses.policy_losses import LOG_RATIOS, SURROGATES, Sampled, policy_loss
from dph_theory.losses.reductions import reduced

E = math.e


def token(form, x, advantage, old=-3.0, **settings):
    """Surrogate and slope in log pi of one token of log ratio x."""
    log_pi = torch.tensor([[old + x]], dtype=torch.float64, requires_grad=True)
    log_old, a = (torch.full((1, 1), y, dtype=torch.float64) for y in (old, advantage))
    value = -policy_loss(form, **settings)(log_pi, log_old, a, torch.ones_like(a))
    (slope,) = torch.autograd.grad(value, log_pi, allow_unused=True)
    return float(value.detach()), 0.0 if slope is None else float(slope)


@pytest.mark.parametrize(
    ("form", "settings", "x", "advantage", "found"),
    [
        ("clip", {}, 0.1, 2.0, (2 * E**0.1, 2 * E**0.1)),
        ("clip", {}, 1.0, 2.0, (2.4, 0)),
        ("clip", {}, 1.0, -2.0, (-2 * E, -2 * E)),
        ("clip", {}, -1.0, -2.0, (-1.6, 0)),
        ("clip", {"dual": 3.0}, 2.0, -2.0, (-6, 0)),
        ("clip", {"delta": 4.0}, 2.0, -2.0, (-8, 0)),
        ("clip", {"inner": 20.0}, 21.0, -1.0, (-(E**20), 0)),
        ("clip", {"high": 0.272}, 1.0, 1.0, (1.272, 0)),
        ("reinforce", {}, 1.0, 2.0, (-4, 2)),
        ("cispo", {"high": 0.2}, 0.0, 2.0, (0.4 * -3, 0.4)),
        ("cispo", {"low": 0.8, "high": 1.2}, 1.0, 2.0, (2.4 * -2, 2.4)),
        ("cispo", {"low": 0.8, "high": 1.2}, -1.0, 2.0, (1.6 * -4, 1.6)),
        ("sapo", {}, 0.0, 2.0, (4, 2)),
        ("sapo",
         {"positive": 2.0, "negative": 1.0}, math.log(2), 1.0, (2 / (1 + E**-2), 8 * E**2 / (1 + E**2) ** 2)),
        ("vespo", {}, math.log(2), 1.0, (4 * E**-3 * (math.log(2) - 3), 4 * E**-3)),
        ("vespo", {}, math.log(2), -1.0, (-8 * E**-2 * (math.log(2) - 3), -8 * E**-2)),
        ("geo_mean", {}, 1.0, 2.0, (2 * E**0.2, 0)),
        ("geo_mean", {}, 1.0, -2.0, (-2 * E, -2 * E)),
        ("dppo_tv", {}, 2.9, 2.0, (0, 0)),
        ("dppo_tv", {}, 2.9, -2.0, (-6 * -0.1, -6)),
        ("dppo_kl", {}, 1.0, 2.0, (2 * E * -2, 2 * E)),
        ("dppo_kl", {"limit": 0.01}, 1.0, 2.0, (0, 0)),
        ("masked", {"limit": 0.2, "tau": 0.5}, 2.9, 2.0, (-0.5 * 2.9**2, -2.9)),
        ("masked", {"limit": 0.2, "tau": 0.5}, 1.0, 2.0, (2 * E - 0.5, 2 * E - 1)),
        ("masked", {"limit": 0.01, "tau": 0.0, "directions": "both"}, 1.0, -2.0, (0, 0)),
        ("dro", {"beta": 0.1}, 2.0, 3.0, (-3 - 0.2, 3 - 0.2)),
        ("kl_cov", {"coefficient": 0.1}, -2.0, 3.0, (3 * E**-2 - 0.2, 3 * E**-2 + 0.1)),
        ("truncated", {"most": 3.0}, 2.0, 2.0, (6, 6)),
        ("truncated", {"most": 3.0}, 1.0, -2.0, (-2 * E, -2 * E)),
    ],
)  # fmt: skip
def test_the_formulas_by_numbers(form, settings, x, advantage, found):
    assert token(form, x, advantage, **settings) == pytest.approx(found)


LOG_PI = torch.tensor([[-1.0, -2.0, -9.0], [-0.5, -9.0, -9.0]], dtype=torch.float64)
LOG_OLD = torch.tensor([[-1.1, -2.1, -1.0], [-0.5, -9.0, -1.0]], dtype=torch.float64)
MASK = torch.tensor([[1.0, 1, 0], [1, 0, 0]], dtype=torch.float64)


def test_ratios_of_a_sequence_and_how_tokens_add_up():
    leaf = LOG_PI.clone().requires_grad_()
    batch = Sampled(leaf, LOG_OLD, MASK, MASK)
    assert LOG_RATIOS["sequence"](batch)[:, 0].tolist() == pytest.approx([0.1, 0])
    held = LOG_RATIOS["held"](batch)
    assert held[0, :2].tolist() == pytest.approx([0.1, 0.1])
    (slope,) = torch.autograd.grad(held[0, 0], leaf)
    assert slope[0].tolist() == [1, 0, 0]
    values = torch.tensor([[1.0, 3.0, 50.0], [5.0, 50.0, 50.0]], dtype=torch.float64)
    found = {name: float(reduced(values, MASK, name)) for name in REDUCTIONS}
    assert found == {"token_mean": 3, "sequence_mean": 3.5, "sequence_sum": 4.5, "sum": 9}
    loss = policy_loss("reinforce", "sequence_sum", length=4)
    assert float(loss(values, values, MASK, MASK)) == -1.125


def test_covariances_choose_tokens():
    advantages = torch.tensor([[1.0] * 3, [-2.0] * 3], dtype=torch.float64)
    batch = Sampled(LOG_PI, LOG_OLD, advantages, MASK)
    mean = -3.5 / 3
    assert batch.covariances[0, :2].tolist() == pytest.approx([1 * (-1 - mean), 1 * (-2 - mean)])
    assert batch.covariances[1, 0].item() == pytest.approx(-2 * (-0.5 - mean))
    assert batch.covariances[0, 2] == -math.inf
    # The largest is the first token's: it alone pays for its log ratio of 0.1.
    paid = batch.ratio() * advantages - SURROGATES["kl_cov"](batch)
    assert (paid * MASK).tolist() == [[pytest.approx(0.01), 0, 0], [0, 0, 0]]
    # Two candidates and one draw: each counts half.
    ratio = SURROGATES["clip_cov"](batch, low=-1.0) / SURROGATES["clip"](batch)
    assert (ratio * MASK).tolist() == [[0.5, 0.5, 0], [1, 0, 0]]


@pytest.mark.parametrize(("argument", "value"), [("form", "ppo"), ("reduction", "mean")])
def test_unknown_names_are_refused_with_what_is_allowed(argument, value):
    with pytest.raises(ValueError, match=f"{argument}='{value}' is not allowed"):
        policy_loss(**{"form": "clip", argument: value})
