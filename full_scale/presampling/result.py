"""The stored result of pre-sampling: base pass rates, D_pef and D_exp, and the rehearsal buffer."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dph_theory.intervals import Rate
from dph_theory.support.errors import argument_error
from dph_theory.support.files import write_json
from dph_theory.support.journal import difference_of
from dph_theory.support.record import read_record, record

from ..models.load import ModelHashes, declared_stop_tokens
from ..recipe.folders import RECORD, require_presampling
from ..recipe.schema import Recipe
from ..storage.tensors import database_hashes, hash_values
from ..tasks.protocol import FAILED, Prompt, Task, bound_to, failures_text
from .buffer import RehearsalBuffer

KIND = "full_scale.presample"
PACKAGES = ("torch", "transformers")
BUFFER = "buffer"


def identity_of(recipe: Recipe, task: Task, hashes: ModelHashes) -> dict[str, Any]:
    """Collect the settings on which a pre-sampling depends: model, formatted prompts, sampling, split."""
    identity = {
        **hashes.as_dict(),
        "dtype": recipe.model.dtype,
        "chat": recipe.model.chat,
        "template": recipe.model.template,
        "stop_tokens": declared_stop_tokens(recipe.model, recipe.sampling.stop),
        "seed": recipe.seed,
        **{f"sampling.{name}": value for name, value in recipe.sampling.drawing().items()},
        **{f"presample.{name}": value for name, value in vars(recipe.presample).items()},
        "task": task.name,
        "system": task.system if recipe.model.chat else None,
        "prompts": prompt_hashes(task.train),
        "databases": database_hashes(example.reference for example in task.train),
        "verifier": bound_to(task.verifier),
    }
    return json.loads(json.dumps(identity))


def prompt_hashes(examples: Sequence[Prompt]) -> dict[str, str]:
    """First 16 digits of the sha256 of every prompt with its reference, by id.

    Databases are excluded: `database_hashes` covers their contents, and their location is irrelevant.
    """
    return {
        e.id: hash_values(
            [e.prompt, list(e.turns), {k: v for k, v in e.reference.items() if k != "database"}]
        )[:16]
        for e in examples
    }


ROLLING = ("presample.k", "presample.buffer_per_prompt")
"""Settings of `presample` that affect the rollouts; the others affect only the split."""
FREE = ("seed", "sampling.batch_size", "sampling.backend")
"""Settings that may differ between a training and its pre-sampling: they change no probability."""


_STORED = ("pef", "exp", "outcomes", "unfinished", "failures", "cut_off")
"""Fields of a pre-sampling that are stored unchanged in its record."""
_MANY = 0.5
"""Share of cut-off rollouts above which the token limit or the stop tokens are probably wrong."""


@dataclass(frozen=True, eq=False)
class Presampling:
    """Measurements of the initial model: every prompt's pass rate, D_pef, D_exp and the rehearsal buffer.

    A pass rate counts the k rollouts only. These rollouts also select D_pef, so that the rates in D_pef are
    biased upwards. The fresh rollout is used for the selection only.
    """

    rates: Mapping[str, Rate]
    pef: tuple[str, ...]
    exp: tuple[str, ...]
    buffer: RehearsalBuffer
    outcomes: Mapping[str, int]
    """Number of rollouts by outcome of the verifier."""
    unfinished: int
    """Number of rollouts that were cut off at max_new_tokens."""
    identity: Mapping[str, Any]
    """Determinants of the result: hashes, seed, sampling and presample settings, prompts, verifier."""
    failures: Mapping[str, int] = field(default_factory=dict)
    """Error messages of the verifier, with their counts."""
    cut_off: str = ""
    """Last characters of a rollout that was cut off."""

    def trained(self, prompts: str) -> tuple[str, ...]:
        """Prompts to train on: D_exp for `explored`, all prompts for `all`."""
        return tuple(self.rates) if prompts == "all" else self.exp

    def values(self, names: Iterable[str]) -> list[float]:
        """Base pass rates of these prompts."""
        return [self.rates[name].value for name in names]

    @classmethod
    def load(cls, folder: Path) -> "Presampling":
        """Load the finished pre-sampling of a folder; RefusedError if it is missing or unfinished."""
        require_presampling(folder)
        results = read_record(folder / RECORD, KIND, "dph presample --config ...")["results"]
        counts = {name: (entry["correct"], entry["n"]) for name, entry in results.pop("rates").items()}
        own: dict[str, Any] = {name: results.pop(name) for name in _STORED}
        own |= {name: tuple(own[name]) for name in ("pef", "exp")}
        del results["rows"]
        rates = {name: Rate.of_counts(*count) for name, count in counts.items()}
        return cls(rates=rates, buffer=RehearsalBuffer.load(folder / BUFFER), identity=results, **own)

    def save(self, folder: Path, recipe: Recipe) -> None:
        """Write the record, whose presence beside the stored buffer marks the pre-sampling as finished."""
        results = {
            "rates": {name: rate._asdict() for name, rate in self.rates.items()},
            "rows": len(self.buffer),
            **{name: getattr(self, name) for name in _STORED},
            **self.identity,
        }
        described: Any = {"seed": recipe.seed, "config": recipe.as_dict(), "findings": self.findings}
        write_json(folder / RECORD, record(KIND, results=results, packages=PACKAGES, **described))

    @property
    def no_rows(self) -> str:
        """Sentence that explains why nothing can be rehearsed although there are solved prompts."""
        prompts = f"the {len(self.pef)} solved prompts"
        return f"no correct rollout of {prompts} ended by itself; {self._cut_off_text()}"

    def _cut_off_text(self) -> str:
        share = self.unfinished / max(1, sum(self.outcomes.values()))
        ended = f" (one ended in {self.cut_off!r})" if self.cut_off else ""
        words = f"{share:.1%} of the rollouts were cut off at sampling.max_new_tokens{ended}"
        if share < _MANY:
            return words
        return f"{words}: raise that limit, or add the tokens that end an answer to sampling.stop"

    def check(self, recipe: Recipe, task: Task, hashes: ModelHashes) -> None:
        """Raise ValueError if the recipe's model, precision, task, prompts or sampling have changed.

        The settings in FREE may differ: runs of several seeds share one pre-sampling.
        """
        for name, value in identity_of(recipe, task, hashes).items():
            if name not in FREE and self.identity.get(name) != value:
                given, other = difference_of(value, self.identity.get(name, "no such setting"))
                way_on = "restore that value, or pre-sample in another output folder"
                if name in ("prompts", "databases", "verifier"):
                    way_on = "restore the old state, or pre-sample again in another output folder"
                elif name.startswith("presample.") and name not in ROLLING:
                    way_on = (
                        "restore that value, or run dph presample with the new one: it splits the prompts of "
                        "this folder again from the stored rollouts, for all later runs"
                    )
                raise argument_error(name, given, f"the pre-sampling has {other}; {way_on}")

    @property
    def findings(self) -> list[str]:
        """Sentences that interpret the numbers, for the record and the terminal."""
        mean = float(np.mean([rate.value for rate in self.rates.values()]))
        never = sum(rate.correct == 0 for rate in self.rates.values())
        sentences, kernel = list[str](), self.identity.get("presample.kernel")
        rehearsed = f"{len(self.pef)} solved prompts (D_pef)"
        if self.identity.get("presample.anchors"):
            choice = f"by {kernel}" if kernel else "at random"
            rehearsed = f"{len(self.pef)} prompts are anchored to the base, chosen {choice},"
        if self.failures:
            failed = sum(self.outcomes.get(outcome, 0) for outcome in FAILED)
            rollouts = sum(self.outcomes.values())
            sentences.append(
                f"the verifier failed on {failed} of {rollouts} rollouts, which count as incorrect: "
                f"{failures_text(self.failures)}"
            )
        sentences += [
            f"mean base pass rate {mean:.3f} over {len(self.rates)} prompts; {never} with no correct rollout",
            f"{rehearsed} and {len(self.buffer)} rows to rehearse, {len(self.exp)} unsolved prompts (D_exp)",
        ]
        if never:
            sentences.append(
                f"{never} prompts were never solved: they cost rollouts and give no gradient until a group "
                "contains a correct answer"
            )
        if not self.pef:
            sentences.append(
                "no solved prompts: nothing can be rehearsed; lower presample.threshold for a DPH method"
            )
        elif not len(self.buffer):
            sentences.append(f"nothing can be rehearsed: {self.no_rows}")
        if not self.exp:
            sentences.append(
                "no unsolved prompts: nothing to train; raise presample.threshold or take harder prompts"
            )
        if self.unfinished:
            sentences.append(self._cut_off_text())
        return sentences
