"""What a trainer's settings amount to: tables of settings as they are typed and what is told of them."""

import re
from dataclasses import dataclass

import pytest

from dph_theory.losses.kl_terms import FILTERED, FORWARD_LIMIT, LOCAL
from dph_theory.predict.interpretation import READERS, configuration_of
from dph_theory.predict.run_files import overridden

SHORT = {"A": "actor_rollout_ref.actor", "R": "actor_rollout_ref.rollout", "L": "algorithm", "F": "loss_fn"}
SHORT |= {"V": "algo.advantage", "K": "algo.kl", "O": "orchestrator", "S": "trainer.algorithm"}
"""What the first letter of a name with dots stands for in the tables below."""


def settings(words):
    """Settings as they are typed behind a trainer's name: NAME=VALUE NAME=VALUE."""
    return overridden([re.sub(r"^([A-Z])(?=\.)", lambda found: SHORT[found[1]], word) for word in words])


def of(line):
    """The configuration of a trainer's settings."""
    trainer, *words = line.split()
    return configuration_of(settings(words), trainer)


PER_TOKEN, WHOLE, FORWARD = "reverse KL per token", "reverse KL of the whole answer", "forward KL per token"
CLAMPED, PLUS = "; below 7.3% of .*", "slime kl-coef=0.1 advantage-estimator=reinforce_plus_plus "
UNHELD = "none: no KL to the base"
SAMPLING = "nothing of the base: the pass rate tends to 1, and sampling noise decides"


@pytest.mark.parametrize(
    ("line", "kl", "selects"),
    [
        ("trl beta=0.04", PER_TOKEN, LOCAL),
        ("trl beta=0.04 use_bias_correction_kl=false", FORWARD, FORWARD_LIMIT),
        ("trl beta=0.04 importance_sampling_level=sequence",
         "1/L reverse and 1 - 1/L forward KL per token, in answers of L tokens", "not known"),
        # verl issue 3276: both KLs on.
        ("verl A.use_kl_loss=true L.use_kl_in_reward=true", "not known: of the sum of .*", "not known"),
        ("trl loss_type=dapo", UNHELD, SAMPLING),
        ("verl A.use_kl_loss=true", FORWARD + CLAMPED, LOCAL),
        ("verl A.use_kl_loss=true A.kl_loss_type=k3+", PER_TOKEN, LOCAL),
        ("verl L.use_kl_in_reward=true", WHOLE, FILTERED),
        ("verl A.ppo_epochs=1 A.kl_loss_coef=0.1", UNHELD, SAMPLING),
        ("slime use-kl-loss=true kl-loss-coef=0.01 kl-loss-type=k2", PER_TOKEN, LOCAL),
        (PLUS, WHOLE, FILTERED),
        ("slime kl-coef=0 kl-loss-coef=0.1", UNHELD, SAMPLING),
        ("openrlhf K.init_coef=0.01", WHOLE, FILTERED),
        ("openrlhf K.use_loss=true K.estimator=k2", PER_TOKEN + "; below 1.1% of .*", LOCAL),
        ("openrlhf K.use_loss=true K.estimator=k3", FORWARD + CLAMPED, LOCAL),
        ("openrlhf K.use_loss=true K.estimator=k3 K.unbiased_gradient=true", PER_TOKEN, LOCAL),
        ("openrlhf K.init_coef=0", UNHELD, SAMPLING),
        ("nemo-rl F.ratio_clip_min=0.2", PER_TOKEN + CLAMPED, LOCAL),
        ("nemo-rl F.reference_policy_kl_type=k2", "not known", "not known"),
        ("nemo-rl F.reference_policy_kl_penalty=0", UNHELD, SAMPLING),
        ("skyrl S.use_kl_loss=true", FORWARD + CLAMPED, LOCAL),
        ("skyrl S.use_kl_loss=false", UNHELD, SAMPLING),
        ("skyrl S.kl_loss_coef=0", UNHELD, SAMPLING),
        ("areal actor.kl_ctl=0.1 ref.path=base", WHOLE, FILTERED),
        ("areal actor.kl_ctl=0", UNHELD, SAMPLING),
        # Without a reference the KL is an entropy bonus.
        ("areal actor.ppo_n_minibatches=4", "none: no ref is set: .* an entropy bonus .*", "all correct"),
        ("tinker kl_penalty_coef=0.1 async_config.max_steps_off_policy=3", PER_TOKEN, LOCAL),
        ("tinker kl_penalty_coef=0.1 kl_discount_factor=1", WHOLE, FILTERED),
        ("tinker kl_penalty_coef=0", UNHELD, SAMPLING),
        ("prime-rl O.algo.type=opd", PER_TOKEN, LOCAL),
        ("prime-rl O.batch_size=128", UNHELD, SAMPLING),
    ],
)  # fmt: skip
def test_the_stationary_kl_is_that_of_the_penalty_that_is_on(line, kl, selects):
    found = of(line)
    assert re.fullmatch(kl, found.stationary_kl)
    assert found.selects.startswith(selects)
    assert (found.penalty == "none") is (kl == UNHELD)


