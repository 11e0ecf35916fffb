import json
from dataclasses import dataclass

import pytest
from click.testing import CliRunner

from dph_cli import main
from dph_theory.methods.kl_terms import FILTERED, FORWARD_LIMIT, LOCAL
from dph_theory.predict.configuration import READERS, configuration_of
from dph_theory.predict.settings import read

ACTOR, ALGORITHM, N = "actor_rollout_ref.actor.", "algorithm.", "actor_rollout_ref.rollout.n"


@pytest.mark.parametrize(
    ("settings", "trainer", "law", "selects"),
    [
        ({"beta": 0.04}, "TRL", "reverse KL per token", LOCAL),
        ({"beta": 0.04, "use_bias_correction_kl": False}, "TRL", "forward KL per token", FORWARD_LIMIT),
        ({"beta": 0.04, "importance_sampling_level": "sequence"}, "TRL", "not known", "not known"),
        ({ACTOR + "use_kl_loss": True}, "verl", "forward KL per token; below 7.3% of", LOCAL),
        ({ACTOR + "use_kl_loss": True, ACTOR + "kl_loss_type": "k3+"}, "verl", "reverse KL per token", LOCAL),
        ({ALGORITHM + "use_kl_in_reward": True}, "verl", "reverse KL of the whole answer", FILTERED),
        ({"use-kl-loss": True, "kl-loss-coef": 0.01, "kl-loss-type": "k2"}, "slime", "reverse KL per", LOCAL),
        ({"algo.kl.init_coef": 0.01}, "OpenRLHF", "reverse KL of the whole answer", FILTERED),
        ({"algo.kl.use_loss": True, "algo.kl.estimator": "k2"}, "OpenRLHF", "reverse KL per token", LOCAL),
        ({"loss_fn.ratio_clip_min": 0.2}, "NeMo-RL", "reverse KL per token; below 7.3% of", LOCAL),
        ({"loss_fn.reference_policy_kl_type": "k2"}, "NeMo-RL", "not known", "not known"),
        ({"trainer.algorithm.use_kl_loss": True}, "SkyRL", "forward KL per token; below", LOCAL),
        ({"actor.kl_ctl": 0.1, "ref": {"path": "base"}}, "AReaL", "reverse KL of the whole", FILTERED),
        (
            {"kl_penalty_coef": 0.1, "async_config": {"max_steps_off_policy": 3}},
            "Tinker",
            "reverse KL per token",
            LOCAL,
        ),
        ({"kl_penalty_coef": 0.1, "kl_discount_factor": 1.0}, "Tinker", "reverse KL of the whole", FILTERED),
        ({"orchestrator": {"algo": {"type": "opd"}}}, "prime-rl", "reverse KL per token", LOCAL),
    ],
)
def test_the_law_is_that_of_the_penalty_that_is_on(settings, trainer, law, selects):
    found = configuration_of(settings)
    assert found.trainer == trainer
    assert found.law.startswith(law)
    assert found.selects == selects


