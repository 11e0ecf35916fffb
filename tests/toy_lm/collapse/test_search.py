import numpy as np
import pytest
import torch

from toy_lm.collapse.optimum import best_dirac, global_minimum, starting_points
from toy_lm.collapse.problem import random_brackets, reference
from toy_lm.collapse.search import descend, find_jump, follow, minimise


def flat(theta):
    """The frame of the plain metric, all directions free."""
    return torch.eye(theta.shape[1], dtype=theta.dtype).expand(len(theta), -1, -1)


def rosenbrock(theta):
    x, y = theta.unbind(-1)
    return (1 - x) ** 2 + 100 * (y - x**2) ** 2


def two_wells(theta):
    return (theta**4 / 4 - theta**2 / 2).sum(-1)


def points(*rows):
    return torch.tensor(rows, dtype=torch.float64)


def test_descent_falls_to_the_minimum_of_its_own_basin_and_ends_when_nothing_is_left_to_gain():
    start = torch.linspace(0.01, 8, 200, dtype=torch.float64)[:, None] * points([1.0, -1.0])
    ends = [descend(two_wells, start, steps=steps) for steps in (0, 1, 2, 5, 20, 300)]
    assert (torch.stack([two_wells(end) for end in ends]).diff(dim=0) <= 0).all()
    assert all(torch.equal(end.sign(), start.sign()) for end in ends)
    assert torch.equal(ends[0], start)
    torch.testing.assert_close(ends[-1], start.sign(), atol=1e-6, rtol=0)
    asked = []
    descend(lambda theta: asked.append(1) or two_wells(theta), points([1.0]), steps=1000)
    assert len(asked) == 2


def test_a_curved_valley_is_followed_to_its_end_from_everywhere_in_any_metric():
    start = points([-1.2, 1.0], [3.0, -4.0], [0.0, 0.0], [-5.0, 5.0])
    found = minimise(rosenbrock, flat, start)
    torch.testing.assert_close(found.theta, torch.ones_like(start), atol=1e-6, rtol=0)
    hessian = points([802.0, -400.0], [-400.0, 200.0])
    least = torch.linalg.eigvalsh(hessian)[:1]
    torch.testing.assert_close(found.curvature, least.expand(4), rtol=1e-4, atol=0)
    # The metric sets the unit of the curvature, not the minimum.
    fine = minimise(rosenbrock, lambda theta: 0.1 * flat(theta), points([2.0, 0.0]))
    torch.testing.assert_close(fine.theta, points([1.0, 1.0]), atol=1e-5, rtol=0)
    torch.testing.assert_close(fine.curvature, least / 100, rtol=1e-3, atol=0)
    # What was cut short is not called converged.
    short = minimise(rosenbrock, flat, points([-1.2, 1.0], [1.0, 1.0]), steps=2)
    assert short.converged.tolist() == [False, True]


def test_saddles_are_left_or_told_by_their_curvature_and_basins_kept():
    found = minimise(two_wells, flat, points([1e-3, 1e-3], [-1e-3, 0.9], [0.4, -2.0]), radius=0.3)
    torch.testing.assert_close(found.theta, points([1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]), atol=1e-6, rtol=0)
    assert (found.curvature > 1.9).all()
    saddle = minimise(two_wells, flat, points([0.0, 1.0]))
    assert saddle.converged.all()
    assert saddle.curvature.item() == pytest.approx(-1.0)


def test_directions_outside_the_frame_are_left_alone():
    found = minimise(rosenbrock, lambda theta: flat(theta)[:, :, 1:], points([2.0, 0.0]))
    torch.testing.assert_close(found.theta, points([2.0, 4.0]))
    assert found.gradient_norm.item() == pytest.approx(0, abs=1e-9)


@pytest.fixture(scope="module")
def problem():
    return reference()


def minima(problem, strengths, homogeneous=True):
    family, rows = problem.family(homogeneous=homogeneous), np.zeros(len(strengths), dtype=int)
    points = starting_points(problem, family, 2, np.random.default_rng(0))[rows]
    parameters = (problem.rows(family)[rows], torch.tensor(strengths, dtype=torch.float64))
    dirac = best_dirac(problem, family)[rows]
    return family, global_minimum(problem.reverse_kl(family), family, points, dirac, *parameters)


@pytest.mark.slow
def test_a_steep_rise_on_one_branch_is_no_jump(problem):
    family, found = minima(problem, [3.0, 4.0], homogeneous=False)
    low, high = (3.0, found.theta[0]), (4.0, found.theta[1])
    assert problem.pass_rate(family, high[1]) - problem.pass_rate(family, low[1]) > 0.5
    assert find_jump(problem, family, low, high, search=(0.0, 20.0)) == {}


def test_bad_input(problem):
    family, found = minima(problem, [4.0, 5.0])
    low, high = ((x, theta) for x, theta in zip((4.0, 5.0), found.theta, strict=True))
    several, search = random_brackets(2, 0), (0.0, 20.0)
    for message, call in {
        "a finite objective there": lambda: minimise(lambda t: t.log().sum(-1), flat, points([0.0, 1.0])),
        "one base only": lambda: find_jump(several, family, low, high, search=search),
        r"low=5\.0": lambda: find_jump(problem, family, high, low, search=search),
        r"low=4\.0": lambda: find_jump(problem, family, low, high, search=(4.5, 20.0)),
        "1 rows, one for each base": lambda: follow(problem, family, found.theta, np.ones((1, 2))),
    }.items():
        with pytest.raises(ValueError, match=message):
            call()
