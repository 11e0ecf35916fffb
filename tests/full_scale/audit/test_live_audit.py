import inspect
import math

import pytest
import torch
from trl import GRPOConfig, GRPOTrainer

from dph_theory.audit import audit, audit_advantage
from dph_theory.losses.kl_terms import KL_TERMS
from dph_theory.losses.policy_losses import POLICY_LOSSES
from dph_theory.predict import configuration_of
from full_scale.audit.live_audit import (
    audit_file,
    audit_settings,
    audit_trainer,
    build_trainer,
    loss_of_file,
    trainer_advantage,
    trainer_loss,
)


def settings(**changes):
    return {"max_completion_length": 1, "loss_type": "dapo", "beta": 0.04, **changes}


def audited(trainer=GRPOTrainer, samples="policy", **changes):
    """The audit of a trainer's loss alone."""
    instance = build_trainer(settings(**changes), trainer)
    return audit(trainer_loss(instance, vllm=bool(changes.get("use_vllm"))), samples=samples)


def terms(report):
    match = report.sequence_gradient
    return {name: round(constant, 6) for constant, name in match.terms or ((match.constant, match.name),)}


REWARD = {"minus expected reward, per token": 1}


def kl(name, weight=0.04):
    return {f"token sum of {name} on the samples' prefixes, per token": weight}


@pytest.mark.parametrize(
    ("corrected", "term", "selects"),
    [
        (False, "forward KL(ref||pi)", "small-beta limit of k3"),
        (True, "reverse KL(pi||ref)", "constrained decoding"),
    ],
)
def test_the_flag_whose_default_flipped_decides_the_divergence_and_the_model_selected(
    corrected, term, selects
):
    report = audited(use_bias_correction_kl=corrected)
    assert terms(report) == REWARD | kl(term)
    assert (report.acts_on, report.selects) == ("each token", selects)
    assert report.reduction.words == "token mean over the batch"


class OwnStep(GRPOTrainer):
    """Its log-probabilities are a quarter, its loss twice TRL's."""

    def _get_per_token_logps_and_entropies(self, *args, **kwargs):
        log_probs, *rest = super()._get_per_token_logps_and_entropies(*args, **kwargs)
        return (log_probs / 4, *rest)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        return 2 * super().compute_loss(model, inputs, return_outputs, num_items_in_batch)


class KLInAdvantages(GRPOTrainer):
    """The KL of each sampled token, in its advantage."""

    def _generate_and_score_completions(self, inputs):
        scored = super()._generate_and_score_completions(inputs)
        old, ref = scored["old_per_token_logps"], scored["ref_per_token_logps"]
        return {**scored, "advantages": scored["advantages"][:, None] - 0.5 * (old - ref)}


class ReSampled(GRPOTrainer):
    def _generate(self, prompts):
        return super()._generate(prompts)


@pytest.mark.parametrize(
    ("trainer", "changes", "descended"),
    [
        (OwnStep, {"beta": 0.0}, {"minus expected reward": 0.5}),
        # TRL's own term is all but off; with two updates it keeps the old log-probabilities.
        (KLInAdvantages, {"beta": 1e-12, "num_iterations": 2}, REWARD | kl("reverse KL(pi||ref)", 0.5)),
    ],
)
def test_a_subclass_is_audited_by_what_it_does_itself(trainer, changes, descended):
    assert terms(audited(trainer, **changes)) == descended


def test_what_is_no_trainer_or_does_not_run_here_is_refused_by_name(tmp_path):
    plain = {"use_cpu": True, "bf16": False, "activation_checkpointing": False}
    config = GRPOConfig(str(tmp_path), beta=0.0, max_completion_length=1, **plain)
    for trainer, named in ((ReSampled, r"ReSampled\._generate"), (torch.nn.Linear, "Linear")):
        with pytest.raises(ValueError, match=rf"trainer='{named}' is not allowed"):
            audit_trainer(config, trainer)
    assert terms(audit_trainer(config).loss) == {"minus expected reward": 1}


def test_a_file_s_other_names_are_listed_and_its_step_is_a_loss(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("loss_type: dr_grpo\nmax_completion_length: 4\nbeta: 0.0\nlora_r: 8\n")
    report, ignored = audit_file(path)
    assert ignored == ("lora_r",)
    assert report.loss.sequence_gradient.constant == pytest.approx(1 / 4)
    path.write_text("beta: 0.04\nmax_completion_length: 1\n")
    log_pi, ones = -torch.ones(1, 1, dtype=torch.float64), torch.ones(1, 1, dtype=torch.float64)
    given = {"log_pi": log_pi, "log_ref": log_pi - 0.5, "log_old": log_pi, "advantages": 2 * ones}
    assert float(loss_of_file(path)(**given, mask=ones)) == pytest.approx(-2 + 0.04 * (math.exp(-0.5) - 0.5))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("entropy_coef: 0.01\n", r"entropy_coef=0\.01 is not allowed"),
        ("los_type: grpo\n", "setting key='los_type' is not allowed.*did you mean 'loss_type'"),
        ("beta: -1\n", "beta=-1 is not allowed"),
        ("actor_rollout_ref:\n  actor: {}\n", "'actor_rollout_ref' .*TRL's GRPOConfig"),
        ("- 1\n", "a YAML file of settings"),
    ],
)
def test_what_is_no_configuration_of_trl_is_refused(tmp_path, text, message):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    for read in (audit_file, loss_of_file):
        with pytest.raises(ValueError, match=message):
            read(path)


