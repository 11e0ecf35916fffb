import numpy as np
import pytest

from toy_lm.collapse.fits import Fits
from toy_lm.collapse.problem import random_brackets, reference

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
    return Fits(problem, family, strengths, rng, starts=1, rounds=2, ascent_steps=48, stages=2)


def test_lines_come_base_by_base_with_strengths_rising(pair):
    for lines in (pair.global_lines(), pair.ascent_lines(), pair.annealed_lines()):
        assert [(x["case"], x["lambda"]) for x in lines] == [
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
        earned = line["lambda"] * line["validity"]
        assert line["value"] == pytest.approx(line["kl"] - earned, abs=1e-10)


def test_paths_begin_at_the_base_and_end_where_ascent_does(single):
    path = [x for x in single.ascent_paths() if x["lambda"] == 4.0]
    assert path[0]["step"] == 0
    assert path[0]["time"] == 0
    assert path[0]["validity"] == pytest.approx(single.problem.base_rates[0])
    assert path[-1]["validity"] == pytest.approx(single.ascent_lines()[0]["validity"], abs=1e-3)
    values = [x["kl"] - 4 * x["validity"] for x in path]
    assert all(np.diff(values) <= 1e-12)


def test_branches_rise_and_fall_on_different_minima(single):
    lines = single.branch_lines()
    there = {x["direction"]: x["validity"] for x in lines if x["lambda"] == 4.0}
    assert there["rising"] == pytest.approx(0.0900, abs=5e-5)
    assert there["falling"] > 0.7
    assert [x["lambda"] for x in lines] == [2.0, 4.0, 4.25, 4.5, 4.5, 4.25, 4.0, 2.0]
    at_strengths = [x["validity"] for x in single.annealed_lines()]
    assert at_strengths == [x["validity"] for x in lines[1:4:2]]


@pytest.mark.slow
def test_the_leap_of_the_reference_is_a_jump(single):
    ((low, high, jump),) = single.leaps()
    assert (low, high) == (4.0, 4.5)
    assert jump.strength == pytest.approx(4.17548, abs=1e-5)


def test_covering_fits(single):
    forward, three, half = single.covering_lines((0.75, 0.5))
    assert (forward["objective"], forward["method"]) == ("forward_kl", "closed form")
    assert three["validity"] == pytest.approx(0.372, abs=5e-4)
    assert not three["certificate"]["boundary"]
    assert half["certificate"]["boundary"]
    assert half["value"] == half["certificate"]["dirac"]


def test_reward_ascent_ends_valid_and_its_path_says_how(single):
    (line,) = single.reward_lines()
    path = single.reward_paths()
    assert path[0]["validity"] == pytest.approx(single.problem.base_rates[0])
    assert path[-1]["validity"] == line["validity"] > 0.99
    assert (np.diff([x["validity"] for x in path]) >= 0).all()
