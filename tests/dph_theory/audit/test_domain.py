import math

import pytest
import torch

from dph_theory.audit import audit
from dph_theory.methods.surrogates import policy_loss


def k2(log_pi, log_ref):
    return (log_pi - log_ref).square().sum(-1).mean() / 2


def k3(log_pi, log_ref):
    x = log_pi - log_ref
    return (torch.exp(-x) - 1 + x).mean()


def huber(log_pi, log_ref):
    return torch.nn.functional.huber_loss(log_pi, log_ref, delta=5.0)


def floored(log_pi, log_ref):
    return (log_pi - log_ref.clamp(min=-7.0)).square().mean() / 2


def capped_k1(log_pi, log_ref):
    return (log_pi - log_ref).clamp(max=4.5).mean()


def corrected_to_five(log_pi, log_ref, log_old):
    x = log_pi - log_ref
    return ((log_pi - log_old).exp().clamp(max=5.0) * (torch.exp(-x) - 1 + x)).mean()


def truncated(log_pi, log_old, advantages):
    return -((log_pi - log_old).exp().detach().clamp(max=2.0) * advantages * log_pi).mean()


def sequence_masked(log_pi, log_old, advantages):
    ratio = (log_pi - log_old).sum(-1, keepdim=True).exp().detach()
    kept = torch.where((ratio > 1 / 3) & (ratio < 3), ratio, 0.0)
    return -(kept * advantages * log_pi).sum(-1).mean()


def capped_advantage(log_pi, advantages):
    return -(advantages.clamp(max=5.0) * log_pi).sum(-1).mean()


INF = math.inf


@pytest.mark.parametrize(
    ("loss", "samples", "wanted"),
    [
        (k2, "policy", []),
        (k3, "policy", []),
        (huber, "policy", [("log(pi/ref)", -5.0, 5.0)]),
        (capped_k1, "policy", [("log(pi/ref)", -INF, 4.5)]),
        (corrected_to_five, "policy", []),
        (corrected_to_five, "old_policy", [("log(pi/old)", -INF, math.log(5))]),
        (truncated, "old_policy", [("log(pi/old)", -INF, math.log(2))]),
        (capped_advantage, "policy", [("|A|", 0.0, 5.0)]),
        (
            policy_loss("clip", high=0.28, dual=3.0),
            "old_policy",
            [("log(pi/old)", math.log(0.8), math.log(1.28))],
        ),
    ],
)
def test_an_exact_match_is_exact_up_to_its_limits(loss, samples, wanted):
    found = audit(loss, samples=samples)
    assert found.known.exact
    assert [limit.what for limit in found.limits] == [what for what, _, _ in wanted]
    for limit, (_, low, high) in zip(found.limits, wanted, strict=True):
        assert (limit.low, limit.high) == (pytest.approx(low, abs=2e-3), pytest.approx(high, abs=2e-3))
        assert f"Beyond, it is not: {limit.example}." in found.verdict
        assert limit.words in dict(found.rows())["exact"]


def test_a_floor_of_the_reference_ends_it_at_a_log_ratio_that_the_example_explains():
    (limit,) = audit(floored).limits
    # The policy gives the token e^-3, and the reference no less than e^-7.
    assert (limit.low, limit.high) == (-INF, pytest.approx(4.0, abs=0.05))
    assert "log_ref = -7.49" in limit.place
    assert limit.example == "a token at log(pi/ref) = 4.5 is 11% off"


def test_a_mask_of_whole_sequences_ends_it_earlier_on_sequences():
    found = audit(sequence_masked, samples="old_policy")
    # Two tokens of equal ratio share it.
    (limit,) = found.limits
    assert (limit.what, limit.high) == ("log(pi/old)", pytest.approx(math.log(3) / 2, abs=2e-3))
    assert not found.sequence_gradient.exact
    assert (found.scope, found.known.exact) == ("answers", True)