@pytest.mark.parametrize(
    ("scale", "weight"), [("none", "It maximises 0.75 V"), ("group", "sample std + 0.0001")]
)
def test_the_advantage_is_the_trainer_s_own(scale, weight):
    own = trainer_advantage(build_trainer(settings(scale_rewards=scale, num_generations=4)))
    assert weight in audit_advantage(own, group_size=4).verdict


@pytest.mark.parametrize(
    ("changes", "limit"),
    [
        ({"num_iterations": 2, "off_policy_mask_threshold": 0.1},
         "every ratio pi/old is between 0.905 and 1.2"),
        ({"use_vllm": True, "loss_type": "dr_grpo", "max_completion_length": 4},
         "the product over an answer of the ratio pi/old is at most 3"),
    ],
)  # fmt: skip
def test_off_policy_a_loss_holds_between_the_ratios_where_the_trainer_drops_an_answer(changes, limit):
    report = audited(samples="old_policy", beta=0.0, **changes)
    assert [bound.words for bound in report.limits] == [limit]


def test_a_whole_run_is_audited_off_policy_too_and_what_does_not_run_here_is_noted():
    batch = {"generation_batch_size": 512, "per_device_train_batch_size": 8, "scale_rewards": "batch"}
    follows = {"sync_ref_model": True, "ref_model_sync_steps": 64, "use_vllm": True}
    report = audit_settings(settings(top_p=0.5, reward_weights=[1.0, 0.5], **batch, **follows))
    assert report.advantage.couples_groups
    assert [name for name, _ in report.rows() if name.startswith("later, ")] != []
    for words in (
        "used for 64 updates",
        "corrected by sequence_mask",
        "The reference follows the policy every 64 steps",
        "Not audited, but may change the stationary policy: ",
        "top_p=0.5",
        "reward_weights=[1.0, 0.5]",
    ):
        assert words in report.verdict


def test_the_installed_defaults_change_nothing_that_is_read(tmp_path):
    config = GRPOConfig(output_dir=str(tmp_path), use_cpu=True, bf16=False, activation_checkpointing=False)
    configuration = configuration_of(config)
    objective = configuration.objective
    assert configuration.suspicious == configuration.changes == configuration.doubts == ()
    assert (objective.group_size, objective.updates, objective.unpredicted) == (8, 1, "")


def drawn():
    """Log-probabilities of three sequences of up to four tokens, their mask, and an advantage each."""
    generator = torch.Generator().manual_seed(0)
    names = ("log_pi", "log_ref", "log_old")
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


def form(forms, flags):
    """The catalogue's formula of TRL with these flags, as it words them."""
    (formula,) = [entry.loss for entry in forms if entry.trainer == "TRL" and entry.flags == flags]
    return formula


@pytest.mark.parametrize(
    ("flags", "restated"),
    [
        ({"use_bias_correction_kl": False}, "use_bias_correction_kl=False (default to 1.9.1)"),
        ({"use_bias_correction_kl": True}, "use_bias_correction_kl=True (default from 1.10.0)"),
        ({"importance_sampling_level": "sequence"}, "the same, importance_sampling_level=sequence"),
    ],
)
def test_the_catalogue_restates_the_installed_code(flags, restated):
    """The trainer's own code and the catalogue's formula, on the same tensors: value and gradient."""
    own, given = trainer_loss(build_trainer(settings(beta=1.0, loss_type="bnpo", **flags))), drawn()
    assert_same(form(KL_TERMS, restated), own, {**given, "advantages": 0 * given["advantages"]})


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
def test_the_policy_losses_restate_the_installed_code(flags, restated):
    own, given = trainer_loss(build_trainer(settings(beta=0.0, max_completion_length=4) | flags)), drawn()
    given["log_old"] = given["log_pi"] + 4 * (given["log_old"] - given["log_pi"])
    assert_same(form(POLICY_LOSSES, restated), own, given)


def test_vllm_s_ratio_is_on_the_policy_gradient_but_not_on_the_kl():
    (policy,) = [f for f in POLICY_LOSSES if f.trainer == "TRL" and "token_truncate" in f.flags]
    (kl,) = [f for f in KL_TERMS if f.trainer == "TRL" and "vLLM" in f.flags]
    given = drawn()
    given["log_old"] -= 1
    own = build_trainer(settings(beta=0.5, loss_type="bnpo", vllm_importance_sampling_mode="token_truncate"))

    def restated(log_pi, log_ref, log_old, advantages, mask):
        first = policy.loss(log_pi=log_pi, log_old=log_old, advantages=advantages, mask=mask)
        return first + 0.5 * kl.loss(log_pi=log_pi, log_ref=log_ref, mask=mask)

    assert_same(restated, trainer_loss(own, vllm=True), given)


def test_masked_tokens_between_an_answer_s_own_are_a_tool_s():
    own, given = trainer_loss(build_trainer(settings(beta=0.5, loss_type="grpo"))), drawn()
    holed = {name: values[:, [0, 3, 1, 2]] for name, values in given.items()}
    holed["mask"] = torch.tensor([[1.0, 0, 1, 1], [1, 0, 1, 0], [1, 0, 0, 0]], dtype=torch.float64)
    plain = {name: values[:, [0, 2, 3]] for name, values in holed.items()}
    assert float(value_and_slope(own, holed)[0]) == pytest.approx(float(value_and_slope(own, plain)[0]))
