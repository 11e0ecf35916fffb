import numpy as np
import pytest
import torch

from toy_lm.collapse.branch import find_jump, follow
from toy_lm.collapse.optimum import best_dirac, global_minimum, starting_points
from toy_lm.collapse.problem import random_brackets, reference


@pytest.fixture(scope="module")
def problem():
    return reference()


def minima(problem, strengths, homogeneous=True):
    family, rows = problem.family(homogeneous=homogeneous), np.zeros(len(strengths), dtype=int)
    points = starting_points(problem, family, 2, np.random.default_rng(0))[rows]
    parameters = (*problem.tables(rows), torch.tensor(strengths, dtype=torch.float64))
    dirac = best_dirac(problem, family)[rows]
    return family, global_minimum(problem.reverse_kl(family), family, points, dirac, *parameters)


def value(problem, family, theta, strength):
    tables = problem.tables(np.zeros(1, dtype=int))
    return problem.reverse_kl(family)(
        theta[None], *tables, torch.tensor([strength], dtype=torch.float64)
    ).item()


def validity(problem, family, theta):
    return -problem.reward(family)(theta[None], *problem.tables(np.zeros(1, dtype=int))).item()


@pytest.mark.slow
def test_the_jump_of_the_reference(problem):
    family, found = minima(problem, [4.0, 5.0])
    jump = find_jump(problem, family, (4.0, found.theta[0]), (5.0, found.theta[1]), search=(0.0, 20.0))
    assert jump.strength == pytest.approx(4.17548, abs=1e-5)
    assert value(problem, family, jump.low, jump.strength) == pytest.approx(jump.value, abs=1e-9)
    assert value(problem, family, jump.high, jump.strength) == pytest.approx(jump.value, abs=1e-9)
    assert validity(problem, family, jump.low) < 0.1 < 0.8 < validity(problem, family, jump.high)
    assert jump.high_from == pytest.approx(3.813, abs=2e-3)
    assert jump.low_until == pytest.approx(4.943, abs=2e-3)
    # From many starts on either side of it: the global minimum does change branch there.
    _, near = minima(problem, [jump.strength - 1e-3, jump.strength + 1e-3])
    assert [validity(problem, family, theta) > 0.5 for theta in near.theta] == [False, True]


@pytest.mark.slow
def test_a_steep_rise_on_one_branch_is_no_jump(problem):
    family, found = minima(problem, [3.0, 4.0], homogeneous=False)
    low, high = (3.0, found.theta[0]), (4.0, found.theta[1])
    assert validity(problem, family, high[1]) - validity(problem, family, low[1]) > 0.5
    assert find_jump(problem, family, low, high, search=(0.0, 20.0)) is None


def test_where_annealing_leads_depends_on_where_it_comes_from(problem):
    family, found = minima(problem, [5.0])
    base = family.tables(problem.bases).flatten(-2)
    rising = follow(problem, family, base, np.array([[4.0], [4.5]]))[-1, 0]
    falling = follow(problem, family, found.theta, np.array([[4.8], [4.5]]))[-1, 0]
    assert validity(problem, family, rising) < 0.15 < 0.8 < validity(problem, family, falling)
    assert value(problem, family, rising, 4.5) > value(problem, family, falling, 4.5) + 0.1
    beyond = follow(problem, family, base, np.array([[4.5], [5.2]]))[-1, 0]
    assert validity(problem, family, beyond) > 0.9


def test_bad_input(problem):
    family, found = minima(problem, [4.0, 5.0])
    low, high = ((x, theta) for x, theta in zip((4.0, 5.0), found.theta, strict=True))
    with pytest.raises(ValueError, match="one base only"):
        find_jump(random_brackets(2, 0), family, low, high, search=(0.0, 20.0))
    with pytest.raises(ValueError, match=r"low=5\.0"):
        find_jump(problem, family, high, low, search=(0.0, 20.0))
    with pytest.raises(ValueError, match=r"low=4\.0"):
        find_jump(problem, family, low, high, search=(4.5, 20.0))
    with pytest.raises(ValueError, match="1 rows, one for each base"):
        follow(problem, family, found.theta, np.ones((1, 2)))
