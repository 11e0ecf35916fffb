import math

import pytest

from dph_theory.audit import audit_policy_loss
from dph_theory.audit.policy_loss import audit_trainer_policy_loss
from dph_theory.losses import policy_losses as f
from dph_theory.methods.policy_losses import POLICY_LOSSES

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
    loss = f.policy_loss(f.corrected_for_the_sampler(f.clipped(), f.truncated(1e9)))
    report = audit_policy_loss(loss, samples="old_policy")
    assert (report.on_policy.gradient.name, report.on_policy.gradient.exact) == (REWARD, True)
    assert not report.on_policy.sequence_gradient.exact


def row(trainer, flag):
    (index,) = [i for i, form in enumerate(POLICY_LOSSES) if (form.trainer, form.flags) == (trainer, flag)]
    return audit_trainer_policy_loss(index, 0)


def test_every_trainer_is_there():
    assert {form.trainer for form in POLICY_LOSSES} == {
        *("TRL", "verl", "NeMo-RL", "slime", "OpenRLHF", "open-instruct", "oat", "prime-rl"),
        *("SkyRL", "AReaL", "Tinker"),
    }


def test_trl_s_cispo_is_cut_to_a_fifth_by_its_default_bound():
    assert row("TRL", "loss_type=cispo").on_policy.gradient.constant == pytest.approx(0.2)
    assert row("TRL", "loss_type=cispo, epsilon_high=5").on_policy.gradient.constant == pytest.approx(1)


@pytest.mark.parametrize(
    ("trainer", "flag", "right", "wrong"),
    [
        ("verl", "loss_mode=vanilla", ((0, 2.06e-9), (1.2, float("inf"))), ((0, 0.8), (3, float("inf")))),
        ("verl", "loss_mode=geo_mean", ((1.22, float("inf")),), ((0, 0.819),)),
        ("verl", "loss_mode=gspo", ((1.2, float("inf")),), ((0, 0.8), (2.2e4, float("inf")))),
        ("verl", "loss_mode=cispo", (), ()),
        ("TRL", "loss_type=grpo, delta=4", ((1.2, float("inf")),), ((0, 0.8), (4, float("inf")))),
    ],
)
def test_where_a_token_has_no_slope(trainer, flag, right, wrong):
    report = row(trainer, flag)
    assert (report.stopped_right, report.stopped_wrong) == (right, wrong)
    assert (report.on_policy.gradient.name, report.on_policy.gradient.exact) == (REWARD, True)


RATIO = "log(pi/old)"
FOREVER = float("inf")


@pytest.mark.parametrize(
    ("trainer", "flag", "outcomes", "sequences"),
    [
        ("TRL", "use_vllm, mode sequence_mask (default)", (-FOREVER, 3.0), (-FOREVER, 3**0.5)),
        ("TRL", "use_vllm, mode token_truncate", (-FOREVER, 3.0), None),
        ("NeMo-RL", "the same, icepop, .5 to 5", (0.5, 5.0), None),
        ("NeMo-RL", "the same, seq-mask-tis, .5 to 2", (0.5, 2.0), None),
        ("slime", "use_tis", (-FOREVER, 2.0), None),
        ("OpenRLHF", "is_correction_type=tis, .5 to 5", (0.5, 5.0), None),
        ("verl", "rollout_correction.rollout_is=token", (-FOREVER, 2.0), None),
        ("TRL", "off_policy_mask_threshold=.5", (0.8, 1.2), None),
    ],
)
def test_between_which_ratios_to_the_sampler_the_reward_is_descended(trainer, flag, outcomes, sequences):
    found = row(trainer, flag).on_policy
    for limits, wanted in ((found.limits, outcomes), (found.sequence_limits, sequences)):
        assert [limit.what for limit in limits] == ([] if wanted is None else [RATIO])
        for limit, end in zip(limits, [wanted] if wanted else [], strict=True):
            assert (max(limit.low, -99.0), limit.high) == pytest.approx(
                (math.log(end[0]) if end[0] > 0 else -99.0, math.log(end[1])), abs=2e-3
            )
    gradient = found.near_gradient if found.near_gradient.exact else found.gradient
    assert (gradient.name, gradient.exact) == (REWARD, True)


def test_a_mask_of_far_failures_descends_nothing_known_once_the_policy_has_moved():
    found = row("slime", "use_opsm, opsm_delta=1e-4").on_policy
    assert (found.gradient.exact, found.near_gradient.exact, found.selects) == (False, False, "none")


@pytest.mark.slow
def test_every_policy_loss_descends_the_reward_at_first():
    for index, form in enumerate(POLICY_LOSSES):
        found = audit_trainer_policy_loss(index, 0).on_policy
        assert found.failures == (), form.title
        if form.samples == "policy":
            assert (found.gradient.name, found.gradient.exact) == (REWARD, True), form.title


def test_every_setting_stands_once():
    keys = [(form.trainer, form.version, form.file, form.flags) for form in POLICY_LOSSES]
    assert len(set(keys)) == len({form.title for form in POLICY_LOSSES}) == len(keys)
    assert POLICY_LOSSES[0].title == f"TRL 1.16, {POLICY_LOSSES[0].flags}"


def test_a_report_is_shown_in_a_few_lines():
    report = audit_policy_loss(f.policy_loss(f.clipped()), name="clipped")
    assert "Later, off the old policy, its direction is" in report.verdict
    assert "r >= 1.2" in repr(report)
    assert "<table>" in report._repr_html_()
