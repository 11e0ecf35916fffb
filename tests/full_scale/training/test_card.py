import pytest
from support.rule_task import ruled_recipe

from dph_theory.support.files import write_json
from dph_theory.support.record import as_json, record
from full_scale.evaluation.record import KIND, EvaluatedSet, Evaluation, Mean, ModelHash, Summary
from full_scale.recipe.folders import Folders
from full_scale.recipe.schema import MethodConfig
from full_scale.training.arguments import arguments
from full_scale.training.card import CARD, write_card
from full_scale.training.record import TrainingRecord


@pytest.fixture
def run(tmp_path):
    """The folders of a finished run."""
    recipe = ruled_recipe(tmp_path, method=MethodConfig(name="KL-control-sequence", beta=0.2))
    folders = Folders.of(recipe)
    folders.model.mkdir(parents=True)
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


def test_the_card_tells_method_law_and_settings(run):
    write_card(run)
    said = (run.model / CARD).read_text()
    for words in (
        "trained by KL-control-sequence for 3 steps",
        "sequence reverse\\_kl",
        "online_coefficient",
    ):
        assert words.replace("\\", "") in said.replace("\\", ""), words
    assert "- mean reward 0.1 at first, 0.9 at last." in said


def test_the_card_has_a_table_of_what_was_evaluated(run):
    first, second = Mean(0.25, 0.1), Mean(0.75, None)
    numbers = Summary(3, first, {"1": first, "4": second}, None, {}, {})
    found = Evaluation(run.run, ModelHash("h"), {"in_domain": EvaluatedSet((), numbers)})
    write_json(run.evaluation, record(KIND, seed=5, config={}, results=as_json(found), findings=()))
    write_card(run)
    said = (run.model / CARD).read_text()
    assert "| set | prompts | greedy | Pass@1 | Pass@4 |" in said
    assert "| in\\_domain | 3 | 0.250 | 0.250 | 0.750 |" in said
