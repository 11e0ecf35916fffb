import pytest

from full_scale.tasks.protocol import Example, Score
from full_scale.tasks.verifiers.dispatch import Dispatch


class Named:
    """A verifier that says who it is, and remembers what it was asked."""

    def __init__(self, name):
        self.name, self.calls, self.closed = name, [], False

    def __call__(self, examples, completions):
        self.calls.append(list(completions))
        return [
            Score(True, f"{self.name} {example.id} {c}")
            for example, c in zip(examples, completions, strict=True)
        ]

    def close(self):
        self.closed = True


def example(identity, verifier):
    return Example(identity, "", {"verifier": verifier})


def test_each_example_goes_to_its_verifier_in_one_batch():
    sql, maths, idle = Named("sql"), Named("maths"), Named("idle")
    dispatch = Dispatch({"sql": sql, "maths": maths, "idle": idle})
    examples = [example("1", "sql"), example("2", "maths"), example("3", "sql")]
    outcomes = [score.outcome for score in dispatch(examples, ["a", "b", "c"])]
    assert outcomes == ["sql 1 a", "maths 2 b", "sql 3 c"]
    assert (sql.calls, maths.calls, idle.calls) == ([["a", "c"]], [["b"]], [])
    assert dispatch([], []) == []
    dispatch.close()
    assert sql.closed
    assert maths.closed


@pytest.mark.parametrize("reference", [{}, {"verifier": "html"}])
def test_an_example_for_nobody_is_named(reference):
    dispatch = Dispatch({"sql": Named("sql")})
    with pytest.raises(ValueError, match=r"'7'.*one of sql"):
        dispatch([Example("7", "", reference)], ["a"])


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="shorter"):
        Dispatch({"sql": Named("sql")})([example("1", "sql")], [])
