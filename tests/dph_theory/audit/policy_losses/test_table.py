import pytest

from dph_theory.audit.policy_losses.table import POLICY_LOSSES, audit_row

REWARD = "minus expected reward"


def row(trainer, flag):
    (index,) = [i for i, form in enumerate(POLICY_LOSSES) if (form.trainer, form.flag) == (trainer, flag)]
    return audit_row(index, 0)


def test_every_trainer_is_there():
    assert {form.trainer for form in POLICY_LOSSES} == {
        *("TRL", "verl", "NeMo-RL", "slime", "OpenRLHF", "open-instruct", "oat", "prime-rl")
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


@pytest.mark.slow
def test_every_policy_loss_descends_the_reward_at_first():
    for index, form in enumerate(POLICY_LOSSES):
        found = audit_row(index, 0).on_policy
        assert (found.gradient.name, found.gradient.exact) == (REWARD, True), form.name
        assert found.failures == (), form.name
