"""Trainers' tables: what a run optimises by its trainer's own names, what is in doubt or not read."""

import itertools

import numpy as np
import pytest

from dph_theory.losses.advantages import FORMS
from dph_theory.losses.kl_terms import KL_TERMS
from dph_theory.losses.objective import ANSWERS, SUMS, TOKENS, WEIGHTS
from dph_theory.predict import configuration_of
from dph_theory.predict.configuration import configured
from dph_theory.predict.reading import SettingsReading, tables, trainer_of
from dph_theory.predict.scanning import scan

SHORT = {"A.": "actor_rollout_ref.actor.", "R.": "actor_rollout_ref.rollout.", "L.": "algorithm.",
         "K.": "algo.kl.", "V.": "algo.advantage.", "F.": "loss_fn.", "S.": "trainer.algorithm.",
         "T.": "orchestrator.train.source."}  # fmt: skip


def value(text):
    words = {"true": True, "false": False, "null": None}
    return words[text] if text in words else float(text) if text.replace(".", "", 1).isdigit() else text


def of(line, **options):
    """The configuration of a line: a trainer, then settings with short prefixes."""
    trainer, *words = line.split()
    pairs = [word.split("=", 1) for word in words]
    settings = {SHORT.get(name[:2], name[:2]) + name[2:]: value(text) for name, text in pairs}
    return configuration_of(settings, trainer, **options)


def stated(folder, name, text, **options):
    """The configuration of a file."""
    (folder / name).write_text(text)
    file = scan(folder / name)
    return configured(
        SettingsReading(trainer_of(file.settings, file.text), file.settings, file.text, **options)
    )


FORWARD, REVERSE, WHOLE = "forward KL per token", "reverse KL per token", "reverse KL of the whole answer"
NONE, CLAMP = (
    "none: no KL to the base",
    "; below 7.3% of its base probability a token gets no KL gradient (the clamp)",
)
VERL = "verl L.adv_estimator=grpo R.n=8 "
PLUS = "openrlhf V.estimator=reinforce rollout.n_samples_per_prompt=8 "
KLS = [
    ("trl beta=0", NONE, 0.0),
    ("trl beta=0.04", REVERSE, 0.04),
    ("trl beta=0.04 use_bias_correction_kl=false", FORWARD, 0.04),
    ("trl beta=0.04 importance_sampling_level=sequence",
     "1/L reverse and 1 - 1/L forward KL per token, in answers of L tokens", 0.04),
    ("trl-rloo", WHOLE, 0.05),
    ("unsloth", FORWARD, 0.001),
    ("open-r1", FORWARD, 0.04),
    (VERL + "A.use_kl_loss=true", FORWARD + CLAMP, 0.001),
    (VERL + "A.use_kl_loss=true A.kl_loss_type=mse A.kl_loss_coef=0.1", REVERSE, 0.1),
    (VERL + "A.use_kl_loss=true A.kl_loss_type=kl", NONE, 0.0),
    (VERL + "A.use_kl_loss=true A.kl_loss_type=k3+", REVERSE, 0.001),
    (VERL + "L.use_kl_in_reward=true", WHOLE, 0.001),
    ("verl L.adv_estimator=gdpo L.use_kl_in_reward=true", NONE, 0.0),
    ("slime kl-loss-coef=0.1", NONE, 0.0),
    ("slime kl-loss-coef=0.1 use-kl-loss=true kl-loss-type=k3", FORWARD, 0.1),
    ("slime kl-loss-coef=0.1 use-kl-loss=true kl-loss-type=k3 use-unbiased-kl=true", REVERSE, 0.1),
    ("slime kl-coef=0.1", NONE, 0.0),
    ("slime kl-coef=0.1 advantage-estimator=reinforce_plus_plus normalize-advantages=true", WHOLE, 0.1),
    ("openrlhf K.init_coef=0.1", WHOLE, 0.1),
    ("openrlhf K.init_coef=0.1 K.use_loss=true", NONE, 0.0),
    ("openrlhf kl_estimator=k2 use_kl_loss=true init_kl_coef=0.1",
     "reverse KL per token; below 1.1% of its base "
     "probability or above 87.5 times it a token gets no KL gradient (the clamp)", 0.1),
    ("nemo-rl", REVERSE + CLAMP, 0.01),
    ("nemo-rl F.reference_policy_kl_type=k2", "not known", 0.01),
    ("nemo-rl F.use_kl_in_reward=true", NONE, 0.0),
    ("skyrl", FORWARD + CLAMP, 0.001),
    ("skyrl S.use_kl_loss=false S.use_kl_in_reward=true S.kl_estimator_type=k1", WHOLE, 0.001),
    ("prime-rl", NONE, 0.0),
    ("areal ref.path=base", WHOLE, 0.1),
    ("areal actor.kl_ctl=0.1", "not known", 0.1),
    ("tinker kl_penalty_coef=0.1 group_size=8", REVERSE, 0.1),
    ("tinker kl_penalty_coef=0.1 kl_discount_factor=1 group_size=8", WHOLE, 0.1),
    ("ms-swift", FORWARD + CLAMP, 0.04),
    ("ms-swift advantage_estimator=rloo", WHOLE, 0.04),
]  # fmt: skip


