import pytest
import torch

from dph_theory.audit.advantages import forms, tabulate
from dph_theory.audit.advantages.objectives import objective_of, words


@pytest.mark.parametrize(
    ("advantage", "wanted"),
    [
        (forms.leave_one_out, "V"),
        (forms.mean_of_all, "0.875 V"),
        (forms.over_the_mean, "log V truncated at order 7"),
        (forms.over_the_mean_unbiased, "log V truncated at order 8"),
        (forms.pkpo, "pass@4"),
        (forms.pkpo_leave_one_out, "pass@2"),
        (forms.best_minus_second, "0.125 pass@8"),
        (forms.sample_deviation, "the arcsine's (sample deviation)"),
        (forms.pass_at_k_training, "none known"),
        (lambda r: 0 * r, "nothing"),
        (lambda r: forms.leave_one_out(r) + 0.5 * forms.pkpo(r), "V + 0.5 pass@4"),
        (lambda r: r * torch.sin(3 * r.mean(dim=-1, keepdim=True)), "none known"),
    ],
)
def test_objectives_are_recognised_at_eight(advantage, wanted):
    assert words(objective_of(tabulate(advantage, 8))) == wanted


@pytest.mark.parametrize("epsilon", [1e-8, 1e-6, 1e-4, 0.03])
@pytest.mark.parametrize(
    ("scale", "wanted"),
    [
        (lambda r: r.std(dim=-1, keepdim=True), "the arcsine's (sample deviation + {:g})"),
        (lambda r: r.std(dim=-1, keepdim=True, correction=0), "the arcsine's (population deviation + {:g})"),
        (lambda r: r.mean(dim=-1, keepdim=True), "log V truncated at order 7 (mean + {:g})"),
    ],
)
def test_what_trainers_add_to_the_denominator_is_told(scale, wanted, epsilon):
    def advantage(r):
        return (r - r.mean(dim=-1, keepdim=True)) / (scale(r) + epsilon)

    ((constant, name),) = objective_of(tabulate(advantage, 8))
    assert name == wanted.format(epsilon)
    assert constant == pytest.approx(1, rel=1e-8)


@pytest.mark.parametrize("size", [2, 3])
def test_the_deviation_is_a_multiple_of_v_in_small_groups(size):
    ((constant, name),) = objective_of(tabulate(forms.sample_deviation, size))
    assert name == "V"
    assert constant == pytest.approx({2: 0.5**0.5, 3: 2 / 3**0.5}[size])
