import pytest
import torch
from peft import LoraConfig
from support.tiny_llama import plain_log_probs, tiny_llama
from support.tiny_training import TRL_WARNS, buffer, trainer
from transformers import AutoModelForCausalLM

from full_scale.models.generation import padded
from full_scale.training.reference import OnlineReference, log_probs, sequence_log_probs

pytestmark = pytest.mark.filterwarnings(TRL_WARNS)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny_llama(tmp_path_factory.mktemp("tiny") / "model")


def moved(run):
    """The trainer with a policy that is not the reference any more."""
    with torch.no_grad():
        for name, value in run.model.named_parameters():
            if value.requires_grad and ("lora_B" in name or "lora" not in name):
                value.add_(
                    (1.0 if "lora" in name else 0.05)
                    * torch.randn(value.shape, generator=torch.Generator().manual_seed(len(name)))
                )
    return run


def samples():
    """Three rows as TRL holds samples: prompts padded left, completions right."""
    rows = [buffer().rows()[i] for i in (0, 3, 4)]
    (prompt_ids, prompt_mask), (completion_ids, completion_mask) = (
        padded([getattr(row, name) for row in rows], side, "cpu")
        for name, side in (("prompt_ids", "left"), ("completion_ids", "right"))
    )
    return {
        "prompt_ids": prompt_ids,
        "prompt_mask": prompt_mask,
        "completion_ids": completion_ids,
        "completion_mask": completion_mask,
    }


def expected(model):
    rows = [buffer().rows()[i] for i in (0, 3, 4)]
    with torch.no_grad():
        return [plain_log_probs(model, row.prompt_ids, row.completion_ids) for row in rows]


@pytest.mark.parametrize("kind", ["second model", "own model", "adapter"])
def test_log_probabilities_under_policy_and_reference(model, tmp_path, kind):
    lora = LoraConfig(r=4, target_modules=["v_proj", "o_proj", "up_proj"], task_type="CAUSAL_LM")
    settings = {"own model": {"beta": 0.1}, "adapter": {"peft_config": lora}}.get(kind, {})
    run = moved(trainer(model, tmp_path, temperature=1.0, **settings))
    online = OnlineReference(run)
    assert (online.model is run.ref_model) == (kind != "second model")
    assert online.adapter == (kind == "adapter")
    run.model.train()
    found = online.with_log_probs(samples())
    assert run.model.training
    initial = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    mask = found["completion_mask"].bool()
    for i, (policy, reference) in enumerate(zip(expected(run.model), expected(initial), strict=True)):
        torch.testing.assert_close(found["old_per_token_logps"][i][mask[i]], policy, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(found["ref_per_token_logps"][i][mask[i]], reference, rtol=1e-5, atol=1e-5)
        assert (policy - reference).abs().max() > 1e-3
    log_pi, log_ref = sequence_log_probs(found)
    assert log_pi.tolist() == pytest.approx([each.sum().item() for each in expected(run.model)], rel=1e-5)
    assert log_ref.tolist() == pytest.approx([each.sum().item() for each in expected(initial)], rel=1e-5)


def test_what_is_there_already_is_not_computed_again(model, tmp_path):
    online = OnlineReference(trainer(model, tmp_path))
    there = {"old_per_token_logps": torch.zeros(3, 9), "ref_per_token_logps": torch.ones(3, 9)}
    found = online.with_log_probs({**samples(), **there})
    assert all(found[name] is value for name, value in there.items())


def test_tokens_of_tools_do_not_count():
    one = {"completion_mask": torch.ones(1, 3), "tool_mask": torch.tensor([[1, 0, 1]])}
    logps = {
        "old_per_token_logps": torch.tensor([[1.0, 2, 4]]),
        "ref_per_token_logps": torch.tensor([[8.0, 16, 32]]),
    }
    assert [value.item() for value in sequence_log_probs({**one, **logps})] == [5, 40]


def test_the_temperature_is_that_of_sampling(model, tmp_path):
    run = trainer(model, tmp_path, temperature=0.5)
    with torch.no_grad():
        found = log_probs(run, run.model, samples())
        row = buffer().rows()[3]
        ids = torch.tensor([[*row.prompt_ids, *row.completion_ids]])
        logits = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)(input_ids=ids).logits[0]
    sharp = (logits[len(row.prompt_ids) - 1 : -1] / 0.5).log_softmax(dim=-1)
    expected = sharp[torch.arange(len(row.completion_ids)), torch.tensor(row.completion_ids)]
    torch.testing.assert_close(found[1, : len(expected)], expected, rtol=1e-5, atol=1e-5)
