import pytest

from dph_theory.audit.policy_losses import audit_policy_loss
from dph_theory.audit.policy_losses import forms as f

REWARD = "minus expected reward"


def test_a_clipped_ratio_descends_the_reward_at_first_and_stops_where_it_is_clipped():
    report = audit_policy_loss(f.policy_loss(f.clipped(0.2, 0.28)), name="clipped")
    first = report.on_policy
    assert (first.gradient.name, first.gradient.exact) == (REWARD, True)
    assert first.gradient.constant == pytest.approx(1)
    assert (first.sequence_gradient.name, first.sequence_gradient.per_token) == (REWARD, True)
    assert (first.law, first.selects) == ("no penalty", "none")
    assert report.stopped_right == ((1.28, float("inf")),)
    assert report.stopped_wrong == ((0.0, 0.8),)
    assert not report.later.exact
    # An infinite ratio times zero.
    assert report.nan == (("float32", 100.0), ("bfloat16", 100.0))


def test_an_importance_ratio_stays_exact_on_single_tokens_but_not_on_sequences():
    report = audit_policy_loss(f.policy_loss(f.clipped(low=1.0, high=float("inf"))))
    assert (report.later.name, report.later.exact) == (REWARD, True)
    assert not report.sequence_later.exact
    assert report.stopped_right == report.stopped_wrong == ()


def test_a_region_of_probabilities_stops_no_ratio_at_all_of_them():
    report = audit_policy_loss(f.policy_loss(f.probability_region(0.2, binary_kl=False)))
    assert report.stopped_right == report.stopped_wrong == ()
    assert report.on_policy.gradient.exact


def test_a_mean_over_each_sequence_weighs_short_answers_more():
    found = audit_policy_loss(f.policy_loss(f.reinforce, f.sequence_mean)).on_policy.unequal_gradient
    assert not found.exact
    found = audit_policy_loss(f.policy_loss(f.reinforce)).on_policy.unequal_gradient
    assert (found.name, found.exact, found.per_token) == (REWARD, True, True)


def test_a_token_s_log_ratio_against_the_sampler_corrects_single_tokens():
    loss = f.policy_loss(f.corrected_for_the_sampler(f.clipped(), 1e9))
    report = audit_policy_loss(loss, samples="old_policy")
    assert (report.on_policy.gradient.name, report.on_policy.gradient.exact) == (REWARD, True)
    assert not report.on_policy.sequence_gradient.exact
