"""Answers that lack the space by which a model goes on are refused before any gradient is taken."""

import re
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch

from full_scale.tasks.benchmarks import DataRow
from full_scale.transfer.answers import require_likely_answers

VOCABULARY = [
    "The",
    " capital",
    " of",
    " France",
    " Spain",
    " is",
    "Paris",
    " Paris",
    "Madrid",
    " Madrid",
    "<unk>",
]


def tokenizer(text, **options):
    """A word with the space before it is a token, another one without."""
    words = re.findall(r"\s?\S+", text)
    return {"input_ids": [VOCABULARY.index(word if word in VOCABULARY else "<unk>") for word in words]}


class Model:
    """Goes on with these words, each as often as it says, whatever the prompt."""

    device = torch.device("cpu")

    def __init__(self, **shares):
        self.table = torch.full((len(VOCABULARY),), 1e-6)
        for word, share in shares.items():
            self.table[VOCABULARY.index(word.replace("_", " "))] = share

    def __call__(self, input_ids, use_cache, logits_to_keep):
        logits = self.table.log().expand(*input_ids.shape, -1)
        return SimpleNamespace(logits=logits[:, -logits_to_keep:])


def rows(*answers):
    texts = ["The capital of France is", "The capital of Spain is"]
    return [
        DataRow(f"x.jsonl:{line}", {"prompt": text, "answers": [answer]})
        for line, (text, answer) in enumerate(zip(texts, answers, strict=True), 1)
    ]


def test_answers_without_their_space_are_refused_with_what_the_model_gives():
    model = Model(_Paris=0.5, _Madrid=0.3)
    message = (
        r"x.jsonl:1: answers='Paris' is not allowed: .*' Paris', with a space.*of 1.*e-06, with a space 0.5"
    )
    with pytest.raises(ValueError, match=message):
        require_likely_answers(model, tokenizer, rows("Paris", "Madrid"))
    require_likely_answers(model, tokenizer, rows(" Paris", " Madrid"))


@pytest.mark.parametrize(
    ("model", "refused"),
    [(Model(_Paris=0.5), True), (Model(Paris=0.4, _Paris=0.5), False), (Model(_is=0.9), False)],
)
def test_only_answers_that_the_model_gives_in_another_spelling_are_refused(model, refused):
    expected = pytest.raises(ValueError, match="with a space") if refused else nullcontext()
    with expected as error:
        require_likely_answers(model, tokenizer, rows("Paris", "Madrid"))
    assert (error is not None) is refused
