"""Advantages of one number an answer, broadcasts by mistake, and groups whose verdicts agree."""

import pytest
import torch

from dph_theory.audit import audit
from dph_theory.methods.surrogates import policy_loss


def grpo(log_pi, log_ref, log_old, advantages, mask, over, keep=None):
    """TRL's idiom: per token the clipped ratio times the advantage, and .04 k3."""
    ratio, x = (log_pi - log_old).exp(), log_ref - log_pi
    each = -torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages) + 0.04 * (x.exp() - 1 - x)
    mask = mask if keep is None else mask * keep
    if over == "answers":
        return ((each * mask).sum(-1) / mask.sum(-1).clamp(min=1.0)).mean()
    return (each * mask).sum() / mask.sum().clamp(min=1.0)


def by_unsqueeze(log_pi, log_ref, log_old, advantages, mask):
    return grpo(log_pi, log_ref, log_old, advantages.unsqueeze(1), mask, "answers")


def by_index(log_pi, log_ref, log_old, advantages, mask):
    return grpo(log_pi, log_ref, log_old, advantages[:, None], mask, "batch")


def of_sums(log_pi, advantages, mask):
    return -(advantages * (log_pi * mask).sum(-1)).mean()


def either(log_pi, log_ref, log_old, advantages, mask):
    advantages = advantages.unsqueeze(1) if advantages.dim() == 1 else advantages
    return grpo(log_pi, log_ref, log_old, advantages, mask, "batch")


@pytest.mark.parametrize("loss", [by_unsqueeze, by_index])
@pytest.mark.parametrize("samples", ["policy", "old_policy"])
def test_one_advantage_an_answer_is_understood(loss, samples):
    found = audit(loss, samples=samples)
    assert found.advantages == "one an answer"
    assert (found.reduction.padding, found.broadcast, found.batches) == ("ignored", "", None)
    if samples == "policy":
        terms = {name: round(constant, 9) for constant, name in found.gradient.terms}
        assert terms == {"minus expected reward": 1, "forward KL(ref||pi)": 0.04}


def test_other_idioms_of_an_advantage():
    assert audit(of_sums).advantages == "one an answer"
    assert audit(of_sums).sequence_gradient.name == "minus expected reward"
    assert audit(either).advantages == audit(policy_loss("clip", "sequence_mean")).advantages == "one a token"
    found = audit(by_index)
    assert [zone.words for zone in found.stopped] == ["pi/old >= 1.2 if A > 0", "pi/old <= 0.8 if A < 0"]


def kept_dimension(log_pi, log_ref, mask):
    """Each answer's sum of k2 is divided by every answer's length."""
    return (((log_pi - log_ref) ** 2 / 2 * mask).sum(-1, keepdim=True) / mask.sum(-1)).mean()


def all_pairs(log_pi, log_ref, mask):
    x = ((log_pi - log_ref) * mask).sum(-1)
    return ((x[:, None] - x) ** 2).mean() / 4


def test_a_broadcast_that_no_one_can_mean_is_named():
    found = audit(kept_dimension)
    assert found.broadcast == "(batch, 1) with (batch,)"
    assert "a broadcast of (batch, 1) with (batch,)" in found.verdict
    assert audit(all_pairs).broadcast == audit(of_sums).broadcast == ""


def kept(advantages):
    return (advantages != 0).double()


def without_equal(log_pi, log_ref, log_old, advantages, mask):
    """Tokens of advantage zero are masked: their KL goes, and they do not count."""
    return grpo(log_pi, log_ref, log_old, advantages, mask, "batch", kept(advantages))


def without_their_kl(log_pi, log_ref, advantages, mask):
    each = -log_pi * advantages + 0.04 * (log_pi - log_ref) ** 2 / 2 * kept(advantages)
    return (each * mask).sum() / mask.sum()


def undefined(log_pi, advantages, mask):
    each = -log_pi * advantages * mask
    return each.sum() / (kept(advantages) * mask).sum()


def test_groups_without_variance_are_enumerated():
    plain, found = audit(either), audit(without_equal)
    assert plain.equal_groups.gradient.name == "token sum of forward KL(ref||pi) on the samples' prefixes"
    assert (plain.equal_groups.weight, plain.selects) == ("counted", "token forward limit")
    # With advantages that are not zero nothing tells them apart.
    assert found.gradient.name == plain.gradient.name
    assert (found.equal_groups.gradient.name, found.equal_groups.weight) == ("zero", "left out")
    assert found.drops_penalty
    assert not plain.drops_penalty
    assert "NO PENALTY" in found.verdict
    assert "left out of the mean" in found.verdict
    # What holds a run to its base where prompts are solved is not there: no law is told.
    assert (found.law, found.selects) == ("not known", "none")


def test_a_penalty_or_a_count_may_go_alone():
    one, other = audit(without_their_kl), audit(undefined)
    assert (one.drops_penalty, one.equal_groups.weight) == (True, "counted")
    assert other.equal_groups.gradient.name == "failed"
    assert "Where all advantages are 0, it returned nan" in other.verdict
    assert audit(lambda log_pi, log_ref: (log_pi - log_ref).square().mean()).equal_groups is None
