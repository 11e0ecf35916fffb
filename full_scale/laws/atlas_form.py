"""The methods of the atlas as runs of a small Llama: under TRL, and noiseless, which predicts that."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from transformers import LlamaForCausalLM

from dph_theory.atlas.problems import LENGTHS, Problem
from dph_theory.atlas.training import expected, pulls
from dph_theory.methods.repairs import Repair
from dph_theory.methods.updates import GROUP, Samples

from ..evaluation.exact import longest_prefixes, next_token_log_probs, next_token_tables
from ..tasks.glass_box.base import build_base
from ..tasks.glass_box.box import RARE, GlassBox
from ..training.online import OnlineTrainer
from ..training.reference import OnlineReference
from .runs import Run
from .training import train

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
LOSSES = {"sequence_sum": "dr_grpo", "sequence_mean": "grpo", "token_mean": "dapo"}
REHEARSED: Mapping[str, tuple[str, float]] = MappingProxyType(
    {
        "DPH-F": ("log_u", KNOB),
        "DPH-JS": ("js", KNOB),
        "DPH-alpha": ("alpha", KNOB),
        "rejection fine-tuning": ("log_u", 1.0),
    }
)
"""What a method rehearses, and its coefficient."""


@dataclass(frozen=True)
class End:
    """Where a training ends: the pass rate, and each right answer's share of it."""

    validity: float
    shares: tuple[float, ...]


def run_of(method: Repair, seed: int) -> Run:
    """The method as a run: what its trainer gets but for the advantages, the clip and the loss type."""
    what, beta = REHEARSED.get(method.name, (None, 0.0))
    return Run(
        "atlas",
        "atlas",
        "none" if what is None else "rehearsal",
        beta,
        rehearsed=what,
        group_size=GROUP,
        groups=GROUPS,
        learning_rate=LEARNING_RATE,
        steps=STEPS,
        updates=method.updates,
        seed=seed,
        reward=False,
    )


def runs_under_trl(method: Repair) -> bool:
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

    def __init__(self, method: Repair, problem: Problem, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.method, self.problem, self.end = method, problem, len(problem.base[0]) - 1
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


def trained(method: Repair, bases: Path, seed: int) -> End:
    """Where a training under TRL ends."""
    box, problem = atlas_box(), _problem(bases)
    settings = {"loss_type": LOSSES[method.reduction], **CLIPS.get(method.name, {})}
    course = train(run_of(method, seed), box, bases, kind=partial(AtlasTrainer, method, problem), **settings)
    return _measured(problem, course[-1].tables)


def foreseen(method: Repair, bases: Path) -> End:
    """Where its noiseless twin ends: Adam on the exact expected update of the same Llama."""
    torch.set_num_threads(1)
    box, problem, model = atlas_box(), _problem(bases), _base(bases)
    rows = longest_prefixes(box.prompt_ids, box.vocabulary, box.length)
    optimizer = torch.optim.Adam(model.parameters(), LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / STEPS)
    scale = 1 / box.length if method.reduction == "sequence_sum" else 1.0
    for _ in range(STEPS):
        tables = next_token_log_probs(model, rows, 1, box.vocabulary, box.length)
        log_pi = torch.cat([table.reshape(-1) for table in tables]).double()
        theta = log_pi.detach().numpy()
        pulled = added_up(theta, pulls(method, problem, theta, expected(problem, theta), KNOB))
        optimizer.zero_grad()
        (-scale * (log_pi * torch.from_numpy(pulled)).sum()).backward()
        optimizer.step()
        schedule.step()
    return _measured(problem, next_token_tables(model, box))


def added_up(theta: np.ndarray, found: Iterable[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """What multiplies the gradient of each entry of the tables, from the pulls of tokens by their entries."""
    return np.sum([np.bincount(e.ravel(), p.ravel(), len(theta)) for e, p in found], axis=0)


def base_end(bases: Path) -> End:
    """The base itself."""
    return _measured(_problem(bases), next_token_tables(_base(bases), atlas_box()))


def _base(bases: Path) -> Any:
    return LlamaForCausalLM.from_pretrained(build_base(atlas_box(), bases), attn_implementation="eager")


def _problem(bases: Path) -> Problem:
    return problem_of(atlas_box(), next_token_tables(_base(bases), atlas_box()))


def _measured(problem: Problem, tables: list[np.ndarray]) -> End:
    theta = np.log(np.concatenate([table.ravel() for table in tables]))
    return End(float(problem.validity(theta)), tuple(problem.shares(theta).tolist()))
