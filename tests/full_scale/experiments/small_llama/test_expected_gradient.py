from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest
import torch
from transformers import LlamaForCausalLM

from full_scale.experiments.enumerable_tasks.base import (
    LlamaFit,
    build_base,
    longest_prefixes,
    next_token_log_probs,
)
from full_scale.experiments.enumerable_tasks.tasks import enumerable_task
from full_scale.experiments.small_llama import expected_gradient, training
from full_scale.experiments.small_llama.expected_gradient import train_in_expectation
from full_scale.experiments.small_llama.finished_runs import FROZEN, TABULAR, expected_gradient_of
from full_scale.experiments.small_llama.runs import LlamaRun

FIT = LlamaFit(hidden=16, steps=60)
SGD = {"learning_rate": 0.01, "optimiser": "sgd", "constant": True}


@pytest.fixture(autouse=True)
def small_bases(monkeypatch):
    for module in (expected_gradient, training):
        monkeypatch.setattr(module, "build_base", partial(build_base, fit=FIT))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("bases")


def by_hand(run, folder):
    """SGD along the exact gradient of E v - beta KL of whole answers, by autograd alone."""
    task = enumerable_task(run.task)
    model = LlamaForCausalLM.from_pretrained(build_base(task, folder, FIT), attn_implementation="eager")
    rows = longest_prefixes(task.prompt_ids, task.vocabulary, task.length)

    def answers():
        first, second = next_token_log_probs(model, rows, 1, task.vocabulary, task.length)
        whole = (first[0][:, None] + second[0]).double()
        # The end symbol first: one answer, whatever the model says of what follows.
        short = first[0][task.end].double()
        return torch.cat([whole[: task.end].reshape(-1), short[None]])

    valid = torch.tensor([*task.valid[0][: task.end].ravel(), task.valid[0][task.end, task.end]]).double()
    base = answers().detach()
    descent = torch.optim.SGD(model.parameters(), run.learning_rate)
    for _ in range(run.steps):
        log_p = answers()
        objective = (log_p.exp() * (valid - run.beta * (log_p - base))).sum()
        descent.zero_grad()
        (-objective / task.length).backward()
        descent.step()
    return answers().exp().detach()


def test_the_expected_gradient_run_is_gradient_descent_on_the_exact_objective(folder):
    run = LlamaRun("x", "selection-2", "sequence_kl", 0.3, steps=5, **SGD)
    found = train_in_expectation(run, folder, spreads=False)
    p = by_hand(run, folder)
    task = enumerable_task(run.task)
    answers = np.array([*task.valid[0][: task.end].ravel(), False])
    assert found.exact.pass_rate[0] == pytest.approx(float(p[answers].sum()), rel=1e-5)
    assert found.exact.pass_rate[0] > 0.501
    assert found.deviations == {}


def test_three_accounts_of_noise_and_a_baseline_that_leaves_hardly_any(folder):
    run = LlamaRun("x", "one-word-30", "none", group_size=64, steps=5, **SGD)
    found = train_in_expectation(run, folder)
    assert set(found.rivals) == {FROZEN, TABULAR}
    # Along so short a path the kernel hardly moves.
    assert found.rivals[FROZEN] == pytest.approx(found.deviations["favourite_odds"], rel=0.01)
    assert found.rivals[TABULAR] == pytest.approx(found.deviations["favourite_odds"], rel=0.1)
    # Only wrong answers pushed drives right ones least apart.
    pushed = train_in_expectation(replace(run, baseline="one"), folder)
    assert pushed.deviations["favourite_odds"] < 0.1 * found.deviations["favourite_odds"]