@pytest.mark.parametrize(
    "settings",
    [
        {"loss_type": "dapo"},
        {ACTOR + "ppo_epochs": 1, ACTOR + "kl_loss_coef": 0.1},
        {"kl-coef": 0.0, "kl-loss-coef": 0.1},
        {"algo.kl.init_coef": 0},
        {"loss_fn.reference_policy_kl_penalty": 0},
        {"trainer.algorithm.use_kl_loss": False},
        {"trainer.algorithm.kl_loss_coef": 0},
        {"actor.kl_ctl": 0},
        {"kl_penalty_coef": 0.0},
        {"orchestrator.batch_size": 128},
    ],
)
def test_no_coefficient_is_an_answer(settings):
    found = configuration_of(settings)
    assert found.penalty == "none"
    assert "nothing holds the policy" in found.law
    assert "sampling decides" in found.selects


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"advantage-estimator": "grpo", "kl-coef": 0.1},
            "--kl-coef (under grpo the KL is computed and dropped)",
        ),
        (
            {"use-kl-loss": True, "kl-loss-coef": 0.1},
            "k1 in the loss, 0.1 x x: the gradient of its mean is zero",
        ),
        ({"kl-loss-coef": 0.1, "use-tis": True}, "--kl-loss-coef (no --use-kl-loss)"),
        ({ACTOR + "kl_loss_coef": 0.1}, "use_kl_loss is off"),
        ({ALGORITHM + "kl_ctrl.kl_coef": 0.1}, "use_kl_in_reward is off"),
        ({ACTOR + "use_kl_loss": True, ACTOR + "kl_loss_type": "kl"}, "the gradient of its mean is zero"),
        ({"algo.kl.use_loss": True}, "the gradient of its mean is zero"),
        ({"beta": 0, "use_bias_correction_kl": True}, "use_bias_correction_kl (beta = 0)"),
        ({"loss_fn.use_kl_in_reward": True}, "under grpo the rewards hold no KL, and the loss holds none"),
        ({"trainer.algorithm.kl_estimator_type": "k1"}, "the gradient of its mean is zero"),
        ({"trainer.algorithm": {"use_kl_loss": False, "kl_loss_coef": 0.1}}, "no KL is on"),
        ({"kl_penalty_coef": 0, "kl_discount_factor": 0.5}, "kl_discount_factor (kl_penalty_coef = 0)"),
        ({"loss_fn.ratio_clip_min": 0.2}, "the mean of the group's other answers subtracted, divided"),
        ({"grpo.use_leave_one_out_baseline": False}, "the group's mean subtracted, divided by its"),
        ({"grpo.normalize_rewards": False}, "the mean of the group's other answers subtracted: "),
        ({"actor.kl_ctl": 0}, "no baseline"),
        ({"orchestrator.algo.type": "max_rl"}, "the group's mean subtracted, divided by it: log V"),
        ({ALGORITHM + "adv_estimator": "opo"}, "the mean weighed by lengths"),
        ({ALGORITHM + "adv_estimator": "reinforce_plus_plus"}, "divided by the whole batch's"),
        ({ALGORITHM + "adv_estimator": "grpo", N: 1}, "one answer a prompt, so no group"),
        ({ALGORITHM + "adv_estimator": "grpo_passk", N: 8}, "the best answer's verdict less the second"),
        ({ALGORITHM + "adv_estimator": "rloo", N: 8}, "the mean of the group's other answers subtracted: "),
        ({"algo.advantage.estimator": "group_norm"}, "the group's mean subtracted, divided by its"),
    ],
)
def test_what_has_no_effect_and_whose_advantage_it_is_are_told(settings, words):
    found = configuration_of(settings)
    assert found.advantage.startswith(words) or any(words in said for said in found.inert)


def test_the_kl_in_the_reward_counts_where_it_is_used():
    found = configuration_of({"advantage-estimator": "reinforce_plus_plus", "kl-coef": 0.1})
    assert (found.inert, found.selects) == ((), FILTERED)


SKYRL = "trainer.algorithm."


@pytest.mark.parametrize(
    ("settings", "without"),
    [
        (
            {ALGORITHM + "use_kl_in_reward": True, ALGORITHM + "adv_estimator": "grpo", N: 8},
            {ALGORITHM + "norm_adv_by_std_in_grpo": False},
        ),
        (
            {SKYRL + "use_kl_in_reward": True, SKYRL + "use_kl_loss": False},
            {SKYRL + "grpo_norm_by_std": False},
        ),
        (
            {"algo.kl.init_coef": 0.01, "algo.advantage.estimator": "reinforce"},
            {"algo.advantage.no_std_norm": True},
        ),
        (
            {"actor.kl_ctl": 0.1, "ref.path": "base", "actor.adv_norm.mean_level": "batch"},
            {"actor.adv_norm.std_level": None},
        ),
        (
            {"kl-coef": 0.1, "advantage-estimator": "reinforce_plus_plus", "normalize-advantages": True},
            {"normalize-advantages": False},
        ),
    ],
)
def test_the_trap_of_dividing_penalised_rewards_is_told(settings, without):
    (warning,) = configuration_of(settings).warnings
    assert "theory G2" in warning
    assert configuration_of({**settings, **without}).warnings == ()


def test_a_kl_to_no_reference_is_an_entropy_bonus():
    found = configuration_of({"actor.ppo_n_minibatches": 4})
    assert "log pi" in found.law
    assert "entropy bonus" in found.law
    assert found.selects.startswith("all right answers alike")
    assert any("0.1 unless it is set" in said for said in found.warnings)


