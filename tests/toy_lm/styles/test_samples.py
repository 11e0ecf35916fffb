import pytest
import torch
from scipy import stats
from support.tiny_styles_base import base, rehearsed

from toy_lm.styles.samples import draw, presample, stream


def sampled(rows, seed=0):
    task, _, law = base()
    return draw(law, law, task, rows, stream(seed, "test"))


def test_samples_follow_the_enumerated_law():
    _task, _, law = base()
    rows = torch.full((20_000,), 37)
    responses = sampled(rows).responses
    counts = torch.bincount(responses @ torch.tensor([100, 10, 1]), minlength=500).numpy()
    expected = law.joint()[37].exp().numpy() * len(rows)
    common = expected >= 5
    observed = [*counts[common], counts[~common].sum()]
    wanted = [*expected[common], expected[~common].sum()]
    assert stats.chisquare(observed, wanted).pvalue > 1e-3
    # And not that of another prompt.
    assert stats.chisquare(observed, [*wanted[1:], wanted[0]]).pvalue < 1e-9


def test_a_sample_carries_its_log_probabilities_and_its_verdict():
    task, _, law = base()
    rows = torch.arange(256)
    samples = sampled(rows)
    assert torch.equal(samples.log_old, law.tokens(rows, samples.responses))
    assert torch.equal(samples.log_ref, samples.log_old)
    style, digits = samples.responses[:, 0], samples.responses[:, 1:] @ torch.tensor([10, 1])
    right = (digits == task.prompts.sum(dim=1)) & task.accepted[rows, style]
    assert torch.equal(samples.valid, right)
    assert right.any()
    assert not right.all()


def test_groups_keep_their_prompt():
    samples = sampled(torch.tensor([5, 9]).repeat_interleave(3))
    log_pi, _, valid = samples.in_groups(3)
    assert log_pi.shape == valid.shape == (2, 3)
    torch.testing.assert_close(log_pi[1, 2], samples.log_old[5].sum())


def test_only_right_samples_of_well_solved_training_prompts_are_rehearsed():
    task, _, _ = base()
    chosen, samples = rehearsed()
    assert samples.valid.all()
    assert set(samples.prompts.tolist()) <= set(chosen.tolist()) <= set(task.train.tolist())


def test_more_presamples_choose_fewer_prompts_and_better_ones():
    task, _, law = base()
    rates = (law.joint().exp() * task.valid).sum(dim=1)
    once, twice = (presample(law, task, presamples=n, stored=4, seed=0).prompts for n in (1, 2))
    assert 0 < len(twice) < len(once)
    assert rates[twice].mean() > rates[once].mean() > rates[task.train].mean()


def test_a_base_that_is_never_right_rehearses_nothing():
    task, _, law = base()
    with pytest.raises(ValueError, match="presamples=200 is not allowed: fewer"):
        presample(law, task, presamples=200, stored=4, seed=0)


def test_streams_repeat_and_differ_by_seed_and_purpose():
    drawn = [torch.rand(4, generator=stream(*key)) for key in ((0, "a"), (0, "a"), (0, "b"), (1, "a"))]
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])
    assert not torch.equal(drawn[0], drawn[3])
