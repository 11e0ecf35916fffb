"""The atlas's methods on a small Llama: under TRL on sampled answers, and noiseless, which predicts that."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from transformers import LlamaForCausalLM, PrinterCallback

from dph_theory.atlas.problems import LENGTHS, Problem
from dph_theory.atlas.training import expected, pulls
from dph_theory.methods.batches import GROUP, Samples
from dph_theory.methods.repairs import Method

from ..evaluation.exact import longest_prefixes, next_token_log_probs, next_token_tables
from ..laws.training import small, stored_answers
from ..tasks.glass_box.base import build_base
from ..tasks.glass_box.box import RARE, GlassBox
from ..training.online import OnlineConfig, OnlineTrainer
from ..training.reference import OnlineReference

KNOB, STEPS, LEARNING_RATE, GROUPS = 0.3, 120, 2e-3, 32
"""Of every run: the coefficient, Adam's steps and rate (falling to zero), groups a step."""
CLIPS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "PPO clip": {"epsilon": 0.2},
        "clip-higher": {"epsilon": 0.2, "epsilon_high": 0.28},
        "GSPO": {"epsilon": 3e-4, "epsilon_high": 4e-4, "importance_sampling_level": "sequence"},
        "CISPO": {"loss_type": "cispo", "epsilon_high": 1.28},
    }
)
"""TRL's settings of the methods that differ in the later updates on a batch."""
LOSSES = {"sum": "dr_grpo", "answer mean": "grpo", "token mean": "dapo"}
REHEARSED: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "DPH-F": {"divergence": "forward_kl", "eta": KNOB},
        "DPH-JS": {"divergence": "jensen_shannon", "eta": KNOB},
        "DPH-alpha": {"divergence": "alpha", "alpha": 0.2, "eta": KNOB},
        "rejection fine-tuning": {"divergence": "forward_kl", "eta": 1.0},
    }
)


def runs_under_trl(method: Method) -> bool:
    """Whether TRL has the method's loss."""
    return method.surrogate is None or method.name in CLIPS


def atlas_box() -> GlassBox:
    """The atlas's problem of several lengths as a task."""
    base = [np.maximum(table, RARE)[None] for table in LENGTHS.base]
    tables = tuple(table / table.sum(axis=-1, keepdims=True) for table in base)
    return GlassBox("atlas", ("x", "y", "z"), tables, LENGTHS.valid[None], (0,))


def problem_of(box: GlassBox, tables: list[np.ndarray]) -> Problem:
    """The box of one text with a model's tables as the base."""
    return Problem(box.name, tuple(table[0] for table in tables), box.valid[0], end=box.end)


