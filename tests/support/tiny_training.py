"""Training a tiny Llama: prompts, a reward, a rehearsal buffer, a trainer; and what to compare afterwards."""

from pathlib import Path

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, TrainerCallback

from dph_theory.losses import generator_loss
from full_scale.presampling.buffer import RehearsalBuffer, RehearsalRow, rehearsal_rows
from full_scale.training.online import OnlineConfig, OnlineTrainer
from support.tiny_llama import ON_A_CPU, plain_log_probs, tiny_tokenizer

TRL_WARNS = "ignore:.(is_)?gradient_checkpointing:FutureWarning"
"""TRL 1.16 sets and asks for this by names that transformers 5.23 calls deprecated."""
PROMPTS = [f"p{i}" for i in range(8)]
SETTINGS = ON_A_CPU | {"max_completion_length": 6, "learning_rate": 1e-2, "max_steps": 4, "logging_steps": 1}
SETTINGS |= {"save_strategy": "no", "report_to": "none", "bf16": False, "disable_tqdm": True}
SETTINGS |= {"lr_scheduler_type": "constant", "temperature": 1.0}


def even_reward(completions, **columns):
    """One for an even number of words."""
    return [float(len(text.split()) % 2 == 0) for text in completions]


def flat_reward(completions, **columns):
    """Nothing to learn: every advantage is zero, and what gradient there is comes from elsewhere."""
    return [1.0] * len(completions)


def buffer(count=13, seed=0, shift=0.0):
    """Prompts of one to three tokens, answers of one to nine; log-probabilities are placeholders."""
    generator, rows = torch.Generator().manual_seed(seed), []
    for i in range(count):
        length = int(torch.randint(1, 10, (), generator=generator))
        answer = torch.randint(3, 27, (length,), generator=generator).tolist()
        prompt = [3 + (i + j) % 8 for j in range(1 + i % 3)]
        rows.append(RehearsalRow(f"p{i % 8}", prompt, answer, [-1.0 - shift] * length))
    return RehearsalBuffer.from_rows(rows, {"model_hash": "m", "temperature": 1.0})


REHEARSED = {"eta": 1.0, "rehearsal_rows": 7, "rehearsal": buffer(), "reward": flat_reward, "optim": "sgd"}
REHEARSED |= {"max_grad_norm": 0.0, "save_strategy": "steps", "save_steps": 2}
"""A training whose gradient is the rehearsal's alone: whatever is drawn, the weights are the same."""


def trainer(
    model, output, *, kind=OnlineTrainer, config=OnlineConfig, reward=even_reward, prompts=PROMPTS, **settings
):
    """A trainer of a tiny model's folder; what is no setting goes to the trainer's constructor."""
    names = ("rehearsal", "peft_config", "callbacks", "base_rates", "rate_samples")
    extra = {name: settings.pop(name) for name in names if name in settings}
    dtype = settings.pop("dtype", torch.float32)
    args = config(output_dir=str(output), **{**SETTINGS, **settings})
    return kind(
        model=AutoModelForCausalLM.from_pretrained(model, dtype=dtype),
        reward_funcs=reward,
        args=args,
        train_dataset=Dataset.from_list([{"prompt": each, "example_id": each} for each in prompts]),
        processing_class=tiny_tokenizer(),
        **extra,
    )


def weights(trained):
    return {name: value.detach().clone() for name, value in trained.model.state_dict().items()}


def same(first, second):
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


class StopAfter(TrainerCallback):
    """Ends the training after a step, as if it had been cut off there."""

    def __init__(self, step):
        self.step = step

    def on_step_end(self, args, state, control, **others):
        control.should_training_stop = state.global_step >= self.step
        return control


class FirstGradient(TrainerCallback):
    def on_pre_optimizer_step(self, args, state, control, model=None, **others):
        found = {name.removeprefix("module."): p.grad for name, p in model.named_parameters()}
        self.found = {name: grad.detach().clone() for name, grad in found.items() if grad is not None}


def first_gradient(model, output, **settings):
    """The gradient of the only step that is taken."""
    kept = FirstGradient()
    trainer(model, output, **{**settings, "callbacks": [kept], "max_steps": 1, "max_grad_norm": 0.0}).train()
    return kept.found


def full_loss(model, initial, rows, reduction="token_mean", divergence="forward_kl", **form):
    """The rehearsal loss of all rows at once, row by row: no padding, no parts, no trainer."""
    laws = []
    for of in (model, initial):
        found = [plain_log_probs(of, row.prompt_ids, row.completion_ids) for row in rows]
        laws.append(torch.nn.utils.rnn.pad_sequence(found, batch_first=True))
    lengths = torch.tensor([len(row.completion_ids) for row in rows])
    mask = torch.arange(laws[0].shape[1]) < lengths[:, None]
    return generator_loss(divergence, laws[0] - laws[1].detach(), mask, reduction=reduction, **form)


def full_gradient(folder, rows, reduction="token_mean"):
    model, initial = (AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32) for _ in range(2))
    full_loss(model, initial, rows, reduction).backward()
    return {name: value.grad for name, value in model.named_parameters()}


def drawn_rows(count, step=0):
    """The rows of a step of the trainers made here."""
    return [buffer().rows()[i] for i in rehearsal_rows(42, step, 13, count)]


def gradient_gap(model, output, rows=11, reduction="token_mean", **settings):
    """How far a trainer's first gradient, of the rehearsal alone, is from that of the step's rows at once."""
    given = {"rehearsal_rows": rows, "rehearsal_reduction": reduction, **settings}
    found = first_gradient(model, output, **{**REHEARSED, **given, "save_strategy": "no"})
    return distance(full_gradient(model, drawn_rows(rows), reduction), found)


def distance(first, second):
    """The largest difference of two gradients, in units of the largest entry."""
    largest = max(grad.abs().max() for grad in first.values())
    return (max((first[name] - second[name]).abs().max() for name in first) / largest).item()


def checkpoint(output, step):
    return str(Path(output) / f"checkpoint-{step}")
