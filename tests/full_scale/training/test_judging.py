import pytest
from support.rule_task import Rule, ruled_task

from full_scale.tasks.protocol import Score, VerifierError
from full_scale.training.judging import VerifierReward

# The first word's number is below 16 on e0, below 4 on e3.
GIVEN = {"prompts": [], "example_id": ["e0", "e3", "e3"]}
ANSWERS = ["w5", "w5", "w3"]


@pytest.mark.parametrize("completions", [ANSWERS, [[{"role": "a", "content": text}] for text in ANSWERS]])
def test_each_completion_is_judged_by_its_own_example(completions):
    judge = VerifierReward(ruled_task())
    assert judge(completions=completions, **GIVEN) == [1.0, 0.0, 1.0]
    with pytest.raises(ValueError, match="example_id='z'"):
        judge(prompts=["?"], completions=["x"], example_id=["z"])


def test_outcomes_are_counted_and_one_seen_before_counts_zero():
    judge, logged = VerifierReward(ruled_task()), {}
    given = {"prompts": [], "log_metric": logged.__setitem__}
    judge(completions=["w3", "", "", "w9"], example_id=["e3"] * 4, **given)
    assert logged == {"outcomes/correct": 0.25, "outcomes/no_answer": 0.5, "outcomes/wrong": 0.25}
    judge(completions=["w3"], example_id=["e3"], **given)
    assert logged == {"outcomes/correct": 1.0, "outcomes/no_answer": 0.0, "outcomes/wrong": 0.0}


def test_a_verifier_that_fails_is_told_once_and_on_a_whole_batch_ends_the_training(caplog, monkeypatch):
    crash, score = Score(False, "crash", detail="KeyError: 'words'"), Rule.score
    judge = VerifierReward(ruled_task())
    monkeypatch.setattr(judge.verifier, "score", lambda e, text: crash if e.id == "e3" else score(e, text))
    for _ in range(2):
        assert judge(completions=ANSWERS, **GIVEN) == [1.0, 0.0, 0.0]
    assert caplog.text.count("KeyError: 'words' (2 times)") == 1
    monkeypatch.setattr(judge.verifier, "score", lambda e, text: crash)
    with pytest.raises(VerifierError, match="every one of 3 answers: KeyError: 'words'"):
        judge(completions=ANSWERS, **GIVEN)
