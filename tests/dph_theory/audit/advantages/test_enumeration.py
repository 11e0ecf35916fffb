from itertools import product

import numpy as np
import pytest
import torch

from dph_theory.audit.advantages import AdvantageError, forms, tabulate
from dph_theory.laws import group_objective, group_weight

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
def test_weights_and_objectives_are_those_of_the_laws(advantage, scale, size):
    table = tabulate(advantage, size)
    np.testing.assert_allclose(table.weight(V), group_weight(size, V, scale), rtol=1e-12)
    np.testing.assert_allclose(table.objective(V), group_objective(size, V, scale), rtol=1e-11)


def test_the_gradient_and_its_variance_are_those_of_all_outcomes():
    size, v = 4, 0.3
    table = tabulate(forms.over_the_mean, size)
    rows = np.array(list(product((0.0, 1.0), repeat=size)))
    chance = np.prod(np.where(rows > 0, v, 1 - v), axis=1)
    score = np.where(rows > 0, 1 / v, -1 / (1 - v))
    group = (forms.over_the_mean(torch.as_tensor(rows)).numpy() * score).mean(axis=1)
    mean = chance @ group
    assert table.weight(v) == pytest.approx(mean)
    assert table.variance(v) == pytest.approx(size * (chance @ (group - mean) ** 2))


def test_places_and_other_groups_are_noticed():
    assert not tabulate(forms.rank_bonus, 4).symmetric
    assert tabulate(forms.batch_normalised, 4).coupled
    plain = tabulate(forms.sample_deviation, 4)
    assert plain.symmetric
    assert not plain.coupled


def test_what_fails_is_said():
    with pytest.raises(AdvantageError, match="raised ZeroDivisionError"):
        tabulate(lambda r: 1 / 0, 4)
    with pytest.raises(AdvantageError, match="as many are needed"):
        tabulate(lambda r: r.sum(-1), 4)
    with pytest.raises(AdvantageError, match="places of a group"):
        tabulate(forms.rank_bonus, 20)
    with pytest.raises(ValueError, match="group_size=1 is not allowed"):
        tabulate(forms.mean_of_all, 1)
    with pytest.raises(ValueError, match=r"validity=0\.0 is not allowed"):
        tabulate(forms.mean_of_all, 4).variance([0, 0.5])


def test_arrays_are_taken_and_what_is_not_finite_is_listed():
    with np.errstate(all="ignore"):
        table = tabulate(lambda r: r.astype(float) / r.mean(axis=-1, keepdims=True), 3)
    assert table.bad == (0,)
    assert tabulate(lambda r: (r - r.mean()) / r.std(), 3).bad == (0, 3)
