"""Advantages as people write them are named by the published ones they are, and told apart from them."""

import numpy as np
import pytest
import torch

from dph_theory.audit import audit_advantage


def rloo(r):
    return r - (r.sum(1, keepdim=True) - r) / (r.shape[1] - 1)


def rloo_by_the_mean(r):
    r, size = torch.as_tensor(r).float(), r.shape[1]
    return r * size / (size - 1) - r.mean(1, keepdim=True) * size / (size - 1)


def rloo_in_numpy(r):
    r = np.asarray(r, dtype=np.float32)
    return r - (r.sum(1, keepdims=True) - r) / np.float32(r.shape[1] - 1)


def grpo(r, epsilon=1e-4, dtype=torch.float32):
    r = r.to(dtype)
    return (r - r.mean(1, keepdim=True)) / (r.std(1, keepdim=True) + epsilon)


def whitened(advantage):
    return lambda r: ((a := advantage(r)) - a.mean()) / (a.std() + 1e-8)


def pkpo(r, k=2):
    """In float32 by where: no number of it is one of float64."""
    wrong, size = (1 - r).sum(1, keepdim=True), r.shape[1]
    rho = 1 - (wrong - 1) / (size - 1)
    return torch.where(r > 0.5, k / size, 0.0) + torch.where(r > 0.5, 0.0, (k / size * rho).float())


def second_left_over(r):
    top = r.topk(2, dim=1)
    return r.scatter(1, top.indices[:, :1], top.values[:, :1] - top.values[:, 1:])


@pytest.mark.parametrize(
    ("advantage", "named"),
    [
        (rloo, "It is leave-one-out (RLOO, arXiv:2402.14740). It maximises V: "),
        (lambda r: rloo(r.float()), "It is leave-one-out (RLOO, arXiv:2402.14740). It maximises V: "),
        (rloo_by_the_mean, "It is leave-one-out (RLOO, arXiv:2402.14740). It maximises V: "),
        (rloo_in_numpy, "It is leave-one-out (RLOO, arXiv:2402.14740). It maximises V: "),
        (lambda r: r - r.mean(1, keepdim=True), "It is Dr. GRPO, mean of all (arXiv:2503.20783)."),
        (grpo, "It is GRPO, sample std + 0.0001 ("),
        (whitened(lambda r: rloo(r.float())), "It is REINFORCE++ with baseline + 1e-08 ("),
        (whitened(grpo), "It is GRPO, whitened over the batch + 0.0001 ("),
        (lambda r: (r - r.mean()) / (r.std() + 1e-6), "It is REINFORCE++ + 1e-06 ("),
        (lambda r: (r - r.mean(1, keepdim=True)) / (r.std() + 1e-4), "It is GRPO, batch std + 0.0001 (TRL"),
        (lambda r: r - (r.sum() - r) / (r.numel() - 1), "It is leave-one-out over the batch (AReaL"),
        (lambda r: (r - (m := r.float().mean(1, keepdim=True))) / m.clamp(min=1e-6), "It is MaxRL ("),
        (pkpo, "It is 0.125 times PKPO, k = 2 (arXiv:2505.15201). It maximises 0.125 pass@2: "),
        (lambda r: pkpo(r) - pkpo(r).mean(1, keepdim=True), "PKPO, k = 2, less the others (arXiv:2505.15201)."
         " It maximises 0.09375 pass@2: "),
        # Variants, and where they differ.
        (second_left_over, "It depends on the order of a group's answers. It is none of the 20 declared"),
        (lambda r: grpo(r) + (r.mean(1, keepdim=True) == 1), "+ 0.0001 (shao2024grpo, equation 3, as TRL "
         "computes it), but differs where a group's rewards agree."),
        (lambda r: (r - r.mean(1, keepdim=True)) * 2, "It is 1.75 times leave-one-out ("),
        (lambda r: r - 0.5, "It is leave-one-out (RLOO, arXiv:2402.14740) in expectation, with another base"),
        (lambda r: grpo(r) ** 3, "It is none of the 20 declared advantages. "),
    ],
)  # fmt: skip
def test_an_advantage_is_named_by_the_published_one_it_is(advantage, named):
    verdict = audit_advantage(advantage).verdict
    assert named in verdict
    assert ("It depends on the order" in verdict) is (advantage is second_left_over)
