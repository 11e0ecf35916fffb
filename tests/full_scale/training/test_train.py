import json
import re
import shutil
from dataclasses import replace
from types import SimpleNamespace

import pytest
from support.rule_task import Rule, ruled_recipe, ruled_task, stage_inputs
from support.tiny_training import TRL_WARNS, same
from transformers import AutoModelForCausalLM, GenerationConfig

from dph_theory.support.errors import RefusedError
from dph_theory.support.files import write_json
from dph_theory.support.record import as_json, checked, record
from full_scale.evaluation.evaluated_run import KIND, EvaluatedSet, Evaluation, Mean, ModelHash, Summary
from full_scale.models.load import declared_stop_tokens
from full_scale.recipe.folders import Folders
from full_scale.recipe.methods import setup
from full_scale.recipe.schema import MethodConfig
from full_scale.tasks.protocol import Score, VerifierError, WeightedReward
from full_scale.training.arguments import arguments
from full_scale.training.card import CARD, write_card
from full_scale.training.judging import VerifierReward
from full_scale.training.metrics import CERTIFIED, log_text
from full_scale.training.train import _findings, build_trainer, opening_sentences, train
from full_scale.training.trained_run import KIND as TRAINING
from full_scale.training.trained_run import TrainingRecord

pytestmark = pytest.mark.filterwarnings(TRL_WARNS)


@pytest.fixture
def stage(tmp_path):
    """What a training stage is given, as `stage_inputs` makes it."""

    def make(method="DPH-F", **changes):
        return stage_inputs(tmp_path, MethodConfig(name=method, rehearsal_rows=3), **changes)

    return make


@pytest.mark.slow
def test_the_stage_makes_a_model_and_a_record_and_a_second_call_finds_them(stage):
    recipe, *given = stage()
    seen, first = [], []
    found = train(recipe, *given, progress=lambda *step: seen.append(step), say=first.extend)
    assert first[:-1] == opening_sentences({"collapse_every": 1})
    assert first[-1].startswith("A step trains 2 prompts, and teaches nothing where their answers are all")
    assert [step[:3] for step in seen] == [("train", step, 3) for step in (1, 2, 3)]
    assert all("reward" in note and "excess KL" in note for *_, note in seen)
    folders = Folders.of_recipe(recipe)
    assert TrainingRecord.read(folders.training) == found
    assert [entry["step"] for entry in found.log] == [1, 2, 3]
    for key in ("reward", "rehearsal/loss", "collapse/excess_kl", "collapse/cost", "outcomes/correct"):
        assert all(isinstance(entry[key], float) for entry in found.log), key
    assert found.base_rates["e4"] == 0.5
    assert found.initial_hash == given[2].model
    assert found.explored == ["e1", "e2", "e3", "e5", "e6", "e7"]
    assert any("mean excess KL" in finding for finding in found.findings)
    trained, initial = map(AutoModelForCausalLM.from_pretrained, (folders.model, recipe.model.path))
    assert not same(trained.state_dict(), initial.state_dict())
    assert (folders.model / "tokenizer.json").is_file()
    time = folders.training.stat().st_mtime_ns
    assert train(recipe, *given) == found
    assert folders.training.stat().st_mtime_ns == time
    changed = replace(recipe, method=replace(recipe.method, eta=0.9))
    with pytest.raises(ValueError, match=r"of another method\.eta \(None there, 0\.9 here\)"):
        train(changed, *given)
    # As if the divergence of the training had been a user's own.
    replace(found, arguments={**found.arguments, "divergence code": {"module own": "1"}}).write(
        folders.training
    )
    with pytest.raises(ValueError, match=r"divergence code=\{\} is not allowed: \{'module own': '1'\}"):
        train(recipe, *given)


@pytest.mark.slow
def test_a_finished_run_is_extended_to_what_it_would_have_been_and_its_model_is_made_anew(stage):
    recipe, *given = stage(lr_scheduler_type="constant", keep_moments=True)
    whole = replace(recipe, output=recipe.output + "-whole")
    train(whole, *given)
    assert train(replace(recipe, train={**recipe.train, "max_steps": 2}), *given).steps == 2
    found, folders = train(recipe, *given), Folders.of_recipe(recipe)
    wanted = (Folders.of_recipe(whole).model / "model.safetensors").read_bytes()
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
            RefusedError, match=r"no checkpoint in .*keep_moments=true.*remove .*training\.json, and run"
        ):
            train(again, *given)