@pytest.mark.parametrize(("scale", "rate"), [("none", 0.3), ("group", 0.2), ("group", 0.9)])
@pytest.mark.parametrize("size", [2, 5])
def test_advantages_have_the_moments_of_all_groups(size, scale, rate):
    run = LlamaRun("x", "one-word-30", "none", scale=scale, group_size=size)
    verdicts = torch.tensor([1.0, 0.0], dtype=torch.float64)
    mean, deviation = expected_gradient._advantage(run)(verdicts, torch.tensor([rate], dtype=torch.float64))
    others = np.array(list(product([0.0, 1.0], repeat=size - 1)))
    chances = np.prod(np.where(others, rate, 1 - rate), axis=1)
    for index, own in enumerate((1, 0)):
        groups = np.column_stack([np.full(len(others), own), others])
        spread = groups.std(axis=1, ddof=1) if scale == "group" else np.ones(len(groups))
        values = np.where(spread > 0, (own - groups.mean(axis=1)) / np.maximum(spread, 1e-9), 0.0)
        assert mean[index].item() == pytest.approx(chances @ values, abs=1e-12)
        square = chances @ values**2 - (chances @ values) ** 2
        # Without division the others' noise is that of the baseline, counted apart.
        assert deviation[index].item() == pytest.approx(np.sqrt(square) * (scale == "group"), abs=1e-7)


def test_runs_that_differ_by_seed_share_an_expected_gradient_and_some_have_none():
    run = LlamaRun("x", "selection-2", "k3", 0.2)
    assert expected_gradient_of(run) == expected_gradient_of(
        LlamaRun("y", "selection-2", "k3", 0.2, seed=4, every=10)
    )
    assert expected_gradient_of(replace(run, rank=1, seed=4)).seed == 4
    for fields in (
        {"form": "alpha_dpg", "beta": 0.0, "alpha": 1.0},
        {"sampler": "top-p .9"},
        {"form": "sequence_kl", "scale": "group"},
    ):
        assert expected_gradient_of(replace(run, **fields)) is None


@pytest.mark.slow
@pytest.mark.parametrize("form", ["k3", "k2", "future_kl"])
def test_expected_gradient_runs_end_at_their_own_policy(form, folder):
    run = LlamaRun("x", "selection-2", form, 0.5, steps=300, learning_rate=8e-3)
    found = train_in_expectation(run, folder, spreads=False)
    assert next(iter(found.kl)) == run.stationary_policy
    assert found.kl[run.stationary_policy] < min(
        1e-3, *(kl / 10 for name, kl in found.kl.items() if name != run.stationary_policy)
    )


def test_the_noise_of_the_mean_over_a_batch_s_tokens_is_carried(folder):
    run = LlamaRun("x", "selection-2", "k3", 0.5, steps=2, group_size=8, dapo=True, **SGD)
    found = train_in_expectation(run, folder)
    assert found.deviations["pass_rate"] > 0
    assert found.deviations["favourite_odds"] > 0


@pytest.mark.parametrize(
    ("fields", "share"),
    [
        ({"form": "none"}, 3 / 16),
        ({"form": "none", "baseline": "leave_one_out"}, 1 / 3),
        ({"form": "none", "baseline": "one"}, 0.0),
        ({"form": "sequence_kl", "beta": 0.5}, 1 / 3),
        ({"form": "sequence_kl", "beta": 0.5, "baseline": "one"}, 1 / 3),
    ],
    ids=lambda value: " ".join(map(str, value.values())) if isinstance(value, dict) else "",
)
def test_a_groups_own_baseline_is_as_noisy_as_what_it_averages(fields, share):
    task = enumerable_task("one-word-30")
    base = torch.cat([torch.from_numpy(np.log(table)).reshape(-1) for table in task.base])
    away = (base + torch.linspace(-0.5, 0.5, len(base), dtype=base.dtype)).log_softmax(dim=0)
    run = LlamaRun("x", task.name, group_size=4, **fields)
    found = expected_gradient._ExpectedUpdate(run, task, base)(away, 0)
    verdicts = torch.from_numpy(task.valid[0].astype(float))
    averaged = verdicts if fields.get("baseline") != "one" else torch.zeros_like(verdicts)
    if run.form == "sequence_kl":
        averaged = averaged - run.beta * (away - base)
    mean = (away.exp() * averaged).sum()
    wanted = share * (away.exp() * (averaged - mean).square()).sum()
    assert found.variance.numpy() == pytest.approx(np.full((1, len(base)), float(wanted)), rel=1e-9)
