"""Log-probabilities of samples under the trained and the initial model, and of the rehearsal's rows."""

import json

import pytest
import torch
from peft import LoraConfig
from support.tiny_llama import plain_log_probs, tiny_llama
from support.tiny_training import TRL_WARNS, buffer, trainer
from transformers import AutoModelForCausalLM

from dph_theory.support.errors import RefusedError
from full_scale.models.generation import padded
from full_scale.training.reference import OnlineReference, sequence_log_probs
from full_scale.training.trainer import FILE

pytestmark = pytest.mark.filterwarnings(TRL_WARNS)


def moved(run):
    """The trainer with a policy that is not the reference any more."""
    for name, value in run.model.named_parameters():
        if value.requires_grad and "lora_A" not in name:
            noise = torch.randn(value.shape, generator=torch.Generator().manual_seed(len(name)))
            value.data.add_(noise, alpha=1.0 if "lora" in name else 0.05)
    return run


ROWS = [buffer().rows()[i] for i in (0, 3, 4)]


def samples():
    """Three rows as TRL holds samples: prompts padded left, completions right."""
    made = {}
    for what, side in (("prompt", "left"), ("completion", "right")):
        rows = [getattr(row, f"{what}_ids") for row in ROWS]
        made[f"{what}_ids"], made[f"{what}_mask"] = padded(rows, side, "cpu")
    return made


def expected(model, rows=ROWS, temperature=1.0):
    with torch.no_grad():
        return [plain_log_probs(model, row.prompt_ids, row.completion_ids, temperature) for row in rows]


LORA = LoraConfig(r=4, target_modules=["v_proj", "o_proj", "up_proj"], task_type="CAUSAL_LM")


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("second model", {"temperature": 0.5}),
        ("own model", {"beta": 0.1}),
        ("adapter", {"peft_config": LORA}),
    ],
)
def test_log_probabilities_under_policy_and_reference(model, tmp_path, kind, settings):
    run = moved(trainer(model, tmp_path, **settings))
    online = OnlineReference(run)
    assert (online.model is run.ref_model) == (kind != "second model")
    assert online.adapter == (kind == "adapter")
    run.model.train()
    found = online.with_log_probs(samples())
    assert run.model.training
    initial = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    laws = (expected(each, temperature=run.temperature) for each in (run.model, initial))
    names = [f"{name}_per_token_logps" for name in ("old", "ref")]
    sums = sequence_log_probs(found)
    for i, wanted in enumerate(zip(*laws, strict=True)):
        assert (wanted[0] - wanted[1]).abs().max() > 1e-3
        for name, total, row in zip(names, sums, wanted, strict=True):
            torch.testing.assert_close(found[name][i, : len(row)], row, rtol=1e-5, atol=1e-5)
            assert total[i].item() == pytest.approx(row.sum().item(), rel=1e-5)
    # What is there already is not computed again.
    there = {name: torch.zeros(3, 9) for name in names}
    again = online.with_log_probs({**samples(), **there})
    assert all(again[name] is value for name, value in there.items())


def test_tokens_of_tools_do_not_count():
    given = {"old_per_token_logps": torch.tensor([[1.0, 2, 4]]), "completion_mask": torch.ones(1, 3)}
    given |= {"ref_per_token_logps": torch.tensor([[8.0, 16, 32]]), "tool_mask": torch.tensor([[1, 0, 1]])}
    assert [value.item() for value in sequence_log_probs(given)] == [5, 40]


@pytest.fixture
def run(tmp_path):
    return trainer(tiny_llama(tmp_path / "model"), tmp_path / "run", eta=0.1, rehearsal=buffer())


def test_every_rehearsed_row_gets_the_initial_models_log_probabilities_without_dropout(run, tmp_path):
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "model", dtype=torch.float32)
    wanted = torch.cat(expected(model, buffer().rows()))
    torch.testing.assert_close(run._reference(buffer()), wanted, rtol=1e-5, atol=1e-5)
    gap = run._metrics["train"]["rehearsal/stored_gap_max_abs"]
    assert gap == [pytest.approx((wanted - buffer().ref_logps).abs().max().item(), rel=1e-4)]
    config = tmp_path / "model" / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "attention_dropout": 0.5}))
    dropping = trainer(tmp_path / "model", tmp_path / "dropping", eta=0.1, rehearsal=buffer())
    dropping.model.train()
    torch.testing.assert_close(dropping._reference(buffer()), wanted, rtol=1e-5, atol=1e-5)
    assert dropping.model.training


def test_a_resumed_run_takes_those_that_were_kept_or_is_refused(run):
    run.state.global_step = 3
    with pytest.raises(RefusedError, match=FILE):
        run._reference(buffer())
    run.state.global_step = 0
    first = run._reference(buffer())
    with torch.no_grad():
        run.model.lm_head.weight.add_(torch.eye(27, 32))
    run.state.global_step = 3
    assert torch.equal(run._reference(buffer()), first)
    with pytest.raises(RefusedError, match="of another buffer than"):
        run._reference(buffer(seed=1))
    run.state.global_step = 0
    assert not torch.equal(run._reference(buffer()), first)
