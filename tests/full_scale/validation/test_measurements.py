"""The rate of a tilt and the distance to it, from samples of exact laws."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from support.simulated_runs import Simulated, collapsed, kl_control, prompts_of

from dph_theory import excess_kl, kappa
from dph_theory.support.errors import RefusedError
from full_scale.evaluation.evaluated_run import PromptAnswers
from full_scale.validation.measurements import (
    PairedSet,
    TextSamples,
    distance_to_tilt,
    frontier,
    least_cost,
    log_odds_gain,
    meter_bias,
    paired,
    read_runs,
)


def test_the_log_odds_ratio_needs_no_many_samples():
    """Two samples a text, as many of which never or always pass; verdicts between 0 and 1 as well."""
    rng, verdicts, texts = np.random.default_rng(0), np.array([0.0, 0.5, 0.6, 1.0]), []
    for base in rng.dirichlet(np.ones(4), size=2000):
        law = base * np.exp(2.0 * verdicts)
        ran, drawn = (rng.choice(4, 2, p=p) for p in (law / law.sum(), base))
        texts.append(TextSamples(verdicts[ran], verdicts[drawn], np.zeros(2)))
    found = log_odds_gain(texts)
    assert found.value == pytest.approx(2.0, abs=found.margin())
    assert found.margin() < 0.5


def test_two_verdicts_are_mantel_and_haenszel():
    rng = np.random.default_rng(0)
    sides = [(rng.integers(0, 2, 8) * 1.0, rng.integers(0, 2, 8) * 1.0) for _ in range(20)]
    found = log_odds_gain([TextSamples(pi, base, pi) for pi, base in sides])
    gained = sum(pi.mean() * (1 - base.mean()) for pi, base in sides)
    lost = sum(base.mean() * (1 - pi.mean()) for pi, base in sides)
    assert found.value == pytest.approx(np.log(gained / lost))


def test_nothing_solved_leaves_gain_and_distance_open():
    zeros = np.zeros(8)
    few = [TextSamples(zeros, zeros, zeros)] * 5
    assert distance_to_tilt(few, 5.0).bias > 3
    assert (log_odds_gain(few).value, log_odds_gain(few).margin()) == (-np.inf, np.inf)


@pytest.fixture
def run(tmp_path):
    rng = np.random.default_rng(0)
    return Simulated(kl_control(rng, 4, 0.5), samples=6).write(rng, tmp_path)


def entry(name, correct=(1, 0)):
    return PromptAnswers(id=name, correct=tuple(correct), log_pi=(-1.0,) * 2, log_ref=(-2.0,) * 2)


def test_a_run_is_paired_with_its_base(run):
    (found,) = read_runs([run, run.parent / "base"])
    here = found.sets["in_domain"]
    assert (found.name, here.ids) == ("run-seed0", ("p0", "p1", "p2", "p3"))
    assert here.correct.shape == here.log_ratio.shape == here.base_correct.shape == (4, 6)
    stored = json.loads((run.parent / "base" / "evaluation.json").read_text())
    base = [np.mean(p["correct"]) for p in stored["results"]["sets"]["in_domain"]["prompts"]]
    np.testing.assert_array_equal(here.base_rate, base)
    # A set that the base was not evaluated on is left out.
    stored["results"]["sets"] = {"another": stored["results"]["sets"]["in_domain"]}
    (run.parent / "base" / "evaluation.json").write_text(json.dumps(stored))
    assert read_runs([run])[0].sets == {}


@pytest.mark.parametrize(
    ("spoilt", "text", "read", "said"),
    [
        (None, None, (), "at least one run folder"),
        (None, None, ("base",), "other than the base"),
        ("run-seed0/evaluation.json", None, ("run-seed0",), "dph evaluate"),
        ("run-seed0/training.json", None, ("run-seed0",), "dph train"),
        ("run-seed0/evaluation.json", "{", ("run-seed0",), "no valid JSON.*run dph evaluate"),
    ],
)
def test_what_cannot_be_read_is_named(run, spoilt, text, read, said):
    if spoilt is not None:
        (run.parent / spoilt).unlink()
    if text is not None:
        (run.parent / spoilt).write_text(text)
    with pytest.raises((ValueError, RefusedError), match=said):
        read_runs([run.parent / name for name in read])


def test_pairing_keeps_common_prompts_and_refuses_none_and_ragged_samples():
    found = paired("x", [entry("a"), entry("b")], [entry("b", (1, 1)), entry("c")])
    assert found.ids == ("b",)
    assert found.base_rate == [1.0]
    with pytest.raises(ValueError, match="prompts that the base"):
        paired("x", [entry("a")], [entry("b")])
    with pytest.raises(ValueError, match="the same number of samples"):
        paired("x", [entry("a"), entry("b", (1,))], [entry("a"), entry("b")])


def test_a_text_of_its_own_needs_no_mean_verdict_beside_texts_that_are_shared():
    """Two prompts of one text, judged together, and one of its own, which is judged alone."""
    shared = [replace(entry(name), question="q", mean_correct=(0.5, 0.0)) for name in "ab"]
    both = [*shared, replace(entry("c"), question="r")]
    first, second = paired("x", both, both).by_text()
    assert first.policy.tolist() == [0.5, 0.0, 0.5, 0.0]
    assert second.policy.tolist() == [1.0, 0.0]
    unjudged = [replace(each, mean_correct=None) for each in both]
    assert paired("x", unjudged, unjudged).by_text() == []


def measured(laws, samples, seed=0):
    rng = np.random.default_rng(seed)
    run, base = (prompts_of(rng, laws, law, samples) for law in (laws.policy, laws.base))
    return paired("test", run, base)


@pytest.mark.parametrize("make", [lambda rng: kl_control(rng, 400, 0.5), lambda rng: collapsed(rng, 400)])
def test_mean_excess_is_the_exact_one(make):
    laws = make(np.random.default_rng(1))
    exact = excess_kl(laws.policy, laws.base, laws.valid)
    # Where the base solves one prompt in hundreds, no number of its samples pins the cost.
    kept = (laws.base * laws.valid).sum(axis=1) > 0.03
    found = frontier(measured(laws, 64))
    gap = (found.excess - exact.excess)[kept]
    assert abs(gap.mean()) < 4 * gap.std() / math.sqrt(kept.sum()) + found.bias
    np.testing.assert_allclose(found.kl, found.cost + found.excess, atol=1e-12)


def test_plugging_in_the_rates_would_make_up_violations():
    """The neighbour: without the corrections the mean excess on the frontier is far below zero."""
    here = measured(kl_control(np.random.default_rng(2), 400, 0.5), 16)
    kept = here.base_correct.any(axis=1) & ~here.base_correct.all(axis=1)
    plugged = here.log_ratio.mean(axis=1)[kept] - kappa(here.rate[kept], here.base_rate[kept])
    assert plugged.mean() < -4 * plugged.std() / math.sqrt(kept.sum())
    found = frontier(here)
    assert found.mean_excess.value > -found.mean_excess.margin()


def test_meter_bias_falls_like_one_over_n_and_is_the_largest_shortfall_over_all_rates():
    assert all(0.17 < samples * meter_bias(samples) < 0.19 for samples in (4, 8, 16, 32, 64))
    n, count = 8, np.arange(9)
    correct, zero = np.arange(n) < count[:, None], np.zeros((n + 1, n))
    # So many base samples, half of them right, that log A1 and log A0 have no error.
    half = np.tile([True, False], (n + 1, 50_000))
    excess = frontier(PairedSet(tuple(map(str, count)), correct, zero, zero, half)).excess
    rates = np.linspace(0.01, 0.5, 999)
    short = [-kappa(rate, 0.5) - stats.binom.pmf(count, n, rate) @ excess for rate in rates]
    assert max(short) == pytest.approx(meter_bias(n), abs=1e-5)


def test_least_cost_lies_below_the_cost():
    laws = collapsed(np.random.default_rng(4), 300)
    truth = kappa((laws.policy * laws.valid).sum(axis=1), (laws.base * laws.valid).sum(axis=1))
    for samples in (4, 32, 256):
        least = least_cost(measured(laws, samples), 0.0027 / 300)
        assert (least <= truth + 1e-12).all()
    # With this many samples it is no empty bound.
    assert least.mean() > 0.3 * truth.mean()


def test_least_cost_is_symmetric_and_zero_where_nothing_moved():
    true, zero = np.ones((1, 40), dtype=bool), np.zeros((1, 40))
    sides = ((true, ~true), (~true, true), (true, true))
    up, down, still = (least_cost(PairedSet(("p",), a, zero, zero, b), 0.01)[0] for a, b in sides)
    # Clopper and Pearson for 40 of 40: (level/2)^(1/40).
    low = (0.01 / 2) ** (1 / 40)
    assert (up, down) == pytest.approx((kappa(low, 1 - low),) * 2, rel=1e-12)
    assert still == 0
