import pytest
import torch

from toy_lm.styles.tasks import STYLES, make_task, tokens_of


@pytest.fixture(scope="module")
def task():
    return make_task(0)


def test_four_tenths_of_the_prompts_accept_every_style_and_the_others_one(task):
    styles = task.accepted.sum(dim=1)
    assert (styles == STYLES).sum() == 102 == round(0.4 * 256)
    assert (styles == 1).sum() == 154


def test_a_response_is_accepted_for_the_right_sum_in_an_accepted_style(task):
    for prompt, accepted, valid in zip(task.prompts.tolist(), task.accepted, task.valid, strict=True):
        for style in range(STYLES):
            digits = valid.view(STYLES, 100)[style].nonzero()[:, 0].tolist()
            assert digits == ([sum(prompt)] if accepted[style] else [])


def test_every_style_is_needed_by_about_a_fifth_of_the_prompts(task):
    hard = task.accepted[task.accepted.sum(dim=1) == 1]
    counts = hard.sum(dim=0).double()
    # Chi-squared with four degrees of freedom: above 18.5 once in a thousand seeds.
    assert ((counts - len(hard) / 5) ** 2 / (len(hard) / 5)).sum() < 18.5


def test_every_prompt_is_trained_on_or_held_out(task):
    assert len(task.train) == 192
    assert torch.equal(torch.cat([task.train, task.held_out]).sort().values, torch.arange(256))


def test_the_seed_decides_and_nothing_else(task):
    assert torch.equal(task.valid, make_task(0).valid)
    assert not torch.equal(task.valid, make_task(1).valid)
    # The hash is the same on every machine.
    assert [int(a.nonzero()[0]) for a in task.accepted if a.sum() == 1][:6] == [1, 2, 4, 1, 2, 2]


def test_outcomes_and_tokens_are_two_names_of_a_response():
    tokens = tokens_of(torch.arange(500))
    assert torch.equal(tokens @ torch.tensor([100, 10, 1]), torch.arange(500))
    assert (tokens < torch.tensor([5, 10, 10])).all()
