"""Losses, advantages and metrics as public reports write them, each with what an audit says of it first."""

# ruff: noqa: E501, a case takes a line.

import math
from math import comb

import numpy as np
import pytest
import torch

from dph_theory.audit import audit, audit_advantage, audit_metric


def group_mean(r):
    return r.mean(1, keepdim=True)


def over(spread, baseline=group_mean):
    return lambda r: (r - baseline(r)) / spread(r)


def all_others(r):
    return (r.sum(1, keepdim=True) - r) / (r.shape[1] - 1)


def signed(r):
    return 2 * r - 1


def best_alone(r):
    top = r.topk(2, dim=1)
    return torch.zeros_like(r).scatter(1, top.indices[:, :1], top.values[:, :1] - top.values[:, 1:])


def rare_first(r):
    return (1 - group_mean(r)) ** 3 * (r - all_others(r))


def fraction_of_failures(r):
    return r * (1 - r).mean(1, keepdim=True) * r.shape[1] / (r.shape[1] - 1)


ADVANTAGES = {
    "the reward itself": (lambda r: r, "in expectation, with another baseline. It maximises V"),
    "plus and minus one": (signed, "It is 2 times leave-one-out (RLOO"),
    "a fixed baseline of a half": (lambda r: r - 0.5, "with another baseline. It maximises V"),
    "centred by the group": (over(torch.ones_like), "It is Dr. GRPO, mean of all"),
    "centred by the others": (over(torch.ones_like, all_others), "It is leave-one-out (RLOO"),
    "over the group's std": (over(lambda r: r.std(1, keepdim=True) + 1e-6), "It is GRPO, sample std + 1e-06"),
    "over the biased std": (over(lambda r: r.std(1, keepdim=True, correction=0) + 1e-8), "It is GRPO, population std + 1e-08"),
    "over the group's mean": (over(lambda r: group_mean(r) + 1e-4), "It is MaxRL + 0.0001"),
    "over the std, none added": (over(lambda r: r.std(1, keepdim=True)), "It is NOT FINITE in groups with 0, 8 correct."),
    "over the batch's std": (over(lambda r: r.std() + 1e-4), "It DEPENDS ON THE BATCH"),
    "centred by the batch": (over(torch.ones_like, torch.mean), "It DEPENDS ON THE BATCH"),
    "a z-score of the batch": (over(lambda r: r.std() + 1e-8, torch.mean), "It DEPENDS ON THE BATCH"),
    "the best minus the second": (best_alone, "It is best minus second"),
    "weighed by difficulty": (rare_first, "It is none of the 20 declared advantages; nearest is PKPO"),
    "times the failures": (fraction_of_failures, "maximises 0.5 pass@2"),
}  # fmt: skip


def tokens(values, mask):
    return (values * mask).sum() / mask.sum()


def answers(values, mask):
    return ((values * mask).sum(-1) / mask.sum(-1)).mean()


def clipped(r, a, low=0.2, high=0.2):
    return -torch.min(r * a, r.clamp(1 - low, 1 + high) * a)


def ratio(log_pi, log_old):
    return (log_pi - log_old).exp()


