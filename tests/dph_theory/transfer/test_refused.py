"""What transfer refuses, in words that name it; tests/dph_theory/test_hostile_input.py has more of it."""

import numpy as np
import pytest

from dph_theory.divergences import FORWARD_KL
from dph_theory.transfer import Hold, LinearisedMethod, chosen_anchors, interpolated, retention, strategies
from dph_theory.transfer.flow import own_and_pair, pass_at_k_slope

PAIR, INDEFINITE = np.array([[1.0, -0.5], [-0.5, 1.0]]), np.array([[1.0, 2.0], [2.0, 1.0]])
GROUPS = retention.group_weighting(16)
APART = np.eye(2), [0.5, 0.5], GROUPS


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pass_at_k_slope(PAIR, [0.5, 0.1], 0, [0, 0]), "k=0"),
        (lambda: pass_at_k_slope(PAIR, [0.5, 0.1], 1, [0]), "drive.shape"),
        (lambda: own_and_pair(PAIR, [0.5, 0.1], 1, [0, 0]), "at least three prompts"),
        (lambda: interpolated(np.eye(3), [0, 0], np.zeros(2)), "different indices of 3 prompts"),
        (lambda: interpolated(np.eye(3), [0, 1], np.zeros(3)), r"change.shape=\(3,\) is not allowed: \(2,\)"),
        (lambda: interpolated(np.eye(3), [0, 1], np.zeros(2), ridge=-1.0), "ridge=-1.0"),
        (lambda: interpolated(np.ones((2, 2)), [0, 1], np.array([1.0, -1.0])),
         r"change=.* that training by this kernel"),
        (lambda: interpolated(INDEFINITE, [0], np.ones(1)), "kernel, the least eigenvalue"),
        (lambda: interpolated(INDEFINITE, [0, 1], np.ones(2), ridge=0.1), "ridge=0.1 .* more"),
        (lambda: interpolated(np.diag([0.0, 1.0]), [0], np.ones(1), ridge=0.1), "change=.* that training"),
        (lambda: chosen_anchors(np.eye(3), [0, 1], 1, ridge=0.0), "ridge=0.0"),
        (lambda: chosen_anchors(np.diag([1.0, -1.0]), [0, 1], 1), "kernel's diagonal"),
        (lambda: chosen_anchors(np.eye(3), [0, 1], 3), "from 1 to 2, the candidates"),
        (lambda: retention.retained_shares([1.0, 0.0], GROUPS), "merits"),
        (lambda: retention.retained_shares([[1.0]], GROUPS), "one number a strategy"),
        (lambda: retention.power_weighting(-1), "power=-1"),
        (lambda: retention.group_weighting(1), "group_size=1"),
        (lambda: retention.group_weighting(8, "max"), "scale='max'"),
        (lambda: retention.shared_objective([0.5, 0.5], np.eye(3), [0.5, 0.3, 0.2], GROUPS), "success"),
        (lambda: retention.strategy_drive([0.5, 0.6], *APART), "policy"),
        (lambda: retention.power_weighting(np.inf), "power=inf"),
        (lambda: retention.trained_shares([0.5, 0.5], *APART, [1.0, 0.5]), "times that rise"),
        (lambda: retention.trained_shares([1.0, 0.0], *APART, [1.0]), "base"),
        (lambda: strategies.log_odds_with_kl(0.5, 0.3, 0.2, beta=5, step=1, groups=3), "beta step=5"),
        (lambda: strategies.log_odds_with_kl(0.5, 0.8, 0.3, beta=1, step=1, groups=3),
         "second_only=0.3 .*at most 1 - first"),
        (lambda: strategies.log_odds_with_kl(0.5, -1, 0.2, beta=1, step=1, groups=3), "first_only=-1"),
        (lambda: LinearisedMethod("rank"), "scale='rank'"),
        (lambda: LinearisedMethod(group_size=1), "group_size=1"),
        (lambda: LinearisedMethod(beta=0.1), "divergence=None"),
        (lambda: LinearisedMethod(beta=-0.1), "beta=-0.1"),
        (lambda: Hold((0,), FORWARD_KL, -1.0), "strength=-1.0"),
    ],
)  # fmt: skip
def test_it_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
