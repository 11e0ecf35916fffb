"""One small run of the experiment, and all that is asked of its record: numbers, sentences, tables."""

import numpy as np
import pytest

from toy_lm.collapse import CollapseConfig, run, tables
from toy_lm.collapse import problem as problems
from toy_lm.collapse.case import problem
from toy_lm.collapse.experiment import Fits, fits
from toy_lm.collapse.results import label, optima, select

ONE = dict.fromkeys(("starts", "stages", "cases", "random_starts", "rounds"), 1)
TARGETS = {"targets": (0.01, 0.7), "random_targets": (0.999,), "random_alphas": (0.5,)}
SMALL = CollapseConfig(strengths=(4.0, 4.5, 10.0), alphas=(0.5,), ascent_steps=64, **ONE, **TARGETS)


@pytest.fixture(scope="module")
def record():
    return run(SMALL, problem=problems.reference())


@pytest.fixture(scope="module")
def reference(record):
    return record["results"]["reference"]


def reverse_kl(reference, family, method):
    found = select(reference["fits"], family=family, objective="reverse_kl", method=method)
    return {fit["inverse_beta"]: fit for fit in found}


def test_the_global_minimum_jumps_in_the_homogeneous_family_and_keeps_mixtures_in_the_other(reference):
    best = reverse_kl(reference, "homogeneous", "global")
    assert best[4.0]["pass_rate"] == pytest.approx(0.0900, abs=5e-5)
    assert [best[x]["collapsed"] for x in (4.0, 4.5, 10.0)] == [False, True, True]
    (leap,) = select(reference["leaps"], family="homogeneous")
    assert leap["jump"] == pytest.approx(4.17548, abs=1e-5)
    assert (leap["high_from"], leap["low_until"]) == pytest.approx((3.813, 4.943), abs=2e-3)
    kept = reverse_kl(reference, "inhomogeneous", "global")[10.0]
    assert kept["effective"] == pytest.approx(5.81, abs=5e-3)
    assert kept["pass_rate"] > 0.999
    (alpha,) = select(reference["fits"], family="homogeneous", objective="alpha")
    assert alpha["collapsed"]
    assert alpha["value"] == alpha["certificate"]["dirac"]


def test_the_mass_of_the_likeliest_sequence_along_one_over_beta_is_said_first(record, reference):
    first = record["findings"][0]
    assert first.startswith("Mass of the likeliest correct sequence at 1/beta = 4, 4.5, 10: homogeneous")
    best = reverse_kl(reference, "homogeneous", "global")
    assert f"homogeneous bigrams {best[4.0]['top']:.3f}, {best[4.5]['top']:.3f}, " in first
    assert "; inhomogeneous bigrams 0.373, 0.397, 0.427." in first
    # Dymetman's bigrams at lambda = 10: nearly all mass on one sequence, where p_* has about two nats.
    assert best[10.0]["top"] > 0.97
    assert best[10.0]["top_word"] == reference["target"]["top_word"]
    assert first.endswith(". p_* gives it 0.387 and has entropy 2.07 nats.")


@pytest.mark.parametrize(
    ("length", "position_dependent", "homogeneous"), [(3, 0.56442, 0.99482), (4, 1.2414931, None)]
)
def test_bits_of_even_parity_have_the_exact_limits_of_layered_graphs(length, position_dependent, homogeneous):
    # A fully valid position-dependent policy keeps two blocks of two exchangeable words at most.
    even = problem(
        "01",
        initial=[0.6, 0.4],
        transition=[[0.7, 0.3], [0.45, 0.55]],
        valid=lambda text: text.count("1") % 2 == 0,
        length=length,
    )
    fitted = fits(even, CollapseConfig(strengths=(10.0, 40.0), **ONE | {"starts": 12}))
    last = reverse_kl(fitted, "inhomogeneous", "global")[40.0]
    assert np.log(last["effective"]) == pytest.approx(position_dependent, abs=1e-4)
    if homogeneous:
        assert reverse_kl(fitted, "homogeneous", "global")[10.0]["top"] == pytest.approx(
            homogeneous, abs=1e-5
        )


