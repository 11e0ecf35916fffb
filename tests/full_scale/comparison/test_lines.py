"""Every line of a comparison, on runs simulated from exact laws: true, planted to be false, or too few."""

import math
from dataclasses import replace

import numpy as np
import pytest
from support.simulated_runs import (
    Simulated,
    at_mass,
    collapsed,
    controlled,
    kl_control,
    lines,
    rehearsed,
    row,
    shared_text,
    shifted,
)

from dph_theory import FORWARD_KL, JENSEN_SHANNON, kappa
from dph_theory.laws import normalised_validity_at
from full_scale.comparison import verdicts as rule
from full_scale.comparison.instrument_checks import base_rate_shift, guarantee
from full_scale.comparison.measurements import MeasuredRun, PairedSet, least_cost, read_runs
from full_scale.evaluation.record import Evaluation, ModelHash, RehearsedRow
from full_scale.training.record import TrainingRecord

YES, NO, FEW = "consistent", "inconsistent", "not enough samples"


def repeated(results):
    """A planted violation: the second half of the samples is one sample again and again."""
    for found in results["sets"].values():
        for prompt in found["prompts"]:
            half = len(prompt["correct"]) // 2
            prompt["correct"][half:] = [prompt["correct"][half]] * half


def likelier(results):
    """A planted violation: buffer rows that look likelier under the policy than its samples are."""
    for entry in results["rehearsed"]["rows"]:
        entry["log_pi"] += 0.5


def summed(error=0.0):
    """Token sums of the buffer's rows, those of the forward KL off by the error."""

    def change(results):
        rng = np.random.default_rng(3)
        for entry in results["rehearsed"]["rows"]:
            x = rng.normal(size=5) / 3
            x += (entry["log_pi"] - entry["log_ref"] - x.sum()) / 5
            other = float(JENSEN_SHANNON.on_log_ratio(x).value.sum())
            entry["token_sums"] = {"forward_kl": float(-x.sum()) + error, "jensen_shannon": other}

    return change


def right_but_collapsed(rng):
    """The validity of the law, and all of it on one answer."""
    laws = kl_control(rng, 200, 0.5)
    rate = (laws.policy * laws.valid).sum(axis=1, keepdims=True)
    best = np.where(laws.valid, laws.base, 0).argmax(axis=1)
    laws.policy = rate * np.eye(laws.base.shape[1])[best] + np.where(laws.valid, 0, laws.policy)
    return Simulated(laws, where=("explored",), method={"name": "KL-control-sequence", "beta": 0.5})


def aimed(off):
    """KL control whose record tells a target validity that far from the one reached."""

    def make(rng):
        laws = kl_control(rng, 200, 0.5)
        rates = (laws.base * laws.valid).sum(axis=1)
        reached = float((laws.policy * laws.valid).sum(axis=1).mean())
        training = {"base_rates": {f"p{i}": float(rate) for i, rate in enumerate(rates)}}
        training["explored"] = list(training["base_rates"])
        method = {"name": "KL-control-sequence", "mu": reached + off}
        return Simulated(laws, where=("explored",), method=method, training=training)

    return make


def of_shared_texts(told=0.3):
    """Prompts of one text are one prompt whose verifier is the mean verdict (E5)."""
    method = {"name": "KL-control-sequence", "beta": told}
    return lambda rng: Simulated(shared_text(rng, 40, 0.3), where=("explored",), method=method)


def normalised(told):
    """Plain k3 under group normalisation: the forward dial of E4, prompt by prompt."""

    def make(rng):
        laws = kl_control(rng, 300, 0.5, concentration=5.0)
        rate = (laws.base * laws.valid).sum(axis=1)
        laws.policy = at_mass(laws, normalised_validity_at(rate, 0.5, 8, "std", FORWARD_KL))
        return Simulated(laws, where=("explored",), method={"name": "GRPO-KL", "beta": told})

    return make


