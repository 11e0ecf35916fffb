import torch

from toy_lm.styles.tasks import STYLES, make_task, tokens_of

TASK = make_task(0)


def test_four_tenths_of_the_prompts_accept_every_style_and_the_others_one_each_as_often():
    styles = TASK.accepted.sum(dim=1)
    assert (styles == STYLES).sum() == 102 == round(0.4 * 256)
    assert (styles == 1).sum() == 154
    counts = TASK.accepted[styles == 1].sum(dim=0).double()
    # Chi-squared with four degrees of freedom: above 18.5 once in a thousand seeds.
    assert ((counts - 154 / 5) ** 2 / (154 / 5)).sum() < 18.5


def test_a_response_is_accepted_for_the_right_sum_in_an_accepted_style():
    for prompt, accepted, valid in zip(TASK.prompts.tolist(), TASK.accepted, TASK.valid, strict=True):
        right = [[s, sum(prompt) // 10, sum(prompt) % 10] for s in range(STYLES) if accepted[s]]
        assert tokens_of(valid.nonzero()[:, 0]).tolist() == right


def test_every_prompt_is_trained_on_or_held_out():
    assert len(TASK.train) == 192
    assert torch.equal(torch.cat([TASK.train, TASK.held_out]).sort().values, torch.arange(256))


def test_the_seed_decides_and_nothing_else():
    assert torch.equal(TASK.valid, make_task(0).valid)
    assert not torch.equal(TASK.valid, make_task(1).valid)
    # The hash is the same on every machine.
    assert [int(a.nonzero()[0]) for a in TASK.accepted if a.sum() == 1][:6] == [1, 2, 4, 1, 2, 2]
