"""Several methods by one recipe: what each is trained with, and one table of Pass@k."""

import json

import pytest
from support.tiny_training import TRL_WARNS

from dph_theory.support.progress import silent
from full_scale.demo import QUICK, QUICK_SIZE
from full_scale.methods import COMPARED, MethodRun, compare_methods, pass_tables
from full_scale.recipe.folders import Folders
from full_scale.recipe.methods import setup
from full_scale.tasks.tiny_sql.task import build


@pytest.mark.parametrize(
    ("method", "scale", "by_mean", "rehearses"),
    [
        ("GRPO", "group", False, False),
        ("Dr. GRPO", "none", False, False),
        ("MaxRL", "none", True, False),
        ("DPH-F", "group", False, True),
        ("DPH-MaxRL", "none", True, True),
    ],
)
def test_each_method_differs_in_its_divisor_and_its_rehearsal(method, scale, by_mean, rehearses):
    assert method in COMPARED
    run = MethodRun.at_seed("llama3.2-1b-gsm8k", ("train.max_steps=7",), method, 3)
    made = setup(run.recipe.method, train=run.recipe.train)
    assert made.arguments["scale_rewards"] == scale
    assert made.arguments.get("divided_by_mean", False) == by_mean
    assert made.rehearses == rehearses
    assert made.arguments["max_steps"] == 7
    name = method.lower().replace(". ", "-")
    assert Folders.of_recipe(run.recipe).run == f"llama3.2-1b-gsm8k-{name}-seed3"


@pytest.mark.parametrize(
    ("overrides", "method", "message"),
    [
        (("method.name=GRPO",), "GRPO", "override='method.name=GRPO'"),
        (("seed=3",), "GRPO", "--methods and --seeds decide it"),
        ((), "PPO", "methods='PPO'"),
    ],
)
def test_what_the_comparison_decides_is_no_override(overrides, method, message):
    with pytest.raises(ValueError, match=message):
        MethodRun.at_seed("tiny-sql", overrides, method, 0)


@pytest.mark.slow
@pytest.mark.filterwarnings(TRL_WARNS)
def test_methods_are_trained_and_compared_and_what_is_finished_is_kept(tmp_path):
    build(tmp_path / "task", QUICK_SIZE)
    places = (f"output={tmp_path}", f"model.path={tmp_path}/task/model", f"task.data={tmp_path}/task")
    given = ("tiny-sql", (*places, *QUICK, "evaluate.sets=[in_domain]"))
    stages = []
    found = compare_methods(
        *given, methods=("GRPO", "DPH-MaxRL"), progress=lambda stage, *rest: stages.append(stage)
    )
    rows = found["results"]["sets"]["in_domain"]
    assert [*rows] == ["base", "GRPO", "DPH-MaxRL"]
    assert all(0 <= value <= 1 for row in rows.values() for value in row["pass_at_k"].values())
    assert "train" in stages
    assert json.loads((tmp_path / "methods.json").read_text())["results"] == found["results"]
    (table,) = pass_tables(found["results"])
    assert [row[0] for row in table.rows] == ["base", "GRPO", "DPH-MaxRL"]
    stages.clear()
    again = compare_methods(*given, methods=("GRPO", "DPH-MaxRL"), progress=silent)
    assert again["results"] == found["results"]
    assert "train" not in stages
