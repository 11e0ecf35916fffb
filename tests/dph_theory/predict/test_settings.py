"""Files of settings: what is read from each kind, and what is refused."""

import pytest

from dph_theory.predict.configuration import configuration_of
from dph_theory.predict.settings import read

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
                       {"not_read": ("defaults=absent.yaml",)}),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_what_is_read(tmp_path, name):
    text, wanted = READ[name]
    (tmp_path / "base.yaml").write_text("grpo: {normalize_rewards: false}\n")
    (tmp_path / name).write_text(text)
    found = configuration_of(read(tmp_path / name))
    assert {field: getattr(found, field) for field in wanted} == wanted
    if wanted == PENALTY:
        assert configuration_of(read(tmp_path / name, [f"{ACTOR}use_kl_loss=false"])).penalty == "none"


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("train.py", "args = GRPOConfig(beta=flags.beta)\n", r"beta='flags.beta' is not allowed"),
        ("train.py", "args = Config(beta=0.1)\n", "a Python file that calls GRPOConfig"),
        ("run.sh", f"python main.py {ACTOR}use_kl_loss=$USE\n", "a value that stands in the settings"),
        ("run.sh", "# Nothing is set here.\n", r"config='.*run.sh' is not allowed: a file that holds"),
        ("run.sh", "python train.py loss_type=grpo beta 0.1\n", r"beta='0.1, without =' is not allowed"),
        ("run.yaml", "beta: [1\n", "no YAML: while parsing a flow sequence"),
        ("run.yaml", "- 1\n", "a file of settings"),
        ("run.yaml", "", "a file of settings"),
    ],
)
def test_what_is_refused(tmp_path, name, text, says):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=says):
        configuration_of(read(tmp_path / name))