@pytest.mark.parametrize("method", ["RKL", "alpha-DPG"])
def test_other_methods_train_only_on_the_prompts_to_explore(stage, method, capsys):
    recipe, *given = stage(method, rows=0, max_steps=1)
    run = build_trainer(recipe, *given)
    assert run.train_dataset["example_id"] == list(given[1].exp)
    run.train()
    (log,) = [log for log in run.state.log_history if "loss" in log]
    assert "rehearsal/loss" not in log
    assert ("kl" in log) == (method == "RKL")
    assert "collapse/kl" in log
    assert capsys.readouterr().out == ""


def test_the_resolved_arguments_come_from_where_they_are_decided(stage):
    recipe, *_ = stage("RKL")
    found = arguments(recipe).arguments
    decided = {"temperature": 0.9, "max_completion_length": 12, "beta": 0.04, "use_bias_correction_kl": False}
    checkpoints = str(Folders.of_recipe(recipe).checkpoints)
    decided |= {"save_steps": 1, "output_dir": checkpoints, "seed": recipe.seed}
    assert {name: found[name] for name in decided} == decided
    assert arguments(replace(recipe, train={})).arguments["save_steps"] == 0.1


def test_training_samples_as_the_recipe_says_and_ends_where_pre_sampling_does(stage):
    recipe, *given = stage("GRPO")
    GenerationConfig(eos_token_id=[1, 9]).save_pretrained(recipe.model.path)
    drawn = {"top_p": 0.9, "top_k": 7, "min_p": 0.1, "repetition_penalty": 1.1}
    sampling = replace(recipe.sampling, stop=("w3",), batch_size=5, **drawn)
    model = replace(recipe.model, template={"think": False})
    run = build_trainer(replace(recipe, sampling=sampling, model=model), *given)
    ends = declared_stop_tokens(recipe.model, ("w3",))
    assert sorted(run.eos_token_ids) == sorted(run.generation_config.eos_token_id) == ends
    assert len(ends) == 3
    assert {name: getattr(run.generation_config, name) for name in drawn} == drawn
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


# The first word's number is below 16 on e0, below 4 on e3.
GIVEN = {"prompts": [], "example_id": ["e0", "e3", "e3"]}
ANSWERS = ["w5", "w5", "w3"]


@pytest.mark.parametrize("completions", [ANSWERS, [[{"role": "a", "content": text}] for text in ANSWERS]])
def test_each_completion_is_judged_by_its_own_example(completions):
    judge = VerifierReward(ruled_task())
    assert judge(completions=completions, **GIVEN) == [1.0, 0.0, 1.0]
    with pytest.raises(ValueError, match="example_id='z'"):
        judge(prompts=["?"], completions=["x"], example_id=["z"])


def test_outcomes_are_counted_and_one_seen_before_counts_zero():
    judge, logged = VerifierReward(ruled_task()), {}
    given = {"prompts": [], "log_metric": logged.__setitem__}
    judge(completions=["w3", "", "", "w9"], example_id=["e3"] * 4, **given)
    assert logged == {"outcomes/correct": 0.25, "outcomes/no_answer": 0.5, "outcomes/wrong": 0.25}
    judge(completions=["w3"], example_id=["e3"], **given)
    assert logged == {"outcomes/correct": 1.0, "outcomes/no_answer": 0.0, "outcomes/wrong": 0.0}


def test_a_verifier_that_fails_is_told_once_and_on_a_whole_batch_ends_the_training(caplog, monkeypatch):
    crash, score = Score(False, "crash", detail="KeyError: 'words'"), Rule.score
    judge = VerifierReward(ruled_task())
    monkeypatch.setattr(judge.verifier, "score", lambda e, text: crash if e.id == "e3" else score(e, text))
    for _ in range(2):
        assert judge(completions=ANSWERS, **GIVEN) == [1.0, 0.0, 0.0]
    assert caplog.text.count("KeyError: 'words' (2 times)") == 1
    monkeypatch.setattr(judge.verifier, "score", lambda e, text: crash)
    with pytest.raises(VerifierError, match="every one of 3 answers: KeyError: 'words'"):
        judge(completions=ANSWERS, **GIVEN)


class Length(Rule):
    def __call__(self, examples, completions):
        return [float(len(text.split())) for text in completions]


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
    assert log["collapse/pass_rate"] == pytest.approx(verdict)
    assert log["outcomes/correct"] == pytest.approx(verdict)
    # What uses the verdict alone takes others of weight zero.
    alone = replace(recipe, method=MethodConfig(name="GRPO", baseline="one"))
    build_trainer(alone, replace(task, rewards={"seen": rewards["seen"]}), *given)