@pytest.mark.parametrize(("line", "kl", "coefficient"), KLS)
def test_the_kl_of_a_trainer_s_settings_and_its_end(line, kl, coefficient):
    configuration = of(line)
    assert (configuration.stationary_kl, configuration.objective.coefficient) == (kl, coefficient)


def test_every_kl_that_a_table_can_give_is_a_row_of_the_one_table_of_losses():
    """The trainers without rows there are forks of TRL, and ms-swift."""
    # The KL in slime's reward is an estimate of its loss, summed over the tokens to come.
    rows = {("slime", "reward to go", "k1", None, None)}
    rows |= {(one.trainer, one.place, one.estimator, one.inner, one.outer) for one in KL_TERMS}
    compared = 0
    for line, *_ in KLS:
        configuration = of(line)
        term = configuration.objective.term
        if term is not None and configuration.trainer in {one.trainer for one in KL_TERMS}:
            compared += 1
            assert (configuration.trainer, term.place, term.estimator, term.inner, term.outer) in rows, line
    assert compared >= 20


@pytest.mark.parametrize(
    ("line", "advantage"),
    [
        ("trl beta=0", "divided"),
        ("trl beta=0 scale_rewards=batch", "centred, batch"),
        ("trl beta=0 scale_rewards=none", "centred"),
        ("trl-rloo", "left out"),
        ("trl-rloo normalize_advantages=true", "centred, batch"),
        (VERL + "L.norm_adv_by_std_in_grpo=false", "centred"),
        ("verl L.adv_estimator=grpo", "alone"),
        ("verl L.adv_estimator=grpo_vectorized L.norm_adv_by_std_in_grpo=false R.n=8", "divided"),
        ("verl L.adv_estimator=rloo R.n=8", "left out"),
        ("verl L.adv_estimator=reinforce_plus_plus", "batch"),
        ("verl L.adv_estimator=reinforce_plus_plus_baseline", "centred, batch"),
        ("verl L.adv_estimator=grpo_passk R.n=8", "best"),
        ("verl", "learned"),
        ("slime n-samples-per-prompt=8 disable-grpo-std-normalization=true", "centred"),
        ("openrlhf V.estimator=group_norm", "divided"),
        (PLUS, "batch"),
        ("nemo-rl", "left out, divided"),
        ("nemo-rl grpo.adv_estimator.normalize_rewards=false", "left out"),
        ("prime-rl T.algo.type=max_rl T.group_size=8", "by mean"),
        ("skyrl S.advantage_estimator=maxrl", "by mean"),
        ("areal actor.reward_norm.mean_level=group actor.reward_norm.std_level=group", "divided"),
        ("areal", "raw"),
        ("ms-swift advantage_estimator=reinforce_plus_plus", "centred, batch"),
    ],
)
def test_the_advantage_of_a_trainer_s_settings(line, advantage):
    assert of(line).objective.advantage == WEIGHTS[advantage]


