from itertools import product

import numpy as np
import pytest
import torch

from dph_theory.audit import audit_advantage
from dph_theory.audit.advantage import objective_of, tabulate
from dph_theory.audit.precision import AdvantageError, called
from dph_theory.losses import advantages as forms
from dph_theory.losses.advantages import (
    batch_normalised,
    best_minus_second,
    over_the_others,
    pass_at_k_training,
    pkpo,
)
from dph_theory.stationary import group_objective, group_weight


@pytest.mark.parametrize(
    ("advantage", "size", "words"),
    [
        (forms.sample_deviation, 2, "a prompt weighs 0.7071 at every pass rate V"),
        (forms.sample_deviation, 3, "a prompt weighs 1.155 at every pass rate V"),
        (lambda r: 0 * r, 8, "It maximises nothing"),
        (lambda r: forms.leave_one_out(r) + 0.5 * forms.pkpo(r), 8, "It maximises V + 0.5 pass@4"),
        (
            lambda r: (r - r.mean(1, keepdim=True)) / r.std(1, keepdim=True),
            8,
            "NOT FINITE in groups with 0, 8",
        ),
        (forms.batch_normalised, 4, "at G = 4: It DEPENDS ON THE BATCH: a prompt's weight"),
        (forms.batch_normalised, 4, "Beside prompts of all pass rates a prompt weighs "),
        (lambda r: r.astype(float) - r.mean(-1, keepdims=True), 8, "It maximises 0.875 V"),
    ],
)
def test_the_verdict_says_what_is_maximised_and_what_is_wrong(advantage, size, words):
    assert words in audit_advantage(advantage, group_size=size).verdict


def test_the_ends_of_a_group_and_a_dropped_one_are_reported():
    report = audit_advantage(forms.mean_of_all, group_size=8)
    assert report.weight == pytest.approx((7 / 8,) * 7)
    assert report.all_right == report.all_wrong == 0
    assert [row[2] for row in report.tables()[0].rows] == list(report.objective)
    assert audit_advantage(lambda r: r).all_right == 1
    # Groups drawn anew weigh by the chance to be mixed.
    report = audit_advantage(forms.sample_deviation, group_size=2, drops_equal_groups=True)
    v = np.array(report.pass_rates)
    np.testing.assert_allclose(report.weight, 0.5**0.5 / (2 * v * (1 - v)))
    assert report.maximises == ()


@pytest.mark.parametrize("epsilon", [1e-8, 1e-6, 1e-4, 0.03])
@pytest.mark.parametrize(
    ("scale", "objective"),
    [
        (
            lambda r: r.std(dim=-1, keepdim=True),
            "GRPO's objective, about 2 arcsin(sqrt V) (sample std + {:g})",
        ),
        (
            lambda r: r.std(dim=-1, keepdim=True, correction=0),
            "GRPO's objective, about 2 arcsin(sqrt V) (population std + {:g})",
        ),
        (lambda r: r.mean(dim=-1, keepdim=True), "log V truncated at order 7 (mean + {:g})"),
    ],
)
def test_what_trainers_add_to_the_denominator_is_named(scale, objective, epsilon):
    def advantage(r):
        return (r - r.mean(dim=-1, keepdim=True)) / (scale(r) + epsilon)

    ((constant, name),) = objective_of(tabulate(advantage, 8))
    assert name == objective.format(epsilon)
    assert constant == pytest.approx(1, rel=1e-8)


R = torch.tensor([[1.0, 0, 0, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0, 0, 0]], dtype=torch.float64)


def test_published_numbers():
    # PKPO: a lone right answer of eight earns k/n, a wrong one (k/n) rho(n-1, 1, k-1) = 4/8 * 3/7.
    assert (pkpo(R)[0, :2] / 8).tolist() == pytest.approx([1 / 2, 3 / 14])
    assert best_minus_second(R).sum(dim=-1).tolist() == [1, 0]
    # Pass@k training: with R = 1/2 and s = 1/2, right 1, wrong (1/2 - C(6,3)/C(7,3))/s.
    assert pass_at_k_training(R)[0, :2].tolist() == pytest.approx([1, 1 - 2 * 20 / 35])


