from functools import partial

import pytest
from support.tiny_training import TRL_WARNS
from transformers import LlamaForCausalLM

from full_scale.evaluation.exact import exact, next_token_tables
from full_scale.laws import training
from full_scale.laws.runs import Run
from full_scale.laws.training import start_of
from full_scale.tasks.glass_box.base import LlamaFit, build_base
from full_scale.tasks.glass_box.box import box

pytestmark = pytest.mark.filterwarnings(TRL_WARNS)
TASK = box("selection-2")


@pytest.fixture(autouse=True)
def small_base(monkeypatch):
    monkeypatch.setattr(training, "build_base", partial(build_base, fit=LlamaFit(hidden=16, steps=200)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("bases")


def share_of_lost(path, base):
    tables, first = (next_token_tables(LlamaForCausalLM.from_pretrained(p), TASK) for p in (path, base))
    return 1 - exact(TASK, tables, first).first_share


def collapsing(share, **changes):
    return Run("way_back", TASK.name, "sequence_kl", 0.2, lost=share, collapsed=True, **changes)


@pytest.mark.slow
def test_a_run_starts_from_the_base_unless_answers_were_lost(folder):
    base = training.build_base(TASK, folder)
    assert start_of(Run("x", TASK.name, "none"), TASK, folder) == base


@pytest.mark.slow
def test_training_without_kl_ends_at_the_first_step_that_has_lost_the_answers(folder):
    base = training.build_base(TASK, folder)
    wanted = share_of_lost(base, base) / 2
    path = start_of(collapsing(wanted), TASK, folder)
    assert wanted / 2 < share_of_lost(path, base) <= wanted
    # Another seed collapses by itself; the same one is not trained again.
    assert start_of(collapsing(wanted, seed=1), TASK, folder) != path
    made = (path / "model.safetensors").stat().st_mtime_ns
    assert start_of(collapsing(wanted), TASK, folder) == path
    assert (path / "model.safetensors").stat().st_mtime_ns == made


@pytest.mark.slow
def test_a_share_that_is_not_reached_is_named(folder, monkeypatch):
    monkeypatch.setattr(training, "LONGEST_COLLAPSE", 2)
    with pytest.raises(ArithmeticError, match=r"lost=1e-09 was not reached in 2 steps"):
        start_of(collapsing(1e-9), TASK, folder)
    assert not [path for path in folder.rglob("*1e-09*") if path.is_dir()]