@pytest.mark.parametrize(
    ("line", "reduction", "updates"),
    [
        ("trl loss_type=grpo num_iterations=2", ANSWERS, 2),
        ("trl loss_type=dr_grpo steps_per_generation=8 gradient_accumulation_steps=4", SUMS, 2),
        ("verl data.train_batch_size=512 A.ppo_mini_batch_size=128 A.ppo_epochs=2", TOKENS, 8),
        ("verl A.policy_loss.loss_mode=gspo", ANSWERS, 4),
        ("verl A.policy_loss.loss_mode=sapo", ANSWERS, 4),
        ("verl A.policy_loss.loss_mode=geo_mean", ANSWERS, 4),
        ("slime n-samples-per-prompt=8 rollout-batch-size=32 global-batch-size=64", ANSWERS, 4),
        ("slime n-samples-per-prompt=8", ANSWERS, None),
        ("openrlhf rollout.batch_size=64 train.batch_size=64 rollout.n_samples_per_prompt=8", TOKENS, 8),
    ],
)
def test_the_reduction_and_the_updates_a_batch(line, reduction, updates):
    objective = of(line).objective
    assert (objective.reduction, objective.updates) == (reduction, updates)


@pytest.mark.parametrize(
    ("line", "unknown"),
    [
        (VERL + "L.use_kl_in_reward=true", "divided by the rewards' std"),
        ("openrlhf K.init_coef=0.01 V.estimator=reinforce", "the whole batch's std"),
        (VERL + "A.use_kl_loss=true A.entropy_coeff=0.1", "entropy bonus 0.1"),
        (VERL + "A.use_kl_loss=true R.top_p=0.9", "top_p 0.9"),
        (VERL + "R.top_p=0.9", ""),
        (VERL + "A.use_kl_loss=true L.use_kl_in_reward=true", "together with one in the reward"),
        (VERL + "reward_model.overlong_buffer.enable=true", "overlong_buffer.enable=true"),
        ("trl beta=0.04 sync_ref_model=true", "sync_ref_model=true"),
        ("trl beta=-1", "a negative coefficient"),
        ("trl beta=0 sync_ref_model=true", ""),
        ("trl beta=0.04 scale_rewards=batch", "the whole batch's std"),
        ("trl beta=0 scale_rewards=batch", ""),
        ("trl beta=0.04 reward_weights=1", ""),
        ("openrlhf V.estimator=rloo rollout.n_samples_per_prompt=8 train.async_enable=true", ""),
        ("nemo-rl F.reference_policy_kl_type=k2", "the end of this KL"),
        ("areal actor.kl_ctl=0.1", "log pi alone in the reward"),
        ("tinker kl_penalty_coef=0.1 kl_discount_factor=0.5 group_size=8", "between a KL per token and one"),
        ("prime-rl T.algo.type=opd T.group_size=8", "to the teacher and not to the base"),
        ("nemo-rl grpo.adv_estimator.name=opd", "to the teacher and not to the base"),
        ("nemo-rl F.reference_policy_kl_penalty=0 F.kl_input_clamp_value=null", ""),
        ("nemo-rl config=run.yaml", "config=run.yaml"),
        ("skyrl S.use_kl_loss=false trainer.override_entrypoint=my.entry", "trainer.override_entrypoint=my"),
        (VERL + "distillation.enabled=true", "distillation.enabled=true"),
        ("openrlhf reward.model_name_or_path=rm", "reward.model_name_or_path=rm"),
        ("areal actor.kl_ctl=0 actor.importance_sampling_level=sequence", ""),
        ("nemo-rl F.reference_policy_kl_penalty=0 policy.draft.enabled=true", ""),
        ("open-r1 beta=0 use_liger_kernel=true", ""),
        ("open-r1 beta=0 use_liger_loss=true", "use_liger_loss=true"),
    ],
)  # fmt: skip
def test_the_smallest_part_is_named_where_the_end_is_not_known(line, unknown):
    objective = of(line).objective
    assert unknown in objective.unpredicted
    assert bool(objective.unpredicted) == bool(unknown)