V = np.array([0.01, 0.25, 0.5, 0.9])


@pytest.mark.parametrize("size", [2, 3, 8, 16])
@pytest.mark.parametrize(
    ("advantage", "scale"),
    [
        (forms.sample_deviation, "std"),
        (forms.population_deviation, "population_std"),
        (forms.mean_of_all, "none"),
        (forms.leave_one_out, "leave_one_out"),
        (forms.over_the_mean, "mean"),
    ],
)
def test_weights_and_objectives_are_those_of_the_group_formulas(advantage, scale, size):
    table = tabulate(advantage, size)
    np.testing.assert_allclose(table.weight(V), group_weight(size, V, scale), rtol=1e-12)
    np.testing.assert_allclose(table.objective(V), group_objective(size, V, scale), rtol=1e-11)


@pytest.mark.parametrize("form", [forms.over_the_mean, forms.rank_bonus])
def test_the_gradient_is_that_of_all_outcomes(form):
    size, v = 4, 0.3
    table = tabulate(form, size)
    rows = np.array(list(product((0.0, 1.0), repeat=size)))
    chance = np.prod(np.where(rows > 0, v, 1 - v), axis=1)
    score = np.where(rows > 0, 1 / v, -1 / (1 - v))
    group = (form(torch.as_tensor(rows)).numpy() * score).mean(axis=1)
    mean = chance @ group
    assert table.weight(v) == pytest.approx(mean)


def test_an_advantage_that_depends_on_the_order_is_averaged_over_orders_in_large_groups_too():
    exact, drawn = (tabulate(forms.rank_bonus, size) for size in (12, 13))
    assert not exact.symmetric
    assert not drawn.symmetric
    v = np.array([0.1, 0.5, 0.9])
    np.testing.assert_allclose(drawn.weight(v), exact.weight(v), rtol=0.1)


def test_what_fails_is_said():
    for advantage, size, words in (
        (lambda r: 1 / 0, 4, "raised ZeroDivisionError"),
        (lambda r: r.sum(-1), 4, "as many are needed"),
        # Reported is the error of the code as it is called first, with tensors.
        (
            lambda r: r.mean(dtype="no such type"),
            4,
            r"raised TypeError: mean\(\)(.|\n)*of an array it raised",
        ),
    ):
        with pytest.raises(AdvantageError, match=words):
            tabulate(advantage, size)
    with pytest.raises(ValueError, match=r"pass_rate=1\.5 is not allowed"):
        tabulate(forms.mean_of_all, 4).weight([1.5, 0.5])


def test_a_large_batch_weighs_every_prompt_by_one_over_the_deviation_of_all_verdicts():
    rest = np.repeat([[1.0, 0.0, 0.0, 0.0]], 4000, axis=0)
    gains = []
    for k in range(4):
        right, wrong = ((np.arange(4) < n).astype(float)[None] for n in (k + 1, k))
        upper, lower = (called(batch_normalised, np.concatenate([row, rest]))[0] for row in (right, wrong))
        gains.append(upper[0] - lower[-1])
    assert gains == pytest.approx([(3 / 16) ** -0.5] * 4, rel=1e-3)


def others_by_squares(r):
    """The same with the deviation of the others as E[r^2] - E[r]^2, undivided where that is zero."""
    count = r.shape[-1] - 1
    mean = (r.sum(dim=-1, keepdim=True) - r) / count
    squares = ((r**2).sum(dim=-1, keepdim=True) - r**2) / count
    deviation = ((squares - mean**2).clamp(min=0) * count / (count - 1)).sqrt()
    centred = r - mean
    return torch.where(deviation > 0, centred / (deviation + 1e-6), centred)


