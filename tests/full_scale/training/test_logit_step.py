import math

import pytest
import torch
from support.tiny_llama import tiny_llama
from support.tiny_training import TRL_WARNS, flat_reward, same, trainer, weights
from trl import GRPOConfig, GRPOTrainer

from full_scale.training.collapse_meter import STEP, CollapseMeter, _step_of, logit_step

pytestmark = pytest.mark.filterwarnings(TRL_WARNS)
PLAIN = {"kind": GRPOTrainer, "config": GRPOConfig}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny_llama(tmp_path_factory.mktemp("tiny") / "model")


@pytest.mark.parametrize("eta", [1e-4, 1e-2])
def test_on_logits_of_its_own_it_is_the_step(eta):
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(12, generator=generator, dtype=torch.float64)
    p = logits.softmax(0)
    groups = torch.multinomial(p, 64, replacement=True, generator=generator).unflatten(0, (8, 8))
    verdicts = (groups < 5).double()
    advantages = verdicts - verdicts.mean(dim=1, keepdim=True)
    # Each group is a prompt with logits of its own; all have these.
    steps = torch.zeros(8, 12, dtype=torch.float64).scatter_add(1, groups, advantages)
    after = (logits + eta / 64 * steps).log_softmax(1).gather(1, groups)
    before = logits.log_softmax(0)[groups]
    same_answer = groups[:, :, None] == groups[:, None, :]
    assert logit_step(after - before, before, advantages, same_answer) == pytest.approx(eta, rel=0.02)


def test_advantages_of_zero_tell_nothing():
    zero = torch.zeros(2, 4, dtype=torch.float64)
    assert math.isnan(logit_step(zero, zero - 1, zero, torch.ones(2, 4, 4, dtype=torch.bool)))


def steps_of(run):
    return [log[STEP] for log in run.state.log_history if STEP in log]


def test_it_measures_and_changes_nothing(model, tmp_path):
    plain = trainer(model, tmp_path / "plain", **PLAIN)
    plain.train()
    measured = trainer(model, tmp_path / "measured", **PLAIN)
    CollapseMeter({}, every=2, step=True).attach(measured)
    measured.train()
    assert same(weights(plain), weights(measured))
    found = steps_of(measured)
    assert 1 <= len(found) <= 2
    assert all(math.isfinite(value) for value in found)


def test_without_anything_to_learn_there_is_no_step(model, tmp_path):
    run = trainer(model, tmp_path, reward=flat_reward, **PLAIN)
    CollapseMeter({}, step=True).attach(run)
    run.train()
    assert steps_of(run) == []


def test_what_all_answers_of_a_group_gain_is_no_step():
    # As with a baseline of one: advantages that are not centred.
    before, after = torch.tensor([-1.0, -2.0]).double(), torch.tensor([-0.9, -2.3]).double()
    ids = torch.tensor([[[1], [2]]])
    columns = [
        torch.stack([torch.tensor([0.5, -0.5]) + shift, before, after], dim=1) for shift in (0.0, -1.0)
    ]
    found = [_step_of(each[None], ids) for each in columns]
    assert found[0] == pytest.approx(found[1])
    assert found[0] > 0
