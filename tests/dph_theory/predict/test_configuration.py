import json

import pytest
from click.testing import CliRunner

from dph_cli import main
from dph_theory.predict.configuration import READERS, configuration_of, read
from dph_theory.trainers import FILTERED, FORWARD_LIMIT, LOCAL

ACTOR, ALGORITHM = "actor_rollout_ref.actor.", "algorithm."


@pytest.mark.parametrize(
    ("settings", "trainer", "law", "selects"),
    [
        ({"beta": 0.04}, "TRL", "reverse KL of each token", LOCAL),
        ({"beta": 0.04, "use_bias_correction_kl": False}, "TRL", "forward KL of each token", FORWARD_LIMIT),
        ({"beta": 0.04, "importance_sampling_level": "sequence"}, "TRL", "not known", "not known"),
        ({ACTOR + "use_kl_loss": True}, "verl", "forward KL of each token whose probability", LOCAL),
        ({ACTOR + "use_kl_loss": True, ACTOR + "kl_loss_type": "k3+"}, "verl", "reverse KL of each", LOCAL),
        ({ALGORITHM + "use_kl_in_reward": True}, "verl", "reverse KL of the whole answer", FILTERED),
        ({"use-kl-loss": True, "kl-loss-coef": 0.01, "kl-loss-type": "k2"}, "slime", "reverse KL of", LOCAL),
        ({"algo.kl.init_coef": 0.01}, "OpenRLHF", "reverse KL of the whole answer", FILTERED),
        ({"algo.kl.use_loss": True, "algo.kl.estimator": "k2"}, "OpenRLHF", "reverse KL of each", LOCAL),
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
    ],
)
def test_no_coefficient_is_an_answer(settings):
    found = configuration_of(settings)
    assert found.penalty == "none"
    assert "nothing holds the policy" in found.law
    assert "sampling decides" in found.selects


@pytest.mark.parametrize(
    ("settings", "inert"),
    [
        ({"advantage-estimator": "grpo", "kl-coef": 0.1}, "--kl-coef: under grpo the KL is"),
        ({"use-kl-loss": True, "kl-loss-coef": 0.1}, "--kl-loss-type k1: the gradient of its mean is zero"),
        ({"kl-loss-coef": 0.1, "use-tis": True}, "--kl-loss-coef (no --use-kl-loss)"),
        ({ACTOR + "kl_loss_coef": 0.1}, "use_kl_loss is off"),
        ({ALGORITHM + "kl_ctrl.kl_coef": 0.1}, "use_kl_in_reward is off"),
        ({ACTOR + "use_kl_loss": True, ACTOR + "kl_loss_type": "kl"}, "the gradient of its mean is zero"),
        ({"algo.kl.use_loss": True}, "the gradient of its mean is zero"),
        ({"beta": 0, "use_bias_correction_kl": True}, "use_bias_correction_kl (beta = 0)"),
    ],
)
def test_what_has_no_effect_is_told(settings, inert):
    assert any(inert in said for said in configuration_of(settings).inert)


def test_the_kl_in_the_reward_counts_where_it_is_used():
    found = configuration_of({"advantage-estimator": "reinforce_plus_plus", "kl-coef": 0.1})
    assert (found.inert, found.selects) == ((), FILTERED)


def test_the_trap_of_dividing_penalised_rewards_is_told():
    settings = {ALGORITHM + "use_kl_in_reward": True, ALGORITHM + "adv_estimator": "grpo"}
    (warning,) = configuration_of(settings).warnings
    assert "theory G2" in warning
    assert configuration_of({**settings, ALGORITHM + "norm_adv_by_std_in_grpo": False}).warnings == ()


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
    assert found.uncovered == ("entropy_coef=0.01",)
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
    assert "forward KL of each token" in done.output
    assert set(json.loads(out.read_text())) == {
        *("trainer", "version", "penalty", "law", "selects", "advantage", "reduction", "updates", "sampler"),
        *("inert", "uncovered", "warnings"),
    }


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("beta: -1\n", (), "beta=-1 is not allowed"),
        ("beta: much\n", (), "beta='much' is not allowed"),
        ("colour: red\n", (), "names of one of trl, verl, slime, openrlhf"),
        ("- 1\n", (), "a file of settings"),
        ("", (), "a file of settings"),
        ("actor_rollout_ref: {actor: {use_kl_loss: true, kl_loss_type: k9}}\n", (), "k9"),
        ("beta: 0.1\n", ("--trainer", "none"), "'trl', 'verl', 'slime', 'openrlhf'"),
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
