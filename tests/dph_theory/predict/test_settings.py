"""Files of settings: what is read from each kind, whose run it is, and what is refused."""

import json

import pytest
from click.testing import CliRunner

from dph_cli import main
from dph_theory.predict.interpretation import READERS, configuration_of, trainer_of, with_change
from dph_theory.predict.run_files import runs

ACTOR, ROLLOUT = "actor_rollout_ref.actor.", "actor_rollout_ref.rollout."
V = (
    f"python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo algorithm.use_kl_in_reward=False "
    f"{ROLLOUT}n=8 {ACTOR}entropy_coeff=0 "
)
KL = f"{V} {ACTOR}use_kl_loss=True {ACTOR}kl_loss_type=low_var_kl {ACTOR}kl_loss_coef="
PY = "from trl import GRPOConfig\n"
SWIFT = "swift rlhf --rlhf_type grpo --model m --reward_funcs accuracy --dataset x --num_generations 8 "
SLIME = "python3 slime/train.py --n-samples-per-prompt 8 --rollout-batch-size 32 "


def stated(folder, name, text, version=None):
    """What the first run of a file amounts to that is a trainer's."""
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    recognised = [run for run in runs(path) if any(reader.evidence(run)[0] for reader in READERS.values())]
    return configuration_of((recognised or runs(path))[0], version=version)


def predict(folder, name, text, *words):
    """The answer of the command, on one line, and its exit code."""
    (folder / name).write_text(text)
    result = CliRunner().invoke(main, ["predict", str(folder / name), *words])
    return " ".join(result.output.split()), result.exit_code


def of_verl(**actor):
    return {
        "actor_rollout_ref": {"actor": actor, "rollout": {"n": 8}},
        "algorithm": {"use_kl_in_reward": False, "adv_estimator": "grpo"},
    }


RECORD = of_verl(use_kl_loss=True, kl_loss_coef=0.01, kl_loss_type="low_var_kl", entropy_coeff=0)
OF_WANDB = {"_wandb": {"value": {"cli_version": "1"}}, **{name: {"value": of} for name, of in RECORD.items()}}
TINKER = {"kl_penalty_coef": 0.01, "kl_discount_factor": 0.0, "num_substeps": 1, "temperature": 1.0}
OF_ARGPARSE = {"use_kl_loss": True, "kl_loss_coef": 0.01, "kl_loss_type": "k2", "kl_coef": 0}
OF_ARGPARSE |= {"num_rollout": 300}
FLAT = {"pretrain": "m", "init_kl_coef": 0.01, "n_samples_per_prompt": 8, "advantage_estimator": "group_norm"}
NESTED = {"algo.kl.init_coef": 0.01, "algo.advantage.estimator": "group_norm", "algo.kl.horizon": 10000}
NEMO = {"grpo": {"normalize_rewards": True}, "loss_fn": {"reference_policy_kl_type": "k3"}}
ENVIRONMENT = "actor_rollout_ref: {actor: {use_kl_loss: true, kl_loss_coef: '${oc.env:KL,0.01}'}}\n"
REFERRING = "algorithm: {use_kl_in_reward: false, kl_ctrl: {kl_coef: 0.01}}\nactor_rollout_ref: {actor: "
REFERRING += "{use_kl_loss: true, entropy_coeff: 0, kl_loss_coef: '${algorithm.kl_ctrl.kl_coef}'}}\n"

