from dataclasses import asdict

import pytest
import torch

from dph_theory import FORWARD_KL, JENSEN_SHANNON, alpha_divergence, losses


def test_the_table():
    assert list(losses.METHODS) == ["GRPO", "DAPO", "RKL", "DPH-F", "DPH-JS", "DPH-alpha"]
    assert all(name == method.name for name, method in losses.METHODS.items())
    rehearsed = {name: m.rehearsal.divergence for name, m in losses.METHODS.items() if m.rehearsal}
    assert rehearsed == {"DPH-F": FORWARD_KL, "DPH-JS": JENSEN_SHANNON, "DPH-alpha": alpha_divergence(0.2)}
    assert losses.METHODS["DAPO"].exploration.clip_high == 0.28
    penalties = {name: m.penalty for name, m in losses.METHODS.items() if m.penalty}
    assert penalties == dict.fromkeys(("GRPO", "RKL"), losses.Penalty("k3", 0.04))
    for part in (m.rehearsal for m in losses.METHODS.values() if m.rehearsal):
        assert part.eta_range[0] <= part.eta <= part.eta_range[1]
        assert part.eta * part.divergence.curvature == pytest.approx(0.05)  # Locally they are equal.


@pytest.mark.parametrize(
    "method", [*losses.METHODS.values(), *losses.TARGETED.values()], ids=lambda method: method.name
)
def test_every_value_is_an_argument_of_a_loss(method):
    log_pi = torch.randn(4, 3).sub(3).requires_grad_()
    log_ref, mask = log_pi.detach() + 0.1, torch.ones(4, 3)
    rewards = torch.tensor([[1.0, 0.0, 1.0, 1.0]])
    arguments = asdict(method.exploration)
    filtered = arguments.pop("dynamic_sampling")
    advantages = losses.group_advantages(rewards, **{k: arguments.pop(k) for k in ("divided_by", "baseline")})
    assert not filtered or losses.informative_groups(rewards).all()
    loss = losses.ppo_clip_loss(log_pi, log_pi.detach(), advantages[0], mask, **arguments)
    if method.penalty:
        term, old = method.penalty, log_pi.detach() if method.penalty.estimator == "k3_corrected" else None
        cost = losses.kl_penalty(term.estimator, log_pi, log_ref, mask, log_old=old, form=term.form)
        loss = loss + term.coefficient * cost.sum()
    if method.rehearsal:
        part = method.rehearsal
        form = {"gauge": part.gauge, "level": part.level, "reduction": part.reduction}
        rehearsal = losses.generator_loss(part.divergence, log_pi - log_ref, mask, **form)
        loss = losses.dph_loss(loss, rehearsal, part.eta)
    loss.backward()
    assert log_pi.grad.isfinite().all()


def test_dph_loss_is_the_sum_and_at_zero_the_exploration_alone():
    exploration, rehearsal = torch.tensor(2.0), torch.tensor(3.0)
    assert losses.dph_loss(exploration, rehearsal, 0.5) == 3.5
    assert losses.dph_loss(exploration, torch.tensor(float("inf")), 0.0) == 2.0
