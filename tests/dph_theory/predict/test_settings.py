"""Files of settings: what is read from each kind, and what is refused."""

import pytest
from click.testing import CliRunner

from dph_cli import main
from dph_theory.predict.interpretation import configuration_of, trainer_of
from dph_theory.predict.run_files import runs

ACTOR = "actor_rollout_ref.actor."
PENALTY = {"penalty": "0.01 x clip(e^-x - 1 + x, 10), |x| <= 20"}
COMMAND = rf"""
python -m any.main \
  {ACTOR}use_kl_loss=True \
  +{ACTOR}kl_loss_coef=0.01 # so
"""
VARIABLES = rf"""
COEF=0.01
: "${{USE:=true}}"
python main.py {ACTOR}use_kl_loss=$USE {ACTOR}kl_loss_coef=${{COEF:-0.5}}
"""
DAPO = rf"""
short=$((1024 * 2))
sp_size=8
export low=0.2
n=16; mini=32
ray job submit --no-wait --runtime-env=env.yaml -- python3 -m main_dapo \
  algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=${{n}} \
  data.max_prompt_length=$((short + 1)) data.train_batch_size=512 \
  {ACTOR}ppo_mini_batch_size=$mini {ACTOR}clip_ratio_low=$low
"""
CLIP = f"{ACTOR}clip_ratio_low=0.2 (a clip: it acts on later updates of a batch)"
REFERS = "defaults: base.yaml\ngrpo: {adv_estimator: {normalize_rewards: '${grpo.normalize_rewards}'}}\n"
READ = {
    "run.yaml": ("actor_rollout_ref:\n  actor:\n    use_kl_loss: true\n    kl_loss_coef: 1e-2\n", PENALTY),
    "run.json": ('{"actor_rollout_ref": {"actor": {"use_kl_loss": true, "kl_loss_coef": 0.01}}}', PENALTY),
    "run.toml": ("[actor_rollout_ref.actor]\nuse_kl_loss = true\nkl_loss_coef = 0.01\n", PENALTY),
    "command.sh": (COMMAND, PENALTY),
    "variables.sh": (VARIABLES, PENALTY),
    "flags.sh": ("train.py --use-kl-loss --kl-loss-coef 0.01 --kl-loss-type=k2 --lr 1e-6\n",
                 {"penalty": "0.01 x x^2/2"}),
    "numbers.sh": ("train --algo.dynamic_filtering_range 0 1 --algo.kl.init_coef 0.1\n",
                   {"not_read": ("algo.dynamic_filtering_range=0 1",)}),
    "same_names.sh": ("beta=0.02\nkl_loss_coef=0.3\npython train.py --beta $beta --loss_type grpo\n",
                      {"coefficient": 0.02, "not_read": ()}),
    "no_command.sh": ("kl_penalty_coef=0.1 kl_discount_factor=1\nmade_up=2\n",
                      {"trainer": "Tinker", "coefficient": 0.1, "not_read": ("made_up=2",)}),
    "a_script_s_own_words.sh": (DAPO, {"group_size": 16, "updates": 16, "not_read": (CLIP,)}),
    "train.py": ("args = trl.GRPOConfig('out', beta=0.1, learning_rate=lr)\n", {"coefficient": 0.1}),
    "refers.yaml": (REFERS, {"scale": "leave_one_out", "not_read": ()}),
    "elsewhere.yaml": ("defaults: absent.yaml\nloss_fn: {token_level_loss: true}\n",
                       {"not_read": (), "coefficient": 0.01}),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_what_is_read(tmp_path, name):
    text, wanted = READ[name]
    (tmp_path / "base.yaml").write_text("grpo: {normalize_rewards: false}\n")
    (tmp_path / name).write_text(text)
    found = configuration_of(runs(tmp_path / name)[-1].settings)
    assert {field: getattr(found, field) for field in wanted} == wanted
    if wanted == PENALTY:
        assert (
            configuration_of(runs(tmp_path / name, [f"{ACTOR}use_kl_loss=false"])[-1].settings).penalty
            == "none"
        )


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("train.py", "args = Config(beta=0.1)\n", "no trainer known here"),
        ("run.sh", "# Nothing is set here.\n", r"config='.*run.sh' is not allowed: a file that holds"),
        ("run.yaml", "beta: [1\n", "no YAML: while parsing a flow sequence"),
        ("run.yaml", "- 1\n", "a file of settings"),
        ("run.yaml", "", "a file of settings"),
        ("run.yaml", "self: &a\n  again: *a\n", "a file that does not hold itself"),
        ("run.json", '{"a":' * 3000 + "1" + "}" * 3000, "a file that does not hold itself"),
    ],
)
def test_what_is_refused(tmp_path, name, text, says):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=says):
        told(tmp_path / name)