READ = [
    ("run.json", json.dumps(RECORD), "verl", 0.01),
    (".hydra/config.yaml", json.dumps(RECORD), "verl", 0.01),
    ("config.yaml", json.dumps(OF_WANDB), "verl", 0.01),
    ("run.toml", "[actor_rollout_ref.actor]\nuse_kl_loss = true\nentropy_coeff = 0\nkl_loss_coef = 0.01\n"
     "[algorithm]\nuse_kl_in_reward = false\n", "verl", 0.01),
    ("own.yaml", REFERRING, "verl", 0.01),
    ("own.yaml", f"defaults: [ppo_trainer, _self_]\n{REFERRING}", "verl", 0.01),
    ("over.yaml", "defaults: below.yaml\nactor_rollout_ref: {actor: {kl_loss_coef: 0.5}}\nmade_up: null\n",
     "verl", 0.5),
    ("over.yaml", "defaults: [below, {actor_rollout_ref/actor: strong}, _self_]\nmade_up: null\n",
     "verl", 0.7),
    ("a.json", json.dumps(TINKER), "Tinker", 0.01),
    ("a.json", json.dumps(OF_ARGPARSE), "slime", 0.01),
    ("a.json", json.dumps(FLAT), "OpenRLHF", 0.01),
    ("a.json", json.dumps(NESTED), "OpenRLHF", 0.01),
    ("a.json", '\ufeff{"num_generations": 8, "scale_rewards": "none", "beta": 0}', "TRL", 0.0),
    ("a.yaml", "rlhf_type: grpo\nnum_generations: 8\nbeta: 0.04\n", "ms-swift", 0.04),
    ("a.yaml", "actor: {kl_ctl: 0.0, ppo_n_minibatches: 4}\ngconfig: {n_samples: 4}\n", "AReaL", 0.0),
    ("a.yaml", "actor: {kl_ctl: 0.0, ppo_n_minibatches: 4, reward_bias: -0.5, reward_scaling: 10.0, "
     "reward_norm: {mean_level: group, std_level: group}}\n", "AReaL", 0.0),
    ("a.sh", KL + "0.02 --config-path=config --config-name='ppo_megatron_trainer.yaml'\n", "verl", 0.02),
    ("a.yaml", "trainer: {algorithm: {use_kl_loss: true, loss_reduction: token_mean_legacy}}\n",
     "SkyRL", 0.001),
    ("a.toml", "[orchestrator]\nbatch_size = 128\ngroup_size = 16\n", "prime-rl", 0.0),
    ("a.sh", KL + "0.02 > log 2>&1 | tee log.txt &\n", "verl", 0.02),
    ("a.sh", "COEF=0.02\nexport TYPE=k3\n" + KL + "${COEF} \\\n  # so\n", "verl", 0.02),
    ("a.sh", "N=${N:-8} # answers\n" + KL + "${COEF:-0.02} trainer.nnodes=$(nproc) $@\n", "verl", 0.02),
    ("a.sh", KL.replace("python3", "ray job submit --no-wait --runtime-env=a.yaml -- python3") + "0.02\n",
     "verl", 0.02),
    ("a.sh", "set -x\nif true; then\n  " + KL + "'0.02'\nfi\n", "verl", 0.02),
    ("a.sh", f"{KL}0.02 +{ACTOR}use_kl_loss=True\n", "verl", 0.02),
    ("a.sh", f"{KL}0.02 ~{ACTOR}use_kl_loss\n", "verl", 0.0),
    ("a.sh", f"{KL}0.02 {ACTOR}use_kl_loss=False {ACTOR}kl_loss_coef=$KL\n", "verl", 0.0),
    ("a.sh", f"{KL}0.02 data.train_batch_size=$B trainer.default_local_dir=$HOME/x\n", "verl", 0.02),
    ("a.sh", "cat > a.py <<EOF\nit's not a quote\nEOF\n" + KL + "0.02\n", "verl", 0.02),
    ("a.sh", "DS=0 accelerate launch --config_file z.yaml -m openrlhf.cli.train_ppo_ray --pretrain m "
     "--n_samples_per_prompt 8 --use_kl_loss \\\n --init_kl_coef 1e-3 --kl_estimator k3 "
     "--advantage_estimator group_norm\n", "OpenRLHF", 0.001),
    ("a.sh", "python3 -m openrlhf.cli.train_ppo_ray --algo.kl.init_coef 1e-2 "
     "--algo.dynamic_filtering_range 0 1\n", "OpenRLHF", 0.01),
    ("a.sh", "accelerate launch -m trl.scripts.grpo --beta 0 --scale_rewards none\n", "TRL", 0.0),
    ("a.sh", SWIFT + "--advantage_estimator rloo --beta 0.001\n", "ms-swift", 0.001),
    ("a.sh", SLIME + "--use-kl-loss --kl-loss-coef 0.01 --kl-loss-type=k2\n", "slime", 0.01),
    ("a.sh", SLIME + "--kl-coef 0.01 --kl-loss-coef 0.00 --kl-loss-type low_var_kl\n", "slime", 0.0),
    ("a.sh", "KL=0.01\nKLS=(\n  --use-kl-loss # on\n  --kl-loss-coef $KL\n)\nMORE=(--kl-loss-type k2)\n"
     + SLIME + '"${KLS[@]}" --colocate ${MORE[*]}\n', "slime", 0.01),
    ("a.py", PY + "BETA = 0.0\nGRPOConfig('out', beta=BETA, num_generations=8, learning_rate=lr)\n",
     "TRL", 0.0),
    ("a.py", "\ufeffimport trl\nx = trl.GRPOConfig(beta=0.1, use_bias_correction_kl=True)\n", "TRL", 0.1),
    ("a.py", "from unsloth import FastLanguageModel\n" + PY + "GRPOConfig(num_generations=8)\n",
     "Unsloth", 0.001),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "trainer", "coefficient"), READ)
