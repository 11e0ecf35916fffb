from dataclasses import FrozenInstanceError, asdict

import pytest
import torch

from dph_theory import FORWARD_KL, JENSEN_SHANNON, alpha_divergence
from dph_theory.losses import (
    METHODS,
    TARGETED,
    dph_loss,
    generator_loss,
    group_advantages,
    informative_groups,
    kl_penalty,
    ppo_clip_loss,
)


def test_the_table():
    assert list(METHODS) == ["GRPO", "DAPO", "RKL", "DPH-F", "DPH-JS", "DPH-alpha"]
    assert all(name == method.name for name, method in METHODS.items())
    rehearsed = {name: m.rehearsal.divergence for name, m in METHODS.items() if m.rehearsal}
    assert rehearsed == {"DPH-F": FORWARD_KL, "DPH-JS": JENSEN_SHANNON, "DPH-alpha": alpha_divergence(0.2)}
    assert METHODS["DAPO"].exploration.clip_high == 0.28
    assert METHODS["DAPO"].penalty is None


def test_rehearsal_weights_lie_in_their_range_and_are_equal_locally():
    for method in METHODS.values():
        if method.rehearsal:
            low, high = method.rehearsal.eta_range
            assert low <= method.rehearsal.eta <= high
            assert method.rehearsal.eta * method.rehearsal.divergence.curvature == pytest.approx(0.05)


def test_methods_are_frozen():
    with pytest.raises(FrozenInstanceError):
        METHODS["GRPO"].name = "other"
    with pytest.raises(TypeError):
        METHODS["GRPO"] = METHODS["DAPO"]


def test_those_with_a_known_optimum_leave_the_scale_of_the_reward():
    assert all(name == method.name for name, method in TARGETED.items())
    for name in ("KL-control", "KL-control-sequence", "alpha-DPG", "KL-DPG"):
        assert not TARGETED[name].exploration.normalise
        assert TARGETED[name].exploration.baseline == ("leave_one_out" if "DPG" in name else "mean")


@pytest.mark.parametrize("method", [*METHODS.values(), *TARGETED.values()], ids=lambda method: method.name)
def test_every_value_is_an_argument_of_a_loss(method):
    log_pi = torch.randn(4, 3).sub(3).requires_grad_()
    log_ref, mask = log_pi.detach() + 0.1, torch.ones(4, 3)
    rewards = torch.tensor([[1.0, 0.0, 1.0, 1.0]])
    arguments = asdict(method.exploration)
    filtered = arguments.pop("dynamic_sampling")
    advantages = group_advantages(rewards, **{k: arguments.pop(k) for k in ("normalise", "baseline")})
    assert not filtered or informative_groups(rewards).all()
    loss = ppo_clip_loss(log_pi, log_pi.detach(), advantages[0], mask, **arguments)
    if method.penalty:
        how, old = method.penalty, log_pi.detach() if method.penalty.estimator == "k3_corrected" else None
        cost = kl_penalty(how.estimator, log_pi, log_ref, mask, log_old=old, form=how.form)
        loss = loss + how.coefficient * cost.sum()
    if method.rehearsal:
        part = method.rehearsal
        rehearsal = generator_loss(
            part.divergence,
            log_pi - log_ref,
            mask,
            gauge=part.gauge,
            level=part.level,
            reduction=part.reduction,
        )
        loss = dph_loss(loss, rehearsal, part.eta)
    loss.backward()
    assert log_pi.grad.isfinite().all()


def test_dph_loss_is_the_sum_and_at_zero_the_exploration_alone():
    exploration, rehearsal = torch.tensor(2.0), torch.tensor(3.0)
    assert dph_loss(exploration, rehearsal, 0.5) == 3.5
    assert dph_loss(exploration, torch.tensor(float("inf")), 0.0) == 2.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"eta": -0.1}, r"eta=-0\.1.*at least 0"),
        ({"eta": float("nan")}, r"eta=nan"),
        ({"rehearsal": torch.ones(2)}, r"rehearsal\.shape=\(2,\)"),
        ({"exploration": torch.tensor(1)}, r"exploration\.dtype=torch\.int64"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        dph_loss(
            **{"exploration": torch.tensor(1.0), "rehearsal": torch.tensor(1.0), "eta": 0.1, **arguments}
        )
