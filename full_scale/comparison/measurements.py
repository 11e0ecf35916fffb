"""What a run measured: its evaluation paired, prompt by prompt, with that of the initial model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from dph_theory.estimators import smoothed_rate
from dph_theory.support.errors import argument_error

from ..evaluation.record import Evaluation, PromptAnswers, RehearsedRow
from ..recipe.folders import Folders
from ..recipe.methods import setup
from ..recipe.schema import MethodConfig
from ..training.record import TrainingRecord
from .tilt import TextSamples

EXPLORED, REHEARSED = "explored", "rehearsed"


@dataclass(frozen=True)
class Measured:
    """A set of prompts under a run: verdicts, and sequence log-probabilities under the run and the base.

    `base_correct` are the base's own samples on the same prompts, drawn apart from those that chose the set.
    """

    ids: tuple[str, ...]
    correct: Bool[np.ndarray, "prompts samples"]
    log_pi: Float[np.ndarray, "prompts samples"]
    log_ref: Float[np.ndarray, "prompts samples"]
    base_correct: Bool[np.ndarray, "prompts base_samples"]
    texts: tuple[str, ...] = ()
    """The text of each prompt, as a hash; empty if no two are known to agree."""
    mean_verdicts: Float[np.ndarray, "prompts samples"] | None = None
    """Of each sample, the mean verdict of all prompts of its text, where some text is shared."""
    base_mean_verdicts: Float[np.ndarray, "prompts base_samples"] | None = None

    @property
    def rate(self) -> Float[np.ndarray, " prompts"]:
        """The measured pass rates V(x)."""
        return self.correct.mean(axis=1)

    @property
    def base_rate(self) -> Float[np.ndarray, " prompts"]:
        """The base's measured pass rates A1(x)."""
        return self.base_correct.mean(axis=1)

    @property
    def smoothed_base_rate(self) -> Float[np.ndarray, " prompts"]:
        """Base rates (c + 1/2)/(n + 1), never 0 or 1."""
        return smoothed_rate(self.base_correct.sum(axis=1), self.base_correct.shape[1])

    @property
    def texts_differ(self) -> bool:
        """Whether no two prompts have one text: only then does the policy see which prompt it is asked."""
        return len(set(self.texts)) == len(self.texts)

    def by_text(self) -> list[TextSamples]:
        """The samples of each text, prompts of one text taken together (E5); none without mean verdicts."""
        if self.texts_differ:
            return [*map(TextSamples, self.correct * 1.0, self.base_correct * 1.0, self.log_ratio)]
        if self.mean_verdicts is None or self.base_mean_verdicts is None:
            return []
        of_text = np.array(self.texts)
        groups = [of_text == text for text in dict.fromkeys(self.texts)]
        columns = (self.mean_verdicts, self.base_mean_verdicts, self.log_ratio)
        return [TextSamples(*(column[group].ravel() for column in columns)) for group in groups]

    @property
    def log_ratio(self) -> Float[np.ndarray, "prompts samples"]:
        """Log pi/pi_ref of the run's samples, whose mean estimates KL(pi || pi_ref) without bias."""
        return self.log_pi - self.log_ref


@dataclass(frozen=True)
class Run:
    """A run's records, and its sets paired with the base's."""

    name: str
    training: TrainingRecord
    evaluation: Evaluation
    sets: Mapping[str, Measured]

    @cached_property
    def method(self) -> MethodConfig:
        """The recipe's method."""
        return MethodConfig(**self.training.config["method"])

    @property
    def train(self) -> Mapping[str, Any]:
        """The recipe's settings for TRL."""
        return self.training.config["train"]

    @property
    def rollouts(self) -> int:
        """How many rollouts the pre-sampling judged each prompt by."""
        return self.training.config["presample"]["k"]

    @cached_property
    def arguments(self) -> Mapping[str, Any]:
        """The method as the trainer took it (`methods.setup`): beta resolved, divergence and gauge named."""
        rates = self.training.base_rates
        return setup(self.method, [rates[name] for name in self.training.explored]).arguments

    @property
    def rehearsed_rows(self) -> Sequence[RehearsedRow]:
        """The rows of the rehearsal buffer under the run."""
        return self.evaluation.rehearsed.rows


def read_runs(folders: Sequence[Path]) -> list[Run]:
    """The runs of these folders, the base's evaluation being read from `base` beside each.

    Raises ValueError that names a missing or malformed file, or a set that shares no prompt with the base's.
    """
    if not folders:
        raise argument_error("runs", [], "at least one run folder")
    given = [Folders.at(folder.resolve()) for folder in folders]
    named = [run for run in given if run != run.base()]
    if not named:
        raise argument_error(
            "runs", [str(folder) for folder in folders], "at least one run other than the base's"
        )
    return [_read_run(run) for run in named]


def _read_run(folders: Folders) -> Run:
    evaluation = Evaluation.read(folders.evaluation)
    base = Evaluation.read(folders.base().evaluation).sets
    training = TrainingRecord.read(folders.training)
    sets = {
        name: paired(f"{folders.run} {name}", entry.prompts, base[name].prompts)
        for name, entry in evaluation.sets.items()
        if name in base and entry.prompts
    }
    return Run(folders.run, training, evaluation, sets)


def paired(name: str, prompts: Sequence[PromptAnswers], base: Sequence[PromptAnswers]) -> Measured:
    """The prompts that both evaluations hold, in the run's order."""
    of_base = {entry.id: entry for entry in base}
    both = [(entry, of_base[entry.id]) for entry in prompts if entry.id in of_base]
    if not both:
        raise argument_error(
            name, [entry.id for entry in prompts][:3], "prompts that the base's evaluation has too"
        )

    def table(key: str, side: int = 0) -> np.ndarray:
        return _table(f"{name} {('', 'base ')[side]}{key}", [getattr(pair[side], key) for pair in both])

    judged_together = all(entry.mean_correct is not None for pair in both for entry in pair)
    return Measured(
        tuple(entry.id for entry, _ in both),
        table("correct").astype(bool),
        table("log_pi"),
        table("log_ref"),
        table("correct", 1).astype(bool),
        tuple(entry.question or entry.id for entry, _ in both),
        table("mean_correct") if judged_together else None,
        table("mean_correct", 1) if judged_together else None,
    )


def _table(name: str, rows: Sequence[Sequence[float]]) -> np.ndarray:
    lengths = {len(row) for row in rows}
    if len(lengths) != 1 or 0 in lengths:
        raise argument_error(
            name, sorted(lengths), "as many samples, at least one, for every prompt of a set"
        )
    return np.array(rows, dtype=float)