def test_a_version_before_the_default_changed_has_the_old_one():
    assert configuration_of({"beta": 0.1}, version="1.9").law == "forward KL per token"
    assert configuration_of({"beta": 0.1}, version="1.10").law == "reverse KL per token"
    with pytest.raises(ValueError, match="version='main' is not allowed: a dotted number"):
        configuration_of({"beta": 0.1}, version="main")
    with pytest.raises(ValueError, match=r"version='1.9' is not allowed: none for verl"):
        configuration_of({ALGORITHM + "gamma": 1.0}, version="1.9")


@dataclass
class OldConfig:
    """A GRPOConfig from before the flag."""

    beta: float = 0.04
    loss_type: str = "dapo"


@dataclass
class NewConfig(OldConfig):
    use_bias_correction_kl: bool = True


def test_a_configuration_object_is_read():
    assert configuration_of(OldConfig()).law == "forward KL per token"
    assert configuration_of(NewConfig()).law == "reverse KL per token"


MADE_UP = "no_such_key"


@pytest.mark.parametrize(
    ("settings", "unread"),
    [
        ({"beta": 0.04, "top_entropy_quantile": 0.2}, "top_entropy_quantile=0.2"),
        ({"beta": 0.04, "delta": 1.5}, "delta=1.5"),
        ({"beta": 0.04, "kl_coef": 0.1}, "kl_coef=0.1"),
        ({"beta": 0.04, "loss_type": "vespo"}, "loss_type=vespo"),
        ({ALGORITHM + "filter_groups.enable": True}, ALGORITHM + "filter_groups.enable=True"),
        ({ALGORITHM + "kl_ctrl.type": "adaptive"}, ALGORITHM + "kl_ctrl.type=adaptive"),
        ({"algo.dynamic_filtering_enable": True}, "algo.dynamic_filtering_enable=True"),
        ({"entropy-coef": 0.1, "kl-coef": 0.0}, "--entropy-coef=0.1"),
        ({N: 8, "actor_rollout_ref.rollout.tp": 2}, "actor_rollout_ref.rollout.tp=2"),
        *(
            ({name: value, MADE_UP: 1}, f"{MADE_UP}=1")
            for name, value in (
                ("beta", 0.04),
                (ACTOR + "use_kl_loss", True),
                ("kl-coef", 0.0),
                ("algo.kl.use_loss", True),
                ("loss_fn.ratio_clip_min", 0.2),
                ("orchestrator.batch_size", 8),
                ("trainer.algorithm.use_kl_loss", True),
                ("actor.kl_ctl", 0.1),
                ("kl_penalty_coef", 0.1),
            )
        ),
    ],
)
def test_what_nothing_reads_is_named_as_what_may_change_the_law(settings, unread):
    assert unread in configuration_of(settings).not_read


@pytest.mark.parametrize(
    ("settings", "harmless"),
    [
        ({"beta": 0.04, "learning_rate": 1e-6, "output_dir": "out", "top_p": 1.0}, 2),
        ({ACTOR + "use_kl_loss": True, ACTOR + "optim.lr": 1e-6, "trainer.nnodes": 1}, 2),
        ({"kl-coef": 0.0, "lr": 1e-6, "sglang-mem-fraction-static": 0.8}, 2),
    ],
)
def test_paths_rates_and_plain_values_are_harmless(settings, harmless):
    found = configuration_of(settings)
    assert (len(found.harmless), found.not_read) == (harmless, ())


ROLLOUT = "actor_rollout_ref.rollout."


