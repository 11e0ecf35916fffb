import numpy as np
import pytest
from support.drawing_checks import assert_figure_draws, assert_recomputed

from figures.plates.tilted_to_filtered import FIGURE


@pytest.fixture(scope="module")
def results():
    return FIGURE.numbers(quick=True)["results"]


def test_the_distances_are_those_of_the_pass_rate(results):
    rate = np.dot(results["base"], results["valid"])
    mu = 1 / (1 + (1 - rate) / rate * np.exp(-1 / np.array(results["betas"])))
    assert results["total_variation"] == pytest.approx(1 - mu, abs=1e-12)
    assert results["forward"] == pytest.approx(-np.log(mu), abs=1e-12)
    assert set(results["reverse"]) == {"inf"}


def test_the_shown_laws_are_mixtures_of_the_two_conditionals(results):
    base, valid = np.array(results["base"]), np.array(results["valid"])
    for shown in results["shown"]:
        law = np.array(shown["p"])
        mu = law[valid].sum()
        parts = np.where(valid, mu * base / base[valid].sum(), (1 - mu) * base / base[~valid].sum())
        assert law == pytest.approx(parts, abs=1e-12)
        odds = mu / (1 - mu) * base[~valid].sum() / base[valid].sum()
        assert np.log(odds) == pytest.approx(1 / shown["beta"])


def test_the_finding_counts_what_is_infinite(results):
    some = {**results, "reverse": [0.1, *results["reverse"][1:]]}
    assert "infinite at 12 of 12" in FIGURE.findings(results)[0]
    assert "infinite at 11 of 12" in FIGURE.findings(some)[0]


def test_the_committed_numbers():
    assert_recomputed("tilted_to_filtered")
    assert_figure_draws("tilted_to_filtered")
