"""The rate of a tilt and the distance to it, from samples of exact laws."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from support.simulated_runs import Simulated, collapsed, draw, kl_control, prompts_of

from dph_theory import excess_kl, kappa
from full_scale.comparison.measurements import (
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
from full_scale.evaluation.record import PromptAnswers

VERDICTS = np.array([0.0, 0.5, 0.6, 1.0])


def texts(rng, rate, count=200, samples=60, policy=None):
    """Texts whose policy is the base tilted at that rate, or another one."""
    found = []
    for base in rng.dirichlet(np.ones(4), size=count):
        law = base * np.exp(rate * VERDICTS)
        law = law / law.sum() if policy is None else policy(base)
        ran, drawn = (rng.choice(4, samples, p=p) for p in (law, base))
        found.append(TextSamples(VERDICTS[ran], VERDICTS[drawn], np.log(law / base)[ran]))
    return found


@pytest.mark.parametrize("rate", [0.0, 2.0, 5.0])
def test_rate_and_distance_of_a_tilt(rate):
    rng = np.random.default_rng(0)
    found = texts(rng, rate)
    gain, distance = log_odds_gain(found), distance_to_tilt(found, rate)
    assert gain.value == pytest.approx(rate, abs=gain.margin())
    assert gain.margin() < 0.5
    assert abs(distance.value) < distance.margin() < 0.2


def test_two_verdicts_are_mantel_and_haenszel():
    rng = np.random.default_rng(0)
    sides = [(rng.integers(0, 2, 8) * 1.0, rng.integers(0, 2, 8) * 1.0) for _ in range(20)]
    found = log_odds_gain([TextSamples(pi, base, pi) for pi, base in sides])
    gained = sum(pi.mean() * (1 - base.mean()) for pi, base in sides)
    lost = sum(base.mean() * (1 - pi.mean()) for pi, base in sides)
    assert found.value == pytest.approx(np.log(gained / lost))


def test_a_policy_off_the_law_has_a_distance():
    rng = np.random.default_rng(0)
    found = distance_to_tilt(texts(rng, 0, policy=lambda base: np.eye(4)[3] * 0.9 + 0.1 * base), 2.0)
    assert found.value > found.margin()


def test_unsolved_prompts_leave_the_distance_open():
    zeros = np.zeros(8)
    few = [TextSamples(zeros, zeros, zeros)] * 5
    assert distance_to_tilt(few, 5.0).bias > 3
    assert log_odds_gain(few).margin() == np.inf


@pytest.fixture
def run(tmp_path):
    rng = np.random.default_rng(0)
    return Simulated(kl_control(rng, 4, 0.5), samples=6).write(rng, tmp_path)


def entry(name, correct=(1, 0)):
    return PromptAnswers(id=name, correct=tuple(correct), log_pi=(-1.0,) * 2, log_ref=(-2.0,) * 2)


def test_a_run_is_paired_with_its_base(run):
    (found,) = read_runs([run])
    here = found.sets["in_domain"]
    assert here.ids == ("p0", "p1", "p2", "p3")
    assert here.correct.shape == here.log_ratio.shape == here.base_correct.shape == (4, 6)
    stored = json.loads((run.parent / "base" / "evaluation.json").read_text())
    base = [np.mean(p["correct"]) for p in stored["results"]["sets"]["in_domain"]["prompts"]]
    np.testing.assert_array_equal(here.base_rate, base)


def test_the_bases_own_folder_is_left_out(run):
    assert [found.name for found in read_runs([run, run.parent / "base"])] == ["run-seed0"]
    with pytest.raises(ValueError, match="other than the base"):
        read_runs([run.parent / "base"])


def test_no_runs():
    with pytest.raises(ValueError, match="at least one run folder"):
        read_runs([])


@pytest.mark.parametrize(
    ("file", "stage"), [("evaluation.json", "dph evaluate"), ("training.json", "dph train")]
)
def test_a_missing_file_names_the_stage_that_makes_it(run, file, stage):
    (run / file).unlink()
    with pytest.raises(ValueError, match=stage):
        read_runs([run])


def test_a_missing_base(run):
    (run.parent / "base" / "evaluation.json").unlink()
    with pytest.raises(ValueError, match=r"base/evaluation\.json"):
        read_runs([run])


def test_a_record_of_another_kind_and_no_json(run):
    (run / "evaluation.json").write_text((run / "training.json").read_text())
    with pytest.raises(ValueError, match="kind"):
        read_runs([run])
    (run / "evaluation.json").write_text("{")
    with pytest.raises(ValueError, match="a record in JSON"):
        read_runs([run])


def test_pairing_keeps_common_prompts_and_refuses_none():
    found = paired("x", [entry("a"), entry("b")], [entry("b", (1, 1)), entry("c")])
    assert found.ids == ("b",)
    assert found.base_rate == [1.0]
    with pytest.raises(ValueError, match="prompts that the base"):
        paired("x", [entry("a")], [entry("b")])


def test_a_text_of_its_own_needs_no_mean_verdict_beside_texts_that_are_shared():
    """Two prompts of one text, judged together, and one of its own, which is judged alone."""
    shared = [replace(entry(name), question="q", mean_correct=(0.5, 0.0)) for name in "ab"]
    both = [*shared, replace(entry("c"), question="r")]
    first, second = paired("x", both, both).by_text()
    assert first.policy.tolist() == [0.5, 0.0, 0.5, 0.0]
    assert second.policy.tolist() == [1.0, 0.0]
    unjudged = [replace(each, mean_correct=None) for each in both]
    assert paired("x", unjudged, unjudged).by_text() == []


def test_pairing_refuses_ragged_samples():
    with pytest.raises(ValueError, match="as many samples"):
        paired("x", [entry("a"), entry("b", (1,))], [entry("a"), entry("b")])


def test_the_trainers_arguments_resolve_a_target_validity(tmp_path):
    rng = np.random.default_rng(1)
    method = {"name": "KL-control", "mu": 0.8}
    training = {"base_rates": {"p0": 0.1, "p1": 0.3, "p2": 0.6, "p3": 0.99}, "explored": ["p0", "p1", "p2"]}
    simulated = Simulated(kl_control(rng, 4, 0.5), method=method, training=training)
    (found,) = read_runs([simulated.write(rng, tmp_path)])
    assert found.training.arguments["beta"] == pytest.approx(0.38622661634118, rel=1e-10)


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


def test_meter_bias_falls_like_one_over_n():
    for samples in (4, 8, 16, 32, 64):
        assert 0.17 < samples * meter_bias(samples) < 0.19


def test_meter_bias_by_simulation():
    rng = np.random.default_rng(3)
    n, rate = 8, 0.08
    correct = rng.random((200_000, n)) < rate
    zero = np.zeros(correct.shape)
    half = np.tile([True, False], (len(correct), 500))
    found = frontier(PairedSet(tuple(map(str, range(len(correct)))), correct, zero, zero, half))
    short = kappa(rate, 0.5) + found.excess.mean()
    assert -0.002 < -short <= meter_bias(n) + 0.002


def test_least_cost_lies_below_the_cost():
    laws = collapsed(np.random.default_rng(4), 300)
    truth = kappa((laws.policy * laws.valid).sum(axis=1), (laws.base * laws.valid).sum(axis=1))
    for samples in (4, 32, 256):
        least = least_cost(measured(laws, samples), 0.0027 / 300)
        assert (least <= truth + 1e-12).all()
    # With this many samples it is no empty bound.
    assert least.mean() > 0.3 * truth.mean()


def test_least_cost_is_symmetric_and_zero_where_nothing_moved():
    true, false = np.ones((1, 40), dtype=bool), np.zeros((1, 40), dtype=bool)
    zero = np.zeros((1, 40))
    up = least_cost(PairedSet(("p",), true, zero, zero, false), 0.01)
    down = least_cost(PairedSet(("p",), false, zero, zero, true), 0.01)
    assert up == pytest.approx(down)
    # Clopper and Pearson for 40 of 40: (level/2)^(1/40).
    low = (0.01 / 2) ** (1 / 40)
    assert up[0] == pytest.approx(kappa(low, 1 - low), rel=1e-12)
    assert least_cost(PairedSet(("p",), true, zero, zero, true), 0.01)[0] == 0


def test_drawn_outcomes_follow_the_law():
    rng = np.random.default_rng(5)
    law = np.array([[0.2, 0.5, 0.3]])
    counts = np.bincount(draw(rng, law, 100_000)[0], minlength=3) / 100_000
    np.testing.assert_allclose(counts, law[0], atol=0.01)
