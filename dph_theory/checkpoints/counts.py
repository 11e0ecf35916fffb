"""Counts as rows, a prompt each, checked; and two checkpoints' counts of the same prompts as arrays."""

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from ..numeric.arrays import Scalars, first_bad, integers
from ..support.errors import argument_error

ROUNDED = 1e-5
"""Rewards this near to 0 or 1 are that: float32 and means of checks leave .999999 of a one."""
TEXTS = ("prompt", "question")
"""Fields that hold a prompt's text."""
MOST_ANSWERS = 2**14
"""The most answers to a prompt: tables of all counts from 0 to n are formed."""


@dataclass(frozen=True)
class PromptRow:
    """A prompt by id: n answers, c of them correct.

    `kl` is the mean of log pi - log ref over the answers, `kl_correct` that mean with the incorrect ones
    counted as zero; `styles` how many answers have each style; `category` what the field that was asked for
    holds; `text` the prompt's. In their order: whether each answer is `correct`, and the `answers`.
    """

    id: str | int
    n: int
    c: int
    kl: float | None = None
    kl_correct: float | None = None
    styles: Mapping[str, int] | None = None
    category: str | None = None
    correct: tuple[int, ...] | None = None
    answers: tuple[str, ...] | None = None
    text: str | None = None

    @property
    def votes(self) -> tuple[tuple[int, int], ...] | None:
        """How often each different answer was given, and was correct; None without answers."""
        if not self.answers:
            return None
        given, right = Counter(self.answers), Counter[str]()
        for answer, correct in zip(self.answers, self.correct or (), strict=True):
            right[answer] += correct
        return tuple(sorted((times, right[answer]) for answer, times in given.items()))


def prompt_row(value: Any, by: str | None = None) -> PromptRow:
    """The row of a mapping {"id", "n", "c"} with optional "correct", "answer", "log_ratio", "kl", "style".

    "correct" lists the reward of each answer (0 or 1) and may stand in place of n and c; with it "answer"
    may list what each said; "log_ratio" lists log pi - log ref of each answer in the same order, or "kl"
    holds their mean; "style" maps names to counts, or lists the style of each answer, of which those of
    correct ones count; "prompt" or "question" is the text; the field `by`, if one is asked for, holds the
    category. Fields that are null count as absent. Raises ValueError naming the field that is missing or is
    wrong.
    """
    if not isinstance(value, Mapping):
        raise argument_error("row", value, "an object with id, n and c")
    fields = {name: entry for name, entry in value.items() if entry is not None}
    verdicts: tuple[int, ...] | None = None
    if "correct" in fields:
        rewards = _entries("correct", fields["correct"], _verdict, "zeros and ones")
        verdicts = tuple(int(snapped(reward)) for reward in rewards)
        fields = {"n": len(verdicts), "c": sum(verdicts), **fields}
    if missing := [name for name in ("id", "n", "c") if name not in fields]:
        raise argument_error("row", sorted(fields), f"needs {', '.join(missing)}")
    if isinstance(fields["id"], bool) or not isinstance(fields["id"], str | int) or fields["id"] == "":
        raise argument_error("id", fields["id"], "a whole number or a text that is not empty")
    n = _integer("n", fields["n"], 1, MOST_ANSWERS, f"from 1 to at most {MOST_ANSWERS:,} answers to a prompt")
    c = _integer("c", fields["c"], 0, n, f"at most n = {n}")
    if verdicts is not None and (len(verdicts), sum(verdicts)) != (n, c):
        raise argument_error(
            "correct", f"{sum(verdicts)} of {len(verdicts)}", f"must agree with c={c}, n={n}"
        )
    kl, kl_correct = _kl(fields, n, verdicts)
    judged = 0 if verdicts is None else n
    answers = tuple(map(str, _entries("answer", fields["answer"], n=judged))) if "answer" in fields else None
    styles = fields.get("style")
    if isinstance(styles, list | tuple):
        judged_styles = zip(_entries("style", styles, n=judged), verdicts or (), strict=True)
        styles = Counter(str(style) for style, right in judged_styles if right and style)
    category = None if by is None or by not in fields else str(fields[by])
    text = next((fields[name] for name in TEXTS if isinstance(fields.get(name), str)), None)
    return PromptRow(
        fields["id"], n, c, kl, kl_correct, _styles(styles, n), category, verdicts, answers, text
    )


