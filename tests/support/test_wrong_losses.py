"""The audit is not fooled: what it must say of losses that look right and are not."""

import math
from functools import cache

import pytest

import support.wrong_losses as wrong
from dph_theory.audit import audit
from support.wrong_losses import FORWARD, PLANTED, REVERSE


@cache
def report(loss):
    (planted,) = [p for p in PLANTED if p.loss is loss]
    return audit(planted.loss, samples=planted.samples)


@pytest.mark.parametrize("planted", PLANTED, ids=lambda p: p.loss.__name__)
def test_it_is_never_called_right(planted):
    # Right is: one gradient for outcomes and, a mean over tokens being per token, for sequences.
    found = report(planted.loss)
    right = all(
        match.exact and not match.terms and planted.meant in match.name and abs(match.constant - 1) < 1e-6
        for match in (found.gradient, found.sequence_gradient)
    )
    assert not right or not found.sequence_gradient.per_token


def test_a_swapped_direction_descends_half_of_chi_squared():
    found = report(wrong.swapped_direction)
    assert not found.value.exact
    assert (found.gradient.name, found.gradient.exact) == ("chi-squared(pi||ref)", True)
    assert found.gradient.constant == pytest.approx(0.5)


def test_a_square_without_its_half_has_the_constant_two():
    found = report(wrong.squared_without_half)
    assert (found.gradient.name, found.gradient.exact) == (REVERSE, True)
    assert found.gradient.constant == pytest.approx(2)
    assert "2 times the reverse KL(pi||ref)" in found.verdict


def test_one_half_of_js_is_not_js():
    found = report(wrong.half_of_js)
    assert not found.value.exact
    assert not found.gradient.exact


def test_a_missing_detach_adds_minus_the_entropy():
    found = report(wrong.missing_detach)
    terms = {name: constant for constant, name in found.gradient.terms}
    assert terms == pytest.approx({REVERSE: 1, "entropy(pi)": -1})


def test_a_wrong_gauge_sign_moves_the_minimiser():
    # f'(u) = log u + 2 vanishes at u = e^-2; the normalised gauge would keep the base rate, u = 1.
    found = report(wrong.wrong_gauge_sign).minimiser
    assert found.target == "constant"
    assert found.ratio == pytest.approx(math.exp(-2), rel=1e-3)


def test_an_advantage_inside_descends_nothing_known():
    found = report(wrong.advantage_inside)
    assert not found.gradient.exact
    assert "none of the known quantities" in found.verdict


def test_an_inverted_ratio_ascends_the_reverse_kl():
    found = report(wrong.inverted_ratio)
    terms = {name: constant for constant, name in found.gradient.terms}
    assert terms == pytest.approx({FORWARD: 2, REVERSE: -1})


def test_a_ratio_held_fixed_descends_the_forward_kl():
    found = report(wrong.detached_ratio)
    assert (found.value.name, found.value.exact) == (REVERSE, True)
    assert "It descends the forward KL(ref||pi)" in found.verdict


def test_a_detached_value_descends_nothing():
    found = report(wrong.detached_gradient)
    assert (found.value.name, found.value.exact) == (REVERSE, True)
    assert found.gradient.name == "zero"
    assert "ZERO" in found.verdict


def test_a_value_without_gradient_is_a_failure_that_says_so():
    found = report(wrong.without_gradient)
    assert found.gradient.name == "failed"
    assert len(found.failures) >= 7
    assert "does not depend on log_pi" in found.verdict


def test_a_flipped_sign_is_called_one():
    found = report(wrong.flipped_sign)
    assert found.gradient.constant == pytest.approx(-1)
    assert "It RAISES the reverse KL(pi||ref) of each token: a sign error." in found.verdict


def test_the_old_policy_for_the_reference_does_nothing_on_fresh_samples():
    found = report(wrong.old_for_reference)
    assert found.value.name == found.gradient.name == "zero"


def test_a_hidden_clamp_shows_its_dead_zones():
    found = report(wrong.hidden_clamp)
    assert not found.gradient.exact
    # The slope at the clamp's own ends is torch's choice, so a zone may begin a step of the grid later.
    assert found.dead_zones == ((-700.0, pytest.approx(-0.5, abs=0.5)), (pytest.approx(0.5, abs=0.5), 700.0))


def test_a_sum_is_not_divided_by_the_tokens():
    assert not report(wrong.sum_for_mean).sequence_gradient.per_token
    assert "number of tokens" not in report(wrong.sum_for_mean).verdict


def test_a_mask_forgotten_in_the_denominator_is_seen():
    found = audit(wrong.mask_not_in_denominator)
    assert found.reduction.padding == "divides by the padded length"
    assert "It depends on how far the batch is padded." in found.verdict


def test_charging_the_past_is_wrong_on_sequences_only():
    found = report(wrong.cost_so_far)
    assert (found.gradient.name, found.gradient.exact) == (REVERSE, True)
    assert not (found.sequence_gradient.exact and found.sequence_gradient.name == REVERSE)
    assert "It descends the reverse KL(pi||ref) of each token." in found.verdict


def test_another_base_of_the_logarithm_is_a_constant():
    assert report(wrong.base_two).value.constant == pytest.approx(1 / math.log(2))


def test_k3_on_correct_samples_does_not_imitate_them():
    found = report(wrong.normalised_on_correct)
    assert found.minimiser.target == "base rate"
    assert "filtered model" not in found.verdict
