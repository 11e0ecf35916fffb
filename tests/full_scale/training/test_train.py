import re
import shutil
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from support.rule_task import stage_inputs
from support.tiny_llama import plain_log_probs
from support.tiny_training import TRL_WARNS, same
from transformers import AutoModelForCausalLM, GenerationConfig

from full_scale.models.load import declared_stop_tokens
from full_scale.recipe.folders import Folders
from full_scale.recipe.methods import setup
from full_scale.recipe.schema import MethodConfig, ModelConfig
from full_scale.tasks.protocol import WeightedReward
from full_scale.training.arguments import arguments
from full_scale.training.metrics import said as metrics_said
from full_scale.training.record import TrainingRecord
from full_scale.training.train import _findings, build_trainer, said_first, train

pytestmark = pytest.mark.filterwarnings(TRL_WARNS)


@pytest.fixture
def stage(tmp_path):
    """What a training stage is given, as `stage_inputs` makes it."""

    def make(method="DPH-F", *, rows=4, exp=None, model=None, **changes):
        config = MethodConfig(name=method, rehearsal_rows=3)
        return stage_inputs(tmp_path, config, rows=rows, exp=exp, model=model, **changes)

    return make


@pytest.mark.slow
def test_the_stage_makes_a_model_and_a_record_and_a_second_call_finds_them(stage):
    recipe, *given = stage()
    seen = []
    found = train(recipe, *given, progress=lambda *step: seen.append(step))
    assert [step[:3] for step in seen] == [("train", step, 3) for step in (1, 2, 3)]
    assert all("reward" in note and "excess KL" in note for *_, note in seen)
    folders = Folders.of(recipe)
    assert TrainingRecord.read(folders.training) == found
    assert [entry["step"] for entry in found.log] == [1, 2, 3]
    for key in ("reward", "rehearsal/loss", "collapse/excess_kl", "collapse/cost", "outcomes/correct"):
        assert all(isinstance(entry[key], float) for entry in found.log), key
    assert found.base_rates["e4"] == 0.5
    assert found.initial_hash == given[2].model
    assert found.explored == ["e1", "e2", "e3", "e5", "e6", "e7"]
    assert any("mean excess KL" in finding for finding in found.findings)
    trained = AutoModelForCausalLM.from_pretrained(folders.model)
    initial = AutoModelForCausalLM.from_pretrained(recipe.model.path)
    assert not same(trained.state_dict(), initial.state_dict())
    assert (folders.model / "tokenizer.json").is_file()
    time = folders.training.stat().st_mtime_ns
    assert train(recipe, *given) == found
    assert folders.training.stat().st_mtime_ns == time
    # A small evaluation every so many steps moves nothing.
    watched = replace(recipe, name="watched", evaluate=replace(recipe.evaluate, every=2, every_limit=2))
    other = train(watched, *given).log
    assert [entry["reward"] for entry in other] == [entry["reward"] for entry in found.log]
    greedy = [entry.get("evaluation/greedy") for entry in other]
    assert (greedy[0], greedy[2]) == (None, None)
    assert greedy[1] in (0, 0.5, 1)
    changed = replace(recipe, method=replace(recipe.method, eta=0.9))
    with pytest.raises(ValueError, match=r"\['method'\] differ"):
        train(changed, *given)


@pytest.mark.slow
def test_a_finished_run_is_extended_to_what_it_would_have_been_and_its_model_is_made_anew(stage):
    settings = {"lr_scheduler_type": "constant", "keep_moments": True}
    recipe, *given = stage(**settings)
    whole = replace(recipe, output=recipe.output + "-whole")
    train(whole, *given)
    assert train(replace(recipe, train={**recipe.train, "max_steps": 2}), *given).steps == 2
    found, folders = train(recipe, *given), Folders.of(recipe)
    wanted = (Folders.of(whole).model / "model.safetensors").read_bytes()
    assert found.steps == 3
    assert (folders.model / "model.safetensors").read_bytes() == wanted
    shutil.rmtree(folders.model)
    # The kept checkpoint has it.
    assert train(recipe, *given).log == found.log
    assert (folders.model / "model.safetensors").read_bytes() == wanted
    shutil.rmtree(folders.model)
    shutil.rmtree(folders.checkpoints)
    for steps in (3, 4):
        again = replace(recipe, train={**recipe.train, "max_steps": steps})
        with pytest.raises(
            ValueError, match=r"checkpoint=.*keep_moments=true.*remove .*training\.json to tr"
        ):
            train(again, *given)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["GRPO", "RKL", "alpha-DPG", "KL-control-sequence"])
def test_other_methods_train_only_on_the_prompts_to_explore(stage, method):
    recipe, *given = stage(method, rows=0)
    run = build_trainer(recipe, *given)
    assert run.train_dataset["example_id"] == list(given[1].exp)
    run.train()
    logs = [log for log in run.state.log_history if "loss" in log]
    assert len(logs) == 3
    assert not any("rehearsal/loss" in log for log in logs)
    assert ("kl" in logs[0]) == (method == "RKL")
    assert all("collapse/kl" in log for log in logs)