ZERO, GROUP = "its expected gradient is zero", "the group's mean subtracted, "
OTHERS = "the mean of the group's other answers subtracted"
FIRST = "trl beta=0.04 "
VECTORIZED = "verl L.adv_estimator=grpo_vectorized L.norm_adv_by_std_in_grpo=false R.n=8"
SLIME = "slime kl-loss-coef=0.1 use-kl-loss=true kl-loss-type=k2 "
AREAL = "areal actor.kl_ctl=0.1 ref.path=base "


@pytest.mark.parametrize(
    ("line", "field", "words"),
    [
        ("slime advantage-estimator=grpo kl-coef=0.1", "inert", "--kl-coef (under grpo the KL is computed"),
        ("slime use-kl-loss=true kl-loss-coef=0.1", "inert", f"k1 in the loss, 0.1 x x: {ZERO}"),
        ("slime kl-loss-coef=0.1 use-tis=true", "inert", "--kl-loss-coef (no --use-kl-loss)"),
        ("verl A.kl_loss_coef=0.1", "inert", "use_kl_loss is off"),
        ("verl L.kl_ctrl.kl_coef=0.1", "inert", "use_kl_in_reward is off"),
        ("verl A.use_kl_loss=true A.kl_loss_type=kl", "inert", ZERO),
        ("openrlhf K.use_loss=true", "inert", ZERO),
        ("trl beta=0 use_bias_correction_kl=true", "inert", "use_bias_correction_kl (beta = 0)"),
        ("nemo-rl F.use_kl_in_reward=true", "inert", "under grpo the rewards hold no KL, and"),
        ("skyrl S.kl_estimator_type=k1", "inert", ZERO),
        ("skyrl S.use_kl_loss=false S.kl_loss_coef=0.1", "inert", "no KL is on"),
        ("tinker kl_penalty_coef=0 kl_discount_factor=0.5", "inert", "discount_factor (kl_penalty_coef = 0)"),
        (VECTORIZED, "inert", "not handed on to grpo_vectorized"),
        (VECTORIZED, "advantage", "scale='std'"),
        ("nemo-rl F.ratio_clip_min=0.2", "advantage", f"{OTHERS}, divided"),
        ("nemo-rl grpo.use_leave_one_out_baseline=false", "advantage", f"{GROUP}std-normalised"),
        ("nemo-rl grpo.normalize_rewards=false", "advantage", f"{OTHERS}: "),
        ("areal actor.kl_ctl=0", "advantage", "no baseline"),
        ("prime-rl O.algo.type=max_rl", "advantage", f"{GROUP}divided by it: log V"),
        ("trl scale_rewards=none loss_type=grpo", "advantage", "the same weight"),
        ("verl L.adv_estimator=opo", "advantage", "the mean weighed by lengths"),
        ("verl L.adv_estimator=reinforce_plus_plus", "advantage", "divided by the whole batch's"),
        ("verl L.adv_estimator=grpo R.n=1", "advantage", "one answer a prompt, so no group"),
        ("verl L.adv_estimator=grpo_passk R.n=8", "advantage", "the best answer's reward less the second"),
        ("verl L.adv_estimator=rloo R.n=8", "advantage", f"{OTHERS}: "),
        ("openrlhf V.estimator=group_norm", "advantage", f"{GROUP}std-normalised"),
        ("trl loss_type=grpo", "reduction", "each answer"),
        ("trl num_iterations=2 steps_per_generation=8 gradient_accumulation_steps=4", "updates", "4.0"),
        ("trl beta=0 generation_batch_size=512 per_device_train_batch_size=8", "updates", "64.0"),
        ("trl beta=0 generation_batch_size=512 gradient_accumulation_steps=4", "updates", "16.0"),
        ("slime rollout-batch-size=32 n-samples-per-prompt=8 global-batch-size=64", "updates", "4.0"),
        ("trl beta=0 use_vllm=true", "sampler", "vLLM, corrected by sequence_mask"),
        ("areal actor.ppo_n_minibatches=4", "warnings", "0.1 unless it is set"),
        ("verl R.n=8", "unpredicted", "a learned value function"),
        ("openrlhf V.estimator=reinforce", "unpredicted", "the KL is std-normalised along"),
        ("nemo-rl grpo.adv_estimator.name=gdpo", "unpredicted", "that of gdpo: no weight is known"),
        ("tinker kl_penalty_coef=0.1", "unpredicted", "how many answers a prompt has (group_size)"),
        (SLIME, "unpredicted", "how many answers a prompt has (n-samples-per-prompt)"),
        # What nothing reads may change the law, a clip only where a batch is used more than once.
        (FIRST + "top_entropy_quantile=0.2", "unpredicted", "the tokens left out have the KL's gradient"),
        (FIRST + "delta=1.5", "undecided", "delta=1.5 (not read)"),
        # Where a batch is used once its weight is 1: the trainer's own code.
        (FIRST + "loss_type=vespo", "unpredicted", ""),
        (FIRST + "entropy_coef=0.01", "sampling", "lifts what is rare, incorrect answers too"),
        (FIRST + "epsilon_high=0.28", "not_read", "()"),
        (FIRST + "epsilon_high=0.28 num_iterations=2", "not_read", "epsilon_high=0.28 (a clip"),
        (FIRST + "learning_rate=1e-6 output_dir=out top_p=1", "not_read", "()"),
        ("verl A.use_kl_loss=true L.filter_groups.enable=true", "sampling", "retain 1 - V^(G-1) of theirs"),
        ("verl R.n=8 R.tp=2", "undecided", "actor_rollout_ref.rollout.tp=2 (not read)"),
        ("verl R.n=8 R.tp=0 R.multi_turn.enable=false R.multi_turn.new=1", "undecided", "()"),
        ("verl A.use_kl_loss=true A.optim.lr=1e-6 trainer.nnodes=1", "not_read", "()"),
        ("openrlhf algo.dynamic_filtering_enable=true", "sampling", "all correct or all incorrect are left"),
        ("slime entropy-coef=0.1 kl-coef=0", "sampling", "lifts what is rare"),
        ("slime kl-coef=0 lr=1e-6 sglang-mem-fraction-static=0.8", "not_read", "()"),
        # Sampling from the policy itself does nothing.
        (FIRST + "temperature=1 top_p=1 top_k=0 min_p=null reward_weights=1.0", "sampling", "()"),
        (FIRST + "sync_ref_model=false mask_truncated_completions=false", "sampling", "()"),
        ("trl beta=0 ref_model_sync_steps=64", "sampling", "()"),
        ("areal actor.kl_ctl=0 actor.ppo_n_minibatches=1 gconfig.top_k=100000000", "sampling", "()"),
    ],
)  # fmt: skip
def test_what_is_told_beside_the_law(line, field, words):
    configuration = of(line)
    owner = configuration if hasattr(configuration, field) else configuration.objective
    assert words in str(getattr(owner, field))