class AtlasTrainer(OnlineTrainer):
    """TRL's trainer with the advantages that a method of the atlas gives its groups."""

    def __init__(self, *args: Any, method: Method, problem: Problem, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.method, self.problem, self.end = method, problem, len(problem.base[0]) - 1
        self._ready = self.rehearsal
        self.reference = OnlineReference(self)
        self.places = {tuple(answer): i for i, answer in enumerate(problem.tokens.answers.tolist())}

    def _generate_and_score_completions(self, inputs: Any) -> dict[str, Any]:
        samples = self.reference.with_log_probs(super()._generate_and_score_completions(inputs))
        found = self.method.advantage(self._samples(samples), KNOB)
        advantages = torch.from_numpy(found.reshape(-1, *found.shape[3:])).to(samples["advantages"])
        if advantages.ndim == 2:
            advantages = advantages[:, : samples["completion_mask"].shape[1]]
        return {**samples, "advantages": advantages}

    def _samples(self, samples: dict[str, Any]) -> Samples:
        """TRL's batch as one batch of groups; ended answers are padded as in the problem's."""
        problem, length, end = self.problem, len(self.problem.base), self.end
        mask = samples["completion_mask"].bool()
        ids = torch.where(mask, samples["completion_ids"], end)
        missing = length - ids.shape[1]
        padded = torch.nn.functional.pad(ids, (0, missing), value=end).tolist()
        answers = np.array([self.places[tuple(answer)] for answer in padded]).reshape(1, -1, GROUP)

        def tokens(name: str) -> np.ndarray:
            values = torch.where(mask, samples[f"{name}_per_token_logps"].double(), 0.0)
            return torch.nn.functional.pad(values, (0, missing)).numpy().reshape(*answers.shape, length)

        weights = np.full(answers.shape[:2], 1 / answers.shape[1])
        counted = problem.tokens.counted[answers]
        return Samples(answers, problem.verdicts[answers], tokens("old"), tokens("ref"), counted, weights)


def trained(method: Method, box: GlassBox, bases: Path, seed: int) -> tuple[float, list[float]]:
    """The pass rate and the right answers' shares after a training under TRL."""
    torch.set_num_threads(1)
    model = LlamaForCausalLM.from_pretrained(build_base(box, bases), attn_implementation="eager")
    tables = next_token_tables(model, box)
    problem = problem_of(box, tables)
    with TemporaryDirectory() as output:
        trainer = AtlasTrainer(
            model=model,
            reward_funcs=lambda completion_ids, **columns: [0.0] * len(completion_ids),
            args=_arguments(method, box, seed, output),
            train_dataset=Dataset.from_list([{"prompt": box.prompts[0], "example_id": "0"}] * GROUPS * 64),
            processing_class=box.tokenizer(),
            rehearsal=stored_answers(box, tables) if method.name in REHEARSED else None,
            method=method,
            problem=problem,
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
        model = trainer.accelerator.unwrap_model(trainer.model)
    return _measured(problem, next_token_tables(model, box))


def _arguments(method: Method, box: GlassBox, seed: int, output: str) -> OnlineConfig:
    settings: dict[str, Any] = {"loss_type": LOSSES[method.reduction], **CLIPS.get(method.name, {})}
    if method.name in REHEARSED:
        rehearsed = REHEARSED[method.name]
        settings |= {**rehearsed, "eta": rehearsed["eta"] / box.length}
        settings |= {"rehearsal_level": "sequence", "rehearsal_reduction": "sequence_mean"}
    return small(
        box,
        output,
        GROUP * GROUPS,
        seed=seed,
        max_steps=STEPS,
        num_generations=GROUP,
        num_iterations=method.updates,
        learning_rate=LEARNING_RATE,
        lr_scheduler_type="linear",
        optim="adamw_torch",
        beta=0.0,
        scale_rewards="none",
        **settings,
    )


def foreseen(method: Method, box: GlassBox, bases: Path) -> tuple[float, list[float]]:
    """The same of the noiseless twin: Adam on the exact expected update of the same Llama."""
    torch.set_num_threads(1)
    model: Any = LlamaForCausalLM.from_pretrained(build_base(box, bases), attn_implementation="eager")
    problem = problem_of(box, next_token_tables(model, box))
    rows = longest_prefixes(box.prompt_ids, box.vocabulary, box.length)
    optimizer = torch.optim.Adam(model.parameters(), LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / STEPS)
    scale = 1 / box.length if method.reduction == "sum" else 1.0
    for _ in range(STEPS):
        tables = next_token_log_probs(model, rows, 1, box.vocabulary, box.length)
        log_pi = torch.cat([table.reshape(-1) for table in tables]).double()
        theta = log_pi.detach().numpy()
        pull = pulls(method, problem, theta, expected(problem, theta), KNOB)
        optimizer.zero_grad()
        (-scale * (log_pi * torch.from_numpy(pull)).sum()).backward()
        optimizer.step()
        schedule.step()
    return _measured(problem, next_token_tables(model, box))


def base_shares(box: GlassBox, bases: Path) -> tuple[float, list[float]]:
    """Of the base."""
    model = LlamaForCausalLM.from_pretrained(build_base(box, bases))
    tables = next_token_tables(model, box)
    return _measured(problem_of(box, tables), tables)


def _measured(problem: Problem, tables: list[np.ndarray]) -> tuple[float, list[float]]:
    theta = np.log(np.concatenate([table.ravel() for table in tables]))
    return float(problem.validity(theta)), problem.shares(theta).tolist()
