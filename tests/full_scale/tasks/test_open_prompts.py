import numpy as np
import pytest
import torch

from dph_theory.laws import law_validity
from full_scale.tasks.llama import random_llama, word_level
from full_scale.tasks.open_prompts import TASKS, OpenPrompts, Reading, open_prompts, said

WORDS = ("a", "b", "c", "d", "<end>")
ONE = OpenPrompts("one", ("c d", "d"), (" a", " b"), (frozenset({" a"}), frozenset({" a", " b"})))
TWO = OpenPrompts("two", ("d",), ("a ", "b "), (frozenset({"a b ", "b b "}),), 2)


def setting():
    model = random_llama(0, vocabulary=5, hidden=16, layers=1, heads=2, end=4).eval()
    tokenizer = word_level(WORDS, "<end>", pad_token="<end>", eos_token="<end>")
    return model, tokenizer, Reading(tokenizer, [ONE, TWO])


def test_the_box_of_open_prompts_has_the_models_own_law():
    model, _, reading = setting()
    with torch.no_grad():
        found = reading.log_probs(model)
        first = model(torch.tensor([[2, 3]])).logits[0, -1].softmax(-1)
        after_a = model(torch.tensor([[3, 0]])).logits[0, -1].softmax(-1)
        start = model(torch.tensor([[3]])).logits[0, -1].softmax(-1)
    box = reading.boxed("one", found["one"])
    assert box.base[0][0] == pytest.approx([*first[:2].tolist(), float(first[2:].sum())], abs=1e-5)
    assert box.pass_rates(box.base)[0] == pytest.approx(float(first[0]), abs=1e-5)
    two = reading.boxed("two", found["two"])
    assert two.base[1][0, 0] == pytest.approx([*after_a[:2].tolist(), float(after_a[2:].sum())], abs=1e-5)
    right = two.valid[0]
    assert right.sum() == 2
    assert right[0, 1]
    assert right[1, 1]
    assert law_validity(two.base, two.valid, two.end)[0] < float(start[:2].sum())


def test_words_of_several_tokens_are_no_words_and_some_must_be_left():
    class Letters:
        def __call__(self, text, **settings):
            return {"input_ids": [ord(letter) for letter in text.strip()]}

        def decode(self, token):
            return chr(token)

    class Ids(dict):
        __getattr__ = dict.__getitem__

    tokenizer = Letters()
    task = OpenPrompts("letters", ("x",), ("a", "bc"), (frozenset({"a", "bc"}),))
    assert list(Reading(tokenizer, [task]).words["letters"]) == ["a"]
    with pytest.raises(ValueError, match="one token"):
        Reading(tokenizer, [OpenPrompts("long", ("x",), ("bc",), (frozenset({"bc"}),))])


class Said:
    """A tokenizer of five tokens, one of them a blank alone."""

    def decode(self, token):
        return (" a", " ", "0", "02", "x")[token]


@pytest.mark.parametrize(
    ("right", "length", "told"),
    [
        ({" a"}, 1, {" a"}),
        # Of an answer of several tokens its beginning is right, of one only the whole.
        ({"02"}, 1, {"02"}),
        ({"02"}, 2, {"0", "02"}),
    ],
)
def test_what_a_model_says_is_told_likeliest_first_and_right_as_far_as_it_goes(right, length, told):
    task = OpenPrompts("said", ("?",), ("any",), (frozenset(right),), length)
    chances = torch.tensor([[0.1, 0.4, 0.2, 0.25, 0.05]])
    (row,) = said([chances.log()], Said(), task)
    assert row.text == "?"
    assert [word for word, _, _ in row.words] == [" ", "02", "0", " a", "x"]
    assert [chance for _, chance, _ in row.words] == pytest.approx([0.4, 0.25, 0.2, 0.1, 0.05])
    assert {word for word, _, fits in row.words if fits} == told


def test_every_kind_has_two_phrasings_and_right_answers_that_its_words_can_say():
    for name, task in TASKS.items():
        if ", held out" not in name and name not in ("sums in words", "summer"):
            other = open_prompts(f"{name}, held out")
            assert not set(task.texts) & set(other.texts), name
        made = set(task.words) if task.length == 1 else {a + b for a in task.words for b in task.words}
        assert all(right and right <= made for right in task.right), name
    assert "07" in TASKS["primes"].right[0]
    assert "09" not in TASKS["primes"].right[0]
    assert TASKS["minutes"].right[0] == {f"{n:02}" for n in range(0, 60, 5)}
    with pytest.raises(ValueError, match="task"):
        open_prompts("birthdays")


def test_no_prompt_is_answered_by_the_examples_before_it():
    for name in ("last digits", "last digits, held out", "sums", "sums, held out"):
        for text in TASKS[name].texts:
            *examples, question = text.split("\n")
            asked = question.split("=")[0] if "=" in question else question.removesuffix(" is ").split()[-1]
            assert all(asked not in example for example in examples), text


def test_last_digits_and_sums_are_right():
    text, right = TASKS["last digits"].texts[0], TASKS["last digits"].right[0]
    a, b = text.splitlines()[-1].removeprefix("The last digit of ").removesuffix(" is ").split("*")
    assert right == {str(int(a) * int(b) % 10)}
    assert np.mean([len(r) for r in TASKS["sums"].right]) == 1