def told(path, *overrides):
    """What the first run of a file amounts to."""
    run = runs(path, overrides)[0]
    return configuration_of(run.settings, trainer_of(run))


V = "python -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=8 "
PY = "from trl import GRPOConfig\n"
KNOWN = [
    ("a.py", PY + "BETA = 0.1\nGRPOConfig(beta=BETA, num_generations=8)\n", "TRL", 0.1),
    ("a.py", PY + "c = dict(beta=0.2, num_generations=4)\nGRPOConfig(output_dir='o', **c)\n", "TRL", 0.2),
    ("a.py", PY + "a = GRPOConfig(num_generations=8)\na.beta = 0.1\n", "TRL", 0.1),
    ("a.py", PY + "class C(GRPOConfig):\n    beta: float = 0.3\nC(num_generations=8)\n", "TRL", 0.3),
    ("a.py", PY + "GRPOConfig(beta=1 / 10, num_generations=2 ** 3)\n", "TRL", 0.1),
    ("a.py", "\ufeff" + PY + "GRPOConfig(beta=0.04)\n", "TRL", 0.04),
    ("a.py", "import trl\nx = trl.GRPOConfig(beta=0.04)\n", "TRL", 0.04),
    ("a.py", "from unsloth import FastLanguageModel\n" + PY + "GRPOConfig(num_generations=8)\n", "Unsloth",
     0.001),
    ("a.json", '\ufeff{"beta": 0.04, "num_generations": 8}', "TRL", 0.04),
    ("a.yaml", "beta: 0.04\nnum_generations: 8\n---\nbeta: 0.1\nnum_generations: 8\n", "TRL", 0.04),
    ("a.yaml", "beta: ${oc.env:NO_SUCH_KL,0.01}\nnum_generations: 8\n", "TRL", 0.01),
    ("a.yaml", "grpo: {num_prompts_per_step: 4}\nloss_fn: {reference_policy_kl_penalty: 0.02}\n"
     "policy: {train_global_batch_size: '${mul:${grpo.num_prompts_per_step}, 16}'}\n", "NeMo-RL", 0.02),
    ("a.sh", V + "data.max_response_length=$((1024 * 8))\n", "verl", 0.0),
    ("a.sh", "N=${N:-8}\n" + V.replace("n=8", "n=$N") + "\n", "verl", 0.0),
    ("a.sh", "KL=0.02\n" + V + "actor_rollout_ref.actor.use_kl_loss=True "
     "actor_rollout_ref.actor.kl_loss_coef=${KL}\n", "verl", 0.02),
    ("a.sh", "ARGS=(\n  --advantage-estimator grpo\n  --n-samples-per-prompt 8\n  --use-kl-loss\n"
     "  --kl-loss-coef 0.01 --kl-loss-type k2\n)\npython train.py ${ARGS[@]}\n", "slime", 0.01),
    ("a.sh", V.replace("python", "ray job submit -- python3") + "+actor_rollout_ref.actor.use_kl_loss=True\n",
     "verl", 0.001),
    ("a.sh", V + "actor_rollout_ref.actor.use_kl_loss=True ~actor_rollout_ref.actor.use_kl_loss\n", "verl",
     0.0),
    ("a.sh", V.replace("rollout.n=", "rollout.n_agent=") + "actor_rollout_ref.actor.use_kl_loss=True\n",
     "verl", 0.001),
    ("a.sh", "swift rlhf --rlhf_type grpo --num_generations 8\n", "ms-swift", 0.04),
    ("a.sh", "swift rlhf --rlhf_type grpo --advantage_estimator rloo --beta 0.001 --num_generations 8\n",
     "ms-swift", 0.001),
    ("a.sh", "python3 -m openrlhf.cli.train_ppo_ray --pretrain m --n_samples_per_prompt 8 --use_kl_loss \\\n"
     " --init_kl_coef 1e-3 --kl_estimator k3 --advantage_estimator group_norm\n", "OpenRLHF", 0.001),
    ("a.sh",
     "python3 -m openrlhf.cli.train_ppo_ray --algo.kl.init_coef 1e-2 --rollout.n_samples_per_prompt 8\n",
     "OpenRLHF", 0.01),
    ("a.sh", "python -m skyrl.train.entrypoints.main_base trainer.algorithm.advantage_estimator=grpo "
     "trainer.algorithm.loss_reduction=token_mean_legacy\n", "SkyRL", 0.001),
    ("a.yaml", "actor: {kl_ctl: 0.0, behave_imp_weight_cap: 5.0}\ngconfig: {n_samples: 4}\n", "AReaL", 0.0),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "trainer", "coefficient"), KNOWN)
