"""Forecasts from the base's kernel and prompts held at the base, on a small Llama with random weights."""

from dataclasses import replace

import numpy as np
import pytest
from support.tiny_training import TRL_WARNS

from full_scale.experiments.pretrained.kernels import anchors_of, forecast, kernel_of, linear_method
from full_scale.experiments.pretrained.open_prompts import TASKS
from full_scale.experiments.pretrained.runs import (
    ALONE,
    BY_KERNEL,
    EXPLORED,
    HELD_OUT,
    RANDOM,
    OpenRun,
    pass_at,
)
from full_scale.experiments.pretrained.training import train_on_samples
from full_scale.experiments.pretrained.transfer import KS, ForecastComparison, comparisons, forecast_errors
from full_scale.tasks.llama import random_llama, word_level

PLAIN = OpenRun("anchors", (EXPLORED,), "GRPO", seed=0, steps=4, learning_rate=3e-3)
ANCHORED = replace(PLAIN, coefficient=20.0, anchors=4, picked=RANDOM)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    texts = [
        text for name in (EXPLORED, EXPLORED + HELD_OUT) for text in (*TASKS[name].texts, *TASKS[name].words)
    ]
    words = sorted({word for text in texts for word in text.split()})
    tokenizer = word_level(["<end>", *words], "<end>", pad_token="<end>", eos_token="<end>")
    random_llama(0, vocabulary=len(words) + 1, hidden=32, layers=1, heads=2, end=0).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return str(path)


@pytest.fixture(scope="module")
def stored_kernels(tmp_path_factory):
    return tmp_path_factory.mktemp("kernels")


def moved(outcome, texts):
    """How far the pass rates of held-out texts are from the base's, a mean in log odds."""
    start, end = (
        np.array(point.tasks[EXPLORED + HELD_OUT].pass_rate)[[*texts]]
        for point in (outcome.course[0], outcome.course[-1])
    )
    return float(np.abs(np.log(end / (1 - end)) - np.log(start / (1 - start))).mean())


def test_prompts_held_at_the_base_stay_there_and_others_are_trained(folder, stored_kernels):
    anchors = forecast(folder, ANCHORED, stored_kernels).anchors
    assert len(set(anchors)) == 4
    free, held = train_on_samples(folder, PLAIN), train_on_samples(folder, ANCHORED, anchors=anchors)
    assert moved(held, anchors) < 0.3 * moved(free, anchors)
    stored = train_on_samples(folder, replace(ANCHORED, answers=256), anchors=anchors)
    assert moved(stored, anchors) < 0.6 * moved(free, anchors)


def test_a_forecast_is_of_the_prompts_that_are_not_held_and_is_compared_on_these(folder, stored_kernels):
    made = forecast(folder, ANCHORED, stored_kernels)
    outcome = train_on_samples(folder, ANCHORED, anchors=made.anchors)
    (row,) = comparisons([outcome], {ANCHORED.id: made}, {})
    task = EXPLORED + HELD_OUT
    expected = [pass_at(outcome.course[-1].tasks, [task], k, without=made.anchors) for k in KS]
    assert row.measured == pytest.approx(expected)
    assert (row.setting, row.seeds) == (ANCHORED.setting, 1)
    assert len(made.held_out) == len(KS)


@pytest.mark.parametrize("picked", [RANDOM, BY_KERNEL, ALONE])
def test_anchors_are_picked_among_the_held_out_prompts_the_same_each_time(folder, stored_kernels, picked):
    run = replace(ANCHORED, picked=picked)
    kernel = kernel_of(folder, run, stored_kernels)
    candidates = kernel.prompts_in(EXPLORED + HELD_OUT)
    anchors = anchors_of(run, kernel, candidates)
    assert set(anchors) <= set(candidates)
    assert anchors.tolist() == anchors_of(run, kernel, candidates).tolist()
    (hold,) = linear_method(run, kernel, kernel.prompts_in(EXPLORED), anchors).holds
    assert (hold.prompts, hold.correct_only, hold.strength) == (tuple(anchors.tolist()), False, 20.0)
    if picked != RANDOM:
        other = anchors_of(
            replace(run, picked=ALONE if picked == BY_KERNEL else BY_KERNEL), kernel, candidates
        )
        assert not set(anchors) & set(other)


def test_another_way_to_pick_is_refused(folder, stored_kernels):
    run = replace(ANCHORED, picked="by name")
    with pytest.raises(ValueError, match="picked='by name' is not allowed: one of at random, by kernel"):
        anchors_of(run, kernel_of(folder, ANCHORED, stored_kernels), np.arange(24, 48))


@pytest.mark.filterwarnings(TRL_WARNS)
def test_after_an_adapter_all_weights_are_trained_again(folder):
    low = replace(PLAIN, rank=2, learning_rate=1e-2)
    first, second = train_on_samples(folder, low), train_on_samples(folder, low)
    assert first.course[-1] == second.course[-1]
    assert moved(train_on_samples(folder, PLAIN), range(24)) > 0


def compared(measured, forecast, of_adam=(), **changes):
    """A setting's comparison whose base is .25, .5, 1."""
    nothing = (0.0, 0.0, 0.0)
    return ForecastComparison(
        setting=replace(PLAIN, **changes).setting, seeds=4, base=(0.25, 0.5, 1.0), measured=measured,
        forecast=forecast, adam_forecast=of_adam, measured_spread=(0.2, 0.2, 0.2),
        trained_forecast=nothing, trained_measured=nothing,
    )  # fmt: skip


def test_errors_are_root_mean_squares_over_settings_of_one_model_task_and_rate():
    one = compared((0.25, 0.5, 0.9), (0.25, 0.5, 0.5), (0.25, 0.5, 0.8))
    two = compared((0.25, 0.5, 0.7), (0.25, 0.5, 0.4), (0.25, 0.5, 0.8), coefficient=3.0)
    other = compared((0.25, 0.5, 0.9), (0.25, 0.5, 0.5), learning_rate=1e-6)
    both, slow = forecast_errors([one, two, other])
    assert (both["settings"], slow["settings"], slow["learning_rate"]) == (2, 1, 1e-6)
    last = {name: errors[2] for name, errors in both["errors"].items()}
    assert last == pytest.approx(
        {
            "kernel": np.sqrt((0.4**2 + 0.3**2) / 2), "kernel of Adam's steps": 0.1,
            "no change": np.sqrt((0.1**2 + 0.3**2) / 2), "one answer": np.sqrt((0.65**2 + 0.45**2) / 2),
            "noise of seeds": 0.1,
        }
    )  # fmt: skip
    assert "kernel of Adam's steps" not in slow["errors"]
