import inspect
import math

import pytest
import torch
from trl import GRPOConfig, GRPOTrainer

from dph_theory.methods.kl_terms import KL_TERMS
from dph_theory.methods.policy_losses import POLICY_LOSSES
from dph_theory.predict.configuration import configuration_of
from full_scale.training.live_audit import (
    _build,
    _Scripted,
    audit_file,
    audit_settings,
    audit_trainer,
    loss_of_file,
    trainer_loss,
)

TOKENS = "on the samples' prefixes"


def settings(**changes):
    return {"max_completion_length": 1, "loss_type": "dapo", "beta": 0.04, **changes}


def gradient(tmp_path, trainer=GRPOTrainer, **changes):
    report = audit_settings(settings(**changes), tmp_path, trainer, GRPOConfig).loss
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
    found = audit_trainer(config, Doubled).loss.gradient
    assert (found.name, found.exact) == ("minus expected reward", True)
    assert found.constant == pytest.approx(2)
    with pytest.raises(ValueError, match="trainer='Linear' is not allowed"):
        audit_trainer(config, torch.nn.Linear)


def test_a_file_s_other_names_are_told_and_entropy_is_refused(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("loss_type: dr_grpo\nmax_completion_length: 4\nbeta: 0.0\nlora_r: 8\n")
    report, ignored = audit_file(path)
    assert ignored == ("lora_r",)
    assert report.loss.sequence_gradient.name == "minus expected reward"
    assert report.loss.sequence_gradient.constant == pytest.approx(1 / 4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("entropy_coef: 0.01\n", r"entropy_coef=0\.01 is not allowed"),
        ("los_type: grpo\n", "setting='los_type' is not allowed.*the nearest is loss_type"),
        ("beta: -1\n", "beta=-1 is not allowed"),
        ("actor_rollout_ref:\n  actor: {}\n", "actor_rollout_ref are verl's"),
        ("- 1\n", "a YAML file of settings"),
    ],
)
def test_what_is_no_configuration_of_trl_is_refused(tmp_path, text, message):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        audit_file(path)


class OwnLogProbs(GRPOTrainer):
    def _get_per_token_logps_and_entropies(self, *args, **kwargs):
        found, *rest = super()._get_per_token_logps_and_entropies(*args, **kwargs)
        return (found / 2, *rest)


class KLInAdvantages(GRPOTrainer):
    """The KL of each sampled token, in its advantage."""

    def _generate_and_score_completions(self, inputs):
        found = super()._generate_and_score_completions(inputs)
        old, ref = found["old_per_token_logps"], found["ref_per_token_logps"]
        return {**found, "advantages": found["advantages"][:, None] - 0.5 * (old - ref)}


class ReSampled(GRPOTrainer):
    def _generate(self, prompts):
        return super()._generate(prompts)


def found_of(tmp_path, trainer=GRPOTrainer, **changes):
    return audit_settings(settings(**changes), tmp_path, trainer, GRPOConfig)


def test_what_a_subclass_makes_of_log_probabilities_runs(tmp_path):
    plain, own = (found_of(tmp_path / of.__name__, of, beta=0.0) for of in (GRPOTrainer, OwnLogProbs))
    assert plain.loss.gradient.constant == pytest.approx(1)
    assert own.loss.gradient.constant == pytest.approx(0.5)


def test_what_a_subclass_adds_to_advantages_runs(tmp_path):
    # TRL's own term is all but off; with two updates it keeps the old log-probabilities.
    found = found_of(tmp_path, KLInAdvantages, beta=1e-12, num_iterations=2).loss.sequence_gradient
    terms = {name: round(constant, 6) for constant, name in found.terms}
    assert terms == {
        "minus expected reward, per token": 1,
        f"token sum of reverse KL(pi||ref) {TOKENS}, per token": 0.5,
    }


def test_what_does_not_run_here_is_refused_by_name(tmp_path):
    with pytest.raises(ValueError, match=r"trainer='ReSampled\._generate' is not allowed"):
        found_of(tmp_path, ReSampled)


@pytest.mark.parametrize(
    ("scale", "weight"), [("none", "It maximises 0.75 V"), ("group", "sample deviation + 0.0001")]
)
def test_the_advantage_is_the_trainer_s_own(tmp_path, scale, weight):
    found = found_of(tmp_path, scale_rewards=scale, num_generations=4, beta=0.0)
    assert weight in found.advantage.verdict
    assert found.advantage.group_size == 4
    assert found.later is None


def test_a_batch_s_deviation_couples_its_groups(tmp_path):
    assert found_of(tmp_path, scale_rewards="batch", beta=0.0).advantage.couples_groups


def test_several_updates_are_audited_off_policy(tmp_path):
    found = found_of(tmp_path, num_iterations=2, beta=0.0)
    assert [limit.words for limit in found.later.limits] == ["every ratio pi/old is between 0.8 and 1.2"]
    assert "A batch is used for 2 updates" in found.verdict
    masked = found_of(tmp_path / "opsm", num_iterations=2, beta=0.0, off_policy_mask_threshold=0.1)
    assert [limit.words for limit in masked.later.limits] == ["every ratio pi/old is between 0.905 and 1.2"]