def test_what_a_record_a_command_or_a_call_states_is_read(tmp_path, name, text, trainer, coefficient):
    (tmp_path / "below.yaml").write_text(json.dumps({**RECORD, "made_up": {"kl": 1}}))
    (tmp_path / "actor_rollout_ref" / "actor").mkdir(parents=True)
    (tmp_path / "actor_rollout_ref" / "actor" / "strong.yaml").write_text("kl_loss_coef: 0.7\n")
    configuration = stated(tmp_path, name, text)
    assert configuration.objective.undecided == ()
    assert (configuration.trainer, configuration.objective.coefficient) == (trainer, coefficient)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_what_trl_saves_of_a_configuration_is_read(tmp_path):
    from trl import GRPOConfig

    for beta, law in ((0.04, "reverse KL per token"), (0.0, "none: no KL to the base")):
        text = GRPOConfig(output_dir="out", beta=beta, bf16=False, use_cpu=True).to_json_string()
        assert stated(tmp_path, "config.json", text).stationary_kl == law
        of_wandb = {name: {"desc": None, "value": value} for name, value in json.loads(text).items()}
        of_wandb |= {"wandb_version": 1, "hidden_size": {"value": 896}, "model_type": {"value": "qwen2"}}
        assert stated(tmp_path, "config.yaml", json.dumps(of_wandb)).stationary_kl == law


