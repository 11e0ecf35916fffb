"""Counts as rows, a prompt each, checked; and two checkpoints' counts of the same prompts as arrays."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..numeric.arrays import Scalars, first, whole
from ..support.errors import argument_error
from ..support.table import dataframe

_PLAIN = {"id", "n", "c"}
NEAR = 1e-5
"""Verdicts this near to 0 or 1 are that: float32 and means of checks leave .999999 of a one."""
MOST_ANSWERS = 2**14
"""The most answers to a prompt: tables of all counts from 0 to n are formed."""


@dataclass(frozen=True)
class PromptRow:
    """A prompt by id: n answers, c of them correct.

    `kl` is the mean of log pi - log ref over the answers, `kl_correct` that mean with the incorrect ones
    counted as zero; `styles` how many answers have each style; `ks` the k at which Pass@k is asked for;
    `category` what the field that was asked for holds; `votes` how often each different answer was given and
    was correct.
    """

    id: str | int
    n: int
    c: int
    kl: float | None = None
    kl_correct: float | None = None
    styles: Mapping[str, int] | None = None
    ks: tuple[int, ...] | None = None
    category: str | None = None
    votes: tuple[tuple[int, int], ...] | None = None


def row(value: Any, by: str | None = None) -> PromptRow:
    """The row of a mapping {"id", "n", "c"} with optional "correct", "kl", "log_ratio", "style", "k".

    "correct" lists the verdict of each answer (0 or 1) and may stand in place of n and c; with it "answer"
    may list what each said; "log_ratio" lists log pi - log ref of each answer in the same order, or "kl"
    holds their mean; "style" maps names to counts; "k" lists whole numbers; the field `by`, if one is asked
    for, holds the category. Fields that are null count as absent.
    Raises ValueError naming the field that is missing or is something else.
    """
    if not isinstance(value, Mapping):
        raise argument_error("row", value, "an object with id, n and c")
    if by is None and value.keys() == _PLAIN and None not in value.values():
        return PromptRow(_id(value["id"]), *_counts(value["n"], value["c"]))
    value = {name: entry for name, entry in value.items() if entry is not None}
    verdicts = _verdicts(value.get("correct"))
    if verdicts is not None:
        value = {"n": len(verdicts), "c": sum(verdicts), **value}
    missing = [name for name in ("id", "n", "c") if name not in value]
    if missing:
        raise argument_error("row", sorted(value), f"needs {', '.join(missing)}")
    n, c = _counts(value["n"], value["c"])
    if verdicts is not None and (len(verdicts), sum(verdicts)) != (n, c):
        raise argument_error(
            "correct", f"{sum(verdicts)} of {len(verdicts)}", f"must agree with c={c}, n={n}"
        )
    ks = value.get("k")
    return PromptRow(
        _id(value["id"]),
        n,
        c,
        *_kl(value, n, verdicts),
        styles=_styles(value.get("style"), n),
        ks=None if ks is None else tuple(sorted({_whole("k", k, least=1) for k in _list("k", ks)})),
        category=None if by is None or value.get(by) is None else str(value[by]),
        votes=_votes(value.get("answer"), verdicts),
    )


def _counts(n: Any, c: Any) -> tuple[int, int]:
    n, c = _whole("n", n), _whole("c", c)
    if n < 1:
        raise argument_error("n", n, "at least one answer")
    if n > MOST_ANSWERS:
        raise argument_error("n", n, f"at most {MOST_ANSWERS:,} answers to a prompt")
    if c > n:
        raise argument_error("c", c, f"at most n = {n}")
    return n, c


def _id(value: Any) -> str | int:
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise argument_error("id", value, "a whole number or a text that is not empty")
    return value


def _whole(name: str, value: Any, least: int = 0) -> int:
    if type(value) is not int or value < least:
        raise argument_error(name, value, f"a whole number, at least {least}")
    return value


def _list(name: str, value: Any) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        raise argument_error(name, value, "a list")
    return value


def _finite(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise argument_error(name, value, "a finite number")
    return float(value)


def _verdicts(value: Any) -> list[int] | None:
    if value is None:
        return None
    entries = _list("correct", value)
    found = [snapped(x) for x in entries if isinstance(x, bool | int | float) and snapped(x) in (0, 1)]
    if len(found) != len(entries):
        raise argument_error("correct", value, "zeros and ones")
    return [int(entry) for entry in found]


def snapped(value: float) -> float:
    """A verdict, 0 or 1 where it is as near as NEAR to that."""
    return next((end for end in (0.0, 1.0) if abs(value - end) <= NEAR * (1 + NEAR)), value)


def votes(answers: Iterable[tuple[str, int]]) -> tuple[tuple[int, int], ...]:
    """Of answers and whether each is correct: how often each different one was given, and was correct."""
    found: dict[str, list[int]] = {}
    for said, correct in answers:
        entry = found.setdefault(said, [0, 0])
        entry[0] += 1
        entry[1] += correct
    return tuple(sorted((given, right) for given, right in found.values()))


def _votes(value: Any, verdicts: list[int] | None) -> tuple[tuple[int, int], ...] | None:
    """How often each different answer was given, and was correct."""
    if value is None:
        return None
    said = list(map(str, _list("answer", value)))
    if verdicts is None or len(said) != len(verdicts):
        raise argument_error("answer", f"{len(said)} answers", 'one for each verdict in "correct"')
    return votes(zip(said, verdicts, strict=True))


def _kl(value: Mapping[str, Any], n: int, verdicts: list[int] | None) -> tuple[float | None, float | None]:
    """The mean log ratio, and that of the correct answers alone over all n."""
    if "log_ratio" not in value:
        return (_finite("kl", value["kl"]) if "kl" in value else None), None
    ratios = [_finite("log_ratio", entry) for entry in _list("log_ratio", value["log_ratio"])]
    if len(ratios) != n:
        raise argument_error("log_ratio", f"{len(ratios)} numbers", f"one for each of the {n} answers")
    if verdicts is None:
        return sum(ratios) / n, None
    return sum(ratios) / n, sum(r for r, v in zip(ratios, verdicts, strict=True) if v) / n


def _styles(value: Any, n: int) -> Mapping[str, int] | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise argument_error("style", value, "an object of counts by name")
    found = {str(name): _whole("style", count) for name, count in value.items() if count is not None}
    if sum(found.values()) > n:
        raise argument_error("style", sum(found.values()), f"counts of at most n = {n} answers in all")
    return found


@dataclass(frozen=True, repr=False)
class Counts:
    """The rows of a file by id, in the file's order; `cut_off` says that its last line was unfinished.

    `told` says of a log which rewards there are, which count as right, and what has none.
    """

    source: str
    rows: Mapping[str | int, PromptRow]
    sha256: str
    cut_off: bool = False
    told: tuple[str, ...] = ()
    models: tuple[str | None, str | None] = (None, None)
    """Of an evaluation the hash of its model, and of the model that its log ratios are from."""
    called: str = ""
    """How it is named where others of its name stand beside it; by default the source's last part."""

    @property
    def name(self) -> str:
        """What it is called."""
        return self.called or Path(self.source).name

    def __repr__(self) -> str:
        rate = sum(row.c / row.n for row in self.rows.values()) / max(1, len(self.rows))
        return f"Counts({self.source!r}: {len(self.rows)} prompts, Pass@1 {rate:.4g})"

    def to_dataframe(self) -> Any:
        """A row for each prompt: id, n, c; ModuleNotFoundError without pandas."""
        return dataframe({name: [getattr(r, name) for r in self.rows.values()] for name in ("id", "n", "c")})


