import math

import pytest
import torch
from support.losses_with_known_answers import k2, k3, policy_gradient

from dph_theory.audit import audit
from dph_theory.losses import kl_term


def clamped_k3(log_pi, log_ref):
    x = (log_ref - log_pi).clamp(-20, 20)
    return (x.exp() - 1 - x).mean()


def naive_jensen_shannon(log_pi, log_ref):
    u = (log_pi - log_ref).exp()
    return (u * u.log() - (u + 1) * ((u + 1) / 2).log()).mean()


def of_the_policy_alone(log_pi):
    """Above x = 0 the policy's log-probability is at its highest, where this one has no slope."""
    return (log_pi**2).mean()


def clamped_far_out(log_pi, log_ref):
    return ((log_pi - log_ref).clamp(-150, 150) ** 2 / 2).mean()


@pytest.mark.parametrize(
    ("loss", "dead", "rounded"),
    [
        (k2, (), ()),
        (k3, (), ()),
        (policy_gradient, (), ()),
        (of_the_policy_alone, (), ()),
        (clamped_k3, ((-700, -20), (20, 700)), ()),
        (clamped_far_out, ((-700, -150), (150, 700)), ()),
        # What rounding swallows is no dead zone.
        (kl_term("ratio", "k3"), (), ((-700, -41),)),
    ],
)
def test_intervals_without_a_slope_are_found_with_their_ends(loss, dead, rounded):
    found = audit(loss)
    for zones, wanted in ((found.dead_zones, dead), (found.rounded_zones, rounded)):
        assert len(zones) == len(wanted)
        for zone, ends in zip(zones, wanted, strict=True):
            assert zone == pytest.approx(ends, abs=0.6 if zones is found.rounded_zones else 0.01)


@pytest.mark.parametrize(
    ("loss", "precision"),
    [
        (lambda log_pi, log_ref: k3(log_pi.float(), log_ref.float()).double(), "float32"),
        (lambda log_pi, log_ref: k2(log_pi.bfloat16(), log_ref.bfloat16()), "16 bits"),
        (lambda log_pi: torch.exp(log_pi - log_pi.detach()).mean(), "float64"),
        (k3, "float64"),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_what_it_computes_in_is_noticed(loss, precision, seed):
    found = audit(loss, seed=seed)
    assert found.precision == precision
    assert dict(found.rows()).get("computes in", "float64") == precision
    assert found.gradient.exact is (precision != "16 bits")


def test_what_breaks_down_early_is_found():
    found = {e.dtype: e for e in audit(naive_jensen_shannon).extremes}
    assert set(found) == {"float32", "bfloat16"}
    # u (u+1) overflows, and inf - inf is nan, long before the value itself would be too large.
    assert 100.0 in found["float32"].nan
    assert all(e.nan == () for e in audit(k2).extremes)


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
