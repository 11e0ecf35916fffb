import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from dph_theory.losses import PassRates, group_advantages
from dph_theory.stationary.groups import group_weight


@pytest.mark.parametrize("rate", [0.01, 0.2, 0.7])
def test_with_its_own_group_among_n_counted_answers_it_is_maxrl_in_groups_of_n(rate):
    """By counting: E[A | correct] - E[A | incorrect] of A = (r - k/G) n/(c + k)."""
    size, counted = 4, 12
    everyone = size + counted
    before = binom.pmf(np.arange(counted + 1), counted, rate)[:, None]
    others = binom.pmf(np.arange(size), size - 1, rate)
    earlier, right = np.arange(counted + 1)[:, None], np.arange(size)
    of_correct = (1 - (right + 1) / size) * everyone / (earlier + right + 1)
    of_wrong = -right / size * everyone / np.maximum(earlier + right, 1)
    weight = (before * others * (of_correct - of_wrong)).sum()
    factor = (1 - 1 / size) / (1 - 1 / everyone)
    assert weight == pytest.approx(factor * group_weight(everyone, rate, "mean"), rel=1e-12)


@given(
    counts=st.lists(st.tuples(st.integers(0, 64), st.integers(1, 64)), min_size=1, max_size=8),
    groups=st.lists(st.integers(0, 16), min_size=1, max_size=20),
    memory=st.floats(0, 1),
)
def test_weights_are_those_of_counts_with_the_own_group_and_of_faded_ones(counts, groups, memory):
    correct, answers = [min(c, n) for c, n in counts], [n for _, n in counts]
    rates, right, everyone = PassRates(correct, answers, memory=memory), correct[0], answers[0]
    for number in groups:
        rates.count([0], torch.tensor([[1.0] * number + [0.0] * (16 - number)]))
        right, everyone = memory * right + number, memory * everyone + 16
    share = max(right / everyone, 1e-9)
    assert rates.weights([0], power=0.5).item() == pytest.approx(share**-0.5)
    assert rates.answers[1:].tolist() == answers[1:]
    assert rates.correct[1:].tolist() == correct[1:]
    together, of_one = PassRates(correct, answers, memory=memory), [0] * len(groups)
    together.count(of_one, torch.tensor([[1.0] * number + [0.0] * (16 - number) for number in groups]))
    assert together.correct[0].item() == pytest.approx(rates.correct[0].item())


def test_counts_far_below_one_over_the_group_decide_the_weight_where_the_groups_own_mean_does_not():
    rates, one_of_eight = PassRates([0, 64], [1024, 1024], memory=1.0), torch.eye(8)[:2]
    rates.count([0, 1], one_of_eight)
    assert rates.weights([0, 1], power=1.0).tolist() == pytest.approx([1032, 1032 / 65])
    assert (rates.weights([0, 1], power=0.0) == 1).all()
    assert group_advantages(one_of_eight, divided_by="mean").amax(dim=1).tolist() == [7, 7]


@pytest.mark.parametrize(
    ("correct", "answers", "fields", "message"),
    [
        ([3], [2], {}, r"correct=\[3.*at most \[2"),
        ([0, 1], [2], {}, "correct"),
        ([0], [0], {}, "answers=0.0 is not allowed"),
        ([-1], [1], {}, "correct=-1"),
        ([1], [1], {"memory": 1.5}, "memory=1.5"),
    ],
)
def test_bad_counts_are_refused_by_name(correct, answers, fields, message):
    with pytest.raises(ValueError, match=message):
        PassRates(correct, answers, **fields)
    rates = PassRates(np.array([1]), np.array([2]))
    for power in (-1.0, float("nan"), 10.0):
        with pytest.raises(ValueError, match=f"power={power}"):
            rates.weights([0], power=power)
    with pytest.raises(ValueError, match="groups of at least two"):
        rates.count([0], torch.ones(1, 1))