@pytest.mark.parametrize(
    ("line", "selects"),
    [
        ("trl beta=0", "a pass rate of 1"),
        ("trl beta=0 reward_funcs=accuracy", "a pass rate of 1"),
        ("trl beta=0 reward_weights=1", "a pass rate of 1"),
        ("trl beta=0.04 scale_rewards=batch", "the base restricted, token by token"),
        ("trl beta=0.04 top_k=50", "not known"),
        ("open-r1 top_k=50", "not known"),
        (VERL + "reward_model.enable=true", "not known"),
        (VERL + "distillation.enabled=true", "not known"),
    ],
)  # fmt: skip
def test_no_end_is_named_where_a_setting_known_to_change_it_is_there(line, selects):
    assert of(line).selects.startswith(selects)


def test_a_teacher_alone_is_no_training_by_rewards():
    line = VERL + "distillation.enabled=true distillation.distillation_loss.use_task_rewards="
    assert [bool(of(line + rewards).void) for rewards in ("true", "false")] == [False, True]


def test_several_rewards_are_said_wherever_a_trainer_takes_them(tmp_path):
    several = ("a.yaml", "num_generations: 8\nscale_rewards: true\nreward_funcs:\n- accuracy\n- format\n")
    in_code = (
        "a.py",
        "import trl\ntrl.GRPOTrainer(reward_funcs=[right, formatted], args=trl.GRPOConfig(beta=0))\n",
    )
    one = ("b.py", "import trl\ntrl.GRPOTrainer(reward_funcs=[right], args=trl.GRPOConfig(beta=0))\n")
    words = (
        "a.sh",
        "swift rlhf --rlhf_type grpo --num_generations 8 --reward_funcs accuracy format --beta 0\n",
    )
    said = [" ".join(stated(tmp_path, *file).changes) for file in (several, in_code, words, one)]
    assert ["several rewards" in changes for changes in said] == [True, True, True, False]


def test_an_open_group_size_leaves_the_kl_certain(tmp_path):
    text = "import trl\ntrl.GRPOConfig(beta={}, num_generations=len(urls))\n"
    penalised, free = (stated(tmp_path, "a.py", text.format(beta)).objective for beta in (0.04, 0))
    assert (penalised.undecided, penalised.coefficient, penalised.term.estimator) == ((), 0.04, "k3")
    assert penalised.unpredicted == "the group size $len(urls)"
    assert (free.undecided, free.unpredicted, free.group_size) == ((), "", None)


def test_dynamic_sampling_keeps_only_mixed_groups():
    lines = [VERL + "L.filter_groups.enable=true", "nemo-rl grpo.use_dynamic_sampling=true",
             "skyrl S.dynamic_sampling.type=filter",
             "prime-rl T.curriculum.gates.zero.type=advantage_range"]  # fmt: skip
    assert [of(line).objective.mixed_only for line in lines] == 4 * [True]
    assert not of(VERL).objective.mixed_only


def test_advantages_over_the_batch_s_std_keep_a_gradient_on_groups_with_equal_rewards():
    """REINFORCE++ subtracts the batch's mean: an all-correct group gains, and all rates weigh 2 alike."""
    torch = pytest.importorskip("torch")
    own = next(one for one in FORMS if one.name == "REINFORCE++")
    rates = np.repeat([0.1, 0.5, 0.9], 64)
    rewards = (np.random.default_rng(0).random((len(rates), 8)) < rates[:, None]).astype(float)
    rewards[-1] = 1.0
    advantages = np.asarray(own.advantage(torch.tensor(rewards)))
    assert advantages[-1].mean() == pytest.approx(1.0, abs=0.25)
    for rate in (0.1, 0.5, 0.9):
        chosen = rates == rate
        gained = ((advantages[chosen] * (rewards[chosen] - rate)).mean()) / (rate * (1 - rate))
        assert gained == pytest.approx(2.0, abs=0.25)
    assert of(PLUS).objective.advantage.baseline is None