@pytest.mark.parametrize(
    ("settings", "moved_by", "unpredicted", "words"),
    [
        ({"beta": 0.04, "temperature": 0.7}, "temperature=0.7", "", "log odds, as beta/0.7 would (J1)"),
        ({"beta": 0, "top_p": 0.9}, "top_p=0.9", "", "at full sampling ends just above 0.9 a token"),
        (
            {"beta": 0.04, "top_k": 20, "min_p": 0.1},
            "top_k=20, min_p=0.1",
            "leave tokens out",
            "ends below 1;",
        ),
        ({"beta": 0.04, "sync_ref_model": True}, "sync_ref_model=True", "follows", "beta/(1 + 0.6 m)"),
        (
            {"beta": 0.04, "sync_ref_model": True, "ref_model_mixup_alpha": 1.0, "ref_model_sync_steps": 64},
            "sync_ref_model=True",
            "follows",
            "follows every 64 steps: after m resets, each at its law, beta acts as beta/(1 + 1 m)",
        ),
        ({"beta": 0.04, "mask_truncated_completions": True}, "mask_tr", "share has a law of its own", "grow"),
        ({"beta": 0.04, "reward_weights": "1.0 0.5"}, "reward_weights=1.0 0.5", "not alone", "a e^(r/beta)"),
        ({"beta": 0.04, "max_completion_length": 512}, "", "", "right, and short enough (J6)"),
        ({"beta": 0.04, "steps_per_generation": 4}, "", "", "up to 3 updates old: the same law"),
        (
            {ALGORITHM + "use_kl_in_reward": True, ROLLOUT + "temperature": 0.6},
            "temp",
            "",
            "does not move a KL",
        ),
        ({ACTOR + "use_kl_loss": True, ROLLOUT + "top_k": -1}, "", "", "trainer's moves this law, unless"),
        (
            {"kl-loss-coef": 0.1, "use-kl-loss": True, "ref-update-interval": 50, "kl-loss-type": "k2"},
            "--ref",
            "follows",
            "every 50",
        ),
        (
            {"loss_fn.ratio_clip_min": 0.2, "grpo.overlong_filtering": True},
            "overlong_filtering=True",
            "",
            "can grow",
        ),
        (
            {"loss_fn.ratio_clip_min": 0.2, "grpo.async_grpo.max_trajectory_age_steps": 4},
            "",
            "",
            "0.17 times that of new",
        ),
        (
            {"trainer.algorithm.use_kl_loss": True, "generator.sampling_params.temperature": 0.6},
            "temperature=0.6",
            "",
            "what the reference is at 1",
        ),
        ({"actor.kl_ctl": 0.1, "ref.path": "base", "gconfig.temperature": 0.6}, "", "", "its law stays (J2)"),
        (
            {"actor.kl_ctl": 0.1, "ref.path": "base", "gconfig.temperature": 0.6, "actor.temperature": 0.6},
            "temperature=0.6",
            "",
            "0.6 times",
        ),
        (
            {"kl_penalty_coef": 0.1, "temperature": 0.7},
            "temperature=0.7",
            "another temperature",
            "its law moves (J2)",
        ),
        ({"kl_penalty_coef": 0.1, "kl_discount_factor": 1, "temperature": 0.7}, "", "", "its law stays (J2)"),
    ],
)
def test_what_sampling_does_to_the_law_is_told(settings, moved_by, unpredicted, words):
    found = configuration_of(settings)
    assert bool(found.moved_by) == bool(moved_by)
    assert moved_by in ", ".join(found.moved_by)
    assert unpredicted in found.unpredicted
    assert any(words in said for said in found.sampling), found.sampling
    assert found.not_read == ()


@pytest.mark.parametrize(
    "settings",
    [
        {"beta": 0.04, "temperature": 1.0, "top_p": 1, "top_k": 0, "min_p": None, "reward_weights": [1.0]},
        {"beta": 0.04, "sync_ref_model": False, "mask_truncated_completions": False},
        {"beta": 0.0, "ref_model_sync_steps": 64},
        {"actor.kl_ctl": 0.0, "actor.ppo_n_minibatches": 1, "gconfig.top_k": 100000000},
    ],
)
def test_sampling_from_the_policy_itself_is_not_told(settings):
    found = configuration_of(settings)
    assert (found.sampling, found.moved_by) == ((), ())


def test_what_moves_a_law_is_in_the_answer():
    done = CliRunner().invoke(main, ["predict", "trl", "beta=0.04", "temperature=0.7"])
    assert "Moved by temperature=0.7: see what sampling does, below." in done.output


