from dataclasses import replace
from types import SimpleNamespace

import pytest
from support.rule_task import ruled_recipe, ruled_task

from full_scale.tasks.protocol import Prompt, Score, Task, VerifierError
from full_scale.training.judging import GreedyEvaluation, Recorded, VerifierReward, record_rewards


class Lengths:
    """Correct where the answer has as many words as the reference says."""

    def __call__(self, examples, completions):
        right = [e.reference["words"] == len(c.split()) for e, c in zip(examples, completions, strict=True)]
        return [
            Score(ok, "correct" if ok else "wrong" if c else "no_answer")
            for ok, c in zip(right, completions, strict=True)
        ]

    def close(self):
        pass


TASK = Task(
    "lengths",
    train=[Prompt("a", "say one", {"words": 1}), Prompt("b", "say two", {"words": 2})],
    evaluation={},
    verifier=Lengths(),
)


def test_each_completion_is_judged_by_its_own_example():
    reward = VerifierReward(TASK)
    given = {"prompts": ["say one", "say two", "say two"], "completion_ids": [[1], [1], [1]]}
    assert reward(completions=["x", "x", "x y"], example_id=["a", "b", "b"], **given) == [1.0, 0.0, 1.0]
    chat = [[{"role": "assistant", "content": text}] for text in ("x", "x", "x y")]
    assert reward(completions=chat, example_id=["a", "b", "b"], **given) == [1.0, 0.0, 1.0]


def test_outcomes_are_counted_and_one_seen_before_counts_zero():
    reward, logged = VerifierReward(TASK), []
    columns = {"prompts": [], "log_metric": lambda name, value: logged.append((name, value))}
    reward(completions=["x", "", "", "x y"], example_id=["a"] * 4, **columns)
    assert logged == [("outcomes/correct", 0.25), ("outcomes/no_answer", 0.5), ("outcomes/wrong", 0.25)]
    logged.clear()
    reward(completions=["x"], example_id=["a"], **columns)
    assert logged == [("outcomes/correct", 1.0), ("outcomes/no_answer", 0.0), ("outcomes/wrong", 0.0)]


class Broken(Lengths):
    """Fails on the prompts of these ids."""

    def __init__(self, on):
        self.on = on

    def __call__(self, examples, completions):
        scores = super().__call__(examples, completions)
        failed = Score(False, "crash", detail="KeyError: 'words'")
        return [failed if e.id in self.on else s for e, s in zip(examples, scores, strict=True)]


def test_a_verifier_that_fails_on_a_whole_batch_ends_the_training(caplog):
    given = {"prompts": [], "completions": ["x", "x y"], "example_id": ["a", "b"]}
    with pytest.raises(VerifierError, match="every one of 2 answers: KeyError: 'words'"):
        VerifierReward(replace(TASK, verifier=Broken("ab")))(**given)
    reward = VerifierReward(replace(TASK, verifier=Broken("a")))
    for _ in range(2):
        assert reward(**given) == [0.0, 1.0]
    assert caplog.text.count("KeyError: 'words' (1 times)") == 1


def test_an_unknown_example_is_named():
    with pytest.raises(ValueError, match="example_id='z'"):
        VerifierReward(TASK)(prompts=["?"], completions=["x"], example_id=["z"])


def test_recorded_keeps_the_last_call_and_hands_on_the_rewards():
    def length(prompts, completions, **columns):
        return [float(len(completion)) for completion in completions]

    by_prompt, by_id = Recorded(length, "prompt"), Recorded(length, "id")
    for recorded, keys in ((by_prompt, ["p", "q"]), (by_id, [7, 8])):
        assert recorded(prompts=["p", "q"], completions=["x", "xyz"], id=[7, 8]) == [1.0, 3.0]
        assert recorded.last == (keys, [1.0, 3.0])
        assert recorded.__name__ == "length"
    with pytest.raises(ValueError, match="key='name'"):
        Recorded(length, "name")(prompts=["p"], completions=["x"])


class Trainer:
    def __init__(self, *rewards, names=("f", "g")):
        self.reward_funcs, self.reward_func_names = list(rewards), names[: len(rewards)]


def test_recording_twice_by_the_same_key_is_recording_once():
    run = Trainer(VerifierReward(TASK))
    first = record_rewards(run, "example_id")
    assert record_rewards(run, "example_id") is first is run.reward_funcs[0]
    assert record_rewards(run, "prompt").reward is first
    for verdict in (None, "h"):
        with pytest.raises(ValueError, match=rf"verdict={verdict!r}.*'f', 'g'"):
            record_rewards(Trainer(VerifierReward(TASK), VerifierReward(TASK)), "prompt", verdict)


def test_the_verdict_is_found_among_several_rewards():
    first, second = VerifierReward(TASK), VerifierReward(TASK)
    assert record_rewards(Trainer(first, second), "prompt", "g").reward is second
    assert record_rewards(Trainer(first, second, names=("f", "verifier")), "prompt").reward is second


def test_a_task_without_an_evaluation_set_is_refused(tmp_path):
    recipe = ruled_recipe(tmp_path)
    watched = replace(recipe, evaluate=replace(recipe.evaluate, every=2))
    with pytest.raises(ValueError, match=r"evaluate\.every=2"):
        GreedyEvaluation(SimpleNamespace(), watched, replace(ruled_task(), evaluation={}))
