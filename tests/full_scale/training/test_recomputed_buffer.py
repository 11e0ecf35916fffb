import json

import pytest
import torch
from support.tiny_llama import plain_log_probs, tiny_llama
from support.tiny_training import TRL_WARNS, buffer, trainer
from transformers import AutoModelForCausalLM

from full_scale.training.trainer import FILE, recomputed

pytestmark = pytest.mark.filterwarnings(TRL_WARNS)


@pytest.fixture
def run(tmp_path):
    return trainer(tiny_llama(tmp_path / "model"), tmp_path / "run", eta=0.1, rehearsal=buffer())


def test_every_row_gets_the_initial_models_log_probabilities(run, tmp_path):
    found = recomputed(run, buffer())
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "model", dtype=torch.float32)
    with torch.no_grad():
        expected = [plain_log_probs(model, row.prompt_ids, row.completion_ids) for row in buffer().rows()]
    torch.testing.assert_close(found.ref_logps, torch.cat(expected), rtol=1e-5, atol=1e-5)
    assert torch.equal(found.completion_ids, buffer().completion_ids)
    gap = run._metrics["train"]["rehearsal/stored_gap_max_abs"]
    assert gap == [pytest.approx((torch.cat(expected) - buffer().ref_logps).abs().max().item(), rel=1e-4)]


def test_a_resumed_run_takes_those_that_were_kept(run):
    first = recomputed(run, buffer())
    with torch.no_grad():
        run.model.lm_head.weight.add_(torch.eye(27, 32))
    run.state.global_step = 3
    assert torch.equal(recomputed(run, buffer()).ref_logps, first.ref_logps)
    run.state.global_step = 0
    assert not torch.equal(recomputed(run, buffer()).ref_logps, first.ref_logps)


def test_a_resumed_run_without_them_or_with_others_is_refused(run, tmp_path):
    run.state.global_step = 3
    with pytest.raises(ValueError, match=FILE):
        recomputed(run, buffer())
    run.state.global_step = 0
    recomputed(run, buffer())
    run.state.global_step = 3
    with pytest.raises(ValueError, match="the buffer that"):
        recomputed(run, buffer(seed=1))


def test_dropout_has_no_part_in_them_and_goes_on_afterwards(run, tmp_path):
    config = tmp_path / "model" / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "attention_dropout": 0.5}))
    dropping = trainer(tmp_path / "model", tmp_path / "dropping", eta=0.1, rehearsal=buffer())
    dropping.model.train()
    expected = recomputed(run, buffer()).ref_logps
    torch.testing.assert_close(recomputed(dropping, buffer()).ref_logps, expected)
    assert dropping.model.training