def _kl(
    fields: Mapping[str, Any], n: int, verdicts: Sequence[int] | None
) -> tuple[float | None, float | None]:
    """The mean log ratio, and that mean with the incorrect answers counted as zero."""
    if "log_ratio" in fields:
        ratios = _entries("log_ratio", fields["log_ratio"], is_number, "a finite number", n)
        right = zip(ratios, verdicts or (), strict=verdicts is not None)
        return sum(ratios) / n, None if verdicts is None else sum(r for r, v in right if v) / n
    kl = fields.get("kl")
    if kl is not None and not is_number(kl):
        raise argument_error("kl", kl, "a finite number")
    return kl, None


def _integer(name: str, value: Any, least: int, most: int, allowed: str) -> int:
    if type(value) is not int or not least <= value <= most:
        raise argument_error(name, value, f"a whole number, {allowed}")
    return value


def _entries(
    name: str, value: Any, right: Callable[[Any], bool] | None = None, allowed: str = "", n: int | None = None
) -> Sequence[Any]:
    """The entries of a list, each of them right, one for each of n answers."""
    if not isinstance(value, list | tuple):
        raise argument_error(name, value, "a list")
    if n is not None and len(value) != n:
        raise argument_error(name, f"{len(value)} entries", f"one for each of the {n} answers with a reward")
    wrong = [entry for entry in value if right is not None and not right(entry)]
    if wrong:
        raise argument_error(name, wrong[0], allowed)
    return value


def is_number(value: Any) -> TypeGuard[float]:
    """True if a value is a number: not missing, not text, finite."""
    return isinstance(value, bool | int | float) and abs(value) <= sys.float_info.max


def snapped(value: float) -> float:
    """A reward, 0 or 1 where it is as near as ROUNDED to that."""
    return next((end for end in (0.0, 1.0) if abs(value - end) <= ROUNDED * (1 + ROUNDED)), value)


def _verdict(value: Any) -> bool:
    return is_number(value) and snapped(value) in (0, 1)


def _styles(value: Any, n: int) -> Mapping[str, int] | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise argument_error("style", value, "an object of counts by name")
    few = f"counts of at most n = {n} answers in all"
    counts = {str(name): _integer("style", x, 0, n, few) for name, x in value.items() if x is not None}
    _integer("style", sum(counts.values()), 0, n, few)
    return counts


@dataclass(frozen=True, repr=False)
class Counts:
    """The rows of a file by id, in the file's order, and its hash.

    `notes` say what was made of the file: of a log which rewards there are, which count as correct, and what
    has none; an unfinished last line. `models` are, of an evaluation, the hash of its model, and of the model
    that its log ratios are from. `name` is by default the source's last part;
    `columns` says those of a log.
    """

    source: str
    rows: Mapping[str | int, PromptRow]
    sha256: str
    notes: tuple[str, ...] = ()
    models: tuple[str | None, str | None] = (None, None)
    name: str = ""
    columns: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or Path(self.source).name)

    def __repr__(self) -> str:
        rate = sum(row.c / row.n for row in self.rows.values()) / max(1, len(self.rows))
        return f"Counts({self.source!r}: {len(self.rows)} prompts, Pass@1 {rate:.4g})"


