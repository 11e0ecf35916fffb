from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta
from support.tiny_training import buffer

from dph_theory.intervals import Rate
from dph_theory.support.errors import RefusedError
from full_scale.presampling.buffer import RehearsalBuffer
from full_scale.presampling.result import Presampling
from full_scale.recipe.schema import Recipe


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_a_rate_has_jeffreys_interval_whose_ends_are_reached(case):
    correct, n = case
    rate, mirrored = Rate.of_counts(correct, n), Rate.of_counts(n - correct, n)
    assert rate[:2] == case
    assert 0 <= rate.low <= correct / n <= rate.high <= 1
    assert rate.low == pytest.approx(1 - mirrored.high, abs=1e-9)
    expected = 0 if correct == 0 else 0.025
    assert beta.cdf(rate.low, correct + 0.5, n - correct + 0.5) == pytest.approx(expected)


def sampled(pef, exp, correct=4, **changed):
    names = (*pef, *exp)
    made = Presampling(
        rates={name: Rate.of_counts(correct, 8) for name in names},
        pef=tuple(pef),
        exp=tuple(exp),
        buffer=buffer(3),
        outcomes={"correct": correct * len(names), "wrong": (8 - correct) * len(names)},
        unfinished=0,
        identity={"model_hash": "m"},
    )
    return replace(made, **changed)


def test_what_is_saved_is_loaded(tmp_path):
    made = sampled(["a"], ["b", "c"], unfinished=4, outcomes={"crash": 9}, failures={"no": 9}, cut_off="and")
    RehearsalBuffer.store(tmp_path / "buffer", [made.buffer.table], {})
    made.save(tmp_path, Recipe(seed=2))
    found = Presampling.load(tmp_path)
    assert found.buffer.digest == made.buffer.digest
    assert vars(found) | {"buffer": None} == vars(made) | {"buffer": None}
    assert found.values(found.trained("explored")) == [0.5, 0.5]
    assert found.trained("all") == tuple(found.rates)


ENDLESS = {"unfinished": 16, "cut_off": "and so", "buffer": buffer(0)}


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (sampled(["a"], ["b", "c"]), []),
        (sampled([], ["b"], correct=0), ["1 prompts were never solved", "no solved prompts"]),
        (sampled(["b"], [], unfinished=2), ["no unsolved prompts", "25.0% of the rollouts were cut off"]),
        (sampled(["b"], ["c"], **ENDLESS),
         ["1 solved prompts ended by itself; 100.0%", "(one ended in 'and so'): raise"]),
    ],
)  # fmt: skip
def test_findings_follow_the_numbers(made, said):
    mean, sets, *others = made.findings
    rate = 0.0 if "no solved prompts" in said else 0.5
    assert mean.startswith(f"mean base pass rate {rate:.3f} over {len(made.rates)} prompts")
    rows = f"{len(made.pef)} solved prompts (D_pef) and {len(made.buffer)} rows to rehearse"
    assert sets == f"{rows}, {len(made.exp)} unsolved prompts (D_exp)"
    assert all(words in sentence for words, sentence in zip(said, others, strict=True))


def test_what_is_not_there_or_torn_is_said(tmp_path):
    with pytest.raises(RefusedError, match=r"no pre-sampling in .*not been run; run dph presample --config"):
        Presampling.load(tmp_path)
    (tmp_path / "rollouts.jsonl").write_text("{}\n")
    with pytest.raises(RefusedError, match="begun and not finished"):
        Presampling.load(tmp_path)
    (tmp_path / "presample.json").write_text('{"kind"')
    with pytest.raises(ValueError, match=r"presample\.json.*is no valid JSON.*remove it, and run dph"):
        Presampling.load(tmp_path)
