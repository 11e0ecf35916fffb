import torch
from scipy import stats
from support.tiny_styles_base import base, rehearsed

from toy_lm.styles.samples import draw, presample, stream


def sampled(rows):
    task, _, law = base()
    return draw(law, law, task, rows, stream(0, "test"))


def test_samples_follow_the_enumerated_law():
    rows = torch.full((20_000,), 37)
    counts = torch.bincount(sampled(rows).responses @ torch.tensor([100, 10, 1]), minlength=500).numpy()
    expected = base()[2].joint()[37].exp().numpy() * len(rows)
    common = expected >= 5
    observed = [*counts[common], counts[~common].sum()]
    wanted = [*expected[common], expected[~common].sum()]
    assert stats.chisquare(observed, wanted).pvalue > 1e-3
    # And not that of another prompt.
    assert stats.chisquare(observed, [*wanted[1:], wanted[0]]).pvalue < 1e-9


def test_a_sample_carries_its_log_probabilities_its_verdict_and_its_prompt():
    task, _, law = base()
    rows = torch.arange(256)
    samples = sampled(rows)
    assert torch.equal(samples.log_old, law.tokens(rows, samples.responses))
    assert torch.equal(samples.log_ref, samples.log_old)
    style, digits = samples.responses[:, 0], samples.responses[:, 1:] @ torch.tensor([10, 1])
    right = (digits == task.prompts.sum(dim=1)) & task.accepted[rows, style]
    assert torch.equal(samples.valid, right)
    assert 0 < right.sum() < len(right)
    log_pi, _, valid = samples.in_groups(4)
    assert log_pi.shape == valid.shape == (64, 4)
    torch.testing.assert_close(log_pi[1, 2], samples.log_old[6].sum())


def test_only_right_samples_of_well_solved_training_prompts_are_rehearsed():
    task, _, law = base()
    chosen, samples = rehearsed()
    assert samples.valid.all()
    assert set(samples.prompts.tolist()) <= set(chosen.tolist()) <= set(task.train.tolist())
    # More pre-samples choose fewer prompts and better ones.
    rates = (law.joint().exp() * task.valid).sum(dim=1)
    twice = presample(law, task, presamples=2, stored=4, seed=0)[0]
    assert 0 < len(twice) < len(chosen)
    assert rates[twice].mean() > rates[chosen].mean() > rates[task.train].mean()