@pytest.mark.parametrize("seed", range(3))
def test_a_clipped_loss_off_policy_is_near_the_reward_at_every_seed(seed):
    found = audit(policy_loss("clip", high=0.28), samples="old_policy", seed=seed)
    assert (found.known.name, found.scope) == ("minus expected reward", "single tokens")
    assert found.gradient.exact or found.gradient.name in ("minus expected reward", "none")
    assert "total variation" not in found.verdict


def test_the_opposite_of_a_quantity_is_told_from_it():
    def against(log_pi, log_ref):
        x = log_pi - log_ref
        return -(x.square() / 2 + 0.03 * x.abs().pow(3)).mean()

    found = audit(against)
    assert found.known.constant == -1
    assert "nearest is the opposite of" in found.verdict


def test_nothing_near_is_said_so():
    def wave(log_pi):
        return torch.sin(40 * log_pi).mean()

    found = audit(wave)
    assert (found.gradient.name, found.gradient.angle) == ("none", None)
    assert "descends none of the known quantities; nothing is near" in found.verdict


def test_a_divergence_divided_by_the_squared_length_is_one():
    def by_length(log_pi, log_ref):
        return (log_pi - log_ref).mean(-1).square().mean() / 2

    found = audit(by_length).sequence_gradient
    assert (found.name, found.exact, found.per_token) == ("reverse KL(pi||ref)", True, 2)


def through_holes(log_pi, log_ref, mask):
    """The tokens between the first and the last that count."""
    behind = mask.flip(1).cumsum(1).flip(1) > 0
    return ((log_pi - log_ref).square() * behind).sum(-1).mean() / 2


def test_a_loss_that_fills_holes_in_its_mask_is_seen():
    found = audit(through_holes)
    assert found.reduction.padding == "fills holes"
    assert "It FILLS HOLES in its mask" in found.verdict
    masked = audit(lambda log_pi, log_ref, mask: ((log_pi - log_ref).square() * mask).sum(-1).mean() / 2)
    assert masked.reduction.padding == "ignored"


def test_tokens_that_stop_counting_are_seen():
    def first_twenty(log_pi, log_ref):
        return (log_pi - log_ref)[:, :20].square().sum(-1).mean() / 2

    assert audit(first_twenty).reduction.tokens == "other"
    assert audit(k2).reduction.tokens == "sum"


def test_a_loss_with_what_its_trainer_logs_is_audited():
    assert audit(lambda log_pi, log_ref: (k2(log_pi, log_ref), {"kl": 1.0})).gradient.exact


def whole(log_pi, log_ref, log_old, advantages, mask):
    """A clipped policy loss, .04 k3 and an entropy bonus of .01."""
    x, ratio = log_pi - log_ref, (log_pi - log_old).exp()
    policy = -torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages)
    kl, entropy = torch.exp(-x) - 1 + x, log_pi * log_pi.detach()
    return ((policy + 0.04 * kl + 0.01 * entropy) * mask).sum() / mask.sum()


def test_the_terms_of_a_loss_are_told_apart_on_and_off_policy():
    first, later = (audit(whole, samples=samples) for samples in ("policy", "old_policy"))
    told = {term.name: (term.gradient.name, term.gradient.constant) for term in first.terms}
    assert told == {
        "policy": ("minus expected reward", pytest.approx(1)),
        "KL": ("token sum of forward KL(ref||pi) on the samples' prefixes", pytest.approx(0.04)),
        "other": ("token sum of entropy(pi) on the samples' prefixes", pytest.approx(-0.01)),
    }
    assert dict(first.rows())["KL term"].startswith("0.04 times the forward KL(ref||pi) of each token")
    policy, kl, _ = later.terms
    assert (policy.gradient.exact, policy.gradient.name) == (True, "minus expected reward")
    assert not kl.gradient.exact
    assert not later.gradient.exact
    assert "exact" not in dict(later.rows())
    assert "Near ratios of one its policy term is the reward's policy gradient" in later.verdict


def test_a_loss_of_one_term_has_none():
    assert audit(k2).terms == ()
    assert audit(policy_loss("clip", high=0.28)).terms == ()
