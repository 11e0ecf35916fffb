"""Counts of correct answers by prompt, checked, and two checkpoints' counts of the same prompts as arrays."""

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
"""Distance from 0 or 1 at which a reward counts as that: float32 leaves .999999 of a one."""
MOST_ANSWERS = 2**14
"""Most answers to a prompt; tables of all counts from 0 to n are formed."""


@dataclass(frozen=True)
class PromptRow:
    """Counts of one prompt: n answers, c of them correct.

    Attributes:
        id, n, c: Name of the prompt, and its counts.
        kl, kl_correct: Mean of log pi - log ref over the answers, in nats, and that with the incorrect ones
            counted as zero.
        styles: Number of answers in each style.
        category, text: Value of the field that was asked for, and the prompt's text.
        correct, answers: Reward (0 or 1) and text of each answer, in one order.
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
        """Pairs (times given, times correct) for each different answer text; None without texts."""
        if not self.answers:
            return None
        given, right = Counter(self.answers), Counter[str]()
        for answer, correct in zip(self.answers, self.correct or (), strict=True):
            right[answer] += correct
        return tuple(sorted((times, right[answer]) for answer, times in given.items()))


def prompt_row(value: Any, by: str | None = None) -> PromptRow:
    """Check one row of counts.

    Args:
        value: Mapping {"id", "n", "c"}. Optional: "correct", the reward (0 or 1) of each answer, in place of
            n and c; "answer", the text of each; "log_ratio", log pi - log ref of each, in nats, or their mean
            "kl"; "style", counts by name, or the style of each; "prompt" or "question", the text.
        by: Field with the category of the prompt.

    Raises:
        ValueError: If a field is missing or wrong; null counts as absent.
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
    text = next((fields[x] for x in ("prompt", "question") if isinstance(fields.get(x), str)), None)
    return PromptRow(
        fields["id"], n, c, kl, kl_correct, _styles(styles, n), category, verdicts, answers, text
    )


def _kl(
    fields: Mapping[str, Any], n: int, verdicts: Sequence[int] | None
) -> tuple[float | None, float | None]:
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
    if not isinstance(value, list | tuple):
        raise argument_error(name, value, "a list")
    if n is not None and len(value) != n:
        raise argument_error(name, f"{len(value)} entries", f"one for each of the {n} answers with a reward")
    wrong = [entry for entry in value if right is not None and not right(entry)]
    if wrong:
        raise argument_error(name, wrong[0], allowed)
    return value


def is_number(value: Any) -> TypeGuard[float]:
    """True if a value is a finite number."""
    return isinstance(value, bool | int | float) and abs(value) <= sys.float_info.max


def snapped(value: float) -> float:
    """Round a reward to 0 or 1 if it is within ROUNDED of either; otherwise return it unchanged."""
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
    """Counts of a file.

    Attributes:
        source, name: Path, and by default its last part.
        rows, sha256: Rows by id, in the file's order, and the file's hash.
        notes: How the file was read: rewards, answers left out, an unfinished last line.
        models: Hashes of an evaluation's model, and of the reference of its log ratios.
        columns: Columns of a log that were read.
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
    """Counts of a base and a run on the same prompts, whole numbers of shape (prompts,)."""

    base_n: np.ndarray
    base_c: np.ndarray
    run_n: np.ndarray
    run_c: np.ndarray

    @classmethod
    def from_counts(cls, base_n: Scalars, base_c: Scalars, run_n: Scalars, run_c: Scalars) -> "PairedCounts":
        """Check counts that broadcast to (prompts,): c correct among n answers.

        Raises:
            ValueError: Unless 0 <= c <= n, with n from 1 to MOST_ANSWERS.

        Example:
            >>> PairedCounts.from_counts(4, [1, 2, 3], 8, [2, 0, 8]).fewest_answers
            4
        """
        named = {"base_n": base_n, "base_c": base_c, "run_n": run_n, "run_c": run_c}
        columns = np.broadcast_arrays(*(integers(x, y, at_least=int("n" in x[-1])) for x, y in named.items()))
        if columns[0].ndim != 1 or columns[0].size == 0:
            raise argument_error("counts.shape", columns[0].shape, "one axis of prompts, at least one")
        for side, n, c in (("base", columns[0], columns[1]), ("run", columns[2], columns[3])):
            if (c > n).any():
                raise argument_error(f"{side}_c", first_bad(c, c > n), "at most n, the number of answers")
            if (n > MOST_ANSWERS).any():
                raise argument_error(f"{side}_n", first_bad(n, n > MOST_ANSWERS), f"at most {MOST_ANSWERS:,}")
        return cls(*columns)

    def __len__(self) -> int:
        """Return the number of prompts."""
        return len(self.base_n)

    def chosen(self, which: np.ndarray) -> "PairedCounts":
        """Select prompts by their indices or by a mask (prompts,)."""
        return PairedCounts(self.base_n[which], self.base_c[which], self.run_n[which], self.run_c[which])

    @cached_property
    def fewest_answers(self) -> int:
        """Fewest answers to any prompt on either side."""
        return int(self.shared_answers.min())

    @cached_property
    def shared_answers(self) -> np.ndarray:
        """Smaller number of answers of the two sides, (prompts,): the largest k of each prompt."""
        return np.minimum(self.base_n, self.run_n)

    @property
    def has_single_answers(self) -> bool:
        """True if no prompt has two answers on both sides, so only means over prompts are identified."""
        return int(self.shared_answers.max()) == 1

    @cached_property
    def typical_answers(self) -> int:
        """Largest k for which at least 95% of the prompts have k answers on both sides."""
        return int(np.sort(self.shared_answers)[len(self) // 20])

    def thinned(self, rng: np.random.Generator) -> "PairedCounts":
        """Draw equal numbers of answers on both sides without replacement.

        Counts of two equal checkpoints are then exchangeable, so that tests of them are exact.
        """
        n = self.shared_answers
        base_c, run_c = (
            np.where(n < available, rng.hypergeometric(c, available - c, n), c)
            for available, c in ((self.base_n, self.base_c), (self.run_n, self.run_c))
        )
        return PairedCounts(n, base_c, n, run_c)


class UnmatchedPromptsError(ValueError):
    """Error for a file that lacks prompts of the other."""


@dataclass(frozen=True, eq=False, repr=False)
class MatchedRows:
    """Rows that two files share, in an order that the files' own order does not change.

    `only_base`, `only_run` and `too_few` count prompts left out: of one file alone, or with too few answers.
    """

    base: tuple[PromptRow, ...]
    run: tuple[PromptRow, ...]
    only_base: int
    only_run: int
    counts: PairedCounts
    too_few: int = 0


def matched(base: Counts, run: Counts, *, allow_missing: bool = False, min_n: int = 1) -> MatchedRows:
    """Pair the prompts of both files by id.

    Args:
        base: Counts of the base.
        run: Counts of the run.
        allow_missing: True to leave out and count prompts that one file lacks.
        min_n: Fewest answers to a prompt on either side.

    Raises:
        UnmatchedPromptsError: If one file lacks prompts.
        ValueError: If no prompt is shared, or none has so many answers.

    Example:
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
    """Sort key of prompt ids: whole numbers by size, also as text, before other text."""
    digits = key.lstrip("0") if key.isdecimal() else ""
    return not key.isdecimal(), len(digits), digits, key
