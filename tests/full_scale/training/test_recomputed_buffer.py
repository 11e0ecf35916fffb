import json

import pytest
import torch
from support.tiny_llama import plain_log_probs, tiny_llama
from support.tiny_training import TRL_WARNS, buffer, trainer
from transformers import AutoModelForCausalLM

from full_scale.training.trainer import FILE

pytestmark = pytest.mark.filterwarnings(TRL_WARNS)


@pytest.fixture
def run(tmp_path):
    return trainer(tiny_llama(tmp_path / "model"), tmp_path / "run", eta=0.1, rehearsal=buffer())


def test_every_row_gets_the_initial_models_log_probabilities(run, tmp_path):
    found = run._reference(buffer())
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "model", dtype=torch.float32)
    with torch.no_grad():
        expected = [plain_log_probs(model, row.prompt_ids, row.completion_ids) for row in buffer().rows()]
    torch.testing.assert_close(found, torch.cat(expected), rtol=1e-5, atol=1e-5)
    gap = run._metrics["train"]["rehearsal/stored_gap_max_abs"]
    assert gap == [pytest.approx((torch.cat(expected) - buffer().ref_logps).abs().max().item(), rel=1e-4)]


def test_a_resumed_run_takes_those_that_were_kept(run):
    first = run._reference(buffer())
    with torch.no_grad():
        run.model.lm_head.weight.add_(torch.eye(27, 32))
    run.state.global_step = 3
    assert torch.equal(run._reference(buffer()), first)
    run.state.global_step = 0
    assert not torch.equal(run._reference(buffer()), first)


def test_a_resumed_run_without_them_or_with_others_is_refused(run, tmp_path):
    run.state.global_step = 3
    with pytest.raises(ValueError, match=FILE):
        run._reference(buffer())
    run.state.global_step = 0
    run._reference(buffer())
    run.state.global_step = 3
    with pytest.raises(ValueError, match="the buffer that"):
        run._reference(buffer(seed=1))


def test_dropout_has_no_part_in_them_and_goes_on_afterwards(run, tmp_path):
    config = tmp_path / "model" / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "attention_dropout": 0.5}))
    dropping = trainer(tmp_path / "model", tmp_path / "dropping", eta=0.1, rehearsal=buffer())
    dropping.model.train()
    expected = run._reference(buffer())
    torch.testing.assert_close(dropping._reference(buffer()), expected)
    assert dropping.model.training
