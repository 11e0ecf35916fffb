import json
from dataclasses import replace

import pytest

from full_scale.recipe.schema import TaskConfig
from full_scale.tasks.loaders import load_task
from full_scale.tasks.protocol import Prompt
from full_scale.tasks.verifiers.own import OwnReward, OwnVerifier
from full_scale.tasks.verifiers.worker import JudgeOutcome

MODULE = """
import time

def is_short(answer, reference):
    if answer == "hang":
        while True:
            time.process_time()
    if answer == "raise":
        raise RuntimeError
    return .5 if answer == "half" else len(answer) <= reference["most"]

def length(answer, reference):
    return float("nan") if answer == "nan" else len(answer) / reference["most"]
"""
ROWS = [{"prompt": "say little", "most": 4}, {"prompt": "say more", "most": 6}]
SHORT, LENGTH = "own_task:is_short", "own_task:length"


@pytest.fixture(autouse=True)
def module(tmp_path, monkeypatch):
    (tmp_path / "own_task.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    for name in ("train", "test"):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, ROWS)))


def test_a_function_judges_and_what_it_cannot_judge_is_incorrect():
    example = Prompt("a", "?", {"most": 4})
    with OwnVerifier(SHORT, seconds=1.0, workers=1) as verifier:
        scores = verifier([example] * 6, ["abc", "abcde", "hang", "raise", "half", "abcd"])
    assert [score.outcome for score in scores] == [
        JudgeOutcome.CORRECT,
        JudgeOutcome.WRONG,
        JudgeOutcome.TIMEOUT,
        JudgeOutcome.CRASH,
        JudgeOutcome.CRASH,
        JudgeOutcome.CORRECT,
    ]
    assert [score.correct for score in scores] == [True, False, False, False, False, True]


def test_a_reward_is_a_number_or_none():
    reward = OwnReward(LENGTH, workers=1)
    try:
        assert reward([Prompt("a", "?", {"most": 4})] * 3, ["ab", "nan", "abcd"]) == [0.5, None, 1.0]
    finally:
        reward.close()


@pytest.mark.parametrize("function", ["own_task:no_such", "no_such_module:f"])
def test_a_function_that_is_not_there_is_said_before_anything_is_judged(function):
    for maker, named in ((OwnVerifier, "verifier"), (OwnReward, "rewards")):
        with pytest.raises(ValueError, match=rf"task\.options\.{named}='{function}'.*no_such"):
            maker(function, workers=1)


def config(**options):
    own = {"workers": 1, **options.pop("own", {})}
    return TaskConfig(name="dataset", data="train.jsonl", options={"own": own, **options})


def test_a_task_by_configuration_alone():
    sets = {"in_domain": {"data": "test.jsonl"}}
    rewards = {"length": {"function": LENGTH, "weight": 0.1}, "seen": {"function": LENGTH}}
    task = load_task(config(verifier=SHORT, rewards=rewards, evaluation=sets))
    try:
        assert task.train[0].reference == {**ROWS[0], "verifier": SHORT}
        for example in (task.train[0], task.evaluation["in_domain"][0]):
            (score,) = task.verifier([example], ["abcde"])
            assert (score.correct, score.outcome) == (False, "wrong")
        assert {name: reward.weight for name, reward in task.rewards.items()} == {"length": 0.1, "seen": 0.0}
        assert task.rewards["length"].scorer(task.train, ["ab", "abc"]) == [0.5, 0.5]
    finally:
        task.close()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"verifier": "own_task"}, "function='own_task'.*module:function"),
        ({"verifier": SHORT, "own": {"second": 1}}, r"task\.options\.own\.key='second'"),
        ({"verifier": SHORT, "rewards": {"verifier": {"function": LENGTH}}}, "other than 'verifier'"),
        ({"verifier": SHORT, "rewards": {"a b": {"function": LENGTH}}}, "plain name"),
        ({"verifier": SHORT, "rewards": {"a": {"weight": 1.0}}}, "module:function"),
    ],
)
def test_what_is_wrong_in_the_configuration_is_named(options, named):
    with pytest.raises(ValueError, match=named):
        load_task(config(**options))


def test_a_task_with_a_verifier_takes_no_other():
    for options in ({"verifier": SHORT}, {"evaluation": {"x": {"data": "test.jsonl", "verifier": SHORT}}}):
        with pytest.raises(ValueError, match=r"verifier='own_task:is_short'.*'maths', which has its own"):
            load_task(TaskConfig(name="maths", data="train.jsonl", options=options))


def test_close_ends_all_workers():
    closed = []

    class Held:
        def __call__(self, examples, completions):
            return [None] * len(examples)

        def close(self):
            closed.append(1)

    task = load_task(config(verifier=SHORT, rewards={"length": {"function": LENGTH}}))
    task.close()
    reward = replace(task.rewards["length"], scorer=Held())
    replace(task, verifier=Held(), rewards={"length": reward}).close()
    assert closed == [1, 1]


def test_a_failure_says_the_exception_and_where():
    with OwnVerifier("own_task:is_short", workers=1) as verifier:
        (score,) = verifier([Prompt("a", "?", {"least": 4})], ["abc"])
    assert score.detail.startswith("KeyError: 'most' (own_task.py, line ")


def test_what_decides_the_verdicts_is_the_function_and_its_source(tmp_path):
    def bound(function):
        with OwnVerifier(function, workers=1) as verifier:
            return verifier.bound

    before = bound(SHORT)
    assert bound(SHORT) == before
    assert bound(LENGTH) != before
    (tmp_path / "own_task.py").write_text(MODULE.replace("<=", "<"))
    after = bound(SHORT)
    assert [key for key in before if before[key] != after[key]] == ["module own_task"]
