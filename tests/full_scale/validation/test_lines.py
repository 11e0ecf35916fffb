"""Every line of a comparison, on runs simulated from exact laws: true, planted to be false, or too few."""

import math
from dataclasses import replace

import numpy as np
import pytest
from support.simulated_runs import (
    Simulated,
    at_mass,
    controlled,
    kl_control,
    measured,
    rehearsed,
    shared_text,
    shifted,
    told,
)

from dph_theory import FORWARD_KL, JENSEN_SHANNON, kappa
from dph_theory.intervals import THREE_SIGMA, mean_estimate
from dph_theory.stationary import normalised_pass_rate_at
from full_scale.evaluation.evaluated_run import Evaluation, ModelHash, RehearsedRow
from full_scale.training.trained_run import TrainingRecord
from full_scale.validation.measurements import MeasuredRun, PairedSet, least_cost
from full_scale.validation.sanity_checks import base_rate_shift, guarantee
from full_scale.validation.verdicts import Judgement


def repeated(results):
    """A planted violation: the second half of the samples is one sample again and again."""
    for found in results["sets"].values():
        for prompt in found["prompts"]:
            half = len(prompt["correct"]) // 2
            prompt["correct"][half:] = [prompt["correct"][half]] * half


def likelier(results):
    """A planted violation: buffer rows that look likelier under the policy than its samples are."""
    for entry in results["rehearsed"]:
        entry["log_pi"] += 0.5


def summed(error=0.0):
    """Token sums of the buffer's rows, those of the forward KL off by the error."""

    def change(results):
        rng = np.random.default_rng(3)
        for entry in results["rehearsed"]:
            x = rng.normal(size=5) / 3
            x += (entry["log_pi"] - entry["log_ref"] - x.sum()) / 5
            other = float(JENSEN_SHANNON.on_log_ratio(x).value.sum())
            entry["token_sums"] = {"forward_kl": float(-x.sum()) + error, "jensen_shannon": other}

    return change


def right_but_collapsed(rng):
    """The pass rate of the law, and all of it on one answer."""
    laws = kl_control(rng, 200, 0.5)
    rate = (laws.policy * laws.valid).sum(axis=1, keepdims=True)
    best = np.where(laws.valid, laws.base, 0).argmax(axis=1)
    laws.policy = rate * np.eye(laws.base.shape[1])[best] + np.where(laws.valid, 0, laws.policy)
    return Simulated(laws, where=("explored",), method={"name": "KL-control-sequence", "beta": 0.5})


def aimed(off):
    """KL control whose record has a target pass rate that far from the one reached."""

    def make(rng):
        laws = kl_control(rng, 200, 0.5)
        rates = (laws.base * laws.valid).sum(axis=1)
        reached = float((laws.policy * laws.valid).sum(axis=1).mean())
        training = {"base_rates": {f"p{i}": float(rate) for i, rate in enumerate(rates)}}
        training["explored"] = list(training["base_rates"])
        method = {"name": "KL-control-sequence", "mu": reached + off}
        return Simulated(laws, where=("explored",), method=method, training=training)

    return make


def anchored(mass):
    """What it rehearses are answers of the base, correct or not."""
    return lambda rng: replace(rehearsed(mass)(rng), presample={"anchors": 2})


def of_shared_texts(beta=0.3):
    """Prompts of one text are one prompt whose verifier is the mean verdict."""
    method = {"name": "KL-control-sequence", "beta": beta}
    return lambda rng: Simulated(shared_text(rng, 40, 0.3), where=("explored",), method=method)


def normalised(beta):
    """Plain k3 under group normalisation: its stationary pass rate, prompt by prompt."""

    def make(rng):
        laws = kl_control(rng, 100, 0.5, concentration=5.0)
        rate = (laws.base * laws.valid).sum(axis=1)
        laws.policy = at_mass(laws, normalised_pass_rate_at(rate, 0.5, 8, "std", FORWARD_KL))
        return Simulated(laws, where=("explored",), method={"name": "GRPO-KL", "beta": beta})

    return make


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