def test_settings_before_a_python_file_as_value_are_read(tmp_path):
    text = "swift rlhf --rlhf_type grpo --beta 0.02 --external_plugins p.py --num_generations 4 --model m\n"
    objective = stated(tmp_path, "a.sh", text).objective
    assert (objective.coefficient, objective.group_size) == (0.02, 4)


def test_megatron_keeps_the_kl_in_the_loss_and_scales_rewards_by_group(tmp_path):
    words = "rlhf --rlhf_type grpo --advantage_estimator rloo --num_generations 8 --beta 0.04\n"
    of_swift, of_megatron = (
        stated(tmp_path, "a.sh", f"{program} {words}") for program in ("swift", "megatron")
    )
    assert (of_swift.stationary_kl, of_swift.objective.advantage) == (WHOLE, WEIGHTS["left out"])
    assert (of_megatron.stationary_kl, of_megatron.objective.advantage) == (
        FORWARD + CLAMP,
        WEIGHTS["divided"],
    )


def test_sources_with_an_algorithm_of_their_own_are_cases(tmp_path):
    text = "[orchestrator]\nx = 1\n[[orchestrator.train.source]]\ngroup_size = 16\nalgo.type = 'opd'\n"
    text += (
        "[[orchestrator.train.source]]\ngroup_size = 16\nalgo.type = 'max_rl'\nsampling.temperature = 0.7\n"
    )
    cases = stated(tmp_path, "a.toml", text).cases
    assert {case.condition for case in cases} >= {"type=opd (line 5)", "type=max_rl (line 8)"}
    assert WEIGHTS["by mean"] in {case.objective.advantage for case in cases}


VERSIONS = [
    ("trl beta=0.04", [("before 1.10", FORWARD)]),
    ("trl beta=0.04 use_bias_correction_kl=true", []),
    ("trl max_steps=8", [("before 0.19", FORWARD)]),
    (VERL + "A.use_kl_loss=true", []),
    ("verl L.adv_estimator=grpo R.n=8 data.x=1", [("before 0.4", WHOLE)]),
    ("nemo-rl F.use_importance_sampling_correction=true", [("before 0.7", FORWARD + CLAMP)]),
]


@pytest.mark.parametrize(("line", "older"), VERSIONS)
def test_older_versions_are_named_where_they_differ(line, older):
    configuration = of(line)
    # A loss of verl's own KL is older than the setting of an entropy bonus, which the words name.
    kls = [(case.condition, case.objective.term.stationary_kl) for case in configuration.older]
    assert kls == older
    assert of(line, version=tables()[line.split()[0]]["version"]).older == ()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("areal actor.importance_sampling_level=sequence", "clip: the answer's ratio clipped, 0.2"),
        ("areal", "the engine's own probabilities are the old policy's"),
        ("areal actor.recompute_logprob=true", "the engine's, not corrected"),
        ("areal actor.reward_scaling=10", "rewards are scaled by 10"),
        ("prime-rl T.group_size=8", "groups all correct or all incorrect are left out"),
        ("prime-rl T.group_size=8", "updates a batch: 1"),
        ("prime-rl orchestrator.max_off_policy_steps=3", "up to 3 steps old"),
        ("skyrl trainer.override_entrypoint=my.entry", "updates a batch: those of my.entry"),
        ("prime-rl T.algo.length_penalty.num_output_tokens_weight=0",
         "length penalty of 0 by output tokens, 0.1 by input tokens, 0.1 by turns"),
    ],
)  # fmt: skip
def test_what_else_matters_is_said(line, words):
    assert words in "; ".join(of(line).also)


