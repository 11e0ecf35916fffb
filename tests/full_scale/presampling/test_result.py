from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta
from support.tiny_training import buffer

from full_scale.presampling.result import Presampling, Rate
from full_scale.recipe.schema import Recipe


def test_jeffreys_interval():
    rate = Rate.of(3, 8)
    assert rate[:2] == (3, 8)
    assert beta.cdf(rate.low, 3.5, 5.5) == pytest.approx(0.025)
    assert beta.sf(rate.high, 3.5, 5.5) == pytest.approx(0.025)


def test_the_ends_are_reached():
    assert Rate.of(0, 8).low == 0 < Rate.of(0, 8).high < 0.3
    assert Rate.of(8, 8).high == 1 > Rate.of(8, 8).low > 0.7


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_holds_the_rate_and_is_symmetric(case):
    correct, n = case
    rate, mirrored = Rate.of(correct, n), Rate.of(n - correct, n)
    assert 0 <= rate.low <= correct / n <= rate.high <= 1
    assert rate.low == pytest.approx(1 - mirrored.high, abs=1e-9)


def sampled(pef, exp, correct=4, unfinished=0):
    names = (*pef, *exp)
    return Presampling(
        rates={name: Rate.of(correct, 8) for name in names},
        pef=tuple(pef),
        exp=tuple(exp),
        buffer=buffer(3),
        outcomes={"correct": correct * len(names), "wrong": (8 - correct) * len(names)},
        unfinished=unfinished,
        identity={"model_hash": "m"},
    )


def test_what_is_saved_is_loaded(tmp_path):
    made = sampled(["a"], ["b", "c"])
    made.save(tmp_path, Recipe(seed=2))
    found = Presampling.load(tmp_path)
    assert (found.rates, found.pef, found.exp, found.findings) == (
        made.rates,
        made.pef,
        made.exp,
        made.findings,
    )
    assert (found.outcomes, found.unfinished, found.identity) == (
        made.outcomes,
        made.unfinished,
        made.identity,
    )
    assert found.values(found.trained("explored")) == [0.5, 0.5]
    assert found.trained("all") == tuple(found.rates)


def test_findings_follow_the_numbers():
    said = sampled(["a"], ["b", "c"]).findings
    assert said == [
        "mean base pass rate 0.500 over 3 prompts; 0 with no correct rollout",
        "D_pef has 1 prompts and 3 rows to rehearse, D_exp 2 prompts",
    ]
    assert "D_pef is empty" in sampled([], ["b"]).findings[-1]
    assert "D_exp is empty" in sampled(["b"], []).findings[-1]
    assert "25.0% of the rollouts were cut off" in sampled(["b"], ["c"], unfinished=4).findings[-1]
    assert "1 with no correct" in sampled([], ["b"], correct=0).findings[0]
    broken = replace(sampled(["b"], ["c"]), outcomes={"correct": 8, "gold_error": 8})
    assert "8 rollouts count as wrong because their reference" in broken.findings[-1]


def test_what_is_not_there_is_said(tmp_path):
    with pytest.raises(ValueError, match="has not been run"):
        Presampling.load(tmp_path)
    (tmp_path / "rollouts.jsonl").write_text("{}\n")
    with pytest.raises(ValueError, match="begun and not finished"):
        Presampling.load(tmp_path)


def test_a_torn_record_of_the_pre_sampling_is_named(tmp_path):
    (tmp_path / "presample.json").write_text('{"kind"')
    with pytest.raises(ValueError, match=r"presample\.json.*dph presample"):
        Presampling.load(tmp_path)
