from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from support.rule_task import Rule, loaded, ruled_recipe, ruled_task
from support.tiny_llama import tiny_llama

from full_scale.evaluation.answers import Answers
from full_scale.models.generation import prompt_tokens, sample
from full_scale.models.log_probs import sequence_logps
from full_scale.presampling.buffer import RehearsalRow

TEMPERATURE = 0.9


def sequence_log_prob(model, prompt, completion):
    with torch.no_grad():
        logits = model(torch.tensor([[*prompt, *completion]])).logits[0, len(prompt) - 1 : -1] / TEMPERATURE
    return float(logits.double().log_softmax(dim=-1)[torch.arange(len(completion)), list(completion)].sum())


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("answers")
    recipe = ruled_recipe(folder)
    initial = loaded(recipe.model.path)
    other = loaded(tiny_llama(folder / "other", hidden=16, scale=2.0, seed=1))
    return Answers(recipe, ruled_task(), other.model, initial.model, initial.tokenizer)


def test_what_is_stored_of_each_prompt(answers):
    examples = answers.task.train[:3]
    found = answers.of(examples, seed=11)
    sampling = answers.recipe.sampling
    prompts = prompt_tokens(answers.tokenizer, answers.task, examples, chat=False)
    drawn = sample(answers.model, answers.tokenizer, prompts, 4, sampling, 11)
    greedy = sample(answers.model, answers.tokenizer, prompts, 1, sampling, 11, greedy=True)
    for i, (example, entry) in enumerate(zip(examples, found, strict=True)):
        scores = [Rule.score(example, completion.text) for completion in drawn[i]]
        assert entry.id == example.id
        assert entry.greedy == Rule.score(example, greedy[i][0].text).correct
        assert entry.correct == tuple(score.correct for score in scores)
        assert entry.styles == tuple(score.style for score in scores)
        assert sum(entry.outcomes.values()) == 4
        assert entry.unfinished == sum(not completion.finished for completion in drawn[i])
        for name, model in (("log_pi", answers.model), ("log_ref", answers.initial)):
            expected = [sequence_log_prob(model, prompts[i], c.token_ids) for c in drawn[i]]
            np.testing.assert_allclose(getattr(entry, name), expected, atol=1e-5)


def test_prompts_of_one_text_share_their_question(answers):
    first, other = answers.task.train[:2]
    found = answers.of([first, replace(first, id="elsewhere"), other], seed=11)
    assert found[0].question == found[1].question != found[2].question


def test_equal_answers_to_prompts_of_one_text_are_weighed_once(answers, monkeypatch):
    weighed = []

    def counted(model, prompts, completions, *others, **options):
        weighed.extend(zip(map(tuple, prompts), completions, strict=True))
        return sequence_logps(model, prompts, completions, *others, **options)

    monkeypatch.setattr("full_scale.evaluation.answers.sequence_logps", counted)
    first, recipe = answers.task.train[0], answers.recipe
    # One token, so that the two prompts' answers are often equal.
    short = replace(recipe, sampling=replace(recipe.sampling, max_new_tokens=1))
    found = replace(answers, recipe=short).of([first, replace(first, id="elsewhere")], seed=11)
    # Once under the model, once under the initial one.
    assert set(Counter(weighed).values()) == {2}
    assert set(found[0].log_pi) & set(found[1].log_pi)


def test_the_initial_model_is_its_own_reference(answers):
    own = replace(answers, model=answers.initial)
    for entry in own.of(answers.task.train[:2], seed=3):
        assert entry.log_pi == entry.log_ref


def test_rehearsed_rows_under_the_model(answers):
    prompt, completion = [3, 4], [12, 13, 1]
    ref = [-1.0, -2.0, -0.5]
    (found,) = answers.rehearsed([RehearsalRow("e0", prompt, completion, ref)])
    assert found.id == "e0"
    assert found.log_ref == -3.5
    assert found.log_pi == pytest.approx(sequence_log_prob(answers.model, prompt, completion), abs=1e-5)
    # The forward KL's -log u sums to the sequence's; the others' sums are not functions of the total.
    assert found.token_sums["forward_kl"] == pytest.approx(found.log_ref - found.log_pi)
    assert found.token_sums["jensen_shannon"] >= 0
    assert set(found.token_sums) == {"forward_kl", "jensen_shannon", "alpha_0.5"}


def test_an_empty_buffer_has_no_rows(answers):
    assert answers.rehearsed([]) == []


def test_prompts_of_one_text_have_mean_verdicts(answers):
    one = answers.task.train[0]
    other = next(e for e in answers.task.train if e.reference != one.reference)
    pair = [one, replace(other, prompt=one.prompt)]
    found = replace(answers, together={one.prompt: pair}).of([*pair, answers.task.train[2]], seed=11)
    prompts = prompt_tokens(answers.tokenizer, answers.task, pair, chat=False)
    drawn = sample(answers.model, answers.tokenizer, prompts, 4, answers.recipe.sampling, 11)
    for entry, group in zip(found[:2], drawn, strict=True):
        means = [np.mean([Rule.score(e, c.text).correct for e in pair]) for c in group]
        assert list(entry.mean_correct) == means
    assert found[2].mean_correct is None