ON = f"{ACTOR}kl_loss_coef=$KL (not known)"
UNKNOWN = [
    ("a.sh", KL + "$KL\n", ON),
    ("a.sh", "KL=0.001\nwhile [[ $# -gt 0 ]]; do\n  case \"$1\" in\n    --kl) KL=\"$2\"; shift 2 ;;\n"
     "    *) break ;;\n  esac\ndone\n" + KL + "$KL\n", ON),
    ("a.sh", 'if [ "$1" = kl ]; then KL=0.1; fi\n' + KL + "$KL\n", ON),
    ("a.sh", "[ -z $1 ] && KL=0.1\n" + KL + "$KL\n", ON),
    ("a.sh", "for KL in 0.1 0.2; do\n" + KL + "$KL\ndone\n", ON),
    ("a.sh", "KL=0.1\nsource other.sh\n" + KL + "$KL\n", ON),
    ("a.sh", "KL=1\nlet KL=2\n" + KL + "$KL\n", ON),
    ("a.sh", "KL=1\nKL+=2\n" + KL + "${KL:-3}\n", f"{ACTOR}kl_loss_coef=$KL (not known)"),
    ("a.sh", "KL=$((1 / 2))\n" + KL + "$KL\n", "kl_loss_coef=$KL (not known)"),
    ("a.sh", "KL=0.1\n" + KL + '$2 "${MORE[@]}"\n', f"{ACTOR}kl_loss_coef=$2 (not known)"),
    ("a.sh", "if true; then\nMORE=(a=b)\nfi\n" + KL + '0.1 "${MORE[@]}"\n', "${MORE[@]} (not known)"),
    ("a.sh", "MORE=(a=b)\nMORE+=(c=d)\n" + KL + '0.1 "${MORE[@]}"\n', "${MORE[@]} (not known)"),
    ("a.sh", "MORE=(a=b)\n. other.sh\n" + KL + '0.1 "${MORE[@]}"\n', "${MORE[@]} (not known)"),
    ("a.sh", 'MORE=""\nif true; then MORE="a=b"; fi\n' + KL + "0.1 $MORE\n", "$MORE (not known)"),
    ("a.sh", f"{V}{ACTOR}use_kl_loss=$KL\n", "use_kl_loss=$KL (not known)"),
    ("a.sh", KL + "0.1 +actor_rollout_ref.rollout.top_k=$(cat k) \\ \n", "rollout.top_k=${...} (not known)"),
    ("a.sh", KL + "0.1 actor_rollout_ref.rollout.temperature=$T\n", "temperature=$T (not known)"),
    ("a.sh", KL + "0.1 --config-name=mine\n", "config"),
    ("a.sh", "trl grpo --config run.yaml --beta 0.2\n", "config=run.yaml (not read"),
    ("a.sh", SLIME + "--colocate ${GRPO_ARGS[@]}\n", "${GRPO_ARGS[@]} (not known)"),
    ("a.py", PY + "GRPOConfig(beta=args.beta, num_generations=8)\n", "beta=args.beta (not known)"),
    ("a.py", PY + "BETA = 0.1\nif x:\n    BETA = 0.2\nGRPOConfig(beta=BETA)\n", "beta=BETA (not known)"),
    ("a.py", PY + "def run(beta=0.1):\n    GRPOConfig(beta=beta)\n", "beta=beta (not known)"),
    ("a.py", PY + "GRPOConfig(beta=1 / 10)\n", "beta=1 / 10 (not known)"),
    ("a.py", PY + "GRPOConfig(num_generations=8, **rest)\n", "**rest (not known)"),
    ("a.py", PY + "a = GRPOConfig(num_generations=8)\na.beta = 0.1\n",
     "beta=what line 3 assigns (not known)"),
    ("a.py", PY + "a = GRPOConfig(num_generations=8)\na = replace(a, beta=0.1)\n", "replace(a, beta=0.1)"),
    ("a.py", PY + "BETA = 0.1\nBETA *= 2\nGRPOConfig(beta=BETA)\n", "beta=BETA (not known)"),
    ("a.py", "from trl import GRPOConfig, GRPOTrainer\nclass Mine(GRPOTrainer):\n    pass\n"
     "GRPOConfig(beta=0)\n", "class Mine(GRPOTrainer) (not known)"),
    ("a.py", PY + "from open_r1.trainer import VLGRPOTrainer\nGRPOConfig(beta=0)\n",
     "open_r1.trainer.VLGRPOTrainer (not known)"),
    ("a.yaml", ENVIRONMENT, "kl_loss_coef=${oc.env:KL,0.01} (not known)"),
    ("a.yaml", "beta: ${nothing.here}\nnum_generations: 8\nscale_rewards: none\n",
     "beta=${nothing.here} (not known)"),
    ("a.yaml", "defaults: base.yaml\nloss_fn: {token_level_loss: true}\ngrpo: {seed: 1}\n",
     "defaults: base.yaml (not known)"),
    ("a.yaml", "defaults: [actor: dp, _self_]\ntrainer: {algorithm: {a: 0, b: 0}}\n",
     "defaults: {'actor': 'dp'} (not known)"),
    ("a.yaml", "num_generations: 8\nscale_rewards: none\nbeta: 0.04\nkl_estimator: k7\n",
     "kl_estimator=k7 (not read)"),
    ("a.yaml", "num_generations: 8\nloss_type: grpo\nmade_up: 2\nbata: 0.1\n",
     "bata=0.1 (not read; is beta meant?)"),
    ("a.toml", "[orchestrator]\nbatch_size = 128\ngroup_size = 16\nalgo.name = 'max_rl'\n",
     "orchestrator.algo.name=max_rl (not read)"),
    ("a.sh", "python3 -m recipe.dapo.main_dapo " + V.partition("main_ppo ")[2] +
     "reward_model.overlong_buffer.enable=True\n", "reward_model.overlong_buffer.enable=True (not read)"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "first"), UNKNOWN)
