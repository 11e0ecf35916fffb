import numpy as np
import pytest

from toy_lm.collapse.experiment import Fits
from toy_lm.collapse.problem import random_brackets, reference
from toy_lm.collapse.results import Config

STRENGTHS = np.array([[2.0, 4.5, 6.0], [1.0, 3.0, 5.0]])


@pytest.fixture(scope="module")
def pair():
    """Fits of two random bases in the homogeneous family."""
    return made(random_brackets(2, 0), STRENGTHS)


@pytest.fixture(scope="module")
def single():
    return made(reference(), np.array([[4.0, 4.5]]))


def made(problem, strengths):
    family, rng = problem.family(homogeneous=True), np.random.default_rng(0)
    return Fits(problem, family, strengths, rng, 1, Config(rounds=2, ascent_steps=48, stages=2))


def test_lines_come_base_by_base_with_strengths_rising(pair):
    for lines in (pair.global_lines(), pair.ascent_lines(), pair.annealed_lines()):
        assert [(x["case"], x["inverse_beta"]) for x in lines] == [
            (case, strength) for case, row in enumerate(STRENGTHS.tolist()) for strength in row
        ]


def test_the_same_generator_finds_the_same(single):
    assert made(reference(), np.array([[4.0, 4.5]])).global_lines() == single.global_lines()


def test_no_method_is_below_the_global_minimum(pair):
    best = pair.global_lines()
    assert all(x["is_global"] and x["above"] == 0 for x in best)
    for line, at in zip([*pair.ascent_lines(), *pair.annealed_lines()], [*best, *best], strict=True):
        assert line["above"] >= -1e-9
        assert line["value"] == pytest.approx(at["value"] + line["above"])
        assert line["is_global"] == (line["above"] <= 1e-8 * (1 + abs(line["value"])))


def test_a_value_is_the_kl_less_what_validity_earns(pair):
    for line in [*pair.global_lines(), *pair.ascent_lines()]:
        earned = line["inverse_beta"] * line["validity"]
        assert line["value"] == pytest.approx(line["kl"] - earned, abs=1e-10)


@pytest.mark.slow
def test_the_leap_of_the_reference_is_a_jump(single):
    (leap,) = single.leaps()
    assert (leap["below"], leap["above"]) == (4.0, 4.5)
    assert leap["jump"] == pytest.approx(4.17548, abs=1e-5)
    assert leap["high_from"] < 4.0 < leap["jump"] < leap["low_until"]


def test_covering_fits(single):
    forward, three, half = single.covering_lines((0.75, 0.5))
    assert (forward["objective"], forward["method"]) == ("forward_kl", "closed form")
    assert three["validity"] == pytest.approx(0.372, abs=5e-4)
    assert not three["certificate"]["boundary"]
    assert half["certificate"]["boundary"]
    assert half["value"] == half["certificate"]["dirac"]


def test_reward_ascent_ends_valid(single):
    (line,) = single.reward_lines()
    assert line["validity"] > 0.99
    assert (line["objective"], line["method"], line.get("value")) == ("reward", "ascent", None)