JUDGED = {
    "on the frontier": (controlled(), "excess KL", None, YES),
    "log-probabilities that are off": (controlled(), "excess KL", shifted(0.4), NO),
    "few prompts on the frontier": (controlled(4), "excess KL", None, FEW),
    "one prompt far below": (controlled(40, beta=0.2), "KL, worst prompt", shifted(2.0), NO),
    "independent samples": (controlled(), "Pass@8 from rates", None, YES),
    "repeated samples": (controlled(), "Pass@8 from rates", repeated, NO),
    "k that fits the samples": (controlled(samples=8), "Pass@2 from rates", None, YES),
    "m times the filtered model, m = .3": (rehearsed(0.3), "guarantee", None, YES),
    "m times the filtered model, m = .97": (rehearsed(0.97), "guarantee", None, YES),
    "rows that look likelier": (rehearsed(0.5), "guarantee", likelier, NO),
    "token sums": (rehearsed(0.9, prompts=30), "token sum", summed(), YES),
    "token sums that are off": (rehearsed(0.9, prompts=30), "token sum", summed(0.01), NO),
    # TRL's own advantage at eight answers a prompt weighs 7/8: the law is that of 8/7 beta (E4).
    "TRL's own KL control": (controlled(method="KL-control", told=7 / 16), "log odds gain", None, YES),
    "KL control": (controlled(), "log odds gain", None, YES),
    "another beta": (controlled(told=0.4), "log odds gain", None, NO),
    "at its law": (controlled(), "KL to the law", None, YES),
    "right validity, one answer": (right_but_collapsed, "log odds gain", None, YES),
    "one answer is not the law": (right_but_collapsed, "KL to the law", None, NO),
    "a target reached": (aimed(0.0), "target validity", None, YES),
    "a target missed": (aimed(-0.15), "target validity", None, NO),
    "the mean verdict's law": (of_shared_texts(), "log odds gain", None, YES),
    "at the mean verdict's law": (of_shared_texts(), "KL to the law", None, YES),
    "another beta of shared texts": (of_shared_texts(1.0), "log odds gain", None, NO),
    "the forward dial": (normalised(0.5), "validity", None, YES),
    "another forward dial": (normalised(3.0), "validity", None, NO),
    # The gauge decides the rehearsed mass (B3).
    "DPH-F raises": (rehearsed(0.97), "rehearsed mass", None, YES),
    "DPH-F does not lower": (rehearsed(0.2), "rehearsed mass", None, NO),
    "the base's mass": (rehearsed(None, gauge="normalised"), "rehearsed mass", None, YES),
    "not the base's mass": (rehearsed(0.97, gauge="normalised"), "rehearsed mass", None, NO),
    "DPH-JS keeps": (rehearsed(None, "DPH-JS"), "rehearsed mass", None, YES),
    "DPH-JS does not raise": (rehearsed(0.97, "DPH-JS"), "rehearsed mass", None, NO),
    "DPH-alpha does not raise": (rehearsed(0.97, "DPH-alpha"), "rehearsed mass", None, NO),
}


@pytest.mark.parametrize("case", JUDGED)
def test_what_is_true_is_consistent_and_what_is_not_is_found(tmp_path, case):
    make, name, change, verdict = JUDGED[case]
    assert row(make, tmp_path, name, change=change or (lambda run: None)).verdict == verdict


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (controlled(40, beta=0.2), "KL, worst prompt"),
        (rehearsed(0.5, prompts=4), "rehearsed mass"),
        (controlled(4), "log odds gain"),
    ],
)
def test_few_samples_accuse_nobody(tmp_path, make, name):
    assert row(make, tmp_path, name).verdict != NO


def test_collapse_lies_far_above_the_frontier_and_what_is_on_it_near_zero(tmp_path):
    found = row(lambda rng: Simulated(collapsed(rng, 200)), tmp_path, "excess KL")
    assert found.verdict == YES
    assert found.estimate > 2 * found.margin
    assert abs(row(controlled(), tmp_path, "excess KL").estimate) < 0.05


def test_never_solved_prompts_are_told(tmp_path):
    assert "no base sample solved" in row(controlled(400, samples=4), tmp_path, "excess KL").detail


def test_the_worst_of_many_prompts_gets_intervals_for_as_many(tmp_path):
    rng = np.random.default_rng([0, 7])
    (run,) = read_runs([controlled(100, beta=0.2)(rng).write(rng, tmp_path)])
    (found,) = [each for each in lines(run) if each.name == "KL, worst prompt"]
    assert found.prediction in least_cost(run.sets["explored"], rule.LEVEL / 100)
    assert found.prediction not in least_cost(run.sets["explored"], rule.LEVEL)


def logged(excess, error=0.02):
    """A run whose collapse meter logged these."""
    log = [
        {"step": step, "collapse/excess_kl": e, "collapse/excess_kl_se": error}
        for step, e in enumerate(excess)
    ]

    def make(rng):
        laws = kl_control(rng, 60, 0.5, concentration=5.0)
        rates = (laws.base * laws.valid).sum(axis=1)
        training = {"log": log, "base_rates": {f"p{i}": float(rate) for i, rate in enumerate(rates)}}
        train = {"generation_batch_size": 256, "num_generations": 8}
        return Simulated(laws, where=("explored",), method={"name": "GRPO"}, training=training, train=train)

    return make


