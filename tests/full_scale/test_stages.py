import pytest
from ruled_task import ruled_recipe, ruled_task

import full_scale.stages
from full_scale.config import ModelConfig
from full_scale.folders import Folders
from full_scale.stages import evaluate_stage, load_model, load_tokenizer, presample_stage, train_stage


def silent(stage, done, total):
    pass


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
    assert evaluation["results"]["run"] == "base"
    assert told[-1] == ("evaluate", 11, 11)
    assert closed == [1, 1]
    # A finished pre-sampling is loaded, not made again.
    assert presample_stage(recipe, silent).pef == found.pef


def test_an_evaluation_wants_a_trained_model(place, closed):
    with pytest.raises(ValueError, match="dph train"):
        evaluate_stage(ruled_recipe(place, name="other"), silent)


def test_a_training_wants_a_pre_sampling(tmp_path, closed):
    with pytest.raises(ValueError, match="dph presample"):
        train_stage(ruled_recipe(tmp_path), silent)
    assert closed == [1]
    assert not Folders.of(ruled_recipe(tmp_path)).training.exists()


@pytest.mark.parametrize("stage", [presample_stage, evaluate_stage])
def test_one_process_only(place, closed, monkeypatch, stage):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match="one process"):
        stage(ruled_recipe(place), silent)


@pytest.mark.parametrize("load", [load_model, load_tokenizer])
def test_no_model_there(tmp_path, load):
    with pytest.raises(ValueError, match=r"model\.path=.*nowhere"):
        load(ModelConfig(path=str(tmp_path / "nowhere")))


def test_weights_other_than_safetensors_are_refused(tmp_path):
    folder = tmp_path / "model"
    ruled_recipe(tmp_path)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ValueError, match="safetensors"):
        load_model(ModelConfig(path=str(folder)))
