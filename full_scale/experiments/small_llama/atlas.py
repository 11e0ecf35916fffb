"""The methods of the atlas as runs of a small Llama: predicted by an expected-gradient run, then trained."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dph_theory.atlas.problems import LENGTHS, AtlasProblem
from dph_theory.atlas.repairs import PUBLISHED_METHODS, PublishedMethod
from dph_theory.atlas.rows import atlas
from dph_theory.atlas.training import expected, pulls
from dph_theory.atlas.updates import GROUP, Samples
from dph_theory.finite_training.training import Draws, spread_along
from dph_theory.support.errors import choice
from dph_theory.support.progress import Progress, silent
from dph_theory.support.record import as_json
from dph_theory.support.table import Table

from ...training.online import OnlineTrainer
from ...training.reference import OnlineReference
from ..enumerable_tasks.base import build_base
from ..enumerable_tasks.box import RARE, GlassBox
from ..kept import Answer, Asked, Kept
from ..kept import store as store_record
from .runs import Run
from .study import PREDICTION, RUN
from .training import Tables, tables_of, train
from .twin import course_of, tables_from

KIND, SEEDS, BASE = "atlas", 3, "base"
KNOB, STEPS, LEARNING_RATE, GROUPS = 0.3, 120, 2e-3, 32
"""Of every run: the coefficient, Adam's steps and rate (falling to zero), groups a step."""
SETTINGS = {"knob": KNOB, "steps": STEPS, "learning_rate": LEARNING_RATE, "groups": GROUPS}
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
    """Where a training ends: the pass rate, and each correct answer's share of it."""

    validity: float
    shares: tuple[float, ...]


@dataclass(frozen=True)
class Trained:
    """One method's prediction and runs."""

    method: str
    predicted: End
    runs: tuple[End, ...]

    @property
    def gaps(self) -> tuple[float, ...]:
        """The total variation between the shares of each run and the prediction."""
        wanted = np.array(self.predicted.shares)
        return tuple(float(np.abs(run.shares - wanted).sum() / 2) for run in self.runs)


