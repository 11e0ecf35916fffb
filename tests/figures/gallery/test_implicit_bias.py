from dataclasses import replace

import numpy as np
import pytest

from figures.gallery.implicit_bias import FIGURE
from figures.records import Records


@pytest.fixture(scope="module")
def results():
    return FIGURE.compute(FIGURE.quick, Records({}))


def test_the_plain_flow_at_a_known_time():
    config = replace(FIGURE.config, points=2, times=(10.0, 20.0), steps=400)
    flow = FIGURE.compute(config, Records({})).plain
    passed = flow.shares[:, 0] * (1 - flow.failure[0])
    assert passed == pytest.approx([0.550324414695, 0.264193832982, 0.103209092539], abs=1e-9)
    assert flow.failure[0] == pytest.approx(0.082272659784, abs=1e-9)


def test_the_plain_curves_conserve_what_the_flow_conserves(results):
    for flow in results.simplex:
        log_q = np.log(flow.plain)
        theta = log_q - log_q.mean(axis=1, keepdims=True) + np.log(flow.base).mean()
        weights = np.exp(-theta)
        difference = weights[:, 0] - weights[:, 1]
        assert difference == pytest.approx(np.full(16, difference[0]), abs=1e-9)


def test_the_ends_of_both_flows(results):
    for flow in results.simplex:
        base, plain, natural = flow.base, flow.plain, flow.natural
        assert plain[0] == pytest.approx(base, abs=1e-12)
        assert natural[0] == pytest.approx(base, abs=1e-5)
        richest = base[:2] == base[:2].max()
        assert plain[-1] == pytest.approx([*(richest / richest.sum()), 0], abs=1e-2)
        assert natural[-1] == pytest.approx([*(base[:2] / base[:2].sum()), 0], abs=1e-4)
        assert natural[:, 0] / natural[:, 1] == pytest.approx(np.full(16, base[0] / base[1]))


def test_a_tie_stays_a_tie(results):
    ties = [flow for flow in results.simplex if flow.base[0] == flow.base[1]]
    assert ties
    for flow in ties:
        assert flow.plain[:, 0] == pytest.approx(flow.plain[:, 1], abs=1e-12)


def test_the_table_has_the_share_at_both_ends(results):
    plain, natural = FIGURE.table(results).rows
    assert plain[4] == pytest.approx(0.5, abs=0.005)
    assert plain[3] == results.plain.shares[0, -1] > 0.9
    assert natural[3:] == pytest.approx((0.5, 0.5), abs=1e-12)