def test_what_decides_and_is_not_stated_stands_first_and_no_law_is_told(tmp_path, name, text, first):
    configuration = stated(tmp_path, name, text)
    assert first in configuration.objective.undecided[0]
    assert configuration.stationary_kl.startswith("nothing is predicted: ")
    answer, code = predict(tmp_path, name.rpartition("/")[2], text)
    assert (code, "it depends on" in answer) == (1, True)


def test_every_argument_that_a_law_depends_on_is_named(tmp_path):
    arguments = ("beta", "temperature", "num_generations", "loss_type", "scale_rewards")
    given = ", ".join(f"{name}=args.{name}" for name in (*arguments, "per_device_train_batch_size"))
    undecided = stated(tmp_path, "a.py", f"{PY}GRPOConfig({given})\n").objective.undecided
    assert sorted(undecided) == sorted(f"{name}=args.{name} (not known)" for name in arguments)


OLD = "forward KL per token at 0.001 with entropy_coeff=0.001 before verl 0.4, forward KL per token at 0.001"
PLAIN = f"{ACTOR}kl_loss_coef=0.001 {ACTOR}use_kl_loss=True {ROLLOUT}n=5 algorithm.adv_estimator=grpo"
ANY_VERSION = [
    ("a.sh", f"python3 -m verl.trainer.main_ppo {PLAIN}\n", OLD),
    ("a.sh", f"python3 -m verl.trainer.main_ppo {ROLLOUT}n=5 algorithm.adv_estimator=grpo\n",
     "reverse KL of the whole answer at 0.001 with entropy_coeff=0.001 before verl 0.4, no KL"),
    ("a.py", PY + "GRPOConfig(beta=0.04)\n",
     "forward KL per token at 0.04 before TRL 1.10, reverse KL per token at 0.04 since 1.10"),
    ("a.py", PY + "GRPOConfig(max_steps=8)\n",
     "forward KL per token at 0.04 before TRL 0.19, no KL"),
    ("a.yaml", json.dumps({**NEMO, "loss_fn": {"reference_policy_kl_type": "k1"}, "grpo": {"seed": 1}}),
     "no KL to the base before NeMo-RL 0.7, reverse KL per token at 0.01 since 0.7"),
    ("a.yaml", json.dumps(NEMO), "forward KL per token at 0.01 before NeMo-RL 0.7, reverse KL"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "laws"), ANY_VERSION)
def test_where_versions_differ_the_answer_has_both_and_asks_which(tmp_path, name, text, laws):
    (reason,) = stated(tmp_path, name, text).objective.undecided
    assert reason.startswith(f"the version: {laws}")
    for version in ("0.1" if "verl" in laws else "0.14", "1.16"):
        undecided = stated(tmp_path, name, text, version=version).objective.undecided
        assert "the version" not in " ".join(undecided)
    assert "(--trainer-version)" in predict(tmp_path, name, text)[0].replace("- ", "-")


def test_a_setting_that_only_newer_versions_have_tells_the_version(tmp_path):
    text = f"python3 -m verl.trainer.main_ppo {PLAIN} algorithm.norm_adv_by_std_in_grpo=False\n"
    assert stated(tmp_path, "a.sh", text).objective.undecided == ()
    text = PY + "GRPOConfig(beta=0.04, use_bias_correction_kl=False)\n"
    assert stated(tmp_path, "a.py", text).stationary_kl == "forward KL per token"


def test_groups_of_equal_rewards_and_both_kls_have_their_words(tmp_path):
    both = KL.replace("in_reward=False", "in_reward=True") + "0.001\n"
    summed = "of the sum of a KL in the loss and one in the reward"
    assert summed in stated(tmp_path, "a.sh", both).stationary_kl
    sequence = "importance_sampling_level='sequence', use_bias_correction_kl=True"
    sequence = f"{PY}GRPOConfig(beta=0.04, {sequence})\n"
    assert "1/L reverse and 1 - 1/L forward" in stated(tmp_path, "a.py", sequence).stationary_kl
    idle = stated(tmp_path, "a.sh", KL + "0.001 algorithm.kl_ctrl.kl_coef=0.001\n").inert
    assert idle == ("algorithm.kl_ctrl.kl_coef (use_kl_in_reward is off)",)
    dropped = stated(tmp_path, "a.sh", SLIME + "--kl-coef 0.01 --kl-loss-coef 0.1\n").inert
    assert [text.partition(" ")[0] for text in dropped] == ["--kl-coef", "--kl-loss-coef"]


