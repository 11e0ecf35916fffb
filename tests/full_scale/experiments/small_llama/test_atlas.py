import json

import numpy as np
import pytest
import torch
from support.small_boxes import random_llama
from support.tiny_training import TRL_WARNS

from dph_theory.atlas.problems import LENGTHS, distance
from dph_theory.atlas.repairs import PUBLISHED_METHODS
from dph_theory.support.record import as_json, checked
from full_scale.experiments import kept
from full_scale.experiments.enumerable_tasks.base import save
from full_scale.experiments.enumerable_tasks.exact import next_token_tables
from full_scale.experiments.kept import Asked
from full_scale.experiments.small_llama import atlas, training, twin
from full_scale.experiments.small_llama.atlas import (
    BASE,
    PREDICTION,
    RUN,
    End,
    Trained,
    chosen,
    kept_in,
    store,
    table,
    told,
    trained_in,
)

pytestmark = pytest.mark.filterwarnings(TRL_WARNS)
FORESEEN, ENDED = End(0.9, (0.1, 0.1, 0.1, 0.7)), End(0.8, (0.2, 0.1, 0.1, 0.6))


def test_what_is_done_is_kept_and_a_method_is_told_once_all_its_runs_are_there(tmp_path):
    here = kept_in(tmp_path)
    here.keep(PREDICTION, "GRPO", FORESEEN)
    here.keep(RUN, "GRPO 0", ENDED)
    assert trained_in(kept_in(tmp_path), PUBLISHED_METHODS, 2) == []
    here.keep(RUN, "GRPO 1", ENDED)
    (found,) = trained_in(kept_in(tmp_path), PUBLISHED_METHODS, 2)
    assert found == Trained("GRPO", FORESEEN, (ENDED, ENDED))
    assert found.gaps == pytest.approx((0.1, 0.1))
    assert table([found]).rows == (("GRPO", 0.9, 0.8, 0.7, 0.6, pytest.approx(0.1)),)
    here.keep(BASE, BASE, End(0.3, (0.2, 0.1, 0.1, 0.6)))
    store(PUBLISHED_METHODS[:1], [found], here, 2, tmp_path / "atlas.json")
    stored = checked(json.loads((tmp_path / "atlas.json").read_text()), "atlas")
    assert stored["config"]["seeds"] == 2
    results = stored["results"]
    assert [row["method"] for row in results["rows"]] == ["GRPO"]
    assert [run["validity"] for run in results["trained"][0]["runs"]] == [0.8, 0.8]
    assert (results["trained"][0]["gaps"], results["base"]["shares"][-1]) == ([0.1, 0.1], 0.6)


def test_the_command_predicts_before_it_trains_and_trains_nothing_twice(tmp_path, monkeypatch):
    done = []

    def conducted(*job):
        done.append(job[:2])
        return as_json(ENDED)

    monkeypatch.setattr(kept, "run_jobs", lambda of, jobs, **options: ((job, of(job)) for job in jobs))
    monkeypatch.setattr(atlas, "_conducted", conducted)
    for _ in range(2):
        asked = Asked(tmp_path, seeds=2, json_path=tmp_path / "atlas.json")
        assert [row[0] for row in told(asked, ("GRPO",)).tables[0].rows] == ["GRPO"]
        assert done == [(BASE, None), ("GRPO", None), ("GRPO", 0), ("GRPO", 1)]
    assert checked(json.loads((tmp_path / "atlas.json").read_text()), "atlas")["config"]["seeds"] == 2


def test_methods_are_chosen_by_name():
    assert chosen(()) == list(PUBLISHED_METHODS)
    assert chosen(("GRPO",)) == [PUBLISHED_METHODS[0]]
    with pytest.raises(ValueError, match="only='GPRO' is not allowed"):
        chosen(("GPRO",))


