"""What the initial model can do: pass rates, D_pef and D_exp, the rehearsal buffer."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dph_theory.intervals import Rate
from dph_theory.support.errors import RefusedError, argument_error
from dph_theory.support.files import write_json
from dph_theory.support.journal import difference_of
from dph_theory.support.record import read_record, record

from ..models.load import ModelHashes, declared_stop_tokens
from ..recipe.schema import Recipe
from ..storage.tensors import database_hashes, hash_values
from ..tasks.protocol import FAILED, Prompt, Task, bound_to, failures_text
from ..tasks.verifiers.worker import JudgeOutcome
from .buffer import RehearsalBuffer

KIND = "full_scale.presample"
PACKAGES = ("torch", "transformers")
JOURNAL, RECORD, BUFFER = "rollouts.jsonl", "presample.json", "buffer"


def identity_of(recipe: Recipe, task: Task, hashes: ModelHashes) -> dict[str, Any]:
    """What a pre-sampling depends on, as JSON has it: model, prompts as it is given them, sampling, split."""
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
    """Start of the sha256 of every prompt with its reference, by id.

    Databases are left out: `database_hashes` has their contents, and their place decides nothing.
    """
    return {
        e.id: hash_values(
            [e.prompt, list(e.turns), {k: v for k, v in e.reference.items() if k != "database"}]
        )[:16]
        for e in examples
    }


ROLLING = ("presample.k", "presample.buffer_per_prompt")
"""What of `presample` the rollouts depend on; the rest splits them."""
FREE = ("seed", "sampling.batch_size", "sampling.backend")
"""What a training may have otherwise than its pre-sampling: they move no probability."""


_STORED = ("pef", "exp", "outcomes", "unfinished", "failures", "cut_off")
"""Fields of a pre-sampling that its record has as they are."""
_MANY = 0.5
"""Share of rollouts cut off from which the limit, or the tokens that end an answer, may be wrong."""


@dataclass(frozen=True, eq=False)
class Presampling:
    """What the initial model can do: every prompt's pass rate, D_pef, D_exp and the rehearsal buffer.

    A rate counts the k rollouts only. D_pef is chosen by them, so that its rates are somewhat high; the fresh
    rollout takes part in the choice alone.
    """

    rates: Mapping[str, Rate]
    pef: tuple[str, ...]
    exp: tuple[str, ...]
    buffer: RehearsalBuffer
    outcomes: Mapping[str, int]
    """What the verifier said of the rollouts, counted."""
    unfinished: int
    """Rollouts that were cut off at max_new_tokens."""
    identity: Mapping[str, Any]
    """What it depends on: hashes, seed, sampling and presample settings, the task's prompts, its verifier."""
    failures: Mapping[str, int] = field(default_factory=dict)
    """What the verifier said where it failed, counted."""
    cut_off: str = ""
    """How a rollout ended that was cut off."""

    def trained(self, prompts: str) -> tuple[str, ...]:
        """The prompts to train on: D_exp for `explored`, all for `all`."""
        return tuple(self.rates) if prompts == "all" else self.exp

    def values(self, names: Iterable[str]) -> list[float]:
        """The base pass rates of these prompts."""
        return [self.rates[name].value for name in names]

    @classmethod
    def load(cls, folder: Path) -> "Presampling":
        """The finished pre-sampling of a folder; RefusedError if it is not there or not finished."""
        path = folder / RECORD
        if not path.is_file():
            begun = "was begun and not finished" if (folder / JOURNAL).is_file() else "has not been run"
            raise RefusedError(f"no pre-sampling in {folder}: it {begun}; run dph presample --config ...")
        results = read_record(path, KIND, "dph presample --config ...")["results"]
        counts = {name: (entry["correct"], entry["n"]) for name, entry in results.pop("rates").items()}
        own: dict[str, Any] = {name: results.pop(name) for name in _STORED}
        own |= {name: tuple(own[name]) for name in ("pef", "exp")}
        del results["rows"]
        rates = {name: Rate.of_counts(*count) for name, count in counts.items()}
        return cls(rates=rates, buffer=RehearsalBuffer.load(folder / BUFFER), identity=results, **own)

    def save(self, folder: Path, recipe: Recipe) -> None:
        """Write the record, whose presence beside the stored buffer says that all is there."""
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
        """Why there is nothing to rehearse though D_pef has prompts."""
        return (
            f"no correct rollout of D_pef's {len(self.pef)} prompts ended by itself; {self._cut_off_text()}"
        )

    def _cut_off_text(self) -> str:
        share = self.unfinished / max(1, sum(self.outcomes.values()))
        ended = f" (one ended in {self.cut_off!r})" if self.cut_off else ""
        words = f"{share:.1%} of the rollouts were cut off at sampling.max_new_tokens{ended}"
        if share < _MANY:
            return words
        return f"{words}: give more tokens, or name in sampling.stop the tokens that end an answer"

    def check(self, recipe: Recipe, task: Task, hashes: ModelHashes) -> None:
        """ValueError names what of the recipe is not as it was: model, precision, task, prompts, sampling.

        The seed may differ: runs of several seeds share one pre-sampling. So may what moves no probability.
        """
        for name, value in identity_of(recipe, task, hashes).items():
            if name not in FREE and self.identity.get(name) != value:
                given, other = difference_of(value, self.identity.get(name, "nothing of this name"))
                way_on = "keep to that, or pre-sample in another output folder"
                if name in ("prompts", "databases", "verifier"):
                    way_on = "put that back as it was, or pre-sample again, in another output folder"
                elif name.startswith("presample.") and name not in ROLLING:
                    way_on = (
                        "keep to that, or run dph presample with the new value: it splits the prompts of "
                        "this folder anew from the rollouts there are, for every run that follows"
                    )
                raise argument_error(name, given, f"the pre-sampling has {other}; {way_on}")

    @property
    def findings(self) -> list[str]:
        """What the numbers say, for the record and the terminal."""
        mean = float(np.mean([rate.value for rate in self.rates.values()]))
        never = sum(rate.correct == 0 for rate in self.rates.values())
        sentences, kernel = list[str](), self.identity.get("presample.kernel")
        rehearsed = f"D_pef has {len(self.pef)} prompts"
        if self.identity.get("presample.anchors"):
            choice = f"by {kernel}" if kernel else "at random"
            rehearsed = f"{len(self.pef)} prompts are held at the base, chosen {choice},"
        if self.failures:
            failed = sum(self.outcomes.get(outcome, 0) for outcome in FAILED)
            rollouts = sum(self.outcomes.values())
            sentences.append(
                f"the verifier failed on {failed} of {rollouts} rollouts, which count as wrong: "
                f"{failures_text(self.failures)}"
            )
        sentences += [
            f"mean base pass rate {mean:.3f} over {len(self.rates)} prompts; {never} with no correct rollout",
            f"{rehearsed} and {len(self.buffer)} rows to rehearse, D_exp {len(self.exp)} prompts",
        ]
        if never:
            sentences.append(
                f"{never} prompts never solved cost rollouts in training, and give no gradient until a group "
                "holds a correct one"
            )
        if not self.pef:
            sentences.append(
                "D_pef is empty: nothing can be rehearsed; lower presample.threshold for a DPH method"
            )
        elif not len(self.buffer):
            sentences.append(f"nothing can be rehearsed: {self.no_rows}")
        if not self.exp:
            sentences.append(
                "D_exp is empty: nothing is left to explore; raise presample.threshold or take harder prompts"
            )
        if self.unfinished:
            sentences.append(self._cut_off_text())
        if unjudged := self.outcomes.get(JudgeOutcome.GOLD_ERROR, 0):
            sentences.append(
                f"{unjudged} rollouts count as wrong because their reference could not be judged: an error of"
                " the data, such as a reference query that does not run"
            )
        return sentences