def test_a_length_penalty_whose_weights_are_all_zero_is_none():
    weights = [
        f"T.algo.length_penalty.num_{name}_weight=" for name in ("output_tokens", "input_tokens", "turns")
    ]
    none, turns = (of(f"prime-rl T.group_size=8 {'0 '.join(weights)}{last}") for last in ("0", "0.2"))
    assert ("length penalty" in " ".join(none.also), none.changes, none.objective.unpredicted) == (
        False,
        (),
        "",
    )
    assert "0.2 by turns" in turns.objective.unpredicted


@pytest.mark.parametrize(
    ("line", "effect"),
    [
        ("nemo-rl F.kl_input_clamp_value=null", "where a token is released"),
        ("nemo-rl F.kl_input_clamp_value=null F.reference_policy_kl_penalty=0", ""),
        ("trl beta=0.04 sync_ref_model=true", "the reference follows the policy"),
        ("trl beta=0 sync_ref_model=true", ""),
        (VERL + "actor_rollout_ref.model.lora_adapter_path=a", ""),
        ("nemo-rl grpo.penalize_invalid_tool_call=true", ""),
        ("nemo-rl reward_penalties.penalize_empty_final_answer=true", "rewards are set to 0"),
        ("verl reward_model.enable=true", "in place of the verifier"),
        ("skyrl trainer.override_entrypoint=my.entry", "which may have another loss and other updates"),
    ],
)
def test_a_change_is_named_only_where_it_acts(line, effect):
    configuration = of(line, version=tables()[line.split()[0]]["version"])
    assert effect in " ".join(configuration.changes)
    assert bool(configuration.changes) == bool(effect)
    assert configuration.suspicious == ()


@pytest.mark.parametrize(
    ("script", "coefficient", "change"),
    [
        ("{} --config own.yaml", 0.5, ""),
        ("{} --config=own.yaml grpo.seed=1", 0.5, ""),
        ("FILE=own.yaml\n{} --config ${{FILE}}", 0.5, ""),
        ('DIR=$(dirname $0)\n{} --config "$DIR/own.yaml" extra \\\n  grpo.seed=1', 0.5, ""),
        ("{} --config ${{FILE}}", 0.01, "config=${FILE}"),
        ("{} --config=absent.yaml", 0.01, "config=absent.yaml"),
        ("FILE=own.yaml\nif [ $1 ]; then FILE=absent.yaml; fi\n{} --config $FILE", 0.01, "config=$FILE"),
    ],
)
def test_a_file_of_settings_is_followed_or_named(tmp_path, script, coefficient, change):
    (tmp_path / "own.yaml").write_text("loss_fn:\n  reference_policy_kl_penalty: 0.5\n")
    command = "python examples/run_grpo.py grpo.num_generations_per_prompt=8"
    configuration = stated(tmp_path, "a.sh", f"{script.format(command)}\n", version="0.8")
    assert configuration.objective.coefficient == coefficient
    assert (" ".join(configuration.changes).partition(" (")[0], configuration.suspicious) == (change, ())


@pytest.mark.parametrize(
    ("line", "age"),
    [
        ("areal rollout.max_head_offpolicyness=2", "some steps old"),
        ("areal rollout.max_head_offpolicyness=0", ""),
        ("nemo-rl grpo.async_grpo.enabled=true", "several policies"),
    ],
)
def test_answers_of_older_policies_are_said(line, age):
    changes = "; ".join(of(line).changes)
    assert age in changes
    assert bool(changes) == bool(age)


def test_the_asynchronous_grpo_of_trl_has_no_kl_and_no_older_versions(tmp_path):
    text = "from trl.experimental.async_grpo import AsyncGRPOConfig\nAsyncGRPOConfig(num_generations=8)\n"
    configuration = stated(tmp_path, "a.py", text)
    assert (configuration.objective.coefficient, configuration.older) == (0.0, ())
    assert not [setting for setting in of("trl beta=0").read if "Async" in setting]
    assert "sampler: vLLM's own probabilities are the old policy's, some steps old" in configuration.also