@pytest.fixture
def base(tmp_path, monkeypatch):
    """The folder of a random Llama in the place of the fitted base; two steps of three groups."""
    box = atlas.atlas_box()
    save(random_llama(box), box, tmp_path / "base")
    for module in (training, twin, atlas):
        monkeypatch.setattr(module, "build_base", lambda box, folder: tmp_path / "base")
    monkeypatch.setattr(atlas, "STEPS", 2)
    monkeypatch.setattr(atlas, "GROUPS", 3)
    return tmp_path


def test_the_task_is_the_atlas_problem():
    box = atlas.atlas_box()
    problem = atlas.problem_of(box, list(box.base))
    right = [tuple(answer) for answer in problem.tokens.answers[problem.verdicts > 0].tolist()]
    assert right == [tuple(answer) for answer in LENGTHS.tokens.answers[LENGTHS.verdicts > 0].tolist()]
    assert distance(problem.shares(problem.start), LENGTHS.shares(LENGTHS.start)) < 1e-3


def test_the_trainer_gets_the_methods_advantages_on_the_answers_drawn(base, monkeypatch):
    seen, given = [], atlas.AtlasTrainer._samples

    def samples(self, found):
        seen.append((found, given(self, found), self.problem))
        return seen[-1][1]

    monkeypatch.setattr(atlas.AtlasTrainer, "_samples", samples)
    box = atlas.atlas_box()
    atlas.conduct("k3 in the loss", 0, base)
    raw, batch, problem = seen[0]
    assert batch.answers.shape == (1, 3, 4)
    assert batch.weights.sum() == pytest.approx(1)
    ids = [
        row[mask.bool()].tolist()
        for row, mask in zip(raw["completion_ids"], raw["completion_mask"], strict=True)
    ]
    assert batch.rewards.ravel().tolist() == box.verdicts([0] * 12, ids)
    # The first batch is drawn from the base: both log-probabilities are its own.
    wanted = problem.log_policy(problem.start)[batch.answers]
    assert batch.log_pi == pytest.approx(wanted, abs=1e-4)
    assert batch.log_base == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize("name", ["GSPO", "CISPO", "DPH-JS", "rejection fine-tuning"])
def test_methods_of_every_kind_train(name, base):
    before = atlas.conduct(BASE, None, base)
    for found in (atlas.conduct(name, 0, base), atlas.conduct(name, None, base)):
        assert 0 < found.validity < 1
        assert sum(found.shares) == pytest.approx(1)
        assert found != before


def test_the_twin_climbs_what_its_method_maximises(base):
    """One step of plain gradient along the twin's pull is the gradient of E v - knob KL of whole answers."""
    box, (method,) = atlas.atlas_box(), chosen(["KL in the reward"])
    model = random_llama(box)
    problem = atlas.problem_of(box, next_token_tables(model, box))
    theta = torch.from_numpy(problem.start * 0.7).requires_grad_()
    tables = theta.reshape(-1, box.vocabulary).log_softmax(-1).reshape(-1)
    counted = torch.from_numpy(problem.tokens.counted)
    log_pi = torch.where(counted, tables[torch.from_numpy(problem.tokens.entries)], 0.0).sum(-1)
    log_base = torch.from_numpy(problem.log_policy(problem.start).sum(-1))
    objective = (log_pi.exp() * (torch.from_numpy(problem.verdicts) - 0.3 * (log_pi - log_base))).sum()
    (wanted,) = torch.autograd.grad(objective, theta)
    draws = atlas.expected_draws(method, problem, theta, 0)
    assert draws.p.tolist() == [[1.0]]
    found = torch.zeros_like(theta).index_add(0, draws.entries.ravel(), draws.c.ravel() * len(problem.base))
    rows = found.detach().numpy().reshape(-1, box.vocabulary)
    pi = np.exp(tables.detach().numpy()).reshape(rows.shape)
    moved = rows - pi * rows.sum(axis=1, keepdims=True)
    assert moved.ravel() == pytest.approx(wanted.numpy(), abs=1e-9)
