from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dph_theory.laws import group_weight
from dph_theory.losses import group_advantages
from toy_lm.strategies.grpo import group_gain


@pytest.mark.parametrize("group", [2, 3, 4])
def test_the_gradient_is_that_of_all_groups_enumerated(group):
    law, valid = np.array([0.3, 0.2, 0.4, 0.1]), np.array([0.0, 1, 0, 1])
    exact = np.zeros(4)
    for answers in product(range(4), repeat=group):
        chosen = list(answers)
        advantages = group_advantages(torch.tensor(valid[chosen])[None])[0].numpy()
        # d log P(y) / d logits = e_y - P.
        scores = np.eye(4)[chosen] - law
        exact += law[chosen].prod() * (advantages[:, None] * scores).mean(axis=0)
    rate = law @ valid
    np.testing.assert_allclose(group_gain(rate, group) * law * (valid - rate), exact, rtol=1e-12)


@given(st.just(0.0) | st.floats(1e-100, 1.0), st.integers(2, 40))
def test_it_is_the_weight_that_theory_gives_groups_of_the_population_deviation(p, group):
    np.testing.assert_allclose(group_gain(p, group), group_weight(group, p, "population_std"), rtol=1e-12)


def test_pairs_give_the_plain_gradient_and_large_groups_divide_by_the_deviation():
    p = np.linspace(0, 1, 11)
    np.testing.assert_allclose(group_gain(p, 2), 1, rtol=1e-15)
    inner = p[1:-1]
    np.testing.assert_allclose(group_gain(inner, 900), 1 / np.sqrt(inner * (1 - inner)), rtol=0.01)
    # So the factor is not that of the limit at the group's size in use.
    assert abs(group_gain(0.1, 8) * np.sqrt(0.09) - 1) > 0.1


def test_it_is_finite_where_all_pass_or_none_and_symmetric():
    # One success among G, of probability G p: G sqrt((G-1)/G^2) p / p.
    np.testing.assert_allclose(group_gain([0.0, 1.0], 8), np.sqrt(7), rtol=1e-14)
    p = np.linspace(0, 1, 9)
    np.testing.assert_allclose(group_gain(p, 8), group_gain(1 - p, 8), rtol=1e-13)


@pytest.mark.parametrize(("p", "group", "message"), [(1.1, 8, "rates=1.1"), (0.5, 1, "group=1")])
def test_other_arguments_are_refused(p, group, message):
    with pytest.raises(ValueError, match=message):
        group_gain(p, group)
