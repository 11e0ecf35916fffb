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


AT_MINUS_ONE = {
    (-1, 1): [
        "verl 26b5d6b2b, kl_loss_type=kl, k1",
        "slime 624b824a8, kl_loss_type=k1",
        "OpenRLHF 3c3be6234, kl_estimator=k1",
        "open-instruct e6c3044aa, kl_estimator=0",
    ],
    (-1, -1): ["verl b8dc5377c, kl_loss_type=k1+", "prime-rl 559b44772, ref_kl"],
    (-1, 0): [
        "NeMo-RL 33bce20d7, kl_type=k1",
        "NeMo-RL 2206ae11f, kl_type=k1",
        "slime 624b824a8, k1 with importance_ratio",
        "open-instruct e6c3044aa, kl_estimator=3",
    ],
    (1, -1): [
        "verl 26b5d6b2b, kl_loss_type=abs",
        "verl b8dc5377c, kl_loss_type=abs+",
        "verl 26b5d6b2b, use_kl_in_reward, kl",
        "oat c1a074c32, kl_penalty_coef",
    ],
    (0.5, -1): [
        "verl 26b5d6b2b, kl_loss_type=mse, k2",
        "slime 624b824a8, kl_loss_type=k2",
        "OpenRLHF 3c3be6234, kl_estimator=k2",
        "open-instruct e6c3044aa, kl_estimator=1",
    ],
    (0.5, -0.5): [
        "NeMo-RL 33bce20d7, kl_type=k2",
        "NeMo-RL 2206ae11f, kl_type=k2",
        "slime 624b824a8, k2 with importance_ratio",
    ],
    (E - 2, 1 - E): [
        "TRL 1.16, use_bias_correction_kl=False (default to 1.9.1)",
        "verl 26b5d6b2b, kl_loss_type=low_var_kl, k3",
        "verl 26b5d6b2b, kl_loss_type=low_var_kl, k3, later updates",
        "NeMo-RL 2369c0aec, kl_type=k3",
        "NeMo-RL 2369c0aec, kl_type=k3, use_on_policy_kl_approximation",
        "slime 624b824a8, kl_loss_type=k3",
        "slime 624b824a8, kl_loss_type=low_var_kl",
        "OpenRLHF 3c3be6234, kl_estimator=k3",
        "open-instruct e6c3044aa, kl_estimator=2",
        "oat c1a074c32, beta",
    ],
    (E - 2, -1): [
        "TRL 1.16, use_bias_correction_kl=True (default from 1.10.0)",
        "TRL 1.16, the same, importance_sampling_level=sequence",
        "TRL 1.16, use_bias_correction_kl=True, vLLM's ratio not on the KL",
        "verl b8dc5377c, kl_loss_type=low_var_kl+, k3+",
        "NeMo-RL 33bce20d7, kl_type=k3",
        "NeMo-RL 33bce20d7, kl_type=k3, use_on_policy_kl_approximation",
        "NeMo-RL 2206ae11f, kl_type=k3",
        "NeMo-RL 2206ae11f, kl_type=k3, use_on_policy_kl_approximation",
        "slime 624b824a8, k3 with importance_ratio",
        "slime 624b824a8, low_var_kl with importance_ratio",
    ],
    (2 - E, E - 2): ["verl 26b5d6b2b, use_kl_in_reward, low_var_kl"],
    # The old policy is the policy here.
    (0, 0): ["prime-rl 559b44772, kl_tau"],
}
"""Value and slope at x = -1."""


def test_every_formula_at_a_log_ratio_of_minus_one():
    wanted = {name: pair for pair, names in AT_MINUS_ONE.items() for name in names}
    assert wanted.keys() == {form.name for form in TRAINERS}
    for each in TRAINERS:
        assert slope(each, -1.0) == pytest.approx(wanted[each.name]), each.name


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