@pytest.mark.slow
def test_a_lora_model_is_saved_as_its_adapter_and_loads_as_any_model(stage):
    lora = {"r": 4, "target_modules": ["v_proj", "up_proj"]}
    recipe, *given = stage(model={"lora": lora}, learning_rate=0.1)
    train(recipe, *given)
    folders = Folders.of(recipe)
    assert (folders.model / "adapter_config.json").is_file()
    run = [AutoModelForCausalLM.from_pretrained(path) for path in (folders.model, recipe.model.path)]
    with torch.no_grad():
        values = [plain_log_probs(model, [3, 10], [12, 13]) for model in run]
    assert (values[0] - values[1]).abs().max() > 1e-4


def test_the_resolved_arguments_come_from_where_they_are_decided(stage):
    recipe, *_ = stage("RKL")
    found = arguments(recipe).arguments
    decided = {"temperature": 0.9, "max_completion_length": 12, "beta": 0.04, "use_bias_correction_kl": False}
    decided |= {"save_steps": 1, "output_dir": str(Folders.of(recipe).checkpoints), "seed": recipe.seed}
    assert {name: found[name] for name in decided} == decided
    assert arguments(replace(recipe, train={})).arguments["save_steps"] == 0.1
    for key, named in (
        ("beta", r"method\.beta"),
        ("lr", "GRPOConfig"),
        ("learning_rat", "did you mean 'learning_rate'"),
        ("temperature", r"sampling\.temperature"),
        ("min_p", r"sampling\.min_p"),
        ("generation_kwargs", "the keys of sampling"),
        ("chat_template_kwargs", r"model\.template"),
        ("vllm_max_model_length", r"sampling\.vllm_length"),
        ("generation_rows", r"sampling\.batch_size"),
        ("bf16", r"model\.dtype"),
    ):
        with pytest.raises(ValueError, match=rf"train.key='{key}'.*{named}"):
            arguments(replace(recipe, train={key: 1}))
    half = replace(recipe, model=replace(recipe.model, dtype="float16"))
    with pytest.raises(ValueError, match=r"model\.dtype='float16'.*scaled"):
        arguments(half)
    for key, value in (("learning_rate", "fast"), ("num_generations", 2.5), ("log_completions", "yes")):
        with pytest.raises(ValueError, match=rf"train\.{key}={value!r}"):
            arguments(replace(recipe, train={key: value}))


def test_training_samples_as_the_recipe_says_and_ends_where_pre_sampling_does(stage):
    recipe, *given = stage("GRPO")
    declared = GenerationConfig(eos_token_id=[1, 9])
    declared.save_pretrained(recipe.model.path)
    drawn = {"top_p": 0.9, "top_k": 7, "min_p": 0.1, "repetition_penalty": 1.1, "batch_size": 5}
    recipe = replace(
        recipe,
        sampling=replace(recipe.sampling, stop=("w3",), **drawn),
        model=replace(recipe.model, template={"think": False}),
    )
    run = build_trainer(recipe, *given)
    settings = run.generation_config
    ends = declared_stop_tokens(recipe.model, ("w3",))
    assert sorted(run.eos_token_ids) == sorted(settings.eos_token_id) == ends
    assert len(ends) == 3
    found = {name: getattr(settings, name) for name in drawn if name != "batch_size"}
    assert found == {name: drawn[name] for name in found}
    assert (run.args.generation_rows, run.chat_template_kwargs) == (5, {"think": False})


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "sequence_mask.*above 3.0 is left out"),
        ({"vllm_importance_sampling_mode": "token_truncate"}, "token_truncate.*counted as if"),
        ({"vllm_importance_sampling_correction": False}, "count as the trainer's"),
    ],
)
def test_a_record_says_what_stands_between_vllms_probabilities_and_the_trainers(stage, settings, said):
    recipe, *_ = stage("GRPO")
    drawn = replace(recipe, train=settings, sampling=replace(recipe.sampling, backend="vllm"))
    assert re.search(said, arguments(drawn).notes[-1])
    assert not any("vLLM" in note for note in arguments(recipe).notes)


class Length:
    def __call__(self, examples, completions):
        return [float(len(text.split())) for text in completions]

    def close(self):
        pass


def test_rewards_beside_the_verdict_are_weighed_and_the_meter_reads_the_verdict(stage):
    recipe, task, *given = stage("GRPO", max_steps=1)
    rewards = {"length": WeightedReward(Length(), 0.5), "seen": WeightedReward(Length())}
    run = build_trainer(recipe, replace(task, rewards=rewards), *given)
    assert run.reward_func_names == ["verifier", "length", "seen"]
    run.train()
    (log,) = [log for log in run.state.log_history if "loss" in log]
    verdict, length, seen = (log[f"rewards/{name}/mean"] for name in run.reward_func_names)
    assert log["reward"] == pytest.approx(verdict + 0.5 * length)
    assert length == seen > 0
    assert log["collapse/validity"] == pytest.approx(verdict)
    assert log["outcomes/correct"] == pytest.approx(verdict)


