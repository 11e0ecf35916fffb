import inspect
from functools import partial

import pytest
import torch
from trl import GRPOConfig, GRPOTrainer

from dph_theory.audit.policy_loss import POLICY_LOSSES
from dph_theory.trainers import KL_TERMS
from full_scale.training.live_audit import _build, audit_file, audit_settings, audit_trainer, trainer_loss

TOKENS = "on the samples' prefixes"


def settings(**changes):
    return {"max_completion_length": 1, "loss_type": "dapo", "beta": 0.04, **changes}


def gradient(tmp_path, trainer=GRPOTrainer, **changes):
    report = audit_settings(settings(**changes), tmp_path, trainer, GRPOConfig)
    terms = {name: round(constant, 6) for constant, name in report.sequence_gradient.terms}
    return terms, report


def test_the_flag_whose_default_flipped_decides_the_divergence_and_the_model_selected(tmp_path):
    plain, report = gradient(tmp_path, use_bias_correction_kl=False)
    assert plain == {
        "minus expected reward, per token": 1,
        f"token sum of forward KL(ref||pi) {TOKENS}, per token": 0.04,
    }
    assert (report.law, report.selects) == ("each token", "token forward limit")
    corrected, report = gradient(tmp_path, use_bias_correction_kl=True)
    assert corrected == {
        "minus expected reward, per token": 1,
        f"token sum of reverse KL(pi||ref) {TOKENS}, per token": 0.04,
    }
    assert report.selects == "locally filtered model"
    assert report.reduction.words == "token mean over the batch"


def test_a_subclass_is_audited_with_its_own_loss(tmp_path):
    class Doubled(GRPOTrainer):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            return 2 * super().compute_loss(model, inputs, return_outputs, num_items_in_batch)

    here = {"use_cpu": True, "bf16": False, "activation_checkpointing": False}
    config = GRPOConfig(output_dir=str(tmp_path), beta=0.0, max_completion_length=1, **here)
    found = audit_trainer(config, Doubled).gradient
    assert (found.name, found.exact) == ("minus expected reward", True)
    assert found.constant == pytest.approx(2)
    with pytest.raises(ValueError, match="trainer='Linear' is not allowed"):
        audit_trainer(config, torch.nn.Linear)