def test_a_target_pass_rate_counts_the_prompts_to_explore(stage):
    recipe, task, presampling, hashes = stage()
    control = replace(recipe, method=MethodConfig(name="KL-control-sequence", mu=0.6))
    run = build_trainer(control, task, presampling, hashes)
    wanted = setup(control.method, presampling.values(presampling.exp)).arguments["online_beta"]
    assert run.args.online_beta == wanted


def test_a_run_has_a_record_like_others_and_a_card_of_method_law_settings_and_what_was_evaluated(tmp_path):
    recipe = ruled_recipe(tmp_path, method=MethodConfig(name="KL-control-sequence", beta=0.2))
    run = Folders.of_recipe(recipe)
    run.model.mkdir(parents=True)
    made = TrainingRecord(
        config=recipe.as_dict(),
        run=run.run,
        method="KL-control-sequence",
        arguments=dict(arguments(recipe).arguments),
        log=[{"step": 1, "loss": 0.1}],
        base_rates={"e0": 0.5, "e1": 1.0},
        rehearsed=["e1"],
        explored=["e0"],
        steps=3,
        seconds=None,
        findings=["mean reward 0.1 at first, 0.9 at last."],
        initial_hash="h",
        trained_hash="t",
    )
    made.write(run.training)
    assert TrainingRecord.read(run.training) == made
    stored = checked(json.loads(run.training.read_text()), TRAINING)
    assert (stored["seed"], stored["config"], stored["findings"]) == (5, made.config, made.findings)
    assert {"torch", "trl", "dph"} <= set(stored["versions"])
    first, second = Mean(0.25, 0.1), Mean(0.75, None)
    numbers = Summary(3, first, {"1": first, "4": second}, None, {}, {})
    found = Evaluation(run.run, ModelHash("h"), {"in_domain": EvaluatedSet((), numbers)}, ModelHash("h"))
    write_json(run.evaluation, record(KIND, seed=5, config={}, results=as_json(found), findings=()))
    write_card(run)
    said = (run.model / CARD).read_text().replace("\\", "")
    for words in (
        "trained by KL-control-sequence for 3 steps on the task",
        "1 explored.",
        "reverse KL of the whole answer",
        "| online_beta | 0.2 |",
        "- mean reward 0.1 at first, 0.9 at last.",
        "| set | prompts | greedy | Pass@1 | Pass@4 |",
        "| in_domain | 3 | 0.250 | 0.250 | 0.750 |",
    ):
        assert words in said


EXCESS, EQUAL = "collapse/excess_kl", "frac_reward_zero_std"
# Measured at every tenth step of thirty.
TENTHS = [{EXCESS: excess} for mean in (0.1, 0.2, 0.3) for excess in (*[None] * 9, mean)]


@pytest.mark.parametrize(
    ("log", "baseline", "said"),
    [
        ([{EXCESS: 0.1}], "mean", ["GRPO: mean excess KL 0.1, measured once."]),
        (TENTHS, "mean", ["GRPO: mean excess KL 0.1 over the first log, 0.3 over the last."]),
        ([{EQUAL: 0.5}, {EQUAL: 1.0}],
         "mean", ["GRPO: 75% of the groups had equal rewards, and no gradient from them."]),
        ([{EQUAL: 0.5}, {EQUAL: 1.0}], "one", []),
    ],
)  # fmt: skip
def test_a_record_tells_where_the_training_began_and_ended_and_its_idle_groups(log, baseline, said):
    assert _findings("GRPO", log, SimpleNamespace(baseline=baseline, online="none")) == said


def test_a_record_says_which_strategies_the_last_excess_kl_proves_retained():
    def said(*shares):
        log = [{CERTIFIED: share} for share in shares]
        return _findings("GRPO", log, SimpleNamespace(baseline="mean", online="none"))

    (sentence,) = said(0.9, None, 0.123)
    assert "no strategy of share 0.12 or more is lost" in sentence
    assert said(0.1, 1.0) == ["GRPO: the last excess KL proves of no strategy that it is retained."]


def test_a_log_and_what_users_take_for_a_fault_are_told_in_a_few_words():
    log = {"reward": 0.123456, "loss": None, EXCESS: 2.0, EQUAL: 0.77}
    assert log_text(log) == "reward 0.1235, excess KL 2, groups of equal rewards 77%"
    loss, kl = opening_sentences({"collapse_every": 1})
    assert "loss begins near 0" in loss
    assert kl == "TRL logs no kl at beta = 0, where it computes none: see collapse/kl."
    assert opening_sentences({"beta": 0.04}) == [loss]
