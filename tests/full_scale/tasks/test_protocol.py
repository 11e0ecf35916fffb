import pytest

from full_scale.tasks.protocol import RESERVED, Prompt, Score, Task


class Yes:
    """A verifier that is always content."""

    def __call__(self, examples, completions):
        return [Score(True, "correct") for _ in zip(examples, completions, strict=True)]

    def close(self):
        pass


def examples(*identities):
    return [Prompt(identity, "q") for identity in identities]


@pytest.mark.parametrize(
    ("train", "evaluation", "says"),
    [
        ([], {}, "'t' set='train'"),
        (["1"], {"in_domain": []}, "'t' set='in_domain'"),
        (["1", "2", "1"], {}, "train example id='1'"),
        (["1"], {"in_domain": ["2", "2"]}, "in_domain example id='2'"),
        *((["1"], {name: ["1"]}, f"evaluation set='{name}'") for name in RESERVED),
    ],
)
def test_a_task_that_cannot_be_is_refused(train, evaluation, says):
    with pytest.raises(ValueError, match=says):
        Task("t", examples(*train), {name: examples(*ids) for name, ids in evaluation.items()}, Yes())
