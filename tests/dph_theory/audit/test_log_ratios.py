import math

import pytest
import torch
from support.losses_with_known_answers import k2, k3, policy_gradient

from dph_theory.audit.exact import random_problems
from dph_theory.audit.log_ratios import Slopes, computes_in, extremes, slopes_of
from dph_theory.losses import kl_term

NAMES = ("log_pi", "log_ref")


def clamped_k3(log_pi, log_ref):
    x = (log_ref - log_pi).clamp(-20, 20)
    return (x.exp() - 1 - x).mean()


def naive_jensen_shannon(log_pi, log_ref):
    u = (log_pi - log_ref).exp()
    return (u * u.log() - (u + 1) * ((u + 1) / 2).log()).mean()


def test_a_smooth_loss_has_no_dead_zone_and_its_asymmetry_is_told():
    found = slopes_of(k3, NAMES)
    assert found.dead == ()
    assert found.asymmetry == pytest.approx(math.exp(-5), rel=1e-9)
    assert slopes_of(k2, NAMES) == Slopes((), (), 1.0)


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
    assert all(e.nan == e.inf == () for e in extremes(k2, NAMES))


def test_a_loss_without_a_divergence_has_neither():
    assert slopes_of(policy_gradient, ("log_pi", "advantages")) == Slopes((), (), None)


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