def test_what_uses_the_verdict_alone_takes_other_rewards_of_weight_zero(stage):
    recipe, task, *given = stage("GRPO")
    for method in (
        MethodConfig(name="GRPO", baseline="one"),
        MethodConfig(name="KL-control-sequence", beta=0.5),
    ):
        recipe = replace(recipe, method=method)
        build_trainer(recipe, replace(task, rewards={"seen": WeightedReward(Length())}), *given)
        weighed = replace(task, rewards={"length": WeightedReward(Length(), 0.5)})
        with pytest.raises(ValueError, match=r"reward weights=.*'length': 0\.5.*(baseline|online)"):
            build_trainer(recipe, weighed, *given)


def test_a_target_validity_counts_the_prompts_to_explore_which_must_have_texts_of_their_own(stage):
    recipe, task, presampling, hashes = stage()
    control = replace(recipe, method=MethodConfig(name="KL-control-sequence", mu=0.6))
    rates = presampling.values(presampling.exp)
    run = build_trainer(control, task, presampling, hashes)
    assert run.args.online_coefficient == setup(control.method, rates).arguments["online_coefficient"]
    alike = replace(task, train=[replace(example, prompt="p1") for example in task.train])
    with pytest.raises(ValueError, match=r"method\.mu=0\.6.*method\.beta"):
        build_trainer(control, alike, presampling, hashes)


def test_sets_that_cannot_be_trained_on_are_named(stage):
    for made, named in (
        ({"exp": []}, "D_exp.*every prompt is in D_pef"),
        ({"exp": ["e1"]}, "D_exp=1 .*at least 2 prompts"),
        ({"rows": 0}, "rehearsal rows=0.*no correct rollout of D_pef's 2 prompts ended"),
    ):
        recipe, *given = stage(**made)
        with pytest.raises(ValueError, match=named):
            build_trainer(recipe, *given)


def test_a_buffer_or_a_model_from_elsewhere_is_refused(stage):
    recipe, *given = stage()
    warmer = replace(recipe, sampling=replace(recipe.sampling, temperature=1.0))
    with pytest.raises(ValueError, match=r"temperature=0\.9.*1\.0"):
        build_trainer(warmer, *given)
    given[1].buffer.manifest["model_hash"] = "another"
    with pytest.raises(ValueError, match="model_hash='another'"):
        build_trainer(recipe, *given)
    nowhere = replace(recipe, model=ModelConfig(path="no/such-model"), method=MethodConfig(name="GRPO"))
    with pytest.raises(ValueError, match=r"model\.path='no/such-model'"):
        build_trainer(nowhere, *given)


def logs(key, values):
    return [{"step": step, "loss": 0.0, key: value} for step, value in enumerate(values)]


EXCESS, EQUAL = "collapse/excess_kl", "frac_reward_zero_std"


@pytest.mark.parametrize(
    ("log", "settings", "said"),
    [
        (logs(EXCESS, [0.1]), {}, ["GRPO: mean excess KL 0.1, measured once."]),
        # Measured at every tenth step of thirty.
        (
            logs(EXCESS, [*[None] * 9, 0.1, *[None] * 9, 0.2, *[None] * 9, 0.3]),
            {},
            ["GRPO: mean excess KL 0.1 over the first log, 0.3 over the last."],
        ),
        (
            logs(EQUAL, [0.5, 1.0]),
            {},
            ["GRPO: 75% of the groups had equal rewards, and no gradient from them."],
        ),
        (logs(EQUAL, [0.5, 1.0]), {"baseline": "one"}, []),
    ],
)
def test_a_record_tells_where_the_training_began_and_ended_and_its_idle_groups(log, settings, said):
    assert (
        _findings("GRPO", log, SimpleNamespace(**{"baseline": "mean", "online": "none", **settings})) == said
    )


def test_a_log_is_told_in_a_few_words():
    log = {"reward": 0.123456, "loss": None, EXCESS: 2.0, EQUAL: 0.77}
    assert metrics_said(log) == "reward 0.1235, excess KL 2, groups of equal rewards 77%"


def test_what_users_take_for_a_fault_is_said_at_the_start(stage):
    recipe, *given = stage(max_steps=1)
    said = []
    with pytest.raises(StopIteration):
        train(recipe, *given, say=lambda words: said.extend(words) or next(iter(())))
    assert len(said) == 2
    assert "loss begins near 0" in said[0]
    assert said[1] == "TRL logs no kl at beta = 0, where it computes none: see collapse/kl."
    assert len(said_first({"beta": 0.04})) == 1