LINES = (
    "excess KL",
    "KL, worst prompt",
    "Pass@8 from rates",
    "log odds gain",
    "KL to the stationary policy",
    "pass_rate",
    "target pass rate",
    "guarantee",
    "rehearsed mass",
    "token sum",
    "excess KL, worst step",
)
"""Of each run below: consistent (=), inconsistent (!), not enough samples (?), or no such line (a point)."""
JUDGED = {
    "KL control at its law": (controlled(), None, "= = = = = . . . . . ."),
    "log-probabilities that are off": (controlled(), shifted(0.4), "! = = = ! . . . . . ."),
    "few prompts": (controlled(4), None, "? . = ? ? . . . . . ."),
    "few prompts that surely moved": (controlled(40, beta=0.2), None, "= = = ? ? . . . . . ."),
    "one prompt far below": (controlled(40, beta=0.2), shifted(2.0), "! ! = ? ! . . . . . ."),
    "repeated samples": (controlled(), repeated, "! = ! = ? . . . . . ."),
    # TRL's own advantage at eight answers a prompt weighs 7/8: the law is that of 8/7 beta.
    "TRL's own KL control": (controlled(method="KL-control", told=7 / 16), None, "= = = = . . . . . . ."),
    "another beta": (controlled(told=0.4), None, "= = = ! = . . . . . ."),
    "right pass rate, one answer": (right_but_collapsed, None, "= . = = ! . . . . . ."),
    "a target reached": (aimed(0.0), None, "= = = = = . = . . . ."),
    "a target missed": (aimed(-0.15), None, "= = = ! ! . ! . . . ."),
    "the mean verdict's law": (of_shared_texts(), None, "= . = = = . . . . . ."),
    "another beta of shared texts": (of_shared_texts(1.0), None, "= . = ! ! . . . . . ."),
    "the forward dial": (normalised(0.5), None, "= = = . . = . . . . ."),
    "another forward dial": (normalised(3.0), None, "= = = . . ! . . . . ."),
    # m times the filtered model is an equality in the guarantee. The gauge decides the rehearsed mass.
    "DPH-F raises": (rehearsed(0.97), None, "= ? = . . . . = = . ."),
    "DPH-F does not lower": (rehearsed(0.2), None, "= . = . . . . = ! . ."),
    "few rehearsed": (rehearsed(0.5, prompts=4), None, "? . = . . . . ? ? . ."),
    "rows that look likelier": (rehearsed(0.5), likelier, "= . = . . . . ! = . ."),
    "the base's mass": (rehearsed(None, gauge="normalised"), None, "= . = . . . . = = . ."),
    "not the base's mass": (rehearsed(0.97, gauge="normalised"), None, "= ? = . . . . = ! . ."),
    "DPH-JS keeps": (rehearsed(None, "DPH-JS"), None, "= . = . . . . = = . ."),
    "DPH-JS does not raise": (rehearsed(0.97, "DPH-JS"), None, "= ? = . . . . = ! . ."),
    "DPH-alpha does not raise": (rehearsed(0.97, "DPH-alpha"), None, "= ? = . . . . = ! . ."),
    "anchors stay": (anchored(None), None, "= . = . . . . . = . ."),
    "anchors do not rise": (anchored(0.97), None, "= ? = . . . . . ! . ."),
    "token sums": (rehearsed(0.9, prompts=30), summed(), "? = = . . . . ? = = ."),
    "token sums that are off": (rehearsed(0.9, prompts=30), summed(0.01), "? = = . . . . ? = ! ."),
    "the meter": (logged([0.0, 0.1, 0.3]), None, "= . = . . . . . . . ="),
    "the meter below zero": (logged([0.0, -1.5, 0.3]), None, "= . = . . . . . . . !"),
    # What the meter's base rates may be off by is allowed for.
    "a base rate that is off": (logged([0.0, -0.05], 0.001), None, "= . = . . . . . . . ="),
}


