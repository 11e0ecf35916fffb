from functools import partial

import numpy as np
import pytest
import torch
from support.tiny_training import TRL_WARNS

from full_scale.evaluation.exact import next_token_tables
from full_scale.laws import training
from full_scale.laws.runs import Run
from full_scale.laws.training import train
from full_scale.tasks.glass_box.base import LlamaFit, build_base, pressed
from full_scale.tasks.glass_box.box import box

pytestmark = pytest.mark.filterwarnings(TRL_WARNS)
FIT = LlamaFit(hidden=16, steps=20)
QUICK = {"group_size": 8, "steps": 2}


@pytest.fixture(autouse=True)
def small_bases(monkeypatch):
    monkeypatch.setattr(training, "build_base", partial(build_base, fit=FIT))
    monkeypatch.setattr(training, "pressed", partial(pressed, fit=FIT))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("bases")


def test_an_annealed_coefficient_falls_geometrically_by_the_middle_of_the_training():
    run = Run("budget_and_family", "wide", "sequence_kl", 0.1, annealed_from=1.0, steps=100)
    found = [training.annealed(run, step) for step in (0, 25, 50, 99)]
    assert found == pytest.approx([1.0, 10**-0.5, 0.1, 0.1])


@pytest.mark.slow
def test_the_trainer_is_given_the_annealed_coefficient(folder, monkeypatch):
    seen = []
    coefficient = training.OnlineTrainer._coefficient
    monkeypatch.setattr(
        training.OnlineTrainer,
        "_coefficient",
        lambda self, *samples: seen.append(coefficient(self, *samples)) or seen[-1],
    )
    run = Run("x", "selection-2", "sequence_kl", 0.1, annealed_from=1.0, group_size=8, steps=4)
    train(run, box("selection-2"), folder)
    assert seen == pytest.approx([1.0, 10**-0.5, 0.1, 0.1])


@pytest.mark.slow
@pytest.mark.parametrize("form", ["k3", "k3_corrected"])
def test_the_beta_of_trls_own_term_falls_too(form, folder, monkeypatch):
    seen = []
    loss = training.OnlineTrainer._compute_loss
    monkeypatch.setattr(
        training.OnlineTrainer,
        "_compute_loss",
        lambda self, *given: seen.append(self.beta) or loss(self, *given),
    )
    run = Run("x", "selection-2", form, 0.1, annealed_from=1.0, group_size=8, steps=4)
    train(run, box("selection-2"), folder)
    assert seen == pytest.approx([1.0, 10**-0.5, 0.1, 0.1])


@pytest.mark.slow
@pytest.mark.parametrize(
    "fields",
    [
        {"form": "none"},
        {"form": "k3", "beta": 0.2, "scale": "group", "groups": 2, "rank": 1},
        {"form": "k2", "beta": 0.2},
        {"form": "sequence_kl", "beta": 0.2, "lost": 0.01, "optimiser": "sgd"},
        {"form": "future_kl", "beta": 0.2, "rounds": 2},
        {"form": "alpha_dpg", "alpha": 0.5},
        # The Jensen-Shannon generator is at its minimum in the base: only from elsewhere does it move.
        {"form": "rehearsal", "beta": 1.0, "rehearsed": "js", "reward": False, "lost": 0.01},
        {"form": "rehearsal", "beta": 1.0, "rehearsed": "alpha", "dapo": True, "scale": "group"},
    ],
    ids=lambda fields: fields["form"],
)
def test_every_form_trains_and_is_measured_from_the_start(fields, folder):
    task = box("selection-2")
    course = train(Run("try", task.name, **QUICK, **fields, every=1), task, folder)
    rounds = fields.get("rounds", 1)
    assert [measured.step for measured in course] == list(range(1 + 2 * rounds))
    assert not np.array_equal(course[0].tables[0], course[-1].tables[0])
    assert all(np.isfinite(table).all() for table in course[-1].tables)


@pytest.mark.slow
def test_the_reference_is_the_base_whatever_the_start(folder):
    task = box("selection-2")
    run = Run("try", task.name, "sequence_kl", 0.2, lost=0.01, **QUICK)
    course = train(run, task, folder)
    base = build_base(task, folder, FIT)
    from transformers import LlamaForCausalLM

    tables = next_token_tables(LlamaForCausalLM.from_pretrained(base), task)
    assert abs(course[0].tables[0] - tables[0]).max() > 0.1
    assert torch.get_num_threads() == 1


@pytest.mark.slow
@pytest.mark.parametrize("form", ["none", "k2", "k3", "k3_corrected", "future_kl", "sequence_kl"])
def test_a_baseline_is_subtracted_whatever_the_form(form, folder, monkeypatch):
    """Right answers are left the penalty alone, which is 0 at the first batch, drawn from the base."""
    seen = []
    for kind in (training.OnlineTrainer,):
        own = kind._generate_and_score_completions

        def noting(self, inputs, own=own):
            samples = own(self, inputs)
            seen.append((samples["advantages"], self.verdicts.last[1]))
            return samples

        monkeypatch.setattr(kind, "_generate_and_score_completions", noting)
    beta = 0.0 if form == "none" else 0.2
    run = Run("x", "selection-2", form, beta, baseline="one", group_size=8, steps=1)
    train(run, box("selection-2"), folder)
    advantages, verdicts = seen[-1]
    advantages = advantages if advantages.ndim == 1 else advantages[:, 0]
    assert advantages.tolist() == pytest.approx((verdicts - 1).tolist(), abs=1e-5)