@pytest.mark.parametrize("trainer", READERS)
def test_every_reader_has_a_law_for_its_defaults_and_names_what_it_does_not_read(trainer):
    assert configuration_of({}, trainer).stationary_kl
    assert configuration_of({"colour": 1}, trainer).objective.undecided == ("colour=1 (not read)",)


@pytest.mark.parametrize(
    ("line", "without"),
    [
        ("verl L.use_kl_in_reward=true L.adv_estimator=grpo R.n=8", "L.norm_adv_by_std_in_grpo=false"),
        ("skyrl S.use_kl_in_reward=true S.use_kl_loss=false", "S.grpo_norm_by_std=false"),
        ("openrlhf K.init_coef=0.01 V.estimator=reinforce", "V.no_std_norm=true"),
        ("openrlhf K.init_coef=0.01 V.estimator=reinforce", "V.estimator=group_norm"),
        (AREAL + "actor.adv_norm.mean_level=batch", "actor.adv_norm.std_level=null"),
        (PLUS + "normalize-advantages=true", "normalize-advantages=false"),
    ],
)  # fmt: skip
def test_the_trap_of_dividing_penalised_rewards_is_told(line, without):
    (warning,) = (text for text in of(line).warnings if "--trainer-version" not in text)
    assert "std-normalised" in warning
    assert not any("std-normalised" in text for text in of(f"{line} {without}").warnings)


