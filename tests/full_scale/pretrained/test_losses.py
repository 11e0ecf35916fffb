"""The losses on open prompts, on a table of logits in the model's place."""

import numpy as np
import pytest
import torch

from dph_theory.divergences import FORWARD_KL
from dph_theory.laws import law_divergence, sequence_law, token_law
from full_scale.pretrained.losses import NAMED, Prompts, expected_loss, sampled_loss, stored_answers

WORDS = torch.tensor([1, 2])
VALID = torch.tensor([[[True, False], [True, True]]])
LAWS = {
    "reward": sequence_law,
    "k2": token_law,
    "k3_corrected": token_law,
    "k3": lambda *a, **k: token_law(*a, divergence=FORWARD_KL, **k),
}


def logits():
    generator = torch.Generator().manual_seed(0)
    shapes = ((1, 4), (1, 2, 4))
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]


def tables(log_probs):
    """Words and all else, as the laws take them."""
    found = []
    for table in log_probs:
        p = table.detach().exp()
        lumped = torch.cat([p[..., WORDS], 1 - p[..., WORDS].sum(-1, keepdim=True)], -1).numpy()
        for axis in range(1, lumped.ndim - 1):
            lumped = np.concatenate([lumped, lumped.take([-1], axis=axis)], axis=axis)
        found.append(lumped)
    return found


@pytest.mark.parametrize("form", LAWS)
def test_the_expected_gradient_vanishes_at_the_forms_own_law_alone(form):
    base = [table.log_softmax(-1) for table in logits()]
    theta = [torch.nn.Parameter(table.clone()) for table in base]
    optimiser = torch.optim.Adam(theta, lr=0.05)
    for step in range(1500):
        if step == 1000:
            optimiser.param_groups[0]["lr"] = 0.005
        now = [table.log_softmax(-1) for table in theta]
        loss = expected_loss(now, base, WORDS, VALID, form=form, beta=0.5)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    end = tables([table.log_softmax(-1) for table in theta])
    valid = np.pad(VALID.numpy(), [(0, 0), (0, 1), (0, 1)])
    far = {
        name: float(law_divergence(end, law(tables(base), valid, np.array([0.5]), end=2), end=2)[0])
        for name, law in LAWS.items()
    }
    assert far[form] < 1e-5
    assert all(
        found > 1e-3
        for name, found in far.items()
        if found != far[form] and {name, form} != {"k2", "k3_corrected"}
    )


def test_a_sampler_decides_what_is_drawn():
    base = [table.log_softmax(-1) for table in logits()]
    now = [table.clone().requires_grad_() for table in base]

    def first_alone(p):
        return torch.nn.functional.one_hot(torch.full(p.shape[:-1], 1), p.shape[-1]).to(p)

    expected_loss(now, base, WORDS, VALID, form="k2", beta=0.5, sampler=first_alone).backward()
    assert (now[0].grad == 0).all(), "one answer alone has no advantage over itself"


def test_an_unknown_form_is_refused():
    with pytest.raises(ValueError, match="form"):
        expected_loss([], [], WORDS, VALID, form="k9", beta=1.0)


def prompts(generator):
    log_ref = torch.log_softmax(torch.randn(3, 6, generator=generator, dtype=torch.float64), -1)
    valid = torch.zeros(3, 6, dtype=torch.bool)
    valid[:, :2] = True
    rehearsed = torch.tensor([False, True, False])
    return Prompts(log_ref, valid, rehearsed, stored_answers(log_ref, valid, rehearsed, 4000, generator))


def mean_gradient(name, strength, draws=300):
    generator = torch.Generator().manual_seed(1)
    asked = prompts(generator)
    policy = asked.log_ref + 0.3 * torch.randn(3, 6, generator=generator, dtype=torch.float64)
    theta = policy.requires_grad_()
    total = torch.zeros_like(theta)
    for _ in range(draws):
        loss = sampled_loss(theta.log_softmax(-1), asked, NAMED[name], strength, size=64, generator=generator)
        total += torch.autograd.grad(loss, theta)[0] / draws
    return total, theta.detach().log_softmax(-1), asked


@pytest.mark.parametrize(
    ("name", "forward"), [("GRPO", True), ("GRPO, k2", False), ("GRPO, corrected k3", False)]
)
def test_what_a_strength_adds_is_the_gradient_of_its_divergence(name, forward):
    found, log_pi, asked = mean_gradient(name, 3.0)
    without, _, _ = mean_gradient(name, 0.0)
    p, ref = log_pi.exp(), asked.log_ref.exp()
    reverse = p * ((log_pi - asked.log_ref) - (p * (log_pi - asked.log_ref)).sum(-1, keepdim=True))
    expected = (p - ref if forward else reverse) / 3
    assert torch.allclose((found - without) / 3, expected, atol=0.02)


def test_dph_rehearses_the_solved_prompts_and_explores_the_others():
    found, log_pi, asked = mean_gradient("DPH-F", 2.0)
    p_star = torch.where(asked.valid, asked.log_ref.exp(), 0.0)[1]
    assert torch.allclose(found[1], 2.0 * (log_pi.exp()[1] - p_star / p_star.sum()), atol=0.05)
    assert found[0].abs().max() > 0.05


def test_kl_dpg_vanishes_at_the_filtered_model():
    generator = torch.Generator().manual_seed(2)
    asked = prompts(generator)
    theta = torch.where(asked.valid, asked.log_ref, -30.0).requires_grad_()
    loss = sampled_loss(theta.log_softmax(-1), asked, NAMED["KL-DPG"], 0.0, size=16, generator=generator)
    assert torch.autograd.grad(loss, theta)[0].abs().max() < 1e-6


def test_groups_of_equal_rewards_give_dapo_no_gradient():
    generator = torch.Generator().manual_seed(3)
    asked = prompts(generator)
    asked.valid[:] = False
    theta = asked.log_ref.clone().requires_grad_()
    loss = sampled_loss(theta.log_softmax(-1), asked, NAMED["DAPO"], 0.0, size=8, generator=generator)
    assert torch.autograd.grad(loss, theta)[0].abs().max() == 0