def test_slime_s_own_rollouts_are_no_change_and_an_asynchronous_program_is_said(tmp_path):
    text = "python train_async.py --hf-checkpoint m --advantage-estimator grpo --n-samples-per-prompt 8 "
    text += "--rollout-function-path slime.rollout.{} --rollout-batch-size 8\n"
    own, other = (stated(tmp_path, "a.sh", text.format(name))
                  for name in ("fully_async_rollout.generate", "sleep_rollout.sleep"))  # fmt: skip
    assert own.changes == ()
    assert "rollout_function_path" in other.changes[0]
    assert "answers a step old, or more" in own.also


def test_the_sampler_s_older_defaults_are_said():
    also = " ".join(of("trl beta=0.04").also)
    assert "before 0.18: sampled at temperature 0.9" in also
    assert "before 0.18: top_k 50" in also
    assert "before 4.0.4: top_p 0.9" in " ".join(of("ms-swift").also)
    assert of("trl beta=0.04", version="0.18").also == of("open-r1 beta=0.04").also


DOUBTS = [
    ("a.sh", "python -m main_ppo A.use_kl_loss=1 A.kl_loss_coef=$KL L.adv_estimator=rloo R.n=8\n",
     ["kl_loss_coef=$KL (line 1)"]),
    ("a.sh", "N=8\nif [ $1 ]; then N=16; fi\npython3 -m verl.trainer.main_ppo L.adv_estimator=grpo R.n=$N\n",
     ["n=8 (line 3 via 1) or n=16 (line 3 via 2)"]),
    ("a.py", "import trl\ntrl.GRPOConfig(beta=args.beta, num_generations=8)\n", ["beta=args.beta (line 2)"]),
    ("a.py", '"""\npython a.py --beta 0\npython a.py --beta 0 \\\n --num_generations 2\n"""\nGRPOTrainer\n',
     ["num_generations=2 (line 4) or num_generations=8 (default)"]),
    ("a.sh", "python3 -m verl.trainer.main_ppo ${RAY[@]} L.adv_estimator=grpo R.n=8 data.seed=$S\n", []),
    ("a.yaml", "num_generations: 8\nscale_rewards: none\nbeta: 0.04\nsystem_prompt: 'a: b'\n", []),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "doubts"), DOUBTS)
def test_only_what_decides_and_is_open_is_in_doubt(tmp_path, name, text, doubts):
    for short, long in SHORT.items():
        text = text.replace(f" {short}", f" {long}")
    assert list(stated(tmp_path, name, text).doubts) == doubts


def test_an_open_coefficient_leaves_the_advantage_and_the_group_certain(tmp_path):
    text = (
        "python -m verl.trainer.main_ppo actor_rollout_ref.actor.use_kl_loss=1 algorithm.adv_estimator=grpo "
    )
    text += "actor_rollout_ref.rollout.n=8 actor_rollout_ref.actor.kl_loss_coef=$KL\n"
    objective = stated(tmp_path, "a.sh", text).objective
    assert objective.undecided == ("the coefficient $KL",)
    assert (objective.advantage, objective.group_size) == (WEIGHTS["divided"], 8)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("trl bta=0.04", "bta (is beta meant?)"),
        ("trl beta=0 los_type=grpo", "los_type (is loss_type meant?)"),
        (VERL + "A.kl_loss_coeff=0.1", "actor_rollout_ref.actor.kl_loss_coeff (is "
         "actor_rollout_ref.actor.kl_loss_coef meant?)"),
        (VERL + "A.sft_loss_coeff=0.1", "actor_rollout_ref.actor.sft_loss_coeff"),
        ("trl beta=0.04 kl_estimator=k7", "kl_estimator"),
    ],
)  # fmt: skip
def test_names_that_may_change_the_answer_are_named_first(line, name):
    configuration = of(line)
    assert name in configuration.suspicious
    assert configuration.not_read == ()


