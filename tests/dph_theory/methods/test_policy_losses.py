import math

import pytest

from dph_theory.audit import audit
from dph_theory.audit.catalogue import audit_form
from dph_theory.methods.policy_losses import POLICY_LOSSES
from dph_theory.methods.surrogates import policy_loss

REWARD = "minus expected reward"
FOREVER = math.inf


def row(trainer, flag, samples=None):
    (index,) = [i for i, form in enumerate(POLICY_LOSSES) if (form.trainer, form.flags) == (trainer, flag)]
    return audit_form(index, "policy losses", samples=samples)


def test_every_setting_of_every_trainer_stands_once():
    assert {form.trainer for form in POLICY_LOSSES} == {
        *("TRL", "verl", "NeMo-RL", "slime", "OpenRLHF", "open-instruct", "oat", "prime-rl"),
        *("SkyRL", "AReaL", "Tinker"),
    }
    keys = [(form.trainer, form.version, form.file, form.flags) for form in POLICY_LOSSES]
    assert len(set(keys)) == len({form.title for form in POLICY_LOSSES}) == len(keys)
    assert POLICY_LOSSES[0].title == f"TRL 1.16, {POLICY_LOSSES[0].flags}"


def test_trl_s_cispo_is_cut_to_a_fifth_by_its_default_bound():
    assert row("TRL", "loss_type=cispo").gradient.constant == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("trainer", "flag", "stopped"),
    [
        ("verl", "loss_mode=vanilla", [(0, 2.06e-9), (1.2, FOREVER), (0, 0.8), (3, FOREVER)]),
        ("verl", "loss_mode=geo_mean", [(1.22, FOREVER), (0, 0.819)]),
        ("verl", "loss_mode=dppo_tv", []),
    ],
)
def test_where_a_token_has_no_slope(trainer, flag, stopped):
    report = row(trainer, flag)
    assert [(zone.low, zone.high) for zone in report.stopped] == stopped
    assert (report.gradient.name, report.gradient.exact, report.selects) == (REWARD, True, "none")


@pytest.mark.parametrize(
    ("trainer", "flag", "scope", "ends"),
    [
        ("TRL", "use_vllm, mode sequence_mask (default)", "answers", (-FOREVER, 3**0.5)),
        ("NeMo-RL", "the same, icepop, .5 to 5", "single tokens", (0.5, 5.0)),
        ("NeMo-RL", "the same, seq-mask-tis, .5 to 2", "single tokens", (0.5, 2.0)),
        ("TRL", "off_policy_mask_threshold=.5", "single tokens", (0.8, 1.2)),
    ],
)
def test_between_which_ratios_to_the_sampler_the_reward_is_descended(trainer, flag, scope, ends):
    found = row(trainer, flag)
    (limit,) = found.limits
    assert (found.known.name, found.known.exact, found.scope) == (REWARD, True, scope)
    assert limit.what == "log(pi/old)"
    assert (math.exp(limit.low), math.exp(limit.high)) == pytest.approx((max(ends[0], 0), ends[1]), abs=1e-2)


def test_a_mask_of_far_failures_descends_nothing_known_once_the_policy_has_moved():
    found = row("slime", "use_opsm, opsm_delta=1e-4")
    assert (found.known.exact, found.selects) == (False, "none")


def test_a_mean_over_each_sequence_weighs_short_answers_more():
    assert not audit(policy_loss("reinforce", "sequence_mean")).unequal_gradient.exact
    found = audit(policy_loss("reinforce")).unequal_gradient
    assert (found.name, found.exact, found.per_token) == (REWARD, True, 1)


def test_an_infinite_ratio_overflows_and_times_zero_is_no_number():
    found = audit(policy_loss("clip", high=0.28))
    single, coarse = found.extremes
    assert (single.dtype, coarse.dtype) == ("float32", "bfloat16")
    for each in (single, coarse):
        assert each.finite[1] == pytest.approx(88.7, abs=0.1)
        assert min(map(abs, each.nan)) == 100.0
    assert "at log(pi/old) above 88.7" in dict(found.rows())["overflow"]