OI = "python open_instruct/grpo_vllm_thread_ray_gtrl.py --beta 0.03 --kl_estimator kl1 "
OI += "--number_samples_per_prompt 16 --apply_verifiable_reward true\n"
FOREIGN = [
    ("a.sh", OI, "open-instruct"),
    ("a.sh", "for beta in 0.03 0.01; do\n" + OI.replace("0.03", "$beta") + "done\n", "open-instruct"),
    ("a.json", '{"apply_verifiable_reward": true, "beta": 0.03, "num_generations": 8, "loss_type": "grpo"}',
     "open-instruct"),
    ("a.py", "from tunix.rl.grpo.grpo_learner import GRPOConfig\nGRPOConfig(num_generations=4, beta=0.08)\n",
     "tunix"),
    ("a.sh", V.replace("verl.trainer.main_ppo", "recipe.sppo.main_sppo") + "\n", "a recipe on verl"),
    ("a.sh", V.replace("verl.trainer.main_ppo", "verl.mix_src.main_mix_ppo") + "\n", "a recipe on verl"),
    ("a.sh", SWIFT.replace("rlhf_type grpo", "rlhf_type gkd") + "\n", "ms-swift without GRPO"),
    ("a.sh", "swift sft --learning_rate 1e-5\n", "ms-swift without GRPO"),
    ("a.sh", "python3 -m openrlhf.cli.train_dpo --beta 0.1 --pretrain m\n", "OpenRLHF without PPO"),
    ("a.sh", "python -m verl.trainer.main config=a.yaml worker.actor.global_batch_size=128\n", "EasyR1"),
    ("a.yaml", "actor_train: {lr: 1.0e-6}\nactor_infer: {top_p: 1}\n", "ROLL"),
    ("a.yaml", "dpo: {reference_policy_kl_penalty: 0.05}\npolicy: {precision: x}\n", "NeMo-RL without GRPO"),
    ("a.py", "from trl import DPOConfig\nDPOConfig(beta=0.1, loss_type='sigmoid')\n", "TRL without GRPO"),
    ("a.py", "from trl.experimental.async_grpo import AsyncGRPOConfig\nAsyncGRPOConfig(num_generations=8)\n",
     "TRL without GRPO"),
    ("a.sh", "python train_dpo.py --beta 0.1 --output_dir o\n", ""),
    ("grpo.sh", "python grpo.py --beta 0.1 --num_generations 8 --loss_type grpo\n", ""),
    ("a.sh", "python run_grpo.py --config a.yaml --num_generations 8 --scale_rewards none\n", ""),
    ("a.sh", "pip install --upgrade trl==0.18\n", ""),
    ("a.sh", "BETA=0.1\nKL=2\n", ""),
    ("a.yaml", "model: m\nlearning_rate: 1.0e-6\nbeta: 0.1\nnum_generations: 8\n", ""),
    ("a.json", '{"zero_optimization": {"stage": 3}, "bf16": {"enabled": true}}', ""),
    ("a.py", "from mine import GRPOConfig\nGRPOConfig(beta=0.1, num_generations=8, loss_type='grpo')\n", ""),
    ("a.py", PY + "class C(GRPOConfig):\n    beta: float = 0.3\nC(num_generations=8)\n", ""),
    ("a.py", PY + "parser = TrlParser((ScriptArguments, GRPOConfig))\n", ""),
    ("a.py", "from torch.optim import Adam\nAdam([], lr=1e-3)\n", ""),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "program"), FOREIGN)
