from collections import Counter
from functools import partial

import numpy as np
import pytest
import torch
from support.small_tasks import uniform_task
from support.tiny_training import TRL_WARNS

from dph_theory.stationary import answer_probabilities, filtered_policy
from full_scale.experiments.enumerable_tasks.base import LlamaFit, build_base
from full_scale.experiments.enumerable_tasks.tasks import enumerable_task
from full_scale.experiments.small_llama import training
from full_scale.experiments.small_llama.runs import ANNEALED, LlamaRun
from full_scale.experiments.small_llama.training import STORED, stored_answers, tables_of, train
from full_scale.training.online import OnlineTrainer

pytestmark = pytest.mark.filterwarnings(TRL_WARNS)
FIT = LlamaFit(hidden=16, steps=60)
QUICK = {"group_size": 8, "steps": 2}
TASK = enumerable_task("selection-2")


@pytest.fixture(autouse=True)
def small_bases(monkeypatch):
    monkeypatch.setattr(training, "build_base", partial(build_base, fit=FIT))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("bases")


def test_stored_answers_are_in_the_filtered_models_proportions():
    task = uniform_task()
    rows = stored_answers(task, list(task.base)).rows()
    assert Counter(row.example_id for row in rows) == {"0": STORED // 2, "1": STORED // 2}
    wanted = answer_probabilities(filtered_policy(task.base, task.valid, end=task.end), task.end)[0]
    counts = Counter(tuple(row.completion_ids) for row in rows if row.example_id == "0")
    for answer in ((0, 0), (0, 1), (0, 2)):
        assert abs(counts[answer] - wanted[answer] * STORED / 2) <= 1
    assert np.exp(sum(rows[0].ref_logps)) == pytest.approx(1 / 9)


def test_an_annealed_coefficient_falls_geometrically_by_the_middle_of_the_training():
    run = LlamaRun("budget_and_family", "wide", "sequence_kl", 0.1, beta_from=1.0, steps=100)
    found = [run.beta_at(step) for step in (0, 25, 50, 99)]
    assert found == pytest.approx([1.0, 10**-0.5, 0.1, 0.1])


@pytest.mark.slow
@pytest.mark.parametrize("form", ANNEALED)
def test_the_trainer_weighs_its_penalty_by_the_annealed_coefficient(form, folder):
    seen = []

    class Noting(OnlineTrainer):
        def _coefficient(self, *samples):
            seen.append(super()._coefficient(*samples))
            return seen[-1]

        def _compute_loss(self, *given):
            # TRL's own term has a beta of the trainer's.
            seen.extend([self.beta] * (form != "sequence_kl"))
            return super()._compute_loss(*given)

    train(
        LlamaRun("x", TASK.name, form, 0.1, beta_from=1.0, group_size=8, steps=4), TASK, folder, kind=Noting
    )
    assert seen == pytest.approx([1.0, 10**-0.5, 0.1, 0.1])


@pytest.mark.slow
@pytest.mark.parametrize(
    "fields",
    [
        {"form": "none"},
        {"form": "k3", "beta": 0.2, "scale": "group", "groups": 2, "rank": 1},
        {"form": "k2", "beta": 0.2},
        {"form": "sequence_kl", "beta": 0.2, "optimiser": "sgd"},
        {"form": "future_kl", "beta": 0.2},
        {"form": "alpha_dpg", "alpha": 0.5},
        {"form": "rehearsal", "beta": 1.0, "rehearsed": "js"},
        {"form": "rehearsal", "beta": 1.0, "rehearsed": "alpha", "dapo": True, "scale": "group"},
    ],
    ids=lambda fields: fields["form"],
)
def test_every_form_trains_and_is_measured_from_the_start(fields, folder):
    course = train(LlamaRun("try", TASK.name, **QUICK, **fields, every=1), TASK, folder)
    assert [step for step, _ in course] == [0, 1, 2]
    assert abs(course[0][1][0] - course[-1][1][0]).max() > 1e-7
    assert all(np.isfinite(table).all() for table in course[-1][1])
    base = tables_of(TASK, build_base(TASK, folder, FIT))
    assert abs(course[0][1][0] - base[0]).max() < 1e-6
    assert torch.get_num_threads() == 1


@pytest.mark.slow
@pytest.mark.parametrize("form", ["none", "k2", "k3", "k3_corrected", "future_kl", "sequence_kl"])
def test_a_baseline_is_subtracted_whatever_the_form(form, folder):
    """Right answers are left the penalty alone, which is 0 at the first batch, drawn from the base."""
    seen = []

    class Noting(OnlineTrainer):
        def _generate_and_score_completions(self, inputs):
            samples = super()._generate_and_score_completions(inputs)
            seen.append((samples["advantages"], self.verdicts.last[1]))
            return samples

    beta = 0.0 if form == "none" else 0.2
    run = LlamaRun("x", TASK.name, form, beta, baseline="one", group_size=8, steps=1)
    train(run, TASK, folder, kind=Noting)
    ((advantages, verdicts),) = seen
    advantages = advantages if advantages.ndim == 1 else advantages[:, 0]
    assert advantages.tolist() == pytest.approx((verdicts - 1).tolist(), abs=1e-5)
