from dataclasses import replace

import pytest
import torch
import transformers
from peft import LoraConfig, get_peft_model
from support.rule_task import ruled_recipe
from support.tiny_llama import plain_log_probs, tiny_llama
from support.tiny_training import TRL_WARNS
from transformers import AutoModelForCausalLM

from dph_theory.support.files import write_json
from dph_theory.support.record import as_json, record
from full_scale.evaluation.record import KIND, EvaluatedSet, Evaluation, Mean, ModelHash, Summary
from full_scale.models.load import load_model
from full_scale.recipe.folders import Folders
from full_scale.recipe.schema import MethodConfig, ModelConfig, Recipe
from full_scale.training.arguments import arguments
from full_scale.training.cli import CARD, merged, publish, push
from full_scale.training.record import TrainingRecord

pytestmark = pytest.mark.filterwarnings(TRL_WARNS)


@pytest.fixture
def run(tmp_path):
    """The folder of a finished run that trained an adapter."""
    recipe = ruled_recipe(tmp_path, method=MethodConfig(name="KL-control-sequence", beta=0.2))
    folders = Folders.of(recipe)
    model = get_peft_model(
        AutoModelForCausalLM.from_pretrained(recipe.model.path), LoraConfig(r=2, target_modules=["v_proj"])
    )
    with torch.no_grad():
        for name, value in model.named_parameters():
            if "lora_B" in name:
                value.fill_(0.5)
    model.save_pretrained(folders.model)
    TrainingRecord(
        config=recipe.as_dict(),
        run=folders.run,
        method="KL-control-sequence",
        arguments=dict(arguments(recipe).arguments),
        log=[],
        base_rates={"e0": 0.5, "e1": 0.25},
        rehearsed=[],
        explored=["e0", "e1"],
        steps=3,
        seconds=1.0,
        findings=["mean reward 0.1 at first, 0.9 at last."],
    ).write(folders.training)
    return folders


def test_a_merged_adapter_answers_as_the_model_with_it(run, tmp_path):
    publish(run.here, tmp_path / "out", merge=True)
    models = [AutoModelForCausalLM.from_pretrained(path) for path in (run.model, tmp_path / "out")]
    with torch.no_grad():
        adapted, whole = (plain_log_probs(model, [3, 4], [5, 6, 7]) for model in models)
    assert torch.allclose(adapted, whole, atol=1e-5)
    assert not (tmp_path / "out" / "adapter_config.json").exists()
    with pytest.raises(ValueError, match="out="):
        publish(run.here, tmp_path / "out")


def test_tied_weights_load_and_merge_without_a_warning(tmp_path, caplog):
    config = ModelConfig(path=str(tiny_llama(tmp_path / "model", tied=True)))
    transformers.utils.logging.enable_propagation()
    adapted = get_peft_model(load_model(config), LoraConfig(r=2, target_modules="all-linear"))
    adapted.base_model.model.model.layers[0].mlp.up_proj.lora_B["default"].weight.data.fill_(0.5)
    adapted.save_pretrained(tmp_path / "adapter")
    merged(Recipe(model=config), tmp_path / "adapter", tmp_path / "out")
    whole = load_model(replace(config, path=str(tmp_path / "out")))
    transformers.utils.logging.disable_propagation()
    assert not [record for record in caplog.records if record.levelname == "WARNING"]
    assert whole.lm_head.weight is whole.model.embed_tokens.weight
    with torch.no_grad():
        found, expected = (plain_log_probs(model, [3, 4], [5, 6, 7]) for model in (whole, adapted))
    assert torch.allclose(found, expected, atol=1e-5)


def test_the_card_tells_method_law_and_settings(run, tmp_path):
    publish(run.here, tmp_path / "out")
    said = (tmp_path / "out" / CARD).read_text()
    for words in (
        "trained by KL-control-sequence for 3 steps",
        "sequence reverse\\_kl",
        "online_coefficient",
    ):
        assert words.replace("\\", "") in said.replace("\\", ""), words
    assert "- mean reward 0.1 at first, 0.9 at last." in said
    assert (tmp_path / "out" / "adapter_config.json").is_file()
    with pytest.raises(ValueError, match="merge=True"):
        publish(replace_model_by_whole(run), tmp_path / "other", merge=True)


def replace_model_by_whole(run):
    (run.model / "adapter_config.json").unlink()
    return run.here


def test_the_card_has_a_table_of_what_was_evaluated(run, tmp_path):
    first, second = Mean(0.25, 0.1), Mean(0.75, None)
    numbers = Summary(3, first, {"1": first, "4": second}, None, {}, {})
    found = Evaluation(run.run, ModelHash("h"), {"in_domain": EvaluatedSet((), numbers)})
    write_json(run.evaluation, record(KIND, seed=5, config={}, results=as_json(found), findings=()))
    publish(run.here, tmp_path / "out")
    said = (tmp_path / "out" / CARD).read_text()
    assert "| set | prompts | greedy | Pass@1 | Pass@4 |" in said
    assert "| in\\_domain | 3 | 0.250 | 0.250 | 0.750 |" in said


def test_a_push_makes_the_repository_and_sends_the_folder(tmp_path, monkeypatch):
    asked = []

    class Hub:
        def create_repo(self, name, **settings):
            asked.append((name, settings["private"]))

        def upload_folder(self, *, repo_id, folder_path, commit_message):
            asked.append((repo_id, folder_path))
            return f"https://hub/{repo_id}"

    monkeypatch.setattr("full_scale.training.cli.HfApi", Hub)
    assert push(tmp_path, "me/model") == "https://hub/me/model"
    assert asked == [("me/model", True), ("me/model", tmp_path)]