@pytest.mark.parametrize(
    ("settings", "slip", "near"),
    [
        ({"loss_type": "grpo", "bata": 0.1}, "bata", "beta"),
        ({"beta": 0.0, "los_type": "grpo"}, "los_type", "loss_type"),
        ({"num_iterations": 2, "num_itertions": 4}, "num_itertions", "num_iterations"),
        ({ACTOR + "use_kl_los": True}, ACTOR + "use_kl_los", ACTOR + "use_kl_loss"),
        ({ACTOR + "use_kl_loss": True, "kl_loss_coef": 0.1}, "kl_loss_coef", ACTOR + "kl_loss_coef"),
        ({"kl-loss-coef": 0.1, "use-kl-los": True}, "--use-kl-los", "--use-kl-loss"),
        ({"algo.kl.init_coeff": 0.1}, "algo.kl.init_coeff", "algo.kl.init_coef"),
        ({"beta": 0.04, "epsilon_hihg": 0.3}, "epsilon_hihg", "epsilon_high"),
    ],
)
def test_a_name_that_is_all_but_one_that_is_read_is_an_error(settings, slip, near):
    with pytest.raises(ValueError, match=f"setting='{slip}' is not allowed: nothing reads it; is {near} "):
        configuration_of(settings)


@pytest.mark.parametrize(
    ("settings", "allowed"),
    [
        ({ACTOR + "loss_agg_mode": "token_mean"}, "one of token-mean, .*; is token-mean meant"),
        ({"loss_type": "drgrpo"}, "one of dapo, .*; is dr_grpo meant"),
        ({"loss_type": "foo"}, "one of dapo, bnpo"),
        ({"algo.advantage.estimator": "rlo"}, "one of gae, .*; is rloo meant"),
        ({"advantage-estimator": "grop"}, "one of grpo, .*; is grpo meant"),
        ({ALGORITHM + "adv_estimator": "gpro"}, "one of gae, grpo, .*; is grpo meant"),
        ({"grpo.adv_estimator.name": "foo"}, "one of grpo, "),
        ({"orchestrator.algo.type": "foo"}, "one of grpo, max_rl"),
        ({"trainer.algorithm.loss_reduction": "foo"}, "one of token_mean"),
        ({"actor.reward_norm.mean_level": "foo"}, "one of batch, group"),
        ({"beta": 0.1, "num_generations": 1}, "num_generations=1 is not allowed: a whole number, at least 2"),
        ({"beta": 0.1, "num_generations": 4.5}, "a whole number"),
        ({"beta": float("nan")}, "a number, at least 0"),
    ],
)
def test_an_unknown_value_is_an_error_that_lists_what_is_allowed(settings, allowed):
    with pytest.raises(ValueError, match=allowed):
        configuration_of(settings)


def test_the_kl_of_openrlhf_with_the_gradient_mended_is_the_reverse_one():
    plain = {"algo.kl.use_loss": True, "algo.kl.estimator": "k3"}
    assert configuration_of(plain).law.startswith("forward KL")
    assert configuration_of({**plain, "algo.kl.unbiased_gradient": True}).law == "reverse KL per token"


def test_a_flag_that_verl_does_not_hand_on_is_without_effect():
    found = configuration_of(
        {ALGORITHM + "adv_estimator": "grpo_vectorized", ALGORITHM + "norm_adv_by_std_in_grpo": False, N: 8}
    )
    assert (found.scale, found.group_size) == ("std", 8)
    assert any("not handed on to grpo_vectorized" in said for said in found.inert)


def test_clips_count_where_a_batch_is_used_more_than_once():
    assert configuration_of({"beta": 0.1, "epsilon_high": 0.28}).not_read == ()
    (told,) = configuration_of({"beta": 0.1, "epsilon_high": 0.28, "num_iterations": 2}).not_read
    assert told.startswith("epsilon_high=0.28 (a clip")


def test_a_batch_of_answers_is_split_into_the_steps_that_trl_makes():
    asked = {"beta": 0.0, "generation_batch_size": 512, "per_device_train_batch_size": 8}
    assert configuration_of(asked).updates == 64
    assert configuration_of({**asked, "gradient_accumulation_steps": 4}).updates == 16
    with pytest.raises(ValueError, match="generation_batch_size=100 is not allowed: a multiple of "):
        configuration_of({**asked, "generation_batch_size": 100})