LOSSES = {
    "a token mean, clipped": (lambda log_pi, log_old, advantages, mask: tokens(clipped(ratio(log_pi, log_old), advantages), mask), "Its policy loss is DAPO"),
    "an answer mean, clipped": (lambda log_pi, log_old, advantages, mask: answers(clipped(ratio(log_pi, log_old), advantages), mask), "Its policy loss is GRPO"),
    "clipped higher": (lambda log_pi, log_old, advantages, mask: tokens(clipped(ratio(log_pi, log_old), advantages, high=0.28), mask), "Its policy loss is DAPO"),
    "failures at a half": (lambda log_pi, log_old, advantages, mask: tokens(clipped(ratio(log_pi, log_old), advantages) * torch.where(advantages < 0, 0.5, 1.0), mask), "but tokens of A < 0 are weighed 0.5 times as much"),
    "successes alone": (lambda log_pi, log_old, advantages, mask: tokens(clipped(ratio(log_pi, log_old), advantages.clamp(min=0)), mask), "but tokens of A < 0 have no gradient"),
    "failures alone": (lambda log_pi, log_old, advantages, mask: tokens(clipped(ratio(log_pi, log_old), advantages.clamp(max=0)), mask), "but tokens of A > 0 have no gradient"),
    "a sign error": (lambda log_pi, log_old, advantages, mask: tokens(-clipped(ratio(log_pi, log_old), advantages), mask), "It LOWERS the expected reward: a sign error."),
    "log pi times A": (lambda log_pi, advantages, mask: -tokens(log_pi * advantages, mask), "This is the reward's policy gradient, divided by the number of tokens. Its policy loss is REINFORCE"),
    "k1 in the loss": (lambda log_pi, log_ref, mask: tokens(log_pi - log_ref, mask), "Its gradient is ZERO in expectation"),
    "k2 in the loss": (lambda log_pi, log_ref, mask: tokens((log_pi - log_ref) ** 2 / 2, mask), "the reverse KL(pi||ref) of each token"),
    "k3 in the loss": (lambda log_pi, log_ref, mask: tokens((log_ref - log_pi).exp() - 1 - log_ref + log_pi, mask), "the forward KL(ref||pi) of each token"),
    "the answer's k1, held, times log pi": (lambda log_pi, log_ref, mask: ((log_pi * mask).sum(-1) * ((log_pi - log_ref) * mask).sum(-1).detach()).mean(), "the gradient of the reverse KL(pi||ref)."),
    "the square of the answer's log ratio": (lambda log_pi, log_ref, mask: 0.5 * (((log_pi - log_ref) * mask).sum(-1) ** 2).mean(), "the gradient of the reverse KL(pi||ref)."),
    "an entropy bonus from samples": (lambda log_pi, advantages, mask: ((log_pi * log_pi.detach() * 0.01 - log_pi * advantages) * mask).sum(-1).mean(), "plus an entropy bonus of 0.01"),
    "a mask that is not used": (lambda log_pi, log_ref, mask: ((log_pi - log_ref) ** 2 / 2).mean() + 0 * mask.sum(), "It IGNORES ITS MASK"),
}  # fmt: skip


def counts(value):
    return lambda n, c, k: value(n, c, k)


METRICS = {
    "by combinations": (counts(lambda n, c, k: 1 - comb(n - c, k) / comb(n, k)), "an unbiased estimate of pass@k"),
    "by a product": (counts(lambda n, c, k: 1.0 if n - c < k else 1 - float(np.prod(1 - k / np.arange(n - c + 1, n + 1)))), "an unbiased estimate of pass@k"),
    "of one list": (lambda correct, k: 1.0 if len(correct) - sum(correct) < k else 1 - comb(len(correct) - sum(correct), k) / comb(len(correct), k), "an unbiased estimate of pass@k"),
    "a list's first answers": (lambda correct, k: float(any(correct[:k])), "an unbiased estimate of pass@k"),
    "with replacement": (counts(lambda n, c, k: 1 - (1 - c / n) ** k), "BIASED, nearest pass@k"),
    "any of all": (counts(lambda n, c, k: float(c > 0)), "BIASED"),
    "all of k": (counts(lambda n, c, k: comb(c, k) / comb(n, k)), "an unbiased estimate of pass^k"),
    "the rate to the k": (counts(lambda n, c, k: (c / n) ** k), "BIASED, nearest pass^k"),
    "the mean": (lambda matrix, k: matrix.mean(), "an unbiased estimate of the mean"),
    "the vote of all": (lambda matrix, k: (matrix.mean(1) > 0.5).mean(), "BIASED"),
}  # fmt: skip


@pytest.mark.parametrize("name", ADVANTAGES)
def test_public_advantages(name):
    advantage, words = ADVANTAGES[name]
    assert words in audit_advantage(advantage).verdict


@pytest.mark.parametrize("name", LOSSES)
def test_public_losses(name):
    loss, words = LOSSES[name]
    assert words in audit(loss).verdict


@pytest.mark.parametrize("name", METRICS)
def test_public_metrics(name):
    metric, words = METRICS[name]
    assert words in audit_metric(metric, name=name).verdict


def test_what_a_prompt_weighs_is_what_its_formula_says():
    """By hand, at a pass rate of one half in groups of eight."""
    report = audit_advantage(ADVANTAGES["times the failures"][0])
    assert report.weight[3] == pytest.approx(0.5, abs=1e-12)
    assert audit_advantage(ADVANTAGES["plus and minus one"][0]).weight[3] == pytest.approx(2)
    assert math.isclose(audit_advantage(ADVANTAGES["centred by the batch"][0]).weight[3], 1, rel_tol=0.01)
