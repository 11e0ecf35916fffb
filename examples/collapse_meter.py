"""The collapse meter on a plain TRL GRPO run of a tiny Llama made here: the excess KL, logged as it trains.

Run: python examples/collapse_meter.py (on the CPU; needs pip install -e ".[full]")
"""

from tempfile import TemporaryDirectory

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, PrinterCallback, set_seed
from trl import GRPOConfig, GRPOTrainer

from full_scale.training.collapse_meter import CollapseMeter

PROMPTS = [f"w{i}" for i in range(8)]
WORDS = {word: i for i, word in enumerate(["<pad>", "<eos>", "<unk>", "heads", "tails", *PROMPTS])}
SHAPE = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
RUN = {"max_completion_length": 4, "num_generations": 8, "per_device_train_batch_size": 16, "max_steps": 8}
RUN |= {"learning_rate": 2e-2, "logging_steps": 1, "use_cpu": True, "bf16": False, "disable_tqdm": True}


def heads(completions: list[str], **columns: object) -> list[float]:
    """The verifier: an answer is correct if it says heads."""
    return [float("heads" in text.split()) for text in completions]


def main() -> None:
    """Sample the base pass rates, train a few metered steps, print what was logged."""
    set_seed(0)
    words = Tokenizer(models.WordLevel(WORDS, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>", eos_token="<eos>")
    model = LlamaForCausalLM(LlamaConfig(vocab_size=len(WORDS), pad_token_id=0, eos_token_id=1, **SHAPE))
    asked = tokenizer(PROMPTS * 256, return_tensors="pt", return_token_type_ids=False)
    said = heads(tokenizer.batch_decode(model.generate(**asked, do_sample=True, max_new_tokens=4)))
    rates = {prompt: sum(said[i :: len(PROMPTS)]) / 256 for i, prompt in enumerate(PROMPTS)}
    with TemporaryDirectory() as folder:
        model.save_pretrained(folder)  # The meter loads the initial model from here, as its reference.
        data = Dataset.from_dict({"prompt": PROMPTS})
        trainer = GRPOTrainer(folder, heads, GRPOConfig(folder, **RUN), data, processing_class=tokenizer)
        trainer.remove_callback(PrinterCallback)
        CollapseMeter(base_rates=rates).attach(trainer)
        trainer.train()
    for log in trainer.state.log_history[:-1]:
        print(*(f"{name} {log[f'collapse/{name}']:.3f}" for name in ("pass_rate", "kl", "cost", "excess_kl")))


if __name__ == "__main__":
    main()