NEMO = "nemo-rl F.ratio_clip_min=0.2 grpo."
SKYRL = "skyrl S.use_kl_loss=true "
TINKER = "tinker kl_penalty_coef=0.1 temperature=0.7 "
MOVING = FIRST + "sync_ref_model=true"
RESETS = "follows every 64 steps: after m resets, each when converged, beta acts as beta/(1 + 1 m)"


@pytest.mark.parametrize(
    ("line", "moved_by", "unpredicted", "words"),
    [
        (FIRST + "temperature=0.7", "temperature=0.7", "", "log-odds, as beta/0.7 would"),
        ("trl beta=0 top_p=0.9", "top_p=0.9", "", "at full sampling ends just above 0.9 a token"),
        (FIRST + "top_k=20 min_p=0.1", "top_k=20, min_p=0.1", "leave tokens out", "ends below 1;"),
        (MOVING, "sync_ref_model=True", "follows", "beta/(1 + 0.6 m)"),
        (MOVING + " ref_model_mixup_alpha=1 ref_model_sync_steps=64", "sync_ref", "follows", RESETS),
        (FIRST + "mask_truncated_completions=true", "mask_tr", "what their share converges to", "can grow"),
        (FIRST + "reward_weights=0.5", "reward_weights=0.5", "not alone", "a e^(r/beta)"),
        (FIRST + "max_completion_length=512", "", "", "correct, and short enough"),
        (FIRST + "steps_per_generation=4", "", "", "up to 3 updates old: the same stationary policy"),
        ("verl L.use_kl_in_reward=true R.temperature=0.6", "temp", "", "changes nothing of a KL"),
        ("verl A.use_kl_loss=true R.top_k=-1", "", "", "trainer's changes what it converges to, unless"),
        (SLIME + "ref-update-interval=50", "--ref", "follows", "every 50"),
        (NEMO + "overlong_filtering=true", "overlong_filtering=True", "", "can grow"),
        (NEMO + "async_grpo.max_trajectory_age_steps=4", "", "", "0.17 times that of new"),
        (SKYRL + "generator.sampling_params.temperature=0.6", "temp", "", "what the reference is at 1"),
        (AREAL + "gconfig.temperature=0.6", "temp", "another temperature", "a KL to go sees"),
        (AREAL + "gconfig.temperature=0.6 actor.temperature=0.6", "temperature=0.6", "", "0.6 times"),
        (TINKER, "temperature=0.7", "another temperature", "it converges elsewhere"),
        (TINKER + "kl_discount_factor=1", "temp", "another temperature", "a KL to go sees"),
    ],
)  # fmt: skip
def test_what_sampling_does_to_the_law_is_told(line, moved_by, unpredicted, words):
    found = of(line)
    assert bool(found.moved_by) == bool(moved_by)
    assert moved_by in ", ".join(found.moved_by)
    assert unpredicted in found.objective.unpredicted
    assert any(words in said for said in found.sampling), found.sampling
    assert found.not_read == ()