def test_a_file_s_other_names_are_told_and_entropy_is_refused(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("loss_type: dr_grpo\nmax_completion_length: 4\nbeta: 0.0\nlora_r: 8\n")
    report, ignored = audit_file(path)
    assert ignored == ("lora_r",)
    assert report.sequence_gradient.name == "minus expected reward"
    assert report.sequence_gradient.constant == pytest.approx(1 / 4)
    path.write_text("entropy_coef: 0.01\n")
    with pytest.raises(ValueError, match=r"entropy_coef=0\.01 is not allowed"):
        audit_file(path)


def drawn(*names):
    """Log-probabilities of three sequences of up to four tokens, their mask, and an advantage each."""
    generator = torch.Generator().manual_seed(0)
    given = {name: -torch.rand(3, 4, generator=generator, dtype=torch.float64) for name in names}
    given["mask"] = torch.tensor([[1.0, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0]], dtype=torch.float64)
    given["advantages"] = torch.tensor([[1.0], [-0.5], [0.25]], dtype=torch.float64).expand(3, 4).clone()
    return given


def value_and_slope(loss, given):
    leaf = given["log_pi"].clone().requires_grad_()
    named = {name: given[name] for name in inspect.signature(loss).parameters if name in given}
    value = loss(**{**named, "log_pi": leaf})
    return value.detach(), torch.autograd.grad(value, leaf)[0]


def assert_same(restated, own, given):
    for mine, theirs in zip(value_and_slope(restated, given), value_and_slope(own, given), strict=True):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize(
    ("flags", "restated"),
    [
        ({"use_bias_correction_kl": False}, "use_bias_correction_kl=False (default to 1.9.1)"),
        ({"use_bias_correction_kl": True}, "use_bias_correction_kl=True (default from 1.10.0)"),
        ({"importance_sampling_level": "sequence"}, "the same, importance_sampling_level=sequence"),
    ],
)
def test_the_catalogue_restates_the_installed_code(tmp_path, flags, restated):
    """The trainer's own code and the catalogue's formula, on the same tensors: value and gradient."""
    (form,) = [f for f in KL_TERMS if (f.trainer, f.flags) == ("TRL", restated)]
    trainer = _build(settings(beta=1.0, loss_type="bnpo", **flags), tmp_path, GRPOTrainer, GRPOConfig)
    given = drawn("log_pi", "log_ref", "log_old")
    assert_same(form.loss, trainer_loss(trainer), {**given, "advantages": 0 * given["advantages"]})


SEQUENCE = {"importance_sampling_level": "sequence"}


@pytest.mark.parametrize(
    ("flags", "restated"),
    [
        ({"loss_type": "dapo"}, "loss_type=dapo (default)"),
        ({"loss_type": "bnpo"}, "loss_type=bnpo"),
        ({"loss_type": "grpo"}, "loss_type=grpo"),
        ({"loss_type": "dr_grpo"}, "loss_type=dr_grpo, max_completion_length=4"),
        ({"loss_type": "grpo", "delta": 4.0}, "loss_type=grpo, delta=4"),
        ({"loss_type": "grpo", **SEQUENCE}, "loss_type=grpo, importance_sampling_level=sequence"),
        ({"loss_type": "luspo", **SEQUENCE}, "loss_type=luspo, importance_sampling_level=sequence"),
        ({"loss_type": "cispo"}, "loss_type=cispo"),
        ({"loss_type": "cispo", "epsilon_high": 5.0}, "loss_type=cispo, epsilon_high=5"),
        ({"loss_type": "sapo"}, "loss_type=sapo"),
        ({"loss_type": "vespo"}, "loss_type=vespo"),
    ],
)
def test_the_policy_losses_restate_the_installed_code(tmp_path, flags, restated):
    (form,) = [f for f in POLICY_LOSSES if (f.trainer, f.flags) == ("TRL", restated)]
    known = settings(beta=0.0, max_completion_length=4)
    trainer = _build({**known, **flags}, tmp_path, GRPOTrainer, GRPOConfig)
    given = drawn("log_pi", "log_ref", "log_old")
    given["log_old"] = given["log_pi"] + 4 * (given["log_old"] - given["log_pi"])
    assert_same(form.loss, trainer_loss(trainer), given)


def test_vllm_s_ratio_is_on_the_policy_gradient_but_not_on_the_kl(tmp_path):
    (policy,) = [f for f in POLICY_LOSSES if f.trainer == "TRL" and "vllm" in f.flags]
    (kl,) = [f for f in KL_TERMS if f.trainer == "TRL" and "vLLM" in f.flags]
    given = drawn("log_pi", "log_ref", "sampler")
    sampler = given.pop("sampler") - 1
    trainer = _build(settings(beta=0.5, loss_type="bnpo"), tmp_path, GRPOTrainer, GRPOConfig)
    correction = torch.exp(given["log_pi"] - sampler).clamp(max=3.0)
    own = partial(trainer_loss(trainer, vllm=True, correction=correction), log_old=given["log_pi"])

    def restated(log_pi, log_ref, advantages, mask):
        first = policy.loss(log_pi=log_pi, log_old=sampler, advantages=advantages, mask=mask)
        return first + 0.5 * kl.loss(log_pi=log_pi, log_ref=log_ref, mask=mask)

    def uncorrected(log_pi, log_ref, log_old, advantages, mask):
        return own(log_pi=log_pi, log_ref=log_ref, advantages=advantages, mask=mask)

    given["log_old"] = sampler
    assert_same(restated, uncorrected, given)
