from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import pytest
from support.rule_task import ruled_recipe, ruled_task
from support.tiny_llama import tiny_llama

import full_scale.stages
from dph_theory.support.errors import RefusedError
from dph_theory.support.files import write_json
from dph_theory.support.progress import silent
from full_scale.evaluation.evaluated_run import Evaluation, ModelHash
from full_scale.models.load import ModelHashes
from full_scale.recipe.folders import Folders
from full_scale.recipe.schema import TaskConfig
from full_scale.stages import evaluate_stage, presample_stage, train_stage
from full_scale.storage.locks import locked
from full_scale.tasks.protocol import repeated_prompts
from full_scale.training.dry_run import dry_run
from full_scale.training.trained_run import TrainingRecord


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("stages")


@pytest.fixture
def closed(monkeypatch):
    """The ruled task in place of the recipe's, and how often its verifier was closed."""
    counted = []

    def load(config):
        task = ruled_task()
        task.verifier.close = lambda: counted.append(1)
        return task

    monkeypatch.setattr(full_scale.stages, "load_task", load)
    return counted


def test_the_base_is_evaluated_after_the_pre_sampling(place, closed):
    recipe = ruled_recipe(place)
    found = presample_stage(recipe, silent)
    assert len(found.rates) == 8
    told = []
    evaluation = evaluate_stage(recipe, lambda *what: told.append(what), base_only=True)
    assert evaluation.run == "base"
    assert told[-1] == ("evaluate", 11, 11)
    assert closed == [1, 1]
    # A finished pre-sampling is loaded, not made again.
    assert presample_stage(recipe, silent).pef == found.pef


def test_a_stage_wants_what_comes_before_it_and_the_same_settings(place, tmp_path, closed):
    """GRPO rehearses nothing, yet trains on D_exp and is measured against the base's rates."""
    recipe = ruled_recipe(place)
    presample_stage(recipe, silent)
    other = replace(recipe, sampling=replace(recipe.sampling, temperature=0.8))
    moved = replace(recipe.model, path=str(tiny_llama(tmp_path / "other", hidden=16, seed=1)))
    for stage, of, said in (
        (evaluate_stage, ruled_recipe(tmp_path, name="other"), "dph train"),
        (train_stage, ruled_recipe(tmp_path), "dph presample"),
        (train_stage, other, r"sampling\.temperature=0\.8"),
        (train_stage, replace(recipe, model=moved), "model_hash="),
    ):
        with pytest.raises((ValueError, RefusedError), match=said):
            stage(of, silent)
        assert not Folders.of_recipe(of).training.exists()
    # Also of what was refused the verifier is closed, if it was opened.
    assert closed == [1, 1, 1, 1]


def test_prompts_without_room_are_refused_or_left_out_with_a_count(tmp_path, monkeypatch):
    task = ruled_task()
    long = replace(task.train[0], prompt=" ".join([task.train[0].prompt] * 30))
    for module in (full_scale.stages, full_scale.training.dry_run):
        monkeypatch.setattr(module, "load_task", lambda config: replace(task, train=[long, *task.train[1:]]))
    recipe, said = ruled_recipe(tmp_path), []
    with pytest.raises(ValueError, match=r"prompts='1 of 8 longer'.*task\.filter_overlong_prompts=true"):
        presample_stage(recipe, silent)
    recipe = replace(recipe, task=TaskConfig(filter_overlong_prompts=True))
    found = presample_stage(recipe, silent, said.extend)
    assert set(found.rates) == {example.id for example in task.train[1:]}
    assert evaluate_stage(recipe, silent, said.extend, base_only=True).sets["in_domain"].summary.prompts == 3
    left_out = "left out: 1 of 8 training prompts, longer than 52 tokens beside sampling.max_new_tokens=12"
    assert said == [left_out, left_out]
    assert left_out in dry_run(recipe).warnings


def test_prompts_of_one_text_are_counted_aloud():
    task = ruled_task()
    first = task.train[0]
    others = replace(first, id="same"), replace(first, id="b", reference={})
    again = replace(task, train=[*task.train, *others])
    words = f"train: 2 of {len(again.train)} prompts have the text of another; 1 are judged by another"
    assert repeated_prompts(again) == [f"{words} reference, by which the same answer may be incorrect."]
    # A task may mean it.
    assert repeated_prompts(replace(again, repeats_prompts=True)) == []
    assert repeated_prompts(task) == []


def test_one_of_several_runs_evaluates_the_base_for_all(place, closed, monkeypatch):
    """Under the base's own lock: another run that comes to it then waits, and finds it done."""
    recipe, held = ruled_recipe(place, output=str(place / "several")), []
    presample_stage(recipe, silent)
    folders = Folders.of_recipe(recipe)
    folders.training.parent.mkdir(parents=True)
    made = TrainingRecord(recipe.as_dict(), "run", "GRPO", {}, [], {}, [], [], 0, None, [], "h", "t")
    made.write(folders.training)

    def evaluate(recipe, task, model, *, folders, **shared):
        if folders == folders.base():
            run = locked(folders.run_folder)
            with pytest.raises(RefusedError, match=r"process \d+ on .* is at work in"), run:
                pass
            held.append(True)
            write_json(folders.evaluation, {})
        return Evaluation(folders.run, ModelHash("h"), {}, ModelHash("h"))

    for name, stands in (
        ("evaluate", evaluate),
        ("load_trained", lambda *given: SimpleNamespace(hashes=ModelHashes("t", "t"))),
    ):
        monkeypatch.setattr(full_scale.stages, name, stands)
    monkeypatch.setattr("full_scale.training.card.write_card", lambda folders: None)
    with ThreadPoolExecutor() as others:
        with locked(folders.base().run_folder):
            waiting = others.submit(evaluate_stage, recipe, silent)
            with pytest.raises(TimeoutError):
                waiting.result(timeout=0.5)
            assert held == []
        assert waiting.result(timeout=60).run == "run-seed5"
    assert evaluate_stage(recipe, silent).run == "run-seed5"
    assert held == [True]
