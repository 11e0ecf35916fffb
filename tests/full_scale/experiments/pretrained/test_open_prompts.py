import operator

import pytest
import torch

from dph_theory.stationary import table_pass_rate
from full_scale.experiments.pretrained.open_prompts import TASKS, OpenPrompts, open_prompts
from full_scale.experiments.pretrained.reading import Reading
from full_scale.tasks.llama import random_llama, word_level

TOKENIZER = word_level(("a", "b", "c", "d", "<end>"), "<end>", pad_token="<end>", eos_token="<end>")


def test_open_prompts_as_an_enumerable_task_have_the_models_own_probabilities():
    model = random_llama(0, vocabulary=5, hidden=16, layers=1, heads=2, end=4).eval()
    # "c d" is of two tokens, so no word.
    right = (frozenset({" a"}), frozenset({" a", " b"}))
    one = OpenPrompts("one", ("c d", "d"), (" a", " b", "c d"), right)
    two = OpenPrompts("two", ("d",), ("a ", "b "), (frozenset({"a b ", "b b "}),), 2)
    reading = Reading(TOKENIZER, [one, two])
    with torch.no_grad():
        found = reading.log_probs(model)
        first = model(torch.tensor([[2, 3]])).logits[0, -1].softmax(-1)
        after_a = model(torch.tensor([[3, 0]])).logits[0, -1].softmax(-1)
        start = model(torch.tensor([[3]])).logits[0, -1].softmax(-1)
    task = reading.enumerable("one", found["one"])
    assert task.base[0][0] == pytest.approx([*first[:2].tolist(), float(first[2:].sum())], abs=1e-5)
    assert task.pass_rates(task.base)[0] == pytest.approx(float(first[0]), abs=1e-5)
    task = reading.enumerable("two", found["two"])
    assert task.base[1][0, 0] == pytest.approx([*after_a[:2].tolist(), float(after_a[2:].sum())], abs=1e-5)
    assert task.valid[0].sum() == 2
    assert task.valid[0][:2, 1].all()
    assert table_pass_rate(task.base, task.valid, task.end)[0] < float(start[:2].sum())
    with pytest.raises(ValueError, match="one token"):
        Reading(TOKENIZER, [OpenPrompts("long", ("d",), ("b c",), (frozenset({"b c"}),))])


def test_every_kind_has_two_phrasings_and_right_answers_that_its_words_can_say():
    for name, task in TASKS.items():
        if ", held out" not in name and name not in ("sums in words", "summer"):
            assert not set(task.texts) & set(open_prompts(f"{name}, held out").texts), name
        made = set(task.words) if task.length == 1 else {a + b for a in task.words for b in task.words}
        assert all(right and right <= made for right in task.right), name
    primes, minutes = (TASKS[name].right[0] for name in ("primes", "minutes"))
    assert ("07" in primes, "09" in primes) == (True, False)
    assert minutes == {f"{n:02}" for n in range(0, 60, 5)}
    with pytest.raises(ValueError, match="task"):
        open_prompts("birthdays")


@pytest.mark.parametrize("half", ["", ", held out"])
def test_what_is_calculated_is_right_and_not_answered_by_the_examples_before_it(half):
    for name, by in (("last digits", operator.mul), ("sums", operator.add)):
        task = TASKS[name + half]
        for text, right in zip(task.texts, task.right, strict=True):
            *examples, question = text.split("\n")
            asked = question.removesuffix(" is ").removesuffix("=").split()[-1]
            assert all(asked not in example for example in examples), text
            assert right == {str(by(int(asked[0]), int(asked[-1])) % 10)}, text