def test_advantage_reduction_updates_and_sampler_are_composed():
    found = configuration_of(
        {
            "beta": 0.0,
            "scale_rewards": "none",
            "loss_type": "grpo",
            "num_iterations": 2,
            "steps_per_generation": 8,
            "gradient_accumulation_steps": 4,
            "use_vllm": True,
            "entropy_coef": 0.01,
        }
    )
    assert "the same weight" in found.advantage
    assert "each answer" in found.reduction
    assert found.updates == 4
    assert found.sampler == "vLLM, corrected by sequence_mask"
    assert found.not_read == ("entropy_coef=0.01",)
    rollout = {"rollout-batch-size": 32, "n-samples-per-prompt": 8, "global-batch-size": 64}
    assert configuration_of({**rollout, "use-tis": True}).updates == 4


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("run.yaml", "actor_rollout_ref:\n  actor:\n    use_kl_loss: true\n    kl_loss_coef: 1e-2\n"),
        ("run.json", '{"actor_rollout_ref": {"actor": {"use_kl_loss": true, "kl_loss_coef": 0.01}}}'),
        ("run.toml", "[actor_rollout_ref.actor]\nuse_kl_loss = true\nkl_loss_coef = 0.01\n"),
        (
            "run.sh",
            "python -m any.main \\\n  actor_rollout_ref.actor.use_kl_loss=True \\\n"
            "  +actor_rollout_ref.actor.kl_loss_coef=0.01 # so\n",
        ),
    ],
)
def test_files_and_command_lines_are_read_alike(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    found = configuration_of(read(path))
    assert found.penalty == "0.01 x clip(e^-x - 1 + x, 10), |x| <= 20"
    assert configuration_of(read(path, ["actor_rollout_ref.actor.use_kl_loss=false"])).penalty == "none"


def test_python_arguments_are_read_and_expressions_refused(tmp_path):
    path = tmp_path / "train.py"
    path.write_text("args = trl.GRPOConfig('out', beta=0.1, learning_rate=lr, loss_type='grpo')\n")
    assert configuration_of(read(path)).penalty.startswith("0.1 x")
    path.write_text("args = GRPOConfig(beta=flags.beta)\n")
    with pytest.raises(ValueError, match=r"beta='flags.beta' is not allowed"):
        configuration_of(read(path))


def test_what_a_file_refers_to_is_followed(tmp_path):
    (tmp_path / "base.yaml").write_text(
        "grpo: {normalize_rewards: false}\nloss_fn: {token_level_loss: true}\n"
    )
    path = tmp_path / "run.yaml"
    path.write_text(
        "defaults: base.yaml\ngrpo: {adv_estimator: {normalize_rewards: '${grpo.normalize_rewards}'}}\n"
    )
    found = configuration_of(read(path))
    assert "the same weight" in found.advantage
    path.write_text("defaults: elsewhere.yaml\nloss_fn: {token_level_loss: true}\n")
    assert configuration_of(read(path)).not_read == ("defaults=elsewhere.yaml",)


def test_variables_of_a_launch_script_are_followed(tmp_path):
    path = tmp_path / "run.sh"
    path.write_text(
        'COEF=0.02\n: "${USE:=true}"\npython main.py actor_rollout_ref.actor.use_kl_loss=$USE '
        "actor_rollout_ref.actor.kl_loss_coef=${COEF:-0.5}\n"
    )
    assert configuration_of(read(path)).penalty.startswith("0.02 x")
    path.write_text("python main.py actor_rollout_ref.actor.use_kl_loss=$USE\n")
    with pytest.raises(ValueError, match="a value that stands in the settings"):
        configuration_of(read(path))
    path.write_text("# Nothing is set here.\n")
    with pytest.raises(ValueError, match=r"config='.*run.sh' is not allowed: a file that holds settings"):
        read(path)


def test_a_setting_without_its_sign_and_variables_of_one_name_are_seen(tmp_path):
    path = tmp_path / "run.sh"
    path.write_text("python train.py loss_type=grpo beta 0.1\n")
    with pytest.raises(ValueError, match=r"beta='0.1, without =' is not allowed"):
        configuration_of(read(path))
    path.write_text("beta=0.02\nkl_loss_coef=0.3\npython train.py --beta $beta --loss_type grpo\n")
    assert configuration_of(read(path)).penalty.startswith("0.02 x")
    assert configuration_of(read(path)).not_read == ()
    path.write_text("kl_penalty_coef=0.1 kl_discount_factor=1\nmade_up=2\n")
    found = configuration_of(read(path))
    assert (found.trainer, found.coefficient, found.not_read) == ("Tinker", 0.1, ("made_up=2.0",))


def test_a_launch_script_s_own_words_are_no_settings(tmp_path):
    path = tmp_path / "run.sh"
    path.write_text(
        "short=$((1024 * 2))\nsp_size=8\nexport low=0.2\nn=16; mini=32\n"
        "ray job submit --no-wait --runtime-env=env.yaml -- python3 -m main_dapo \\\n"
        "  algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=${n} \\\n"
        "  data.max_prompt_length=$((short + 1)) data.train_batch_size=512 \\\n"
        "  actor_rollout_ref.actor.ppo_mini_batch_size=$mini actor_rollout_ref.actor.clip_ratio_low=$low\n"
    )
    found = configuration_of(read(path))
    assert (found.group_size, found.updates) == (16, 16)
    assert [each.partition(" (")[0] for each in found.not_read] == [ACTOR + "clip_ratio_low=0.2"]


def test_a_flag_of_two_numbers_is_told_whole(tmp_path):
    path = tmp_path / "run.sh"
    path.write_text("python -m train --algo.dynamic_filtering_range 0 1 --algo.kl.init_coef 0.1\n")
    assert configuration_of(read(path)).not_read == ("algo.dynamic_filtering_range=0 1",)


def test_flags_are_read_with_and_without_values(tmp_path):
    path = tmp_path / "run.sh"
    path.write_text("python train.py --use-kl-loss --kl-loss-coef 0.01 --kl-loss-type=k2 --lr 1e-6\n")
    assert configuration_of(read(path)).penalty == "0.01 x x^2/2"


def test_the_command_prints_it_and_writes_its_keys(tmp_path):
    path, out = tmp_path / "run.yaml", tmp_path / "found.json"
    path.write_text("beta: 0.04\nloss_type: grpo\n")
    done = CliRunner().invoke(
        main, ["predict", str(path), "use_bias_correction_kl=false", "--json", str(out)]
    )
    assert done.exit_code == 0, done.output
    assert "forward KL per token" in done.output
    settings = {"beta": 0.04, "loss_type": "grpo", "use_bias_correction_kl": False}
    assert json.loads(out.read_text()) == configuration_of(settings).to_dict()


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("beta: -1\n", (), "beta=-1 is not allowed"),
        ("beta: [1\n", (), "no YAML: while parsing a flow sequence"),
        ("beta: much\n", (), "beta='much' is not allowed"),
        ("gradient_accumulation_steps: 0\nbeta: 0\n", (), "a whole number, at least 1"),
        ("beta: 0.1\nuse_bias_correction_kl: perhaps\n", (), "true or false"),
        (
            "colour: red\n",
            (),
            "names of one of trl, verl, slime, openrlhf, nemo-rl, prime-rl, skyrl, areal, tinker",
        ),
        ("- 1\n", (), "a file of settings"),
        ("", (), "a file of settings"),
        ("actor_rollout_ref: {actor: {use_kl_loss: true, kl_loss_type: k9}}\n", (), "k9"),
        ("beta: 0.1\n", ("--trainer", "none"), "trl, verl, slime, openrlhf, nemo-rl"),
        ("beta: 0.1\n", ("bata=0.2",), "is beta meant"),
        ("beta: 0.1\n", ("beta", "0.2"), "NAME=VALUE"),
        ("beta: 0.1\n", ("num_generations=1",), "at least 2"),
    ],
)
def test_what_is_no_configuration_is_wrong_usage(tmp_path, text, arguments, message):
    path = tmp_path / "run.yaml"
    path.write_text(text)
    done = CliRunner().invoke(main, ["predict", str(path), *arguments])
    assert done.exit_code == 2, done.output
    assert message in " ".join(done.output.replace("\u2502", " ").split())
    assert "Traceback" not in done.output


def test_every_reader_has_an_answer_for_its_defaults():
    for trainer in READERS:
        assert configuration_of({}, trainer).law
