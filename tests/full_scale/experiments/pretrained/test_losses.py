"""The losses on open prompts, on a table of logits in the model's place."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from dph_theory.divergences import FORWARD_KL
from dph_theory.stationary import sequence_policy, token_policy
from full_scale.experiments.pretrained.losses import Prompts, expected_loss, method_of, sampled_loss
from full_scale.experiments.pretrained.runs import OpenRun

WORDS = torch.tensor([1, 2])
VALID = torch.tensor([[[True, False], [True, True]]])
POLICIES = {
    "reward": sequence_policy,
    "k2": token_policy,
    "k3_corrected": token_policy,
    "k3": lambda *a, **k: token_policy(*a, divergence=FORWARD_KL, **k),
}


def logits():
    generator = torch.Generator().manual_seed(0)
    shapes = ((1, 4), (1, 2, 4))
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]


def tables(log_probs):
    """Words and all else, as the stationary policies take them."""
    rows = []
    for table in log_probs:
        p = table.detach().exp()
        lumped = torch.cat([p[..., WORDS], 1 - p[..., WORDS].sum(-1, keepdim=True)], -1).numpy()
        for axis in range(1, lumped.ndim - 1):
            lumped = np.concatenate([lumped, lumped.take([-1], axis=axis)], axis=axis)
        rows.append(lumped)
    return rows


def spread_out(policy, base):
    """Log-probabilities of a policy's tables, all else in the base's proportions."""
    log_probs = []
    for lumped, table in zip((policy[0], policy[1][:, :2]), base, strict=True):
        p, lumped = table.exp(), torch.from_numpy(lumped)
        p[..., WORDS] = 0.0
        p *= lumped[..., 2:] / p.sum(-1, keepdim=True)
        p[..., WORDS] = lumped[..., :2]
        log_probs.append(p.log())
    return log_probs


@pytest.mark.parametrize("form", POLICIES)
def test_the_expected_gradient_vanishes_at_the_forms_own_policy_alone(form):
    base = [table.log_softmax(-1) for table in logits()]
    valid = np.pad(VALID.numpy(), [(0, 0), (0, 1), (0, 1)])
    for name, policy in POLICIES.items():
        at = spread_out(policy(tables(base), valid, np.array([0.5]), end=2), base)
        theta = [table.requires_grad_() for table in at]
        now = [table.log_softmax(-1) for table in theta]
        expected_loss(now, base, WORDS, VALID, form=form, beta=0.5).backward()
        steepest = max(float(table.grad.abs().max()) for table in theta)
        assert steepest < 1e-12 if policy is POLICIES[form] else steepest > 1e-3, name


def test_an_unknown_form_is_refused():
    with pytest.raises(ValueError, match="form"):
        expected_loss([], [], WORDS, VALID, form="k9", beta=1.0)


def run(method, kl="none", coefficient=0.0):
    return OpenRun("methods", ("last digits",), method, kl, coefficient)


def prompts(generator):
    log_ref = torch.log_softmax(torch.randn(3, 6, generator=generator, dtype=torch.float64), -1)
    valid = torch.zeros(3, 6, dtype=torch.bool)
    valid[:, :2] = True
    rehearsed = torch.tensor([False, True, False])
    masses = torch.where(valid, log_ref.exp(), 0.0)[rehearsed]
    stored = torch.multinomial(masses, 4000, replacement=True, generator=generator)
    return Prompts(log_ref, valid, rehearsed, stored)


@cache
def mean_gradient(run, draws=150):
    generator = torch.Generator().manual_seed(1)
    sampled = prompts(generator)
    theta = sampled.log_ref + 0.3 * torch.randn(3, 6, generator=generator, dtype=torch.float64)
    theta.requires_grad_()
    total = torch.zeros_like(theta)
    for _ in range(draws):
        log_pi, method = theta.log_softmax(-1), method_of(run)
        loss = sampled_loss(log_pi, sampled, method, run.coefficient, size=64, generator=generator)
        total += torch.autograd.grad(loss, theta)[0] / draws
    return total, theta.detach().log_softmax(-1), sampled


@pytest.mark.parametrize(("kl", "forward"), [("k3", True), ("k2", False), ("k3_corrected", False)])
def test_what_a_coefficient_adds_is_the_gradient_of_its_divergence(kl, forward):
    found, log_pi, sampled = mean_gradient(run("GRPO", kl, 3.0))
    without, _, _ = mean_gradient(run("GRPO"))
    p, ref = log_pi.exp(), sampled.log_ref.exp()
    reverse = p * ((log_pi - sampled.log_ref) - (p * (log_pi - sampled.log_ref)).sum(-1, keepdim=True))
    expected = (p - ref if forward else reverse) / 3
    assert torch.allclose((found - without) / 3, expected, atol=0.02)


def test_dph_rehearses_the_solved_prompts_and_explores_the_others():
    found, log_pi, sampled = mean_gradient(run("DPH-F", coefficient=2.0))
    p_star = torch.where(sampled.valid, sampled.log_ref.exp(), 0.0)[1]
    assert torch.allclose(found[1], 2.0 * (log_pi.exp()[1] - p_star / p_star.sum()), atol=0.05)
    assert found[0].abs().max() > 0.05


def test_no_gradient_of_kl_dpg_at_the_filtered_model_nor_of_dapo_where_rewards_are_equal():
    solvable = prompts(torch.Generator().manual_seed(2))
    unsolved = replace(solvable, valid=torch.zeros_like(solvable.valid))
    filtered = torch.where(solvable.valid, solvable.log_ref, -30.0)
    cases = (("KL-DPG", filtered, solvable, 1e-6), ("DAPO", solvable.log_ref, unsolved, 0.0))
    for name, theta, sampled, bound in cases:
        theta = theta.clone().requires_grad_()
        options = {"size": 16, "generator": torch.Generator().manual_seed(3)}
        loss = sampled_loss(theta.log_softmax(-1), sampled, method_of(run(name)), 0.0, **options)
        assert torch.autograd.grad(loss, theta)[0].abs().max() <= bound


def test_an_unknown_method_is_refused():
    with pytest.raises(ValueError, match="method='GRPO, k2' is not allowed: one of GRPO, DAPO"):
        method_of(run("GRPO, k2"))
