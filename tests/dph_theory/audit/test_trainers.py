import inspect

import pytest
import torch

from dph_theory.audit.trainers import TRAINERS, audit_trainer_form

E = 2.718281828459045
REVERSE, FORWARD = "reverse KL(pi||ref)", "forward KL(ref||pi)"


def slope(form, x):
    """Value and slope of the form on one token of log ratio x, the old policy the policy."""
    log_pi = torch.tensor([[min(x, 0.0)]], dtype=torch.float64, requires_grad=True)
    given = {
        "log_pi": log_pi,
        "log_ref": torch.tensor([[min(-x, 0.0)]], dtype=torch.float64),
        "log_old": log_pi.detach().clone(),
        "mask": torch.ones(1, 1, dtype=torch.float64),
    }
    value = form.loss(**{name: given[name] for name in inspect.signature(form.loss).parameters})
    (found,) = torch.autograd.grad(value, log_pi)
    return float(value.detach()), float(found)


def form(trainer, flag, version=None, samples=None):
    (found,) = [
        f
        for f in TRAINERS
        if (f.trainer, f.flag) == (trainer, flag)
        and version in (None, f.version)
        and samples in (None, f.samples)
    ]
    return found


def test_every_key_is_one():
    keys = [(f.trainer, f.version, f.file, f.flag) for f in TRAINERS]
    assert len(set(keys)) == len(keys)
    assert len({(f.name, f.samples) for f in TRAINERS}) == len(keys)


@pytest.mark.parametrize(
    ("trainer", "flag", "version", "value", "gradient"),
    [
        ("verl", "kl_loss_type=low_var_kl, k3", None, E - 2, 1 - E),
        ("verl", "kl_loss_type=abs", None, 1, -1),
        ("verl", "kl_loss_type=k1+", None, -1, -1),
        ("verl", "kl_loss_type=abs+", None, 1, -1),
        ("verl", "kl_loss_type=low_var_kl+, k3+", None, E - 2, -1),
        ("NeMo-RL", "kl_type=k3", "2369c0aec", E - 2, 1 - E),
        ("NeMo-RL", "kl_type=k2", "33bce20d7", 0.5, -1 + 0.5),
        ("NeMo-RL", "kl_type=k1", "2206ae11f", -1, 1 - 1),
        ("NeMo-RL", "kl_type=k3", "2206ae11f", E - 2, E - 2 + 1 - E),
        ("slime", "k2 with importance_ratio", None, 0.5, -1 + 0.5),
        ("slime", "k1 with importance_ratio", None, -1, 1 - 1),
        ("slime", "k3 with importance_ratio", None, E - 2, -1),
        ("slime", "kl_loss_type=k2", None, 0.5, -1),
        ("open-instruct", "kl_estimator=3", None, -1, 1 - 1),
        ("open-instruct", "kl_estimator=2", None, E - 2, 1 - E),
        ("OpenRLHF", "kl_estimator=k2", None, 0.5, -1),
        ("oat", "beta", None, E - 2, 1 - E),
        ("oat", "kl_penalty_coef", None, 1, -1),
        ("prime-rl", "ref_kl", None, -1, -1),
        ("TRL", "use_bias_correction_kl=True (default from 1.10.0)", None, E - 2, -1),
        ("TRL", "use_bias_correction_kl=True, vLLM's ratio not on the KL", None, E - 2, -1),
    ],
)
def test_the_formulas_at_a_log_ratio_of_minus_one(trainer, flag, version, value, gradient):
    assert slope(form(trainer, flag, version), -1.0) == pytest.approx((value, gradient))


def test_clamps_act_where_the_code_has_them():
    k2 = form("OpenRLHF", "kl_estimator=k2")
    assert slope(k2, 4.47)[1] == pytest.approx(4.47)
    assert slope(k2, 4.48) == (10, 0)
    assert slope(form("open-instruct", "kl_estimator=1"), 41.0) == (800, 0)
    # After the ratio, in slime, the clamp stops the ratio's own gradient too.
    assert slope(form("slime", "low_var_kl with importance_ratio"), -5.0) == (10, 0)
    # In NeMo-RL the score's own gradient survived the clamp for three days.
    assert slope(form("NeMo-RL", "kl_type=k2", "33bce20d7"), 5.0) == (10, 10)
    assert slope(form("NeMo-RL", "kl_type=k2", "2206ae11f"), 5.0) == (10, 0)


@pytest.mark.parametrize(
    ("trainer", "flag", "samples", "gradient"),
    [
        ("verl", "kl_loss_type=kl, k1", "policy", "zero"),
        ("verl", "kl_loss_type=abs", "policy", "total variation"),
        ("verl", "kl_loss_type=k1+", "policy", REVERSE),
        ("verl", "use_kl_in_reward, kl", "policy", REVERSE),
        ("slime", "k1 with importance_ratio", "old_policy", REVERSE),
        ("TRL", "use_bias_correction_kl=False (default to 1.9.1)", "policy", FORWARD),
        ("oat", "beta", "policy", FORWARD),
        ("prime-rl", "ref_kl", "policy", REVERSE),
    ],
)
def test_what_the_flags_descend(trainer, flag, samples, gradient):
    found = audit_trainer_form(TRAINERS.index(form(trainer, flag, samples=samples)), 0).gradient
    assert (found.name, found.exact) == (gradient, True)