@pytest.mark.parametrize(
    ("line", "loud"),
    [
        ("nemo-rl on_policy_distillation=null", False),
        ("nemo-rl on_policy_distillation=x", True),
        ("areal actor.reward_norm=null actor.mb_spec.packing_algorithm=ffd actor.reward_bias=-0.5", False),
        (VERL + "A.sft_loss=false", False),
    ],
)
def test_a_setting_that_is_off_does_not_sound_as_if_it_changed_the_answer(line, loud):
    assert bool(of(line).suspicious) == loud


def test_a_file_of_a_model_s_sizes_is_not_loud(tmp_path):
    text = "source /absent/models/a.sh\nsource /absent/b.sh\npython train.py --advantage-estimator grpo\n"
    configuration = stated(tmp_path, "a.sh", text)
    assert configuration.suspicious == ("settings of /absent/b.sh",)
    assert "settings of /absent/models/a.sh" in configuration.not_read


def test_the_chat_template_s_arguments_do_not_override_the_sampler():
    body = "prime-rl orchestrator.train.sampling.extra_body."
    assert of(body + "chat_template_kwargs.clear_thinking=false").changes == ()
    assert "may override the sampler" in of(body + "top_k=5").changes[0]


def test_names_without_a_meaning_here_are_counted_and_known_changes_say_what_they_do():
    configuration = of(VERL + "A.optim.lr=1e-6 trainer.nnodes=1 L.use_pf_ppo=true L.gamma=1.0")
    assert configuration.suspicious == ()
    assert set(configuration.not_read) == {"actor_rollout_ref.actor.optim.lr", "trainer.nnodes"}
    assert configuration.changes == (
        "algorithm.use_pf_ppo=true (given): answers are drawn again by their scores",
    )


def test_a_program_of_the_user_s_own_is_said(tmp_path):
    text = "python -m examples.mine.main_own trainer.algorithm.use_kl_loss=true trainer.algorithm.x=1\n"
    (change,) = stated(tmp_path, "a.sh", text).changes
    assert change.startswith("examples.mine.main_own: a program of its own")


@pytest.mark.parametrize("trainer", tables())
def test_every_table_answers_for_its_defaults_and_for_every_older_version(trainer):
    configuration = configuration_of({}, trainer)
    assert configuration.objective.group_size
    assert configuration.to_dict()["advantage"]
    assert configuration.tables()
    roles = tables()[trainer]["settings"]
    steps = {step for default, *_ in roles.values() if isinstance(default, dict) for step in default}
    for version in steps:
        assert configuration_of({}, trainer, version=version).objective.undecided == ()


@pytest.mark.parametrize("trainer", tables())
def test_every_row_of_a_table_is_about_settings_of_the_table(trainer):
    table = tables()[trainer]
    for key, lines in table["answers"].items():
        for line in lines:
            tests = line.rpartition("->")[0].split(" & ") if line.rpartition("->")[0].strip() else []
            names = {
                test.strip().lstrip("!").split("=")[0].split("!")[0].split("<")[0].split(">")[0]
                for test in tests
            }
            assert names <= table["settings"].keys(), (key, line)


def test_all_values_of_words_that_decide_have_an_answer():
    for kind, in_loss in itertools.product(("k1", "k2", "k3", "low_var_kl", "abs", "k2+"), ("true", "false")):
        configuration = of(VERL + f"A.use_kl_loss={in_loss} A.kl_loss_type={kind}")
        assert configuration.objective.undecided == ()
    assert of(VERL + "A.use_kl_loss=true A.kl_loss_type=k9").objective.undecided != ()


def test_a_trainer_is_known_by_its_names_or_not_at_all():
    assert configuration_of({"rlhf_type": "grpo", "num_generations": 8, "beta": 0}).trainer == "ms-swift"
    for settings in ({"colour": 1}, {"beta": 0.1}, {"learning_rate": 1, "n": 8}):
        with pytest.raises(ValueError, match="no trainer known here; settings seen"):
            configuration_of(settings)
    with pytest.raises(ValueError, match="is trl meant"):
        configuration_of({}, "trll")
