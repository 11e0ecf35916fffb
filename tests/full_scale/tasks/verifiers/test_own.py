import json

import pytest

from full_scale.recipe.schema import TaskConfig
from full_scale.tasks.loaders import load_task
from full_scale.tasks.protocol import Prompt, VerifierError, judged
from full_scale.tasks.verifiers.own import OwnVerifier

MODULE = """
import time
import numpy as np

VERDICTS = {"one": 1.0, "none": np.False_, "array": np.array([True]), "word": "True", "list": [1]}

def is_short(answer, reference):
    if answer == "hang":
        while True:
            time.process_time()
    if answer == "escape":
        raise ValueError("\\x1b]0;owned\\x07")
    if answer in VERDICTS:
        return VERDICTS[answer]
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
    examples = [Prompt("a", "?", {"most": 4})] * 5 + [Prompt("b", "?", {"least": 4})]
    with OwnVerifier(SHORT, seconds=1.0, workers=1) as verifier:
        scores = verifier(examples, ["abc", "abcde", "hang", "half", "abcd", "abc"])
    outcomes = ["correct", "wrong", "timeout", "crash", "correct", "crash"]
    assert [score.outcome for score in scores] == outcomes
    assert [score.correct for score in scores] == [outcome == "correct" for outcome in outcomes]
    assert scores[-1].detail.startswith("KeyError: 'most' (own_task.py, line ")


def test_true_and_false_are_also_one_and_zero_and_nothing_else_is():
    answers = ["one", "none", "array", "word", "list", "escape"]
    with OwnVerifier(SHORT, workers=1) as verifier:
        scores = verifier([Prompt("a", "?", {"most": 4})] * 6, answers)
    assert [score.outcome for score in scores] == ["correct", "wrong", *["crash"] * 4]
    assert scores[-1].detail.startswith(r"ValueError: \x1b]0;owned\x07 (")


def test_a_verifier_that_gives_no_verdict_on_all_answers_is_one_that_failed():
    examples = [Prompt(name, "?", {"most": 4}) for name in "ab"]
    with OwnVerifier(SHORT, seconds=0.5, workers=1) as verifier:
        assert [score.outcome for score in judged(verifier, examples, ["hang", "abc"])][1] == "correct"
        with pytest.raises(VerifierError, match=r"every one of 2 answers: no verdict after 0.5 s \(2 times"):
            judged(verifier, examples, ["hang"] * 2)


LIMITED = """
import os, tempfile
import {module}

def keeps(answer, reference):
    if answer == "write":
        with open(tempfile.gettempdir() + "/dph-own-{{}}".format(os.getpid()), "w") as file:
            file.write("x" * 100)
        os.remove(file.name)
    if answer == "fill":
        bytearray(2**33)
    return os.environ.get("JUDGE_ADDRESS") == answer or answer == "write"
"""


def test_what_a_function_may_do_is_said_where_it_is_hit_and_can_be_given(tmp_path, monkeypatch):
    (tmp_path / "slow_to_import.py").write_text(
        "import time\nuntil = time.process_time() + 1.5\n"
        "while time.process_time() < until: pass\n"
        "open('made', 'w').write('x')\n"
    )
    (tmp_path / "own_limited.py").write_text(LIMITED.format(module="slow_to_import"))
    monkeypatch.setenv("JUDGE_ADDRESS", "here")
    examples = [Prompt("a", "?", {})] * 3
    with OwnVerifier("own_limited:keeps", seconds=1.0, workers=1) as verifier:
        # The import takes longer than a verdict may, and writes.
        bare = verifier(examples, ["write", "here", "fill"])
    assert [score.outcome for score in bare] == ["crash", "wrong", "crash"]
    assert "the limit on files is hit: task.options.own.write" in bare[0].detail
    assert "the limit on memory is hit: task.options.own.memory" in bare[2].detail
    given = {"write": 1000, "environment": ("JUDGE_ADDRESS",)}
    with OwnVerifier("own_limited:keeps", seconds=1.0, workers=1, **given) as verifier:
        assert [score.correct for score in verifier(examples[:2], ["write", "here"])] == [True, True]
    with pytest.raises(ValueError, match=r"environment='NOT_SET' is not allowed: names .* that are set"):
        OwnVerifier("own_limited:keeps", environment=("NOT_SET",))


def config(name="dataset", **options):
    own = {"workers": 1, **options.pop("own", {})}
    return TaskConfig(name=name, data="train.jsonl", options={"own": own, **options})


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
        # A number, or none.
        reward = task.rewards["length"].scorer
        assert reward([*task.train, task.train[0]], ["ab", "abc", "nan"]) == [0.5, 0.5, None]
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
        # A function that is not there is said before anything is judged.
        ({"verifier": "own_task:no_such"}, r"verifier='own_task:no_such'.*no_such"),
        ({"verifier": "no_such_module:f"}, r"verifier='no_such_module:f'.*no_such"),
        ({"verifier": SHORT, "rewards": {"a": {"function": "own_task:none"}}}, "rewards='own_task:none'"),
        # A task that has a verifier takes no other.
        ({"name": "maths", "verifier": SHORT}, "verifier='own_task:is_short'.*'maths', which has its own"),
        ({"name": "maths", "evaluation": {"x": {"data": "test.jsonl", "verifier": SHORT}}}, "has its own"),
    ],
)
def test_what_is_wrong_in_the_configuration_is_named(options, named):
    with pytest.raises(ValueError, match=named):
        load_task(config(**options))


def test_what_decides_the_verdicts_is_the_function_and_its_source(tmp_path):
    def bound(function):
        with OwnVerifier(function, workers=1) as verifier:
            return verifier.bound

    (tmp_path / "beside.py").write_text("")
    with_import = f"import beside\n{MODULE}"
    (tmp_path / "own_task.py").write_text(with_import)
    before = bound(SHORT)
    assert bound(LENGTH) != before
    # The same source is the same, another is not, nor is one that it imports.
    for name, source, changed in (
        ("own_task", with_import, []),
        ("beside", "1", ["module beside"]),
        ("own_task", with_import.replace("<=", "<"), ["module beside", "module own_task"]),
    ):
        (tmp_path / f"{name}.py").write_text(source)
        after = bound(SHORT)
        assert sorted(key for key in before if before[key] != after[key]) == changed
