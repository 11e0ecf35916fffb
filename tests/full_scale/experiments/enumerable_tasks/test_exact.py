import itertools

import numpy as np
import pytest
from support.small_tasks import random_llama, uniform_task
from support.tiny_llama import plain_log_probs

from dph_theory.stationary import answer_probabilities, filtered_policy
from full_scale.experiments.enumerable_tasks.base import longest_prefixes, next_token_tables
from full_scale.experiments.enumerable_tasks.exact import PASS_AT, exact


def test_tables_are_the_models_own_probabilities_one_answer_at_a_time():
    task = uniform_task(texts=3, length=3)
    model = random_llama(task)
    found = answer_probabilities(next_token_tables(model, task))
    for text, prompt in enumerate(task.prompt_ids):
        for answer in itertools.product(range(task.vocabulary), repeat=task.length):
            alone = plain_log_probs(model, prompt, answer).double().sum().exp().item()
            assert found[(text, *answer)] == pytest.approx(alone, rel=1e-5)


def test_measures_of_the_base_and_of_its_filtered_model():
    task = uniform_task()
    base = next_token_tables(random_llama(task), task)
    own = exact(task, base, base)
    assert own.excess_kl == pytest.approx(0, abs=1e-12)
    assert own.first_share == 1
    assert own.pass_at_k[0] == pytest.approx(np.mean(own.pass_rate))
    hit = [np.mean(1 - (1 - np.array(own.pass_rate)) ** k) for k in PASS_AT]
    assert own.pass_at_k == pytest.approx(hit)
    best = exact(task, filtered_policy(base, task.valid, end=task.end), base)
    assert best.pass_rate == pytest.approx([1, 1])
    assert best.effective_answers == pytest.approx(own.effective_answers)


def test_too_many_answers_are_refused_with_their_number():
    with pytest.raises(ValueError, match=r"answers=1000000000 .*1 texts x 10 tokens \^ 9"):
        longest_prefixes(np.zeros((1, 1), dtype=int), 10, 9)
