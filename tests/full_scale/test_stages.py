from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from support.rule_task import ruled_recipe, ruled_task
from support.tiny_llama import tiny_llama

import full_scale.stages
from dph_theory.support.files import write_json
from full_scale.evaluation.record import Evaluation, ModelHash
from full_scale.models.load import ModelHashes
from full_scale.presampling.result import Presampling
from full_scale.recipe.folders import Folders
from full_scale.stages import evaluate_stage, presample_stage, train_stage
from full_scale.storage.locks import locked
from full_scale.training.record import TrainingRecord


def silent(stage, done, total):
    pass


RECORD = TrainingRecord({}, "run", "GRPO", {}, [], {}, [], [], 0, None, [])


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


def test_an_evaluation_wants_a_trained_model(place, closed):
    with pytest.raises(ValueError, match="dph train"):
        evaluate_stage(ruled_recipe(place, name="other"), silent)


def test_one_of_several_runs_evaluates_the_base_for_all(place, closed, monkeypatch):
    """Under the base's own lock: another run that comes to it then waits, and finds it done."""
    recipe, held = ruled_recipe(place, output=str(place / "several")), []
    presample_stage(recipe, silent)
    folders = Folders.of(recipe)
    folders.training.parent.mkdir(parents=True)
    replace(RECORD, config=recipe.as_dict()).write(folders.training)

    def evaluate(recipe, task, model, *, folders, **shared):
        if folders == folders.base():
            with pytest.raises(ValueError, match=r"nothing else is at work"), locked(folders.here):
                pass
            held.append(True)
            write_json(folders.evaluation, {})
        return Evaluation(folders.run, ModelHash("h"), {})

    monkeypatch.setattr(full_scale.stages, "evaluate", evaluate)
    monkeypatch.setattr(full_scale.stages, "load_trained", lambda *given: None)
    monkeypatch.setattr(full_scale.stages, "write_card", lambda folders: None)
    with ThreadPoolExecutor() as others:
        with locked(folders.base().here):
            waiting = others.submit(evaluate_stage, recipe, silent)
            with pytest.raises(TimeoutError):
                waiting.result(timeout=1.5)
            assert held == []
        assert waiting.result(timeout=60).run == "run-seed5"
    assert held == [True]
    assert evaluate_stage(recipe, silent).run == "run-seed5"
    assert held == [True]


def test_a_training_wants_a_pre_sampling(tmp_path, closed):
    with pytest.raises(ValueError, match="dph presample"):
        train_stage(ruled_recipe(tmp_path), silent)
    assert closed == [1]
    assert not Folders.of(ruled_recipe(tmp_path)).training.exists()


@pytest.mark.parametrize(
    ("part", "change", "named"),
    [
        ("sampling", {"temperature": 0.8}, r"sampling\.temperature=0\.8"),
        ("presample", {"threshold": 3}, r"presample\.threshold=3"),
        ("model", {}, "model_hash="),
    ],
)
def test_another_pre_sampling_is_refused_by_every_method(place, tmp_path, closed, part, change, named):
    """GRPO rehearses nothing, yet trains on D_exp and is measured against the base's rates."""
    recipe = ruled_recipe(place)
    presample_stage(recipe, silent)
    if part == "model":
        change = {"path": str(tiny_llama(tmp_path, hidden=16, seed=1))}
    other = replace(recipe, **{part: replace(getattr(recipe, part), **change)})
    with pytest.raises(ValueError, match=named):
        train_stage(other, silent)
    # Other seeds share it; so does another batch size.
    shared = replace(recipe, seed=9, sampling=replace(recipe.sampling, batch_size=5))
    found = Presampling.load(Folders.of(shared).presample)
    found.check(shared, ruled_task(), ModelHashes.of(shared.model.path))
