"""The audit is not fooled: what it must say of losses that look right and are not."""

import math
from functools import cache

import pytest

import support.wrong_losses as wrong
from dph_theory.audit import audit
from support.wrong_losses import FORWARD, PLANTED, REVERSE

audited = cache(audit)
SAMPLES = {planted.loss: planted.samples for planted in PLANTED}


@pytest.mark.parametrize("planted", PLANTED, ids=lambda p: p.loss.__name__)
def test_it_is_never_called_right(planted):
    # Right is: one gradient for outcomes and, a mean over tokens being per token, for sequences.
    found = audited(planted.loss, samples=planted.samples)
    right = all(
        match.exact and not match.terms and planted.meant in match.name and abs(match.constant - 1) < 1e-6
        for match in (found.gradient, found.sequence_gradient)
    )
    assert not right or not found.sequence_gradient.per_token


def terms(match):
    """What is descended or estimated, with its constants; None where it is nothing known."""
    if not match.exact:
        return None
    found = match.terms or ((match.constant, match.name),)
    return {name: constant for constant, name in found if name != "zero"}


CHI_SQUARED, UNKNOWN = "chi-squared(pi||ref)", "none of the known quantities"
DESCENDS = [
    (wrong.swapped_direction, {CHI_SQUARED: 0.5}, ""),
    (wrong.squared_without_half, {REVERSE: 2}, "2 times the reverse KL(pi||ref)"),
    (wrong.half_of_js, None, ""),
    (wrong.missing_detach, {REVERSE: 1, "entropy(pi)": -1}, ""),
    (wrong.advantage_inside, None, UNKNOWN),
    (wrong.inverted_ratio, {FORWARD: 2, REVERSE: -1}, ""),
    (wrong.detached_ratio, {FORWARD: 1}, "It descends the forward KL(ref||pi)"),
    (wrong.detached_gradient, {}, "ZERO"),
    (wrong.flipped_sign, {REVERSE: -1}, "It RAISES the reverse KL(pi||ref) of each token: a sign error."),
    (wrong.old_for_reference, {}, ""),
    (wrong.hidden_clamp, None, ""),
    (wrong.cost_so_far, {REVERSE: 1}, "It descends the reverse KL(pi||ref) of each token."),
    (wrong.three_terms, {"minus expected reward": 1, REVERSE: 0.1, "entropy(pi)": -0.02}, ""),
    (wrong.squared_mean, {REVERSE: 1}, ""),
]


@pytest.mark.parametrize(("loss", "descended", "words"), DESCENDS, ids=lambda v: getattr(v, "__name__", ""))
def test_what_it_descends_is_named_or_not_known(loss, descended, words):
    found = audited(loss, samples=SAMPLES.get(loss, "policy"))
    assert terms(found.gradient) == (descended if descended is None else pytest.approx(descended))
    assert words in found.verdict


@pytest.mark.parametrize(
    ("loss", "estimated"),
    [
        (wrong.swapped_direction, None),
        (wrong.half_of_js, None),
        (wrong.detached_ratio, {REVERSE: 1}),
        (wrong.detached_gradient, {REVERSE: 1}),
        (wrong.old_for_reference, {}),
        (wrong.base_two, {FORWARD: 1 / math.log(2)}),
    ],
)
def test_what_its_value_estimates_is_named_or_not_known(loss, estimated):
    found = terms(audited(loss, samples=SAMPLES[loss]).value)
    assert found == (estimated if estimated is None else pytest.approx(estimated))


def test_a_wrong_gauge_sign_moves_the_minimiser_and_k3_on_correct_samples_does_not_imitate_them():
    # f'(u) = log u + 2 vanishes at u = e^-2; the normalised gauge would keep the base rate, u = 1.
    found = audited(wrong.wrong_gauge_sign, samples="filtered").minimiser
    assert (found.target, found.ratio) == ("constant", pytest.approx(math.exp(-2), rel=1e-3))
    found = audited(wrong.normalised_on_correct, samples="filtered")
    assert found.minimiser.target == "base rate"
    assert "filtered model" not in found.verdict


def test_a_value_without_gradient_is_a_failure_that_says_so():
    found = audited(wrong.without_gradient, samples="policy")
    assert found.gradient.name == "failed"
    assert len(found.failures) >= 7
    assert "does not depend on log_pi" in found.verdict


def test_a_hidden_clamp_shows_its_dead_zones():
    # The slope at the clamp's own ends is torch's choice, so a zone may begin a step of the grid later.
    zones = audited(wrong.hidden_clamp, samples="policy").dead_zones
    assert zones == ((-700.0, pytest.approx(-0.5, abs=0.5)), (pytest.approx(0.5, abs=0.5), 700.0))


def test_sums_and_masks_forgotten_in_the_denominator_are_seen():
    found = audited(wrong.sum_for_mean, samples="policy")
    assert not found.sequence_gradient.per_token
    assert "number of tokens" not in found.verdict
    found = audit(wrong.mask_not_in_denominator)
    assert found.reduction.padding == "divides by the padded length"
    assert "It depends on how far the batch is padded." in found.verdict


def test_charging_the_past_is_wrong_on_sequences_only():
    found = audited(wrong.cost_so_far, samples="policy").sequence_gradient
    assert not (found.exact and found.name == REVERSE)


def test_a_coupled_one_says_how_the_batch_matters():
    constants = [match.constant for _, match in audit(wrong.squared_mean).batches.gradients]
    assert constants == pytest.approx([2, 1, 2 / 3])
