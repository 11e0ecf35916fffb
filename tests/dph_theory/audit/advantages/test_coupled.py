import numpy as np
import pytest

from dph_theory.audit.advantages import audit_advantage, tabulate
from dph_theory.audit.advantages.coupled import tabulate_pairs
from dph_theory.audit.advantages.enumeration import called
from dph_theory.audit.advantages.forms import batch_normalised, leave_one_out
from dph_theory.laws import group_weight

V = np.array([0.05, 0.3, 0.8])


def test_two_groups_of_one_pass_rate_are_a_group_of_twice_the_size():
    pairs = tabulate_pairs(batch_normalised, 4)
    found = [float(pairs.weight(v, v)) for v in V]
    assert found == pytest.approx(group_weight(8, V, "std"), rel=1e-12)


def test_what_couples_no_groups_weighs_the_same_beside_any_other():
    pairs, alone = tabulate_pairs(leave_one_out, 4), tabulate(leave_one_out, 4)
    for other in (0.0, 0.4, 1.0):
        assert pairs.weight(V, other) == pytest.approx(alone.weight(V))
    assert audit_advantage(leave_one_out, group_size=4).beside == ()


def test_a_large_batch_weighs_every_prompt_by_one_over_the_deviation_of_all_verdicts():
    rest = np.repeat([[1.0, 0.0, 0.0, 0.0]], 4000, axis=0)
    gains = []
    for k in range(4):
        right, wrong = ((np.arange(4) < n).astype(float)[None] for n in (k + 1, k))
        upper, lower = (called(batch_normalised, np.concatenate([row, rest]))[0] for row in (right, wrong))
        gains.append(upper[0] - lower[-1])
    assert gains == pytest.approx([(3 / 16) ** -0.5] * 4, rel=1e-3)


def test_the_verdict_says_what_the_weights_are_beside_another_group():
    report = audit_advantage(batch_normalised, group_size=4)
    assert [other for other, _ in report.beside] == [0.1, 0.5, 0.9]
    assert "in two groups the three are" in report.verdict
    # A rare success weighs more among failures than among successes.
    weights = dict(report.beside)
    assert weights[0.1][0] > weights[0.5][0] > weights[0.9][0]
