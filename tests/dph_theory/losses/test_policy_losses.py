import math

import pytest

from dph_theory.audit import audit
from dph_theory.audit.catalogue import audit_form
from dph_theory.losses.policy_losses import POLICY_LOSSES, policy_loss

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


def test_an_infinite_ratio_overflows_and_times_zero_is_no_number():
    found = audit(policy_loss("clip", high=0.28))
    single, coarse = found.extremes
    assert (single.dtype, coarse.dtype) == ("float32", "bfloat16")
    for each in (single, coarse):
        assert each.finite[1] == pytest.approx(88.7, abs=0.1)
        assert min(map(abs, each.nan)) == 100.0
    assert "at log(pi/old) above 88.7" in dict(found.rows())["overflow"]
