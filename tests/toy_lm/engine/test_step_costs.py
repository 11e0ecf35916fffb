"""Costs of one step: accuracy near equality, limits, derivatives."""

import mpmath
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from toy_lm.engine.step_costs import average, entropy_row, kl_row

INF = torch.inf


def logs(*probabilities):
    return torch.tensor(probabilities, dtype=torch.float64).log()


def kl(log_p, log_q):
    return kl_row(log_p, log_p.exp(), log_q).item()


@given(st.floats(0.05, 0.95), st.floats(-12, 0), st.sampled_from([-1, 1]))
def test_kl_is_relatively_accurate_however_near(p, exponent, sign):
    log_p = logs(p, 1 - p)
    shift = torch.tensor([sign * 10.0**exponent, 0.0], dtype=torch.float64)
    log_q = torch.log_softmax(log_p + shift, dim=-1)
    with mpmath.workdps(60):
        left, right = ([mpmath.exp(mpmath.mpf(x)) for x in row.tolist()] for row in (log_p, log_q))
        exact = sum(a * mpmath.log(a / b) - a + b for a, b in zip(left, right, strict=True))
    assert kl(log_p, log_q) == pytest.approx(float(exact), rel=1e-11)
    assert kl(log_p, log_q) >= 0


def test_limits_at_zero_probability():
    assert kl(logs(1.0, 0.0), logs(0.5, 0.5)) == pytest.approx(0.6931471805599453, rel=1e-15)
    assert kl(logs(0.5, 0.5), logs(1.0, 0.0)) == INF
    assert kl(logs(1.0, 0.0), logs(1.0, 0.0)) == 0
    assert kl(torch.tensor([0.0, -800.0]).double(), logs(1.0, 0.0)) == INF
    assert kl(logs(1.0, 0.0), torch.tensor([-800.0, 0.0]).double()) == pytest.approx(800.0)
    assert entropy_row(logs(1.0, 0.0), logs(1.0, 0.0).exp()).item() == 0
    cost = torch.tensor([3.0, INF], dtype=torch.float64)
    assert average(logs(1.0, 0.0), logs(1.0, 0.0).exp(), cost).item() == 3
    assert average(logs(0.5, 0.5), logs(0.5, 0.5).exp(), cost).item() == INF


def test_second_derivatives_at_equality_are_the_fisher_information():
    log_p = logs(0.2, 0.3, 0.5)

    def divergence(theta):
        moved = torch.log_softmax(log_p + theta, dim=-1)
        return kl_row(moved, moved.exp(), log_p)

    p = log_p.exp()
    fisher = torch.diag(p) - p[:, None] * p
    zero = torch.zeros(3, dtype=torch.float64)
    torch.testing.assert_close(
        torch.autograd.functional.hessian(divergence, zero), fisher, rtol=0, atol=1e-13
    )
