import numpy as np
import pytest

from toy_lm.collapse.problem import random_brackets
from toy_lm.collapse.results import select

# The experiment in its small form takes ten seconds.
pytestmark = pytest.mark.slow


def reverse_kl(record, family, method):
    fits = select(
        record["results"]["reference"]["fits"], family=family, objective="reverse_kl", method=method
    )
    return {fit["inverse_beta"]: fit for fit in fits}


def test_the_reference_case(small_record):
    reference = small_record["results"]["reference"]
    assert reference["target"]["base_rate"] == pytest.approx(0.0455, abs=5e-5)
    assert reference["target"]["entropy"] == pytest.approx(2.067, abs=5e-4)
    best = reverse_kl(small_record, "homogeneous", "global")
    assert best[4.0]["validity"] == pytest.approx(0.0900, abs=5e-5)
    assert best[10.0]["top"] == pytest.approx(0.9997, abs=5e-5)
    assert [best[x]["collapsed"] for x in (4.0, 4.5, 10.0)] == [False, True, True]
    kept = reverse_kl(small_record, "inhomogeneous", "global")
    assert kept[10.0]["effective"] == pytest.approx(5.81, abs=5e-3)
    (forward,) = select(reference["fits"], family="homogeneous", objective="forward_kl")
    assert (forward["coverage"], forward["validity"]) == pytest.approx((0.888, 0.283), abs=5e-4)
    alphas = select(reference["fits"], family="homogeneous", objective="alpha")
    assert {fit["alpha"]: fit["collapsed"] for fit in alphas} == {0.75: False, 0.5: True}


def test_ascent_and_annealing_stay_behind_the_jump(small_record):
    for method in ("ascent", "annealing"):
        fits = reverse_kl(small_record, "homogeneous", method)
        assert fits[4.0]["is_global"]
        assert not fits[4.5]["is_global"]
        assert fits[4.5]["above"] == pytest.approx(0.25109, abs=1e-4)
        assert fits[4.5]["effective"] > 5
        assert fits[10.0]["collapsed"]
    (leap,) = select(small_record["results"]["reference"]["leaps"], family="homogeneous")
    assert leap["jump"] == pytest.approx(4.17548, abs=1e-5)


def test_targets_are_tried_at_the_beta_that_theory_gives_them(small_record):
    rate = small_record["results"]["reference"]["target"]["base_rate"]
    aimed = [fit for fit in reverse_kl(small_record, "homogeneous", "global").values() if "mu" in fit]
    assert [fit["mu"] for fit in aimed] == [0.7, 0.9]
    for fit in aimed:
        odds = rate / (1 - rate) * np.exp(fit["inverse_beta"])
        assert odds / (1 + odds) == pytest.approx(fit["mu"])


def test_the_record_says_what_was_run(small_record, small_progress):
    assert small_record["config"]["strengths"] == (4.0, 4.5, 10.0)
    reference, (brackets, counts) = (small_record["results"][name] for name in ("reference", "random"))
    assert (reference["words"], reference["valid_words"]) == (256, 14)
    assert (counts["words"], counts["valid_words"]) == (729, 90)
    assert {rate["bases"] for rate in brackets["rates"]} == {1}
    assert [done for _, done, _ in small_progress] == list(range(7))
    assert {(stage, total) for stage, _, total in small_progress} == {("families fitted", 6)}


def test_the_seed_decides(small_record):
    rates = [random_brackets(1, np.random.default_rng(seed)).base_rates[0] for seed in (0, 1)]
    assert small_record["seed"] == 0
    assert rates[0] != rates[1]
