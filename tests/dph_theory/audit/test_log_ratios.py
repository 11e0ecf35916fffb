import math

import pytest
import torch
from support.losses_with_known_answers import k2, k3, policy_gradient

from dph_theory.audit import audit
from dph_theory.audit.exact import random_problems
from dph_theory.audit.log_ratios import NO_SLOPES, computes_in, extremes, slopes_of
from dph_theory.losses import kl_term

NAMES = ("log_pi", "log_ref")


def clamped_k3(log_pi, log_ref):
    x = (log_ref - log_pi).clamp(-20, 20)
    return (x.exp() - 1 - x).mean()


def naive_jensen_shannon(log_pi, log_ref):
    u = (log_pi - log_ref).exp()
    return (u * u.log() - (u + 1) * ((u + 1) / 2).log()).mean()


@pytest.mark.parametrize(
    ("loss", "names"), [(k2, NAMES), (k3, NAMES), (policy_gradient, ("log_pi", "advantages"))]
)
def test_a_smooth_loss_has_no_dead_zone(loss, names):
    assert slopes_of(loss, names) == NO_SLOPES


def test_a_clamp_is_a_dead_zone():
    zones = slopes_of(clamped_k3, NAMES).dead
    assert zones == ((-700.0, -20.5), (20.5, 700.0))


def test_a_loss_of_the_policy_alone_has_no_spurious_dead_zone():
    # Above x = 0 the policy's log-probability is at its highest, where this one has no slope.
    assert slopes_of(lambda log_pi: (log_pi**2).mean(), ("log_pi",)).dead == ()


def test_what_rounding_swallows_is_no_dead_zone():
    found = slopes_of(kl_term("ratio", "k3"), ("log_pi", "log_ref", "log_old", "mask"))
    assert found.dead == ()
    assert found.rounded == ((-700.0, pytest.approx(-41.0, abs=1)),)


def test_float32_inside_a_loss_is_noticed():
    def rounded(log_pi, log_ref):
        return k3(log_pi.float(), log_ref.float()).double()

    for problem in random_problems(0):
        assert computes_in(rounded, NAMES, problem, "policy") == "float32"
        assert computes_in(k3, NAMES, problem, "policy") == "float64"


def test_sixteen_bits_are_told_from_both():
    def halved(log_pi, log_ref):
        return k2(log_pi.bfloat16(), log_ref.bfloat16())

    def never_changes(log_pi, log_ref):
        return torch.exp(log_pi - log_pi.detach()).mean()

    for problem in random_problems(0):
        assert computes_in(halved, NAMES, problem, "policy") == "16 bits"
        assert computes_in(never_changes, NAMES, problem, "policy") == "float64"


def test_what_breaks_down_early_is_found():
    found = {e.dtype: e for e in extremes(naive_jensen_shannon, NAMES)}
    assert set(found) == {"float32", "bfloat16"}
    # u (u+1) overflows, and inf - inf is nan, long before the value itself would be too large.
    assert 100.0 in found["float32"].nan
    assert all(e.nan == () for e in extremes(k2, NAMES))


def test_other_errors_are_not_hidden():
    def broken(log_pi):
        raise RuntimeError("nonsense")

    with pytest.raises(Exception, match="RuntimeError"):
        extremes(broken, ("log_pi",))
    assert torch.is_grad_enabled()


def test_a_clamp_far_out_is_found_too():
    def clamped(log_pi, log_ref):
        return ((log_pi - log_ref).clamp(-150, 150) ** 2 / 2).mean()

    assert slopes_of(clamped, NAMES).dead == ((-700.0, -160.0), (160.0, 700.0))


def plain_k3(log_pi, log_ref):
    x = log_ref - log_pi
    return (x.exp() - 1 - x).mean()


def test_where_an_unclamped_exponential_overflows_is_said():
    found = audit(plain_k3)
    for each in found.extremes:
        # The largest number of both is 2^128: its logarithm is 88.7.
        assert each.finite == (pytest.approx(-88.72, abs=0.1), math.inf)
    assert dict(found.rows())["overflow"] == "float32 and bfloat16 at log(pi/ref) below -88.7"
    clamped = audit(lambda log_pi, log_ref: (log_ref - log_pi).clamp(-20, 20).exp().mean())
    assert [each.words for each in clamped.extremes] == ["", ""]


def clipped_loss(log_pi, log_old, advantages):
    ratio = (log_pi - log_old).exp()
    return -torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()


def clipped_to_the_reference(log_pi, log_ref, advantages):
    return clipped_loss(log_pi, log_ref, advantages)


@pytest.mark.parametrize(("loss", "ratio"), [(clipped_loss, "pi/old"), (clipped_to_the_reference, "pi/ref")])
def test_slopes_that_a_clip_stops_are_found_at_advantages_that_are_not_zero(loss, ratio):
    found = audit(loss)
    assert [(zone.what, zone.advantage, zone.low, zone.high) for zone in found.stopped] == [
        (ratio, 1.0, 1.2, math.inf),
        (ratio, -1.0, 0.0, 0.8),
    ]
    assert dict(found.rows())["no slope at"] == f"{ratio} >= 1.2 if A > 0, {ratio} <= 0.8 if A < 0"


def test_a_penalty_that_an_advantage_of_zero_silences_has_its_dead_zones_and_its_overflow():
    def silenced(log_pi, log_ref, advantages):
        x = (log_pi - log_ref).clamp(max=2.0)
        kl = (torch.exp(-x) - 1 + x) * (advantages != 0)
        return (-log_pi * advantages + 0.1 * kl).mean()

    found = audit(silenced)
    assert found.dead_zones == ((pytest.approx(2.25, abs=0.3), 700.0),)
    assert found.extremes[0].finite[0] == pytest.approx(-88.7, abs=0.1)


def test_a_value_that_is_nearly_nothing_is_near_no_divergence():
    found = audit(lambda log_pi, log_ref: 1e-6 * torch.sin(log_pi - log_ref).square().mean()).value
    assert (found.name, found.bias) == ("none", None)
