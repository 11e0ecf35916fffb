import threading

import pytest

from full_scale.tasks.protocol import Prompt, Score
from full_scale.tasks.verifiers.maths import MathsVerifier


def example(answer="42"):
    return Prompt("e", "What is it?", {"answer": answer})


@pytest.fixture(scope="module")
def verifier():
    with MathsVerifier(seconds=1, workers=1) as verifier:
        yield verifier


def test_scores_in_order(verifier):
    answers = [r"\boxed{42}", r"\boxed{41}", "none", r"\boxed{42}"]
    assert verifier([example()] * 4, answers) == [
        Score(True, "correct"),
        Score(False, "wrong"),
        Score(False, "no_answer"),
        Score(True, "correct"),
    ]


@pytest.mark.parametrize(
    "answer",
    [r"\boxed{9^{9^{9^{9^9}}}}", r"\boxed{10000!!!!}", r"\boxed{" + "(" * 600 + "1" + ")" * 600 + "}"],
)
def test_what_never_ends_scores_nothing_and_holds_nobody_up(verifier, answer):
    scores = verifier([example()] * 2, [answer, r"\boxed{42}"])
    assert not scores[0].correct
    assert scores[0].outcome in ("timeout", "crash", "memory", "wrong", "no_answer")
    assert scores[1].correct


def test_it_works_off_the_main_thread(verifier):
    """math-verify's own time limit is a signal, which no other thread may set."""
    found = []
    thread = threading.Thread(target=lambda: found.extend(verifier([example()], [r"\boxed{42}"])))
    thread.start()
    thread.join()
    assert found == [Score(True, "correct")]


@pytest.mark.parametrize("reference", [{}, {"answer": " "}, {"answer": 42}])
def test_a_reference_without_an_answer_is_named(verifier, reference):
    with pytest.raises(ValueError, match=r"'e'.*answer"):
        verifier([Prompt("e", "", reference)], ["42"])


def test_wrong_use_is_refused(verifier):
    with pytest.raises(ValueError, match="seconds=0"):
        MathsVerifier(seconds=0)
    with pytest.raises(ValueError, match="shorter"):
        verifier([example()] * 2, ["42"])
