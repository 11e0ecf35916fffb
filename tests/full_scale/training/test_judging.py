from dataclasses import replace
from types import SimpleNamespace

import pytest
from support.rule_task import ruled_recipe, ruled_task

from full_scale.tasks.protocol import Prompt, Score, Task, VerifierError
from full_scale.training.judging import GreedyEvaluation, VerifierReward


class Lengths:
    """Correct where the answer has as many words as the reference says; fails on the prompts of `failing`."""

    failing = ""

    def __call__(self, examples, completions):
        return [self.score(*each) for each in zip(examples, completions, strict=True)]

    def score(self, example, text):
        if example.id in self.failing:
            return Score(False, "crash", detail="KeyError: 'words'")
        right = example.reference["words"] == len(text.split())
        return Score(right, "correct" if right else "wrong" if text else "no_answer")

    def close(self):
        pass


def reward(failing=""):
    verifier = Lengths()
    verifier.failing = failing
    prompts = [Prompt("a", "say one", {"words": 1}), Prompt("b", "say two", {"words": 2})]
    return VerifierReward(Task("lengths", train=prompts, evaluation={}, verifier=verifier))


def test_each_completion_is_judged_by_its_own_example():
    given = {"prompts": ["say one", "say two", "say two"], "example_id": ["a", "b", "b"]}
    chat = [[{"role": "assistant", "content": text}] for text in ("x", "x", "x y")]
    for completions in (["x", "x", "x y"], chat):
        assert reward()(completions=completions, **given) == [1.0, 0.0, 1.0]
    with pytest.raises(ValueError, match="example_id='z'"):
        reward()(prompts=["?"], completions=["x"], example_id=["z"])


def test_outcomes_are_counted_and_one_seen_before_counts_zero():
    judge, logged = reward(), {}
    columns = {"prompts": [], "log_metric": logged.__setitem__}
    judge(completions=["x", "", "", "x y"], example_id=["a"] * 4, **columns)
    assert logged == {"outcomes/correct": 0.25, "outcomes/no_answer": 0.5, "outcomes/wrong": 0.25}
    judge(completions=["x"], example_id=["a"], **columns)
    assert logged == {"outcomes/correct": 1.0, "outcomes/no_answer": 0.0, "outcomes/wrong": 0.0}


def test_a_verifier_that_fails_on_a_whole_batch_ends_the_training(caplog):
    given = {"prompts": [], "completions": ["x", "x y"], "example_id": ["a", "b"]}
    with pytest.raises(VerifierError, match="every one of 2 answers: KeyError: 'words'"):
        reward("ab")(**given)
    judge = reward("a")
    for _ in range(2):
        assert judge(**given) == [0.0, 1.0]
    assert caplog.text.count("KeyError: 'words' (1 times)") == 1


def test_a_task_without_an_evaluation_set_is_refused(tmp_path):
    recipe = ruled_recipe(tmp_path)
    watched = replace(recipe, evaluate=replace(recipe.evaluate, every=2))
    with pytest.raises(ValueError, match=r"evaluate\.every=2"):
        GreedyEvaluation(SimpleNamespace(), watched, replace(ruled_task(), evaluation={}))