@pytest.mark.parametrize("case", JUDGED)
def test_what_is_true_is_consistent_and_what_is_not_is_found(tmp_path, case):
    make, change, verdicts = JUDGED[case]
    found = told(make, tmp_path, change)
    signs = {
        Judgement.CONSISTENT: "=",
        Judgement.INCONSISTENT: "!",
        Judgement.UNDECIDED: "?",
        Judgement.CONDITION: "c",
    }
    assert found.keys() <= set(LINES)
    shown = [signs[found[name].verdict] if name in found else "." for name in LINES]
    assert " ".join(shown) == verdicts


@pytest.mark.parametrize(
    ("make", "change", "name", "units", "detail"),
    [
        (controlled(40, samples=8), None, "Pass@2 from rates", 40, ""),
        (controlled(400, samples=4), None, "excess KL", 400, "prompts that no base sample solved"),
        # Prompts of one text are one unit.
        (of_shared_texts(), None, "log odds gain", 40, "1/beta = 3.33"),
        (rehearsed(0.9, prompts=5), summed(), "token sum", 40, "jensen_shannon"),
        (logged([0.0, 0.1, 0.3]), None, "excess KL, worst step", 32, "from 0 to 0.3 in 3 logs"),
        (logged([0.0, -1.5, 0.3]), None, "excess KL, worst step", 32, "step 1"),
    ],
)
def test_what_a_line_counts_and_says(tmp_path, make, change, name, units, detail):
    found = told(make, tmp_path, change)[name]
    assert found.units == units
    assert detail in found.detail


def test_the_worst_of_many_prompts_gets_intervals_for_as_many(tmp_path):
    run = measured(controlled(100, beta=0.2), tmp_path)
    found = told(controlled(100, beta=0.2), tmp_path)["KL, worst prompt"]
    assert found.prediction in least_cost(run.sets["explored"], THREE_SIGMA / 100)
    assert found.prediction not in least_cost(run.sets["explored"], THREE_SIGMA)


def test_what_the_meters_base_rates_may_be_off_by():
    """Two prompts off in opposite directions: hardly a mean, but a margin."""
    correct, zeros = np.array([[1, 1, 0, 0]] * 2, dtype=bool), np.zeros((2, 4))
    here = PairedSet(("0", "1"), correct, zeros, zeros, np.arange(16) < np.array([[4], [12]]))
    used = {"0": 3 / 8, "1": 7 / 8}
    known = {"run": "run", "method": "GRPO", "log": (), "rehearsed": (), "explored": (), "findings": ()}
    known |= {"arguments": {}, "initial_hash": "0", "trained_hash": "1"}
    training = TrainingRecord(config={"presample": {"k": 8}}, base_rates=used, steps=0, seconds=None, **known)
    run = MeasuredRun(
        "run", training, Evaluation("run", ModelHash("0"), {}, ModelHash("0")), {"explored": here}
    )
    rates = (8 * np.array([*used.values()]) + 0.5) / 9
    shift = mean_estimate(kappa(here.rate, rates) - kappa(here.rate, here.smoothed_base_rate))
    assert base_rate_shift(run) == abs(shift.value) + shift.margin() > 3 * abs(shift.value) > 0
    assert base_rate_shift(replace(run, training=replace(training, base_rates={"0": 0.5}))) == np.inf


def test_without_the_base_rate_the_guarantee_would_be_broken(tmp_path):
    """The neighbour: E[log a/pi] alone is KL(p_* || pi) + log A1, too small."""
    found = told(rehearsed(0.5), tmp_path)["guarantee"]
    run = measured(rehearsed(0.5), tmp_path)
    plain = np.mean([entry.log_ref - entry.log_pi for entry in run.evaluation.rehearsed])
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
