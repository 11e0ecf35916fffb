import json

from support.rule_task import ruled_recipe

from dph_theory.support.files import write_json
from dph_theory.support.record import as_json, checked, record
from full_scale.evaluation.record import KIND, EvaluatedSet, Evaluation, Mean, ModelHash, Summary
from full_scale.recipe.folders import Folders
from full_scale.recipe.schema import MethodConfig
from full_scale.training.arguments import arguments
from full_scale.training.card import CARD, write_card
from full_scale.training.record import KIND as TRAINING
from full_scale.training.record import TrainingRecord


def test_a_run_has_a_record_like_others_and_a_card_of_method_law_settings_and_what_was_evaluated(tmp_path):
    recipe = ruled_recipe(tmp_path, method=MethodConfig(name="KL-control-sequence", beta=0.2))
    run = Folders.of(recipe)
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
    )
    made.write(run.training)
    assert TrainingRecord.read(run.training) == made
    stored = checked(json.loads(run.training.read_text()), TRAINING)
    assert (stored["seed"], stored["config"], stored["findings"]) == (5, made.config, made.findings)
    assert {"torch", "trl", "dph"} <= set(stored["versions"])
    first, second = Mean(0.25, 0.1), Mean(0.75, None)
    numbers = Summary(3, first, {"1": first, "4": second}, None, {}, {})
    found = Evaluation(run.run, ModelHash("h"), {"in_domain": EvaluatedSet((), numbers)})
    write_json(run.evaluation, record(KIND, seed=5, config={}, results=as_json(found), findings=()))
    write_card(run)
    said = (run.model / CARD).read_text().replace("\\", "")
    for words in (
        "trained by KL-control-sequence for 3 steps on the task",
        "1 explored.",
        "sequence reverse_kl",
        "| online_coefficient | 0.2 |",
        "- mean reward 0.1 at first, 0.9 at last.",
        "| set | prompts | greedy | Pass@1 | Pass@4 |",
        "| in_domain | 3 | 0.250 | 0.250 | 0.750 |",
    ):
        assert words in said