@pytest.mark.parametrize(
    ("excess", "error", "verdict", "told"),
    [
        ([0.0, 0.1, 0.3], 0.02, YES, "from 0 to 0.3 in 3 logs"),
        ([0.0, -1.5, 0.3], 0.02, NO, "step 1"),
        # What the meter's base rates may be off by is allowed for.
        ([0.0, -0.05], 0.001, YES, "step 1"),
    ],
)
def test_the_meter_along_training(tmp_path, excess, error, verdict, told):
    found = row(logged(excess, error), tmp_path, "excess KL, worst step")
    assert (found.verdict, found.units, found.set) == (verdict, 32, "training")
    assert told in found.detail


def test_what_was_not_logged_or_summed_has_no_line(tmp_path):
    rng = np.random.default_rng(0)
    for make in (controlled(5), rehearsed(0.9, prompts=5)):
        (run,) = read_runs([make(rng).write(rng, tmp_path)])
        assert not {"excess KL, worst step", "token sum"}.intersection(line.name for line in lines(run))


def test_what_the_meters_base_rates_may_be_off_by():
    """Two prompts off in opposite directions: hardly a mean, but a margin."""
    correct, zeros = np.array([[1, 1, 0, 0]] * 2, dtype=bool), np.zeros((2, 4))
    here = PairedSet(("0", "1"), correct, zeros, zeros, np.arange(16) < np.array([[4], [12]]))
    used = {"0": 3 / 8, "1": 7 / 8}
    known = {"run": "run", "method": "GRPO", "log": (), "rehearsed": (), "explored": (), "findings": ()}
    known |= {"arguments": {}}
    training = TrainingRecord(config={"presample": {"k": 8}}, base_rates=used, steps=0, seconds=None, **known)
    run = MeasuredRun("run", training, Evaluation("run", ModelHash("0"), {}), {"explored": here})
    rates = (8 * np.array([*used.values()]) + 0.5) / 9
    shift = rule.mean(kappa(here.rate, rates) - kappa(here.rate, here.smoothed_base_rate))
    assert base_rate_shift(run) == abs(shift.value) + shift.margin() > 3 * abs(shift.value) > 0
    assert base_rate_shift(replace(run, training=replace(training, base_rates={"0": 0.5}))) == np.inf


def test_without_the_base_rate_the_guarantee_would_be_broken(tmp_path):
    """The neighbour: E[log a/pi] alone is KL(p_* || pi) + log A1, too small."""
    found = row(rehearsed(0.5), tmp_path, "guarantee")
    rng = np.random.default_rng([0, 7])
    (run,) = read_runs([rehearsed(0.5)(rng).write(rng, tmp_path)])
    plain = np.mean([entry.log_ref - entry.log_pi for entry in run.evaluation.rehearsed.rows])
    # At m times the filtered model it is an equality.
    assert found.prediction == pytest.approx(0.5, abs=0.03)
    assert found.estimate == pytest.approx(0.5, abs=0.02)
    assert found.estimate < math.exp(-plain) - found.margin


def test_a_divergence_that_comes_out_below_zero_counts_as_none():
    """A KL is not negative; samples of it are, and then the guarantee is 1."""
    ones = np.ones((3, 4))
    here = PairedSet(("a", "b", "c"), ones.astype(bool), -ones, -ones, ones.astype(bool))
    (claim,) = guarantee(here, [RehearsedRow(name, log_ref=-2.0, log_pi=-1.5) for name in here.ids])
    assert claim.prediction == 1.0


def test_other_divergences_stand_beside_the_token_sum(tmp_path):
    assert "jensen_shannon" in row(rehearsed(0.9, prompts=30), tmp_path, "token sum", change=summed()).detail


def test_the_log_odds_ratio_needs_no_many_samples(tmp_path):
    """Two samples a prompt, as many of which never or always pass."""
    found = row(controlled(2000, samples=2), tmp_path, "log odds gain")
    assert found.prediction == pytest.approx(2)
    assert found.estimate == pytest.approx(2, abs=found.margin)
    assert found.margin < 0.5


def test_nothing_solved_gives_no_finite_gain(tmp_path):
    def never(results):
        for prompt in results["sets"]["explored"]["prompts"]:
            prompt["correct"] = [0] * len(prompt["correct"])

    found = row(controlled(), tmp_path, "log odds gain", change=never)
    assert (found.verdict, found.estimate) == (FEW, -np.inf)


def test_texts_are_the_units(tmp_path):
    assert row(of_shared_texts(), tmp_path, "log odds gain").units == 40
