import numpy as np
import pytest
from scipy import stats
from support.drawing_checks import assert_figure_draws
from support.law_record import law_record, run

from dph_theory.divergences import JENSEN_SHANNON
from figures.gallery.direction import FIGURE
from figures.records import Records

SEEDS = range(4)


def ended(form, shift, beta=0.0, **facts):
    """A method's runs: Pass@16 at `shift` above .5, and some noise of the seed that all methods share."""
    noise = np.random.default_rng(0).normal(scale=0.1, size=len(SEEDS))
    own = np.random.default_rng([len(form), int(100 * shift)]).normal(scale=0.01, size=len(SEEDS))
    made = {"experiment": "direction", "task": "strategies", "dapo": True, "law": None, "judged": False}
    return [
        run(form, beta, **made | {"seed": s, "pass_at_16": 0.5 + shift + noise[s] + own[s]} | facts)
        for s in SEEDS
    ]


@pytest.fixture(scope="module")
def runs():
    return [
        *ended("k3", 0.0, 0.04, dapo=False),
        *ended("none", 0.0),
        *ended("k3", 0.0, 0.3),
        *ended("rehearsal", 0.2, 0.3, rehearsed="log_u"),
        *ended("rehearsal", 0.2, 0.05 / JENSEN_SHANNON.curvature, rehearsed="js"),
    ]


@pytest.fixture(scope="module")
def results(runs):
    return FIGURE.compute(FIGURE.config, Records({"laws": law_record(runs)}))


def test_methods_are_told_by_their_form_and_strength(results):
    assert [(row.method, row.strength, row.seeds) for row in results.rows] == [
        ("GRPO", None, 4),
        ("DAPO", None, 4),
        ("RKL", 0.3, 4),
        ("DPH-F", 0.3, 4),
        ("DPH-JS", 0.05, 4),
    ]


def test_intervals_are_those_of_the_paired_t_test(runs, results):
    after = [r["pass_at_16"] for r in runs if r.get("rehearsed") == "log_u"]
    before = [r["pass_at_16"] for r in runs if r["form"] == "none"]
    expected = stats.ttest_rel(after, before).confidence_interval(0.95)
    found = results.rows[3].against[1]
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert found.difference == pytest.approx(np.mean(after) - np.mean(before))


def test_only_what_the_seeds_tell_apart_is_said_to_be_above(results):
    above = {row.method: row.above for row in results.rows}
    assert above["DPH-F"] == ("GRPO", "DAPO", "RKL")
    assert above["GRPO"] == above["DAPO"] == ()
    # Of another strength: it is compared with the methods of none alone.
    assert above["DPH-JS"] == ("GRPO", "DAPO")


def test_one_seed_tells_nothing(runs):
    first = [r for r in runs if r["seed"] == 0]
    results = FIGURE.compute(FIGURE.config, Records({"laws": law_record(first)}))
    assert all(row.above == () for row in results.rows)
    assert results.rows[0].against[0].high == np.inf


def test_it_draws(results):
    assert_figure_draws("direction", results)
