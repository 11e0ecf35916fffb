from unittest.mock import MagicMock

import pytest
from support.sql_databases import bird_folder, spider_folder, write_jsonl

from full_scale.recipe.schema import TaskConfig
from full_scale.tasks.loaders import load_task
from full_scale.tasks.protocol import RESERVED, Prompt, Task, WeightedReward
from full_scale.tasks.verifiers.maths import MathsVerifier
from full_scale.tasks.verifiers.pool import Dispatch
from full_scale.tasks.verifiers.sql import SqlVerifier


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("data")
    bird_folder(root / "bird")
    spider_folder(root / "spider")
    rows = [{"problem": "1+1?", "answer": "2"}, {"problem": "1+2?", "answer": "3"}]
    write_jsonl(root / "maths" / "train.jsonl", rows)
    write_jsonl(root / "maths" / "test.jsonl", rows[:1])
    return root


def config(folders, name, **options):
    return TaskConfig(name=name, data=str(folders / name), options=options)


@pytest.mark.parametrize(("name", "options", "train", "evaluation", "verifier"), [
    ("bird", {}, 2, {"in_domain": 1}, SqlVerifier), ("spider", {}, 1, {"in_domain": 1}, SqlVerifier),
    ("maths", {}, 2, {"in_domain": 1}, MathsVerifier),
    # Another split trains without an evaluation set.
    ("bird", {"split": "dev"}, 1, {}, SqlVerifier),
])  # fmt: skip
def test_the_published_layout_is_all_that_is_needed(folders, name, options, train, evaluation, verifier):
    task = load_task(config(folders, name, **options))
    assert (task.name, len(task.train), type(task.verifier)) == (name, train, verifier)
    assert {key: len(examples) for key, examples in task.evaluation.items()} == evaluation


def test_sets_across_domains_share_a_verifier_that_knows_them_all(folders):
    options = {
        "evaluation": {
            "in_domain": {"data": str(folders / "bird"), "split": "dev"},
            "cross_domain": {"task": "spider", "data": str(folders / "spider"), "limit": 1},
            "out_of_domain": {"task": "maths", "data": str(folders / "maths" / "test.jsonl")},
        },
        "sql": {"workers": 1, "seconds": 5},
        "maths": {"workers": 1, "seconds": 2},
        "system": "S",
    }
    task = load_task(config(folders, "bird", **options))
    assert task.system == "S"
    asked = [examples[0] for examples in task.evaluation.values()]
    assert [example.id for example in asked] == ["in_domain/0", "cross_domain/0", "out_of_domain/0"]
    assert [example.reference.get("match") for example in asked] == ["bird", "spider", None]
    assert "dev_databases" in asked[0].reference["database"]
    assert "Names, dearest first?" in asked[1].prompt
    answers = [
        "```sql\nSELECT name FROM item\n```",
        "SELECT price, name FROM item ORDER BY price DESC",
        r"\boxed{2}",
    ]
    assert [score.correct for score in task.verifier(asked, answers)] == [True, True, True]
    assert [score.correct for score in task.verifier(asked, answers[1:] + answers[:1])] == [False] * 3
    task.verifier.close()


@pytest.mark.parametrize(("changed", "says"), [
    ({"name": "birds"}, "task.name='birds'.*tiny-sql, reasoning-gym, bird, spider, maths, dataset, dph-rl"),
    ({"data": None}, "task.data=None"), ({"data": "/nowhere/at-all"}, "data='/nowhere/at-all'"),
    ({"options": {"limits": 3}}, "task.options.key='limits'.*did you mean 'limit'"),
    ({"options": {"limit": "three"}}, "task.options.limit='three'"),
    ({"options": {"evaluation": {"train": {}}}}, "evaluation.train='train'.*any name but"),
    ({"options": {"evaluation": {"x": {"data": ""}}}}, "evaluation.x.data=''"),
    ({"options": {"evaluation": {"x": {"task": "html", "data": "d"}}}}, "evaluation.x.task='html'.*maths"),
    ({"options": {"evaluation": {"x": {"path": "d"}}}}, "evaluation.x.key='path'"),
    ({"options": {"evaluation": {"x": 3}}}, "evaluation.x=3.*mapping"),
    ({"options": {"sql": {"second": 3}}}, "task.options.sql.key='second'.*'seconds'"),
    ({"options": {"sql": {"rows": "many"}}}, "task.options.sql.rows='many'"),
    ({"options": {"sql": {"workers": 0}}}, "workers=0"),
])  # fmt: skip
def test_a_wrong_configuration_is_named(folders, changed, says):
    values = {"name": "bird", "data": str(folders / "bird")} | changed
    with pytest.raises(ValueError, match=says):
        load_task(TaskConfig(**values))


@pytest.mark.parametrize(("train", "evaluation", "says"), [
    ("", {}, "'t' set='train'"), ("1", {"in_domain": ""}, "'t' set='in_domain'"),
    ("121", {}, "train example id='1'"), ("1", {"in_domain": "22"}, "in_domain example id='2'"),
    *(("1", {name: "1"}, f"evaluation set='{name}'") for name in RESERVED),
])  # fmt: skip
def test_a_task_that_cannot_be_is_refused(train, evaluation, says):
    sets = {name: [Prompt(each, "q") for each in ids] for name, ids in evaluation.items()}
    with pytest.raises(ValueError, match=says):
        Task("t", [Prompt(each, "q") for each in train], sets, Dispatch({}))


def test_close_ends_the_verifier_and_the_rewards():
    held = [MagicMock() for _ in "abc"]
    rewards = {name: WeightedReward(scorer) for name, scorer in zip("ab", held, strict=False)}
    Task("t", [Prompt("1", "q")], {}, held[2], rewards=rewards).close()
    assert [each.close.call_count for each in held] == [1, 1, 1]