@pytest.mark.parametrize(
    ("line", "undecided"),
    [
        ("trl loss_type=grpo bata=0.1", "bata=0.1 (not read; is beta meant?)"),
        ("trl loss_type=grpo bata=0", "bata=0 (not read; is beta meant?)"),
        ("trl beta=0 los_type=grpo", "los_type=grpo (not read; is loss_type meant?)"),
        ("verl A.use_kl_los=true", "(not read; is actor_rollout_ref.actor.use_kl_loss meant?)"),
        ("verl A.use_kl_loss=true kl_loss_coef=0.1", "is actor_rollout_ref.actor.kl_loss_coef mea"),
        ("slime kl-loss-coef=0.1 use-kl-los=true", "--use-kl-los=True (not read; is --use-kl-loss meant?)"),
        ("openrlhf K.init_coeff=0.1", "is algo.kl.init_coef meant?"),
        ("verl A.use_kl_loss=true A.kl_loss_type=k9", "kl_loss_type=k9 (not known here)"),
        ("verl A.loss_agg_mode=token_meen", "loss_agg_mode=token_meen (not known here; is token-mean mea"),
        ("trl beta=0 loss_type=drgrpo", "loss_type=drgrpo (not known here; is dr_grpo meant?)"),
        ("trl beta=0 loss_type=foo", "loss_type=foo (not known here)"),
        ("trl beta=0.1 loss_type=dppo", "loss_type=dppo (not known here)"),
        ("trl beta=0.1 use_vllm=true vllm_importance_sampling_mode=new", "()"),
        ("trl num_iterations=2 num_itertions=4", "num_itertions=4 (not read; is num_iterations meant?)"),
        ("trl beta=0.04 epsilon_hihg=0.3", "epsilon_hihg=0.3 (not read; is epsilon_high meant?)"),
        ("skyrl S.use_kl_loss=true S.loss_reduction=foo", "trainer.algorithm.loss_reduction=foo (not known"),
        ("openrlhf V.estimator=rlo", "is rloo meant"),
        ("slime advantage-estimator=grop", "is grpo meant"),
        ("verl L.adv_estimator=gpro", "is grpo meant"),
        ("nemo-rl grpo.adv_estimator.name=foo", "grpo.adv_estimator.name=foo (not known here)"),
        ("prime-rl O.algo.type=foo", "orchestrator.algo.type=foo (not known here)"),
        ("trl beta=0.04 kl_coef=0.1", "kl_coef=0.1 (not read)"),
        ("verl L.adv_estimator=grpo L.kl_ctrl.type=adaptive", "algorithm.kl_ctrl.type=adaptive (not read)"),
        # What a recipe adds to a trainer.
        ("verl L.adv_estimator=grpo A.use_off_policy_loss=true", "actor.use_off_policy_loss=True (not read)"),
        ("verl L.adv_estimator=grpo A.kl_loss_mode=flow", "actor.kl_loss_mode=flow (not read"),
    ],
)  # fmt: skip
def test_of_settings_that_are_not_known_or_not_read_no_law_is_told(line, undecided):
    configuration = of(line)
    assert undecided in (configuration.objective.undecided or ("()",))[0]
    assert configuration.stationary_kl.startswith("nothing is predicted") is (undecided != "()")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("trl beta=0.1 num_generations=1", "num_generations=1 is not allowed: a whole number, at least 2"),
        ("trl beta=0.1 num_generations=4.5", "a whole number"),
        ("trl beta=0 gradient_accumulation_steps=0", "a whole number, at least 1"),
        ("trl beta=0 generation_batch_size=100", "size=100 is not allowed: a multiple of per_device"),
        ("trl beta=nan", "a number, at least 0"),
        ("trl beta=-1", "beta=-1 is not allowed"),
        ("trl beta=much", "beta='much' is not allowed"),
        ("trl beta=0.1 use_bias_correction_kl=perhaps", "true or false"),
    ],
)  # fmt: skip
def test_a_value_that_is_not_allowed_is_an_error_that_says_what_is(line, says):
    with pytest.raises(ValueError, match=says):
        of(line)


@pytest.mark.parametrize(
    "line",
    ["colour=red", "beta=0.1", "beta=0.1 num_generations=8 num_iterations=2", "n_samples_per_prompt=8"],
)
def test_names_that_trainers_share_tell_no_trainer(line):
    with pytest.raises(ValueError, match=r"no trainer known here \(--trainer: one of trl, verl, slime, open"):
        configuration_of(settings(line.split()))


def test_a_version_before_the_default_changed_has_the_old_one():
    assert configuration_of({"beta": 0.1}, "trl", version="1.9").stationary_kl == "forward KL per token"
    assert configuration_of({"beta": 0.1}, "trl", version="1.10").stationary_kl == "reverse KL per token"
    assert configuration_of({"beta": 0.1}, "trl", version="0.18").stationary_kl == "forward KL per token"
    assert configuration_of({"num_generations": 8}, "trl", version="0.18").objective.coefficient == 0.04
    with pytest.raises(ValueError, match=r"version='0.13' is not allowed: 0.14 or later"):
        configuration_of({"beta": 0.1}, "trl", version="0.13")
    with pytest.raises(ValueError, match="version='main' is not allowed: a dotted number"):
        configuration_of({"beta": 0.1}, "trl", version="main")
    with pytest.raises(ValueError, match=r"version='1.9' is not allowed: none for skyrl"):
        configuration_of({}, "skyrl", version="1.9")


@dataclass
class OldConfig:
    """A GRPOConfig from before the flag."""

    beta: float = 0.04
    reward_weights: tuple[float, ...] | None = None


@dataclass
class NewConfig(OldConfig):
    use_bias_correction_kl: bool = True


def test_a_configuration_object_is_read():
    assert configuration_of(OldConfig()).stationary_kl == "forward KL per token"
    assert configuration_of(NewConfig()).stationary_kl == "reverse KL per token"
    assert configuration_of({"beta": 0.04, "reward_weights": [1.0]}, "trl").sampling == ()
    assert "weighted sum" in configuration_of({"beta": 0.04, "reward_weights": [1.0, 0.5]}, "trl").sampling[0]