@dataclass(frozen=True, eq=False)
class PairedCounts:
    """The prompts that a base and a run were both sampled on, as whole numbers (prompts,)."""

    base_n: np.ndarray
    base_c: np.ndarray
    run_n: np.ndarray
    run_c: np.ndarray

    @classmethod
    def from_counts(cls, base_n: Scalars, base_c: Scalars, run_n: Scalars, run_c: Scalars) -> "PairedCounts":
        """The pairs of counts without a file.

        Parameters: `base_n` and `run_n`, answers to each prompt; `base_c` and `run_c`, the correct ones among
        them; whole numbers that broadcast to (prompts,). Raises ValueError unless 0 <= c <= n, n from 1 to
        MOST_ANSWERS.

        >>> PairedCounts.from_counts(4, [1, 2, 3], 8, [2, 0, 8]).fewest_answers
        4
        """
        columns = np.broadcast_arrays(
            integers("base_n", base_n, at_least=1),
            integers("base_c", base_c, at_least=0),
            integers("run_n", run_n, at_least=1),
            integers("run_c", run_c, at_least=0),
        )
        if columns[0].ndim != 1 or columns[0].size == 0:
            raise argument_error("counts.shape", columns[0].shape, "one axis of prompts, at least one")
        for side, n, c in (("base", columns[0], columns[1]), ("run", columns[2], columns[3])):
            if (c > n).any():
                raise argument_error(f"{side}_c", first_bad(c, c > n), "at most n, the number of answers")
            if (n > MOST_ANSWERS).any():
                raise argument_error(f"{side}_n", first_bad(n, n > MOST_ANSWERS), f"at most {MOST_ANSWERS:,}")
        return cls(*columns)

    def __len__(self) -> int:
        """The number of prompts."""
        return len(self.base_n)

    def chosen(self, which: np.ndarray) -> "PairedCounts":
        """The prompts at these places, or where a mask is true."""
        return PairedCounts(self.base_n[which], self.base_c[which], self.run_n[which], self.run_c[which])

    @cached_property
    def fewest_answers(self) -> int:
        """Fewest answers to any prompt on either side."""
        return int(self.shared_answers.min())

    @cached_property
    def shared_answers(self) -> np.ndarray:
        """The fewer answers of the two sides, shape (prompts,): the largest k a prompt can show."""
        return np.minimum(self.base_n, self.run_n)

    @property
    def has_single_answers(self) -> bool:
        """True if no prompt has two answers on both sides, so only means over prompts are identified."""
        return int(self.shared_answers.max()) == 1

    @cached_property
    def typical_answers(self) -> int:
        """The largest k that nineteen of twenty prompts can show."""
        return int(np.sort(self.shared_answers)[len(self) // 20])

    def thinned(self, rng: np.random.Generator) -> "PairedCounts":
        """Equal numbers of answers on both sides: of the larger side as many are drawn without replacement.

        Two checkpoints alike then have counts that can be exchanged, so that tests of it are exact.
        """
        return self._drawn(self.shared_answers, self.shared_answers, rng)

    def thinned_to(self, most: int, rng: np.random.Generator) -> "PairedCounts":
        """At most so many answers to a prompt on either side, drawn without replacement."""
        return self._drawn(np.minimum(self.base_n, most), np.minimum(self.run_n, most), rng)

    def _drawn(self, base_n: np.ndarray, run_n: np.ndarray, rng: np.random.Generator) -> "PairedCounts":
        base_c, run_c = (
            np.where(n < available, rng.hypergeometric(c, available - c, n), c)
            for n, available, c in ((base_n, self.base_n, self.base_c), (run_n, self.run_n, self.run_c))
        )
        return PairedCounts(base_n, base_c, run_n, run_c)


class UnmatchedPromptsError(ValueError):
    """One of two files lacks prompts of the other."""


@dataclass(frozen=True, eq=False, repr=False)
class MatchedRows:
    """The rows that two files share, in an order that the files' own order does not change.

    `too_few` more are left out, which have fewer answers than were asked for.
    """

    base: tuple[PromptRow, ...]
    run: tuple[PromptRow, ...]
    only_base: int
    only_run: int
    counts: PairedCounts
    too_few: int = 0


def matched(base: Counts, run: Counts, *, allow_missing: bool = False, min_n: int = 1) -> MatchedRows:
    """The prompts of both files, paired by id.

    Parameters: `base` and `run`, from `read_counts`; `allow_missing`, leave out and count the prompts that
    one file lacks; `min_n`, those with fewer answers on either side. Returns the rows of both in one order,
    their counts as arrays (prompts,) in `counts`. Raises UnmatchedPromptsError where one file lacks some,
    ValueError where they share none, or none with so many answers.

    >>> matched(read_counts("base.jsonl"), read_counts("run.jsonl")).counts.base_c  # doctest: +SKIP
    array([5, 0, 3])
    """
    # 0 of one file and "0" of another are one prompt.
    base_rows, run_rows = ({str(key): row for key, row in side.rows.items()} for side in (base, run))
    only_base = [key for key in base_rows if key not in run_rows]
    only_run = [key for key in run_rows if key not in base_rows]
    lacking = [
        f"{side.source} lacks {len(missing)} of the prompts, such as {missing[0][:60]!r}"
        for side, missing in ((run, only_base), (base, only_run))
        if missing
    ]
    if lacking and not allow_missing:
        raise UnmatchedPromptsError("; ".join(lacking))
    shared = sorted(base_rows.keys() & run_rows.keys(), key=_in_order)
    if not shared:
        raise argument_error("files", (base.source, run.source), "at least one prompt in common")
    keys = [key for key in shared if min(base_rows[key].n, run_rows[key].n) >= min_n]
    if not keys:
        raise argument_error("min_n", min_n, "as many answers as some prompt has on both sides")
    before, after = (tuple(side[key] for key in keys) for side in (base_rows, run_rows))
    base_counts, run_counts = (np.array([(row.n, row.c) for row in rows]).T for rows in (before, after))
    pairs = PairedCounts.from_counts(*base_counts, *run_counts)
    return MatchedRows(before, after, len(only_base), len(only_run), pairs, len(shared) - len(keys))


def _in_order(key: str) -> tuple[bool, int, str, str]:
    """Numbers first, also those that are text, by their size."""
    digits = key.lstrip("0") if key.isdecimal() else ""
    return not key.isdecimal(), len(digits), digits, key
