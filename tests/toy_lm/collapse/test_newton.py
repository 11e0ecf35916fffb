import pytest
import torch

from toy_lm.collapse.newton import minimise


def flat(theta):
    """The frame of the plain metric, all directions free."""
    return torch.eye(theta.shape[1], dtype=theta.dtype).expand(len(theta), -1, -1)


def rosenbrock(theta):
    x, y = theta.unbind(-1)
    return (1 - x) ** 2 + 100 * (y - x**2) ** 2


def double_well(theta):
    return (theta**4 / 4 - theta**2 / 2).sum(-1)


def points(*rows):
    return torch.tensor(rows, dtype=torch.float64)


def test_a_parabola_takes_one_step():
    a, b = points([4.0, 1.0], [1.0, 3.0]), points([1.0, -2.0])[0]
    found = minimise(
        lambda t: (t @ a * t).sum(-1) / 2 - t @ b, flat, points([9.0, -7.0], [0.5, 0.5]), radius=99.0
    )
    assert found.converged.all()
    assert found.steps.tolist() == [1, 1]
    torch.testing.assert_close(found.theta, torch.linalg.solve(a, b).expand(2, -1))
    torch.testing.assert_close(found.curvature, torch.linalg.eigvalsh(a)[:1].expand(2))
    assert (found.decrement < 1e-20).all()
    assert (found.gradient_norm < 1e-10).all()


def test_a_curved_valley_is_followed_to_its_end_from_everywhere():
    start = points([-1.2, 1.0], [3.0, -4.0], [0.0, 0.0], [-5.0, 5.0])
    found = minimise(rosenbrock, flat, start)
    torch.testing.assert_close(found.theta, torch.ones_like(start), atol=1e-6, rtol=0)
    hessian = points([802.0, -400.0], [-400.0, 200.0])
    torch.testing.assert_close(
        found.curvature, torch.linalg.eigvalsh(hessian)[:1].expand(4), rtol=1e-4, atol=0
    )


def test_saddles_are_left_and_basins_kept():
    found = minimise(double_well, flat, points([1e-3, 1e-3], [-1e-3, 0.9], [0.4, -2.0]), radius=0.3)
    torch.testing.assert_close(found.theta, points([1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]), atol=1e-6, rtol=0)
    assert (found.curvature > 1.9).all()


def test_a_stationary_saddle_is_told_by_its_curvature():
    found = minimise(double_well, flat, points([0.0, 1.0]))
    assert found.converged.all()
    assert found.curvature.item() == pytest.approx(-1.0)


def test_directions_outside_the_frame_are_left_alone():
    found = minimise(rosenbrock, lambda theta: flat(theta)[:, :, 1:], points([2.0, 0.0]))
    torch.testing.assert_close(found.theta, points([2.0, 4.0]))
    assert found.gradient_norm.item() == pytest.approx(0, abs=1e-9)


def test_the_metric_sets_the_unit_of_the_curvature_but_not_the_minimum():
    fine = minimise(rosenbrock, lambda theta: 0.1 * flat(theta), points([2.0, 0.0]))
    plain = minimise(rosenbrock, flat, points([2.0, 0.0]))
    torch.testing.assert_close(fine.theta, plain.theta, atol=1e-5, rtol=0)
    torch.testing.assert_close(fine.curvature, plain.curvature / 100, rtol=1e-3, atol=0)


def test_each_row_has_its_own_parameters():
    centre = points([1.0], [-2.0], [30.0])
    found = minimise(lambda t, c: (t - c).square().sum(-1), flat, torch.zeros_like(centre), centre)
    torch.testing.assert_close(found.theta, centre)
    assert found.steps[2] > found.steps[0]  # the radius bounds each step


def test_what_was_cut_short_is_not_called_converged():
    found = minimise(rosenbrock, flat, points([-1.2, 1.0], [1.0, 1.0]), steps=2)
    assert found.converged.tolist() == [False, True]


def test_the_start_has_a_value():
    with pytest.raises(ValueError, match="a finite objective there"):
        minimise(lambda t: t.log().sum(-1), flat, points([0.0, 1.0]))