def run_of(method: PublishedMethod, seed: int) -> Run:
    """The method as a run: what its trainer gets but for the advantages, the clip and the loss type."""
    what, beta = REHEARSED.get(method.name, (None, 0.0))
    return Run(
        KIND,
        KIND,
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


def runs_under_trl(method: PublishedMethod) -> bool:
    """Whether TRL has the method's loss."""
    return method.surrogate is None or method.name in CLIPS


def atlas_box() -> GlassBox:
    """The atlas's problem of several lengths as a task."""
    base = [np.maximum(table, RARE)[None] for table in LENGTHS.base]
    tables = tuple(table / table.sum(axis=-1, keepdims=True) for table in base)
    return GlassBox(KIND, ("x", "y", "z"), tables, LENGTHS.valid[None], (0,))


def problem_of(box: GlassBox, tables: Tables) -> AtlasProblem:
    """The box of one text with a model's tables as the base."""
    return AtlasProblem(box.name, tuple(table[0] for table in tables), box.valid[0], end=box.end)


class AtlasTrainer(OnlineTrainer):
    """TRL's trainer with the advantages that a method of the atlas gives its groups."""

    def __init__(self, method: PublishedMethod, problem: AtlasProblem, *args: Any, **kwargs: Any) -> None:
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


def expected_draws(method: PublishedMethod, problem: AtlasProblem, log_probs: Tensor, step: int) -> Draws:
    """The method's expected update: one answer that is drawn for sure, whose tokens alone have a gradient."""
    theta = log_probs.detach().numpy()
    found = pulls(method, problem, theta, expected(problem, theta), KNOB)
    parts = (np.concatenate([part.ravel() for part in of]) for of in zip(*found, strict=True))
    entries, c = map(torch.from_numpy, parts)
    scale = 1 / len(problem.base) if method.reduction == "sequence_sum" else 1.0
    return Draws(torch.ones(1, 1, dtype=c.dtype), entries[None, None], scale * c[None, None])


def conduct(name: str, seed: int | None, bases: Path) -> End:
    """Where a method's training under that seed ends; its expected-gradient run without one; or the base."""
    torch.set_num_threads(1)
    box = atlas_box()
    tables = tables_of(box, build_base(box, bases))
    problem = problem_of(box, tables)
    if name != BASE:
        method = next(method for method in PUBLISHED_METHODS if method.name == name)
        run = run_of(method, seed or 0)
        if seed is None:
            course = course_of(run, box, bases, lambda _: partial(expected_draws, method, problem))[1]
            tables = tables_from(box, spread_along(course, run.steps, {}).log_probs)
        else:
            settings = {"loss_type": LOSSES[method.reduction], **CLIPS.get(name, {})}
            kind = partial(AtlasTrainer, method, problem)
            tables = train(run, box, bases, kind=kind, **settings)[-1].tables
    theta = np.log(np.concatenate([table.ravel() for table in tables]))
    return End(float(problem.validity(theta)), tuple(problem.shares(theta).tolist()))


def _conducted(*job: Any) -> Any:
    return as_json(conduct(*job), 6)


def kept_in(folder: Path) -> Kept:
    """The rows of a folder: the base, predictions, and runs by method and seed."""
    return Kept(folder, {"kind": KIND, **SETTINGS})


def told(asked: Asked, names: Sequence[str] = (), progress: Progress = silent) -> Answer:
    """Predict every method of those names that TRL can run, then train those that the folder lacks.

    All of no names. ValueError for a name that the atlas lacks.
    """
    methods, seeds, kept = chosen(names), asked.seeds or SEEDS, kept_in(asked.folder)
    under_trl = [method.name for method in methods if runs_under_trl(method)]
    settle = partial(kept.settle, workers=asked.workers, progress=progress)
    # First, so that no two processes fit it.
    kept.settle(BASE, _conducted, {BASE: (BASE, None, kept.bases)})
    settle(PREDICTION, _conducted, {name: (name, None, kept.bases) for name in under_trl})
    jobs = {f"{name} {seed}": (name, seed, kept.bases) for seed in range(seeds) for name in under_trl}
    settle(RUN, _conducted, jobs)
    runs = trained_in(kept, methods, seeds)
    if asked.json_path is not None:
        store(methods, runs, kept, seeds, asked.json_path)
    return Answer([table(runs)], [])


def trained_in(kept: Kept, methods: Sequence[PublishedMethod], seeds: int) -> list[Trained]:
    """The methods whose prediction and runs are all there."""
    predicted, found = kept.read(PREDICTION, End), []
    for name in (method.name for method in methods if method.name in predicted):
        ends = kept.read(RUN, End, [f"{name} {seed}" for seed in range(seeds)])
        if len(ends) == seeds:
            found.append(Trained(name, predicted[name], tuple(ends.values())))
    return found


def chosen(names: Sequence[str]) -> list[PublishedMethod]:
    """The methods of those names, all of none. Raises ValueError for another name."""
    known = {method.name: method for method in PUBLISHED_METHODS}
    for name in names:
        choice("only", name, known)
    return [known[name] for name in names] or list(PUBLISHED_METHODS)


def table(runs: Sequence[Trained]) -> Table:
    """A row a method: the pass rate and the short answer's share, predicted and measured, and the gap."""
    rows = [
        (
            each.method,
            each.predicted.validity,
            fmean(run.validity for run in each.runs),
            each.predicted.shares[-1],
            fmean(run.shares[-1] for run in each.runs),
            max(each.gaps),
        )
        for each in runs
    ]
    head = ("method", "V, predicted", "V, runs", "short, predicted", "short, runs", "largest gap of shares")
    return Table.of(head, rows)


def store(
    methods: Sequence[PublishedMethod], runs: Sequence[Trained], kept: Kept, seeds: int, path: Path
) -> None:
    """Write the record that the figure and the guide read: the cells of theory, and the runs."""
    results = {
        "rows": as_json(atlas(methods), 4),
        "base": as_json(kept.read(BASE, End)[BASE], 5),
        "trained": [{**as_json(each, 5), "gaps": as_json(each.gaps, 4)} for each in runs],
    }
    config = {**SETTINGS, "seeds": seeds}
    store_record(path, KIND, config, results)