@dataclass(frozen=True, eq=False)
class Pairs:
    """The prompts that a base and a run were both sampled on, as whole numbers (prompts,)."""

    base_n: np.ndarray
    base_c: np.ndarray
    run_n: np.ndarray
    run_c: np.ndarray

    @classmethod
    def of(cls, base_n: Scalars, base_c: Scalars, run_n: Scalars, run_c: Scalars) -> "Pairs":
        """The pairs of counts without a file.

        Parameters: `base_n` and `run_n`, answers to each prompt; `base_c` and `run_c`, the correct ones among
        them; whole numbers that broadcast to (prompts,). Raises ValueError unless 0 <= c <= n, n from 1 to
        MOST_ANSWERS.

        >>> Pairs.of(4, [1, 2, 3], 8, [2, 0, 8]).least
        4
        """
        sides: list[np.ndarray] = []
        for side, n, c in (("base", base_n, base_c), ("run", run_n, run_c)):
            n, c = whole(f"{side}_n", n, at_least=1), whole(f"{side}_c", c, at_least=0)
            n, c = np.broadcast_arrays(n, c)
            if (c > n).any():
                raise argument_error(f"{side}_c", first(c, c > n), "at most n, the number of answers")
            if (n > MOST_ANSWERS).any():
                raise argument_error(f"{side}_n", first(n, n > MOST_ANSWERS), f"at most {MOST_ANSWERS:,}")
            sides += [n, c]
        found = np.broadcast_arrays(*sides)
        if found[0].ndim != 1 or found[0].size == 0:
            raise argument_error("counts.shape", found[0].shape, "one axis of prompts, at least one")
        return cls(*found)

    def __len__(self) -> int:
        """The number of prompts."""
        return len(self.base_n)

    def chosen(self, which: np.ndarray) -> "Pairs":
        """The prompts at these places, or where a mask is true."""
        return Pairs(self.base_n[which], self.base_c[which], self.run_n[which], self.run_c[which])

    @cached_property
    def least(self) -> int:
        """The least number of answers to any prompt on either side."""
        return int(self.reach.min())

    @cached_property
    def reach(self) -> np.ndarray:
        """The fewer answers of both sides to each prompt, (prompts,): the greatest k that it tells of."""
        return np.minimum(self.base_n, self.run_n)

    @property
    def alike(self) -> bool:
        """Whether every prompt has the same counts on both sides."""
        return bool((self.base_n == self.run_n).all() and (self.base_c == self.run_c).all())

    @property
    def single(self) -> bool:
        """Whether no prompt has two answers on both sides, so that only means over prompts are identified."""
        return int(self.reach.max()) == 1

    @cached_property
    def usual(self) -> int:
        """The greatest k that nineteen of twenty prompts tell of."""
        return int(np.sort(self.reach)[len(self) // 20])

    def thinned(self, rng: np.random.Generator) -> "Pairs":
        """As many answers on both sides: of the more, as many as of the fewer are drawn without replacement.

        Two checkpoints alike then have counts that can be exchanged, so that tests of it are exact.
        """
        return self._drawn(self.reach, self.reach, rng)

    def thinned_to(self, most: int, rng: np.random.Generator) -> "Pairs":
        """At most so many answers to a prompt on either side, drawn without replacement."""
        return self._drawn(np.minimum(self.base_n, most), np.minimum(self.run_n, most), rng)

    def _drawn(self, base_n: np.ndarray, run_n: np.ndarray, rng: np.random.Generator) -> "Pairs":
        base_c, run_c = (
            np.where(n < had, rng.hypergeometric(c, had - c, n), c)
            for n, had, c in ((base_n, self.base_n, self.base_c), (run_n, self.run_n, self.run_c))
        )
        return Pairs(base_n, base_c, run_n, run_c)


class UnmatchedPromptsError(ValueError):
    """Of two files one lacks prompts of the other."""


@dataclass(frozen=True, eq=False, repr=False)
class Matched:
    """The rows that two files share, in an order that the files' own order does not change.

    `too_few` more are left out, which have fewer answers than were asked for.
    """

    base: tuple[PromptRow, ...]
    run: tuple[PromptRow, ...]
    only_base: int
    only_run: int
    counts: Pairs
    too_few: int = 0

    def __repr__(self) -> str:
        return (
            f"Matched({len(self.base)} prompts of both; {self.only_base} + {self.only_run} of one file alone)"
        )


def matched(base: Counts, run: Counts, *, allow_missing: bool = False, min_n: int = 1) -> Matched:
    """The prompts of both files, paired by id.

    Parameters: `base` and `run`, from `read_counts`; `allow_missing`, leave out and count the prompts that
    one file lacks; `min_n`, those with fewer answers on either side. Returns the rows of both in one order,
    their counts as arrays (prompts,) in `counts`. Raises UnmatchedPromptsError where one file lacks some,
    ValueError where they share none, or none with so many answers.

    >>> matched(read_counts("base.jsonl"), read_counts("run.jsonl")).counts.base_c  # doctest: +SKIP
    array([5, 0, 3])
    """
    # 0 of one file and "0" of another are one prompt.
    sides = [{str(key): row for key, row in side.rows.items()} for side in (base, run)]
    shared = sorted(sides[0].keys() & sides[1].keys(), key=lambda key: _in_order(sides[0][key].id))
    lacking = [
        _lacking(source, *those) for source, those in ((run.source, sides), (base.source, sides[::-1]))
    ]
    told = [words for words, count in lacking if count]
    if told and not allow_missing:
        raise UnmatchedPromptsError("; ".join(told))
    if not shared:
        raise argument_error("files", (base.source, run.source), "at least one prompt in common")
    kept = [key for key in shared if min(side[key].n for side in sides) >= min_n]
    if not kept:
        raise argument_error("min_n", min_n, "as many answers as some prompt has on both sides")
    base_rows, run_rows = (tuple(side[key] for key in kept) for side in sides)
    columns = (
        np.array([getattr(r, name) for r in rows]) for rows in (base_rows, run_rows) for name in ("n", "c")
    )
    pairs = Pairs.of(*columns)
    return Matched(base_rows, run_rows, lacking[0][1], lacking[1][1], pairs, len(shared) - len(kept))


def _in_order(key: str | int) -> tuple[bool, int, str]:
    """Numbers first, also those that are text."""
    digits = str(key).isdecimal()
    return not digits, int(key) if digits else 0, str(key)


def _lacking(source: str, there: Mapping[str, PromptRow], here: Mapping[str, PromptRow]) -> tuple[str, int]:
    """What the file of that name, with the rows `here`, has not of those `there`."""
    missing = [key for key in there if key not in here]
    example = next(iter(missing), None)
    return f"{source} lacks {len(missing)} of the prompts, such as {str(example)[:60]!r}", len(missing)