def test_whose_run_it_is_and_its_coefficient(tmp_path, monkeypatch, name, text, trainer, coefficient):
    monkeypatch.delenv("NO_SUCH_KL", raising=False)
    (tmp_path / name).write_text(text, encoding="utf-8")
    found = told(tmp_path / name)
    assert (found.trainer, found.coefficient) == (trainer, coefficient)
    assert not found.undecided


SWIFT = "swift rlhf --rlhf_type "
FOREIGN = [
    ("a.sh", "python train_dpo.py --beta 0.1 --output_dir o\n"),
    ("a.sh", "python examples/kto.py --beta 0.1\n"),
    ("a.sh", "docker run --shm-size 8g --network-mode host img\n"),
    ("a.sh", SWIFT + "kto --beta 0.1\n"),
    ("a.sh", SWIFT + "gkd --beta 0.1 --num_generations 8\n"),
    ("a.sh", SWIFT + "dpo --beta 0.1\n"),
    ("a.sh", "swift sft --learning_rate 1e-5\n"),
    ("a.sh", "python3 -m openrlhf.cli.train_dpo --beta 0.1 --pretrain m\n"),
    ("a.sh", "python3 -m openrlhf.cli.train_sft --pretrain m\n"),
    ("a.sh",
     "python -m verl.trainer.main config=a.yaml worker.actor.global_batch_size=128 worker.rollout.n=5\n"),
    ("a.sh", "bash serve.sh --port 8000 --temperature 0.7\n"),
    ("a.sh", "pip install --upgrade trl==0.18\n"),
    ("a.sh", "torchrun --nproc_per_node 8 pretrain.py --beta 0.9\n"),
    ("a.sh", "python examples/start_rlvr_pipeline.py --config_name x --beta 0.1\n"),
    ("a.yaml", "algorithm: {adv_estimator: grpo, kl_coef: 0.01}\nworker: {actor: {a: 1}, rollout: {n: 5}}\n"),
    ("a.yaml",
     "actor_train: {training_args: {learning_rate: 1.0e-6}}\nactor_infer: {generating_args: {top_p: 1}}\n"),
    ("a.yaml", "dpo: {reference_policy_kl_penalty: 0.05}\npolicy: {max_total_sequence_length: 1024}\n"),
    ("a.yaml", "model: m\nlearning_rate: 1.0e-6\nbeta: 0.1\n"),
    ("a.yaml", "services: {web: {image: x, ports: ['80:80']}}\n"),
    ("a.json", '{"zero_optimization": {"stage": 3}, "bf16": {"enabled": true}}'),
    ("a.py", "from trl import DPOConfig\nDPOConfig(beta=0.1, loss_type='sigmoid')\n"),
    ("a.py", "from trl import KTOConfig\nKTOConfig(beta=0.1)\n"),
    ("a.py", "from trl import RLOOConfig\nRLOOConfig(num_generations=8, beta=0.05)\n"),
    ("a.py", "from trl.experimental.async_grpo import AsyncGRPOConfig\nAsyncGRPOConfig(num_generations=8)\n"),
    ("a.py", "from transformers import TrainingArguments\nTrainingArguments(output_dir='o', max_steps=3)\n"),
    ("a.py", "from torch.optim import Adam\nAdam([], lr=1e-3)\n"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text"), FOREIGN)
def test_what_is_no_trainer_s_run_is_told_no_law(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    done = CliRunner().invoke(main, ["predict", str(tmp_path / name)])
    assert done.exit_code != 0
    said = " ".join(done.output.split())
    assert "no trainer known here" in said or "which is not known here" in said or "holds settings" in said
    assert "KL per token" not in done.output


UNTOLD = [
    ("a.sh", 'if [ "$1" = kl ]; then KL=True; else KL=False; fi\n' + V +
     "actor_rollout_ref.actor.use_kl_loss=$KL\n",
     "give actor_rollout_ref.actor.use_kl_loss=VALUE"),
    ("a.sh", V + "actor_rollout_ref.actor.use_kl_loss=True actor_rollout_ref.actor.kl_loss_coef=$1\n",
     "give actor_rollout_ref.actor.kl_loss_coef=VALUE"),
    ("a.py", PY + "GRPOConfig(beta=flags.beta, num_generations=8)\n", "give beta=VALUE"),
    ("a.py", PY + "GRPOConfig(num_generations=8, **rest)\n", "**rest"),
    ("a.sh", "python grpo.py beta 0.1 --num_generations 8 --loss_type grpo\n",
     "beta 0.1, without =: give beta=VALUE"),
    ("a.yaml", "beta: ${nothing.here}\nnum_generations: 8\n", "give beta=VALUE"),
    ("a.yaml", "num_generations: 8\nbeta: 0.04\nkl_estimator: k7\n", "kl_estimator=k7"),
    ("a.yaml", "num_generations: 8\nloss_type: grpo\nbata: 0.1\n", "bata=0.1 (is beta meant?)"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "says"), UNTOLD)
def test_what_the_law_needs_and_the_file_does_not_tell_is_named(tmp_path, name, text, says):
    (tmp_path / name).write_text(text)
    done = CliRunner().invoke(main, ["predict", str(tmp_path / name)])
    assert done.exit_code == 1, done.output
    assert says in " ".join(done.output.split())
    assert done.output.splitlines()[-1].startswith("Next: dph predict ")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", PY + "warm = GRPOConfig(beta=0.0)\nreal = GRPOConfig(beta=0.1)\n"),
        ("a.sh", V + "\n" + V + "actor_rollout_ref.actor.use_kl_loss=True\n"),
    ],
)
def test_of_several_runs_one_is_chosen(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    both = CliRunner().invoke(main, ["predict", str(tmp_path / name)])
    assert both.exit_code == 2
    assert "it starts 2 runs that differ" in " ".join(both.output.split())
    said = [
        CliRunner().invoke(main, ["predict", str(tmp_path / name), "--run", each]).output for each in "12"
    ]
    assert "without a KL" in said[0]
    assert "without a KL" not in said[1]


def test_what_is_read_beside_a_command_or_a_file_and_what_is_not_is_said(tmp_path):
    (tmp_path / "run.yaml").write_text("beta: 0.1\nnum_generations: 8\n")
    (tmp_path / "run.sh").write_text("trl grpo --config run.yaml --beta 0.2\n")
    assert told(tmp_path / "run.sh").coefficient == 0.2
    (tmp_path / "run.sh").write_text("trl grpo --config gone.yaml --beta 0.2 --num_generations 4\n")
    done = CliRunner().invoke(main, ["predict", str(tmp_path / "run.sh")])
    assert "the settings of gone.yaml are not read: there is no such file here" in " ".join(
        done.output.split()
    )


def test_a_document_beside_that_is_no_run_is_named(tmp_path):
    (tmp_path / "a.yaml").write_text("beta: 0.04\nnum_generations: 8\n---\nbeta: 0.1\n")
    said = CliRunner().invoke(main, ["predict", str(tmp_path / "a.yaml")]).output
    assert "document 2 is not read: no trainer known there" in said
