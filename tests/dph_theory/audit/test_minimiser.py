import math

import pytest
from support.losses_with_known_answers import minus_log_u, rehearsed_k3, u_log_u

from dph_theory.audit.minimiser import find_minimiser
from dph_theory.audit.problems import random_problems

OUTCOMES = tuple(p for p in random_problems(4) if p.length == 1)
NAMES = ("log_pi", "log_ref")


@pytest.mark.parametrize(
    ("loss", "target", "ratio"),
    [(minus_log_u, "p_*", None), (rehearsed_k3, "base rate", 1.0), (u_log_u, "constant", math.exp(-1))],
)
def test_the_gauge_decides_the_mass(loss, target, ratio):
    found = find_minimiser(loss, NAMES, OUTCOMES)
    assert found.target == target
    assert found.ratio == (ratio if ratio is None else pytest.approx(ratio, rel=1e-4))
    assert found.within_valid < 1e-3


def test_a_loss_that_falls_without_bound_has_none():
    assert (
        find_minimiser(lambda log_pi, log_ref: -minus_log_u(log_pi, log_ref), NAMES, OUTCOMES).target
        == "none"
    )


def test_a_loss_that_does_not_move_has_none():
    assert find_minimiser(lambda log_pi: (0 * log_pi).sum(), ("log_pi",), OUTCOMES).target == "none"