def test_whose_run_it_is_decides_the_program_or_the_import(tmp_path, name, text, program):
    answer, code = predict(tmp_path, name, text)
    assert code == 2
    named = f"this is {program}, which is not known here" if program else "no trainer known here"
    assert named in answer or (not program and "a file that holds settings" in answer)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("run.yaml", "beta: [1\n", "no YAML: while parsing a flow sequence"),
        ("run.yaml", "- 1\n", "a file of settings"),
        ("run.yaml", "", "a file of settings"),
        ("run.yaml", "self: &a\n  again: *a\n", "a file that does not hold itself"),
        ("run.json", '{"a":' * 3000 + "1" + "}" * 3000, "a file that does not hold itself"),
        ("run.sh", "# Nothing is set here.\n", r"config='.*run.sh' is not allowed: a file that holds"),
        ("run.sh", "echo 'open\n", "No closing quotation"),
    ],
)
def test_what_is_refused(tmp_path, name, text, says):
    with pytest.raises(ValueError, match=says):
        stated(tmp_path, name, text)


def test_a_name_that_is_typed_and_nothing_reads_is_an_error_that_names_the_nearest(tmp_path):
    run = ("a.yaml", "beta: 0.04\nnum_generations: 8\nscale_rewards: none\n")
    assert predict(tmp_path, *run, "btea=0.2")[1] == 2
    assert "nothing reads btea=0.2; is beta meant?" in predict(tmp_path, *run, "btea=0.2")[0]
    assert "nothing reads made_up=0" in predict(tmp_path, *run, "made_up=0")[0]
    assert predict(tmp_path, *run, "beta=0", "learning_rate=1e-6")[1] == 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py",
         PY + "warm = GRPOConfig(beta=0.0)\nreal = GRPOConfig(beta=0.1, use_bias_correction_kl=True)\n"),
        ("a.sh", V + "\n" + KL + "0.1\n"),
    ],
)  # fmt: skip
def test_of_several_runs_one_is_chosen(tmp_path, name, text):
    both, code = predict(tmp_path, name, text)
    assert (code, "it states 2 runs that differ" in both) == (2, True)
    answers = [predict(tmp_path, name, text, "--run", number)[0] for number in "12"]
    assert ["without a KL" in answer for answer in answers] == [True, False]
    assert "run=5 is not allowed: at most 2" in predict(tmp_path, name, text, "--run", "5")[0]


@pytest.mark.parametrize(
    ("name", "text", "source"),
    [
        ("config.yaml", json.dumps(OF_WANDB), "the record of W&B"),
        ("a.json", json.dumps(RECORD), "a file of settings"),
        ("a.yaml", f"{json.dumps(RECORD)}\n---\nbeta: 0.1\n", "a file of settings, document 1"),
        ("a.sh", KL + "${COEF:-0.1} $@\n", "the command of verl.trainer.main_ppo, without $COEF, $@"),
        ("a.py", PY + "GRPOConfig(beta=0.0)\n", "the call of trl.GRPOConfig in line 2"),
    ],
)
def test_the_answer_says_what_was_read(tmp_path, name, text, source):
    assert f"Read: {source}." in predict(tmp_path, name, text)[0]


def test_hydra_s_record_is_known_by_its_folder_and_overridden(tmp_path):
    (tmp_path / ".hydra").mkdir()
    answer, _ = predict(tmp_path / ".hydra", "config.yaml", json.dumps(RECORD), f"{ACTOR}use_kl_loss=false")
    assert "Read: the record of hydra." in answer
    assert "without a KL" in answer


def test_a_change_needs_flags_that_the_version_has():
    for corrected, version, possible in ((True, "0.18", False), (False, "0.18", True), (True, "1.16", True)):
        change = {"use_bias_correction_kl": corrected}
        assert (with_change({"beta": 0.1}, change, "trl", version) is not None) is possible


def test_a_run_s_trainer_can_be_given(tmp_path):
    text = "python grpo.py --beta 0.0 --num_generations 8 --loss_type grpo\n"
    assert "TRL" in predict(tmp_path, "a.sh", text, "--trainer", "trl")[0]
    run = runs(tmp_path / "a.sh")[0]
    with pytest.raises(ValueError, match="no trainer known here"):
        trainer_of(run)
