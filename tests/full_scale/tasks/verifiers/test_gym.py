import pytest

from full_scale.tasks.protocol import Prompt
from full_scale.tasks.verifiers.gym import GymVerifier

EXAMPLE = Prompt("e", "?", {"source": "{}", "entry": 0})


def test_the_answer_is_what_is_tagged_or_boxed():
    verifier = GymVerifier(0.5)
    assert verifier.question(EXAMPLE, "<answer>1</answer> no: <answer> 2 </answer>").answer == "2"
    assert verifier.question(EXAMPLE, r"\boxed{3}").answer == "3"
    assert verifier.question(EXAMPLE, "four") is None
    assert verifier.job(verifier.question(EXAMPLE, "<answer>1"))["threshold"] == 0.5


def test_a_threshold_and_a_reference_that_are_none():
    with pytest.raises(ValueError, match="threshold=0"):
        GymVerifier(0.0)
    with pytest.raises(ValueError, match="needs 'entry'"):
        GymVerifier().question(Prompt("e", "?", {"source": "{}"}), "<answer>1</answer>")
