import math

import pytest
import torch
from support.losses_with_known_answers import k2, k3, policy_gradient

from dph_theory.audit.extremes import dead_zones, extremes

NAMES = ("log_pi", "log_ref")


def clamped_k3(log_pi, log_ref):
    x = (log_ref - log_pi).clamp(-20, 20)
    return (x.exp() - 1 - x).mean()


def naive_jensen_shannon(log_pi, log_ref):
    u = (log_pi - log_ref).exp()
    return (u * u.log() - (u + 1) * ((u + 1) / 2).log()).mean()


def test_a_smooth_loss_has_no_dead_zone_and_its_asymmetry_is_told():
    zones, asymmetry = dead_zones(k3, NAMES)
    assert zones == ()
    assert asymmetry == pytest.approx(math.exp(-5), rel=1e-9)
    assert dead_zones(k2, NAMES) == ((), 1.0)


def test_a_clamp_is_a_dead_zone():
    zones, _ = dead_zones(clamped_k3, NAMES)
    assert zones == ((-700.0, -20.5), (20.5, 700.0))


def test_what_breaks_down_early_is_found():
    found = {e.dtype: e for e in extremes(naive_jensen_shannon, NAMES)}
    assert set(found) == {"float32", "bfloat16"}
    # u (u+1) overflows, and inf - inf is nan, long before the value itself would be too large.
    assert 100.0 in found["float32"].nan
    assert all(e.nan == e.inf == () for e in extremes(k2, NAMES))


def test_a_loss_without_a_divergence_has_neither():
    assert dead_zones(policy_gradient, ("log_pi", "advantages")) == ((), None)


def test_other_errors_are_not_hidden():
    def broken(log_pi):
        raise RuntimeError("nonsense")

    with pytest.raises(Exception, match="RuntimeError"):
        extremes(broken, ("log_pi",))
    assert torch.is_grad_enabled()


def test_a_clamp_far_out_is_found_too():
    def clamped(log_pi, log_ref):
        return ((log_pi - log_ref).clamp(-150, 150) ** 2 / 2).mean()

    assert dead_zones(clamped, NAMES)[0] == ((-700.0, -160.0), (160.0, 700.0))