def test_a_generated_batch_of_many_steps_is_audited_off_policy_and_what_does_not_run_is_named(tmp_path):
    asked = settings(
        generation_batch_size=512, per_device_train_batch_size=8, top_p=0.5, reward_weights=[1.0, 0.5]
    )
    report = audit_settings(asked, tmp_path, GRPOTrainer, GRPOConfig)
    assert report.later is not None
    assert any("used for 64 updates" in note for note in report.notes)
    assert (
        "Not run here, may change what the run selects: top_p=0.5, reward_weights=[1.0, 0.5]." in report.notes
    )


def test_the_installed_defaults_are_all_read_or_harmless(tmp_path):
    config = GRPOConfig(output_dir=str(tmp_path), use_cpu=True, bf16=False, activation_checkpointing=False)
    found = configuration_of(config)
    assert (found.not_read, found.group_size, found.updates) == ((), 8, 1)


def test_vllm_s_default_drops_whole_answers(tmp_path):
    found = found_of(tmp_path, use_vllm=True, beta=0.0, loss_type="dr_grpo", max_completion_length=4)
    assert "corrected by sequence_mask" in found.verdict
    (limit,) = found.later.limits
    # The ratio of an answer of two such tokens is the 3 beyond which TRL drops it.
    assert limit.words == "every ratio pi/old is at most 1.73"


def test_a_reference_that_follows_is_told(tmp_path):
    found = found_of(tmp_path, sync_ref_model=True, ref_model_sync_steps=64)
    assert "The reference follows the policy every 64 steps" in found.verdict


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
    (policy,) = [f for f in POLICY_LOSSES if f.trainer == "TRL" and "token_truncate" in f.flags]
    (kl,) = [f for f in KL_TERMS if f.trainer == "TRL" and "vLLM" in f.flags]
    given = drawn("log_pi", "log_ref", "log_old")
    given["log_old"] -= 1
    truncated = {"vllm_importance_sampling_mode": "token_truncate"}
    trainer = _build(settings(beta=0.5, loss_type="bnpo", **truncated), tmp_path, GRPOTrainer, GRPOConfig)

    def restated(log_pi, log_ref, log_old, advantages, mask):
        first = policy.loss(log_pi=log_pi, log_old=log_old, advantages=advantages, mask=mask)
        return first + 0.5 * kl.loss(log_pi=log_pi, log_ref=log_ref, mask=mask)

    assert_same(restated, trainer_loss(trainer, vllm=True), given)


def test_masked_tokens_between_an_answer_s_own_are_a_tool_s(tmp_path):
    trainer = _build(settings(beta=0.5, loss_type="grpo"), tmp_path, GRPOTrainer, GRPOConfig)
    own, given = trainer_loss(trainer), drawn("log_pi", "log_ref", "log_old")
    holed = {name: values[:, [0, 3, 1, 2]] for name, values in given.items()}
    holed["mask"] = torch.tensor([[1.0, 0, 1, 1], [1, 0, 1, 0], [1, 0, 0, 0]], dtype=torch.float64)
    plain = {name: values[:, [0, 2, 3]] for name, values in holed.items()}
    assert float(value_and_slope(own, holed)[0]) == pytest.approx(float(value_and_slope(own, plain)[0]))


def test_the_logits_of_a_scripted_model_have_its_log_probabilities():
    # Releases before 1.12 take them from there.
    model, ids = _Scripted(), torch.tensor([[2, 2, 2], [2, 3, 0]])
    model.log_probs = torch.tensor([[-1.0, -0.2], [-3.0, -20.0]], dtype=torch.float64, requires_grad=True)
    logits = model(ids).logits
    assert logits.shape == (2, 3, 4)
    found = logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None])[..., 0]
    assert torch.allclose(found, model.log_probs, atol=1e-12)
    (slope,) = torch.autograd.grad(found.sum(), model.log_probs)
    assert torch.allclose(slope, torch.ones_like(slope), atol=1e-9)


def test_the_step_of_a_file_is_a_loss(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text("beta: 0.04\nmax_completion_length: 1\n")
    log_pi = torch.tensor([[-1.0]], dtype=torch.float64, requires_grad=True)
    given = {"log_ref": log_pi.detach() - 0.5, "log_old": log_pi.detach()}
    ones = torch.ones(1, 1, dtype=torch.float64)
    loss = loss_of_file(path)(log_pi=log_pi, **given, advantages=2 * ones, mask=ones)
    assert float(loss.detach()) == pytest.approx(-2 + 0.04 * (math.exp(-0.5) - 0.5))
    path.write_text("los_type: grpo\n")
    with pytest.raises(ValueError, match="the nearest is loss_type"):
        loss_of_file(path)
