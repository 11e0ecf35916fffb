"""What the verifiers share: each question judged once, scores in order, no worker without a question."""

from full_scale.tasks.protocol import Example, Score
from full_scale.tasks.verifiers.pool import Limits
from full_scale.tasks.verifiers.pooled import PooledVerifier
from full_scale.tasks.verifiers.worker import Outcome


class Counting(PooledVerifier[tuple[str]]):
    """Asks the words of a completion; an empty one holds no answer."""

    def __init__(self):
        super().__init__("no.module:judge", Limits(1.0, 2**20), 1)
        self.judged = []
        self._pool.map = self.answer

    def answer(self, jobs):
        self.judged += [job["word"] for job in jobs]
        return [{"outcome": "correct" if job["word"] == "yes" else "wrong"} for job in jobs]

    def question(self, example, completion):
        return (completion,) if completion else None

    def job(self, question):
        return {"word": question[0]}

    def style(self, question):
        return question[0].upper()


def test_each_question_is_judged_once_and_scored_in_order():
    with Counting() as verifier:
        scores = verifier([Example("a", "?")] * 4, ["yes", "", "no", "yes"])
    assert verifier.judged == ["yes", "no"]
    right, wrong = Score(True, Outcome.CORRECT, "YES"), Score(False, Outcome.WRONG, "NO")
    assert scores == [right, Score(False, Outcome.NO_ANSWER), wrong, right]
