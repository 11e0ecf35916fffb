import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from toy_lm.collapse.ascent import descend


def double_well(theta):
    return (theta**4 / 4 - theta**2 / 2).sum(-1)


@settings(max_examples=25, deadline=None)
@given(curvature=st.floats(1e-3, 1e3), start=st.floats(0.1, 10))
def test_the_flow_of_a_parabola_is_followed(curvature, start):
    path = descend(lambda t: curvature / 2 * t.square().sum(-1), torch.tensor([[start]]).double(), steps=40)
    decay = -(path.theta[1:, 0, 0] / start).log()
    moved = path.time[1:, 0] > 0
    # A step of eta <= 0.2/L multiplies by 1 - eta L, the flow by e^(-eta L): within 12% in the exponent.
    ratio = decay[moved] / (curvature * path.time[1:, 0][moved])
    assert ((ratio >= 1 - 1e-9) & (ratio < 1.12)).all()


def test_values_fall_and_end_at_the_minimum():
    start = torch.tensor([[3.0, -2.0], [0.2, 5.0]], dtype=torch.float64)
    path = descend(double_well, start, steps=300)
    values = torch.stack([double_well(theta) for theta in path.theta])
    assert (values.diff(dim=0) <= 0).all()
    torch.testing.assert_close(path.theta[-1], start.sign(), atol=1e-6, rtol=0)
    torch.testing.assert_close(path.theta[0], start)


@settings(max_examples=25, deadline=None)
@given(start=st.floats(0.01, 8))
def test_a_basin_is_never_left(start):
    path = descend(double_well, torch.tensor([[start], [-start]]).double(), steps=60)
    assert (path.theta[:, 0] > 0).all()
    assert (path.theta[:, 1] < 0).all()


def test_what_is_recorded():
    path = descend(double_well, torch.tensor([[0.5]]).double(), steps=21)
    assert path.step.tolist() == [0, 1, 2, 3, 4, 6, 8, 12, 16, 21]
    assert (path.time.diff(dim=0) >= 0).all()


def test_it_ends_when_nothing_is_left_to_gain():
    path = descend(double_well, torch.tensor([[1.0]]).double(), steps=1000)
    assert path.step.tolist() == [0, 1]


def test_rows_have_their_own_parameters():
    centre = torch.tensor([[1.0], [-4.0]], dtype=torch.float64)
    path = descend(lambda t, c: (t - c).square().sum(-1), torch.zeros_like(centre), centre, steps=300)
    torch.testing.assert_close(path.theta[-1], centre, atol=1e-6, rtol=0)
