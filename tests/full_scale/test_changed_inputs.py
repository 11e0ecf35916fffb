"""Stages refuse to go on when the files that they read have changed, and nothing is counted as incorrect."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest
from safetensors.torch import load_file, save_file
from support.sql_databases import make_database, write_jsonl
from support.tiny_llama import tiny_llama

from dph_theory.support.errors import RefusedError
from dph_theory.support.progress import silent
from full_scale.evaluation.evaluated_run import Evaluation
from full_scale.models.load import ModelHashes, load, model_hash
from full_scale.recipe.folders import Folders
from full_scale.recipe.schema import (
    EvaluateConfig,
    MethodConfig,
    ModelConfig,
    PresampleConfig,
    Recipe,
    SamplingConfig,
    TaskConfig,
)
from full_scale.sampling.count import CountSettings, count
from full_scale.stages import evaluate_stage, presample_stage, train_stage
from full_scale.tasks.loaders import load_task
from full_scale.tasks.protocol import VerifierError, judged
from full_scale.training.trained_run import TrainingRecord

QUERY = "SELECT COUNT(*) FROM item"


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    """A recipe of SQL questions about one database, answered by a random Llama."""
    monkeypatch.chdir(tmp_path)
    database = make_database(tmp_path / "shop.sqlite")
    rows = [{"prompt": f"p{i} p{7 - i}", "database": str(database), "query": QUERY} for i in range(4)]
    write_jsonl(tmp_path / "data.jsonl", rows)
    tiny_llama(tmp_path / "model", hidden=16, scale=2.0)
    options = {"verifier": "sql", "evaluation": {"in_domain": {"data": "data.jsonl"}}}
    return Recipe(
        name="run",
        output=str(tmp_path / "runs"),
        model=ModelConfig(path=str(tmp_path / "model")),
        task=TaskConfig("dataset", "data.jsonl", options=options),
        sampling=SamplingConfig(max_new_tokens=4, batch_size=4),
        presample=PresampleConfig(k=2, threshold=2),
        evaluate=EvaluateConfig(samples=2, k=(1,)),
    )


def lose_rows(folder):
    with closing(sqlite3.connect(folder / "shop.sqlite")) as connection:
        connection.execute("DELETE FROM item WHERE id > 2")
        connection.commit()


def lose_database(folder):
    (folder / "shop.sqlite").unlink()


def change_config(folder):
    path = folder / "model" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"rms_norm_eps": 0.1}))


def change_template(folder):
    (folder / "model" / "chat_template.jinja").write_text("{{ messages }}")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lose_rows, "databases=.*shop.sqlite"),
        (lose_database, "there is no database .*shop.sqlite"),
        (change_config, "model_hash="),
        (change_template, "tokenizer_hash="),
    ],
)
@pytest.mark.parametrize("stage", [train_stage, lambda *given: evaluate_stage(*given, base_only=True)])
def test_a_stage_after_the_pre_sampling_refuses_changed_inputs(recipe, tmp_path, change, message, stage):
    presample_stage(recipe, silent)
    change(tmp_path)
    with pytest.raises((ValueError, RefusedError), match=message):
        stage(recipe, silent)


@pytest.mark.parametrize("change", [lose_rows, lose_database])
def test_a_count_goes_on_with_the_databases_that_it_was_begun_with(recipe, tmp_path, change):
    settings = CountSettings(
        model=recipe.model.path, prompts="data.jsonl", verifier="sql", n=2, max_tokens=4, chat=False
    )
    count(settings, tmp_path / "counts.jsonl", say=lambda words: None)
    change(tmp_path)
    with pytest.raises((ValueError, RefusedError), match=r"prompts=|there is no database"):
        count(settings, tmp_path / "counts.jsonl", say=lambda words: None)


def test_a_database_that_cannot_be_read_is_no_incorrect_answer(recipe, tmp_path):
    task = load_task(recipe.task)
    try:
        assert [score.correct for score in judged(task.verifier, task.train[:1], [QUERY])] == [True]
        (tmp_path / "shop.sqlite-wal").write_bytes(b"changes")
        with pytest.raises(VerifierError, match=r"nothing is counted: .*shop.sqlite-wal holds changes"):
            judged(task.verifier, task.train[:1], [QUERY])
    finally:
        task.close()


def test_the_base_of_another_model_is_no_reference(recipe, tmp_path):
    presample_stage(recipe, silent)
    evaluate_stage(recipe, silent, base_only=True)
    folders = Folders.of_recipe(recipe)
    stored = json.loads(folders.base().evaluation.read_text())
    assert Evaluation.read(folders.base().evaluation).identity["initial_hash"] == model_hash(
        recipe.model.path
    )
    stored["results"]["identity"]["initial_hash"] = "another"
    folders.base().evaluation.write_text(json.dumps(stored))
    trained(recipe)
    with pytest.raises(ValueError, match=r"initial_hash=.* 'another', as for the base"):
        evaluate_stage(recipe, silent)


def trained(recipe, **changes):
    """Folders of a run whose training is declared: the model is the base with one weight moved."""
    folders = Folders.of_recipe(recipe)
    tiny_llama(folders.model, hidden=16, scale=2.0)
    weights = load_file(folders.model / "model.safetensors")
    name = sorted(weights)[0]
    save_file({**weights, name: weights[name] + 0.1}, folders.model / "model.safetensors", {"format": "pt"})
    values = {
        "config": recipe.as_dict(),
        "run": folders.run,
        "method": recipe.method.name,
        "arguments": {},
        "log": [],
        "base_rates": {},
        "rehearsed": [],
        "explored": [],
        "steps": 1,
        "seconds": None,
        "findings": [],
        "initial_hash": model_hash(recipe.model.path),
        "trained_hash": model_hash(folders.model),
    }
    TrainingRecord(**values | changes).write(folders.training)
    return folders


def test_only_the_model_that_was_trained_is_evaluated_by_its_recipe(recipe):
    presample_stage(recipe, silent)
    folders = trained(recipe)
    other = replace(recipe, method=MethodConfig(name="DPH-F"), name="run")
    with pytest.raises(ValueError, match=r"method.name='DPH-F' .*'GRPO', with which run-seed0 was trained"):
        evaluate_stage(other, silent)
    more = replace(recipe, evaluate=EvaluateConfig(samples=3, k=(1, 3)))
    assert evaluate_stage(more, silent).model.hash == model_hash(folders.model)
    tiny_llama(folders.root / "other", hidden=16, scale=2.0, seed=3)
    (folders.root / "other" / "model.safetensors").rename(folders.model / "model.safetensors")
    for stage, again in ((evaluate_stage, more), (train_stage, recipe)):
        with pytest.raises(RefusedError, match=r"does not contain the model that .*training.json describes"):
            stage(again, silent)


def test_hashes_cover_what_decides_a_models_numbers_and_its_prompts(recipe, tmp_path):
    before = ModelHashes.of_model(recipe.model.path)
    change_config(tmp_path)
    change_template(tmp_path)
    after = ModelHashes.of_model(recipe.model.path)
    assert before.model != after.model
    assert before.tokenizer != after.tokenizer
    assert load(recipe.model).hashes == after