def test_ascent_and_annealing_stay_behind_the_jump(reference):
    for method in ("ascent", "annealing"):
        found = reverse_kl(reference, "homogeneous", method)
        assert [found[x]["is_global"] for x in (4.0, 4.5)] == [True, False]
        assert found[4.5]["above"] == pytest.approx(0.25109, abs=1e-4)
        assert found[4.5]["effective"] > 5
        assert found[10.0]["collapsed"]


def test_a_target_above_the_base_s_pass_rate_is_tried_at_the_beta_that_theory_gives_it(reference):
    rate = reference["target"]["base_rate"]
    (aimed,) = (fit for fit in reverse_kl(reference, "homogeneous", "global").values() if "mu" in fit)
    odds = rate / (1 - rate) * np.exp(aimed["inverse_beta"])
    assert (aimed["mu"], odds / (1 + odds)) == (0.7, pytest.approx(0.7))


def test_a_problem_given_stands_alone_and_its_optima_come_with_rising_strength(record, reference):
    found = optima(reference, "homogeneous")
    assert [label(fit) for fit in found] == [f"1/beta = {x}" for x in ("3.89", "4", "4.5", "10")]
    assert record["results"]["random"] == []
    assert record["config"]["problem"]["alphabet"] == "()"


@pytest.mark.slow
def test_beside_the_reference_stand_random_bases_of_brackets_and_of_counts():
    results = run(SMALL)["results"]
    sizes = [
        (one["name"], one["words"], one["valid_words"]) for one in (results["reference"], *results["random"])
    ]
    assert sizes == [("brackets", 256, 14), ("random brackets", 256, 14), ("random counts", 729, 90)]
    assert all({rate["bases"] for rate in one["rates"]} == {1} for one in results["random"])


def row(table, start):
    """The cells of the row whose first cell is this."""
    (found,) = [cells for cells in table.rows if cells[0] == start]
    return list(found)


def test_the_tables_show_every_fit(record):
    homogeneous, inhomogeneous = tables(record)
    assert row(homogeneous, "1/beta = 10")[1:3] == ["0.9997", "0.9997"]
    assert row(homogeneous, "1/beta = 4.5")[-2:] == ["+0.251", "+0.251"]
    assert row(homogeneous, "1/beta = 4")[-2:] == ["reached", "reached"]
    assert row(homogeneous, "alpha = 0.5")[6] == "7/7 (Dirac)"
    assert row(homogeneous, "forward KL")[4:] == ["0.8881", "1.2045", "-", "-", "-", "-"]
    assert float(row(homogeneous, "E[v]")[1]) > 0.99
    assert row(inhomogeneous, "1/beta = 10")[3] == "5.8095"


def test_lines_come_base_by_base_repeat_and_no_method_is_below_the_global_minimum():
    strengths, problem = np.array([[2.0, 4.5, 6.0], [1.0, 3.0, 5.0]]), problems.random_brackets(2, 0)
    family, config = problem.family(homogeneous=True), CollapseConfig(rounds=2, ascent_steps=48, stages=2)
    pair, again = (Fits(problem, family, strengths, np.random.default_rng(0), 1, config) for _ in range(2))
    best = pair.global_lines()
    assert again.global_lines() == best
    assert all(x["is_global"] and x["above"] == 0 for x in best)
    places = [(case, strength) for case, row in enumerate(strengths.tolist()) for strength in row]
    for lines in (best, pair.ascent_lines(), pair.annealed_lines()):
        assert [(x["case"], x["inverse_beta"]) for x in lines] == places
        for line, at in zip(lines, best, strict=True):
            assert line["above"] >= -1e-9
            assert line["value"] == pytest.approx(at["value"] + line["above"])
            assert line["is_global"] == (line["above"] <= 1e-8 * (1 + abs(line["value"])))
            # The value is the KL less what pass rate earns.
            earned = line["inverse_beta"] * line["pass_rate"]
            assert line["value"] == pytest.approx(line["kl"] - earned, abs=1e-10)


def test_fits_are_of_one_base():
    with pytest.raises(ValueError, match=r"problem\.cases=2 is not allowed: one base"):
        fits(problems.random_brackets(2, 0), SMALL)