def test_a_deviation_that_rounding_leaves_is_a_spike():
    # NeMo-RL until its pull request 4158: verdicts of zero and one never showed it.
    before, after = (audit_advantage(form, group_size=8) for form in (others_by_squares, over_the_others))
    assert before.weight == pytest.approx(after.weight)
    assert before.spike is not None
    assert before.spike.size > 1000
    assert before.spike.right in (1, 7)
    assert "It SPIKES to" in before.verdict
    assert after.spike is None
    assert "SPIKES" not in after.verdict


def leave_one_out_over_the_others_std(r, epsilon=1e-6):
    """Where the others agree it divides by the epsilon alone."""
    count = r.shape[1] - 1
    mean = (r.sum(1, keepdim=True) - r) / count
    squares = ((r**2).sum(1, keepdim=True) - r**2) / count
    return (r - mean) / ((squares - mean**2).clamp(min=0).sqrt() + epsilon)


@pytest.mark.parametrize("size", [8, 80])
def test_a_division_by_almost_zero_is_a_spike_at_any_size(size):
    verdict = audit_advantage(leave_one_out_over_the_others_std, group_size=size).verdict
    assert f"It SPIKES to 1e+06 with 1 of {size} correct: it divides by almost zero." in verdict
    assert "SPIKES" not in audit_advantage(forms.over_the_mean, group_size=size).verdict


def of_the_batch(r):
    """REINFORCE++: the whole batch's mean and std."""
    return (r - r.mean()) / (r.std() + 1e-8)


def over_the_batch_std(r):
    return (r - r.mean(1, keepdim=True)) / (r.std() + 1e-9)


def live_groups(r):
    """GRPO, scaled up by the share of groups whose rewards differ."""
    live = (r.amax(1) > r.amin(1)).double().sum().clamp(min=1)
    return forms.sample_deviation(r, epsilon=1e-4) * len(r) / live


@pytest.mark.parametrize(
    ("advantage", "weights", "hard", "ends"),
    [
        # One over the std of all rewards: 0.5 for pass rates spread over (0, 1), 0.3 over (0, .2).
        (of_the_batch, (2.0, 2.0, 2.0), 10 / 3, 1.0),
        (over_the_batch_std, (1.75, 1.75, 1.75), 0.875 * 10 / 3, 0.0),
        # With 8 answers 1/64 of the prompts' rates spread over (0, 1) give 2/9 of equal groups.
        (live_groups, (2.41 * 9 / 7, 1.71 * 9 / 7, 2.41 * 9 / 7), None, 0.0),
    ],
)
def test_an_advantage_of_a_batch_is_audited_in_a_batch_of_other_prompts(advantage, weights, hard, ends):
    report = audit_advantage(advantage, group_size=8)
    assert report.couples_groups
    assert [report.weight[i] for i in (0, 3, -1)] == pytest.approx(weights, rel=0.03)
    assert hard is None or report.other_batches["hard"][3] == pytest.approx(hard, rel=0.05)
    assert report.other_batches["hard"][3] > 1.3 * report.weight[3]
    assert (report.all_right, report.all_wrong) == pytest.approx((ends, -ends), abs=0.05)
    assert report.maximises == report.objective == ()
    assert "It DEPENDS ON THE BATCH" in report.verdict
    assert ("give nothing" in report.verdict) == (ends == 0)
    if advantage is live_groups:
        assert "but differs where a batch has several groups" in report.verdict


def test_its_weight_is_that_of_a_simulated_batch():
    """Without the table: the mean advantage of a correct answer to one prompt minus an incorrect one."""
    rng, right, wrong = np.random.default_rng(1), [], []
    for _ in range(400):
        rates = rng.random(64)
        rates[0] = 0.3
        rewards = (rng.random((64, 8)) < rates[:, None]).astype(float)
        advantages = of_the_batch(torch.as_tensor(rewards)).numpy()[0]
        right += advantages[rewards[0] > 0].tolist()
        wrong += advantages[rewards[0] == 0].tolist()
    simulated = np.mean(right) - np.mean(wrong)
    assert float(tabulate(of_the_batch, 8).weight(0.3)) == pytest.approx(simulated, rel=0.02)
