"""What the experiment finds, as frozen values that a record holds as JSON."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from dph_theory.support.frozen import from_json
from dph_theory.support.record import checked

KIND = "toy.styles"
Split: TypeAlias = Literal["train", "held_out"]
SPLITS: tuple[Split, ...] = ("train", "held_out")


@dataclass(frozen=True, kw_only=True)
class End:
    """What a policy does on some prompts; see `toy_lm.styles.evaluate.at_the_end`."""

    pass_at_k: tuple[float, ...]
    style_entropy: float
    distinct_styles: float
    style_histogram: tuple[float, ...]
    excess: float
    base_solved: int
    base_unsolved: int
    retention: float | None = None
    exploration: float | None = None


@dataclass(frozen=True, kw_only=True)
class _OnPrompts:
    train: End
    held_out: End

    def on(self, split: Split) -> End:
        """What it does on these prompts."""
        return self.train if split == "train" else self.held_out


@dataclass(frozen=True, kw_only=True)
class Base(_OnPrompts):
    """The model that a seed's trainings start from, and how much of it is rehearsed."""

    seed: int
    rehearsed_prompts: int
    rehearsed_samples: int


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Means over training prompts along a training, after these updates."""

    update: tuple[int, ...]
    pass_at_8: tuple[float, ...]
    pass_at_16: tuple[float, ...]
    excess: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Run(_OnPrompts):
    """A training: its variant, the questions it answers, its curve and what it ends as.

    On the rehearsed prompts: the guarantee exp(-KL(p_* || pi)) and the pass rate at the end, and the least
    difference of the two on any prompt at any time (theory C4).
    """

    name: str
    label: str
    place: str
    seed: int
    updates: int
    groups: tuple[str, ...]
    curve: Curve
    guarantee: float
    rehearsed_pass: float
    guarantee_margin: float
    coefficient: float | None = None
    strength: float | None = None
    mu: float | None = None
    alpha: float | None = None


@dataclass(frozen=True, kw_only=True)
class Results:
    """Everything in a record of the experiment; k are those of Pass@k, and bases come one a seed."""

    k: tuple[int, ...]
    bases: tuple[Base, ...]
    runs: tuple[Run, ...]

    def of_group(self, group: str) -> Iterator[Run]:
        """The runs that answer a question: "main", "strengths", "places" or "long"; see `Config`."""
        return (run for run in self.runs if group in run.groups)

    def by_method(self, names: Collection[str]) -> dict[str, list[Run]]:
        """The runs of the comparison by method, for methods of these names, one a seed."""
        found: dict[str, list[Run]] = {}
        for run in self.of_group("main"):
            if run.name in names:
                found.setdefault(run.name, []).append(run)
        return found

    def ends(self, split: Split) -> dict[str, list[End]]:
        """The ends of the comparison on these prompts by label, one a seed; the base is "base"."""
        found = {"base": [base.on(split) for base in self.bases]}
        for run in self.of_group("main"):
            found.setdefault(run.label, []).append(run.on(split))
        return found

    def pass_at(self, end: End, k: int) -> float:
        """Pass@k of an end, for a k that was measured."""
        return end.pass_at_k[self.k.index(k)]


def read(record: Any) -> Results:
    """The results of a record; ValueError unless it is one of this experiment."""
    return from_json(Results, checked(record, KIND)["results"])
