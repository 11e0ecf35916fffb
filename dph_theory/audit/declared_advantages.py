"""Comparison of an advantage with the declared ones, and where they differ."""

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import NamedTuple

import numpy as np

from ..losses.advantages import ACROSS_GROUPS, FORMS, Advantage
from .precision import FLOAT32, AdvantageError, called, rounding_of, sorted_groups

LARGEST = 16
"""Largest group in which advantages are compared."""
EXACT = 1e-8
NEAR = 0.1
"""Largest relative error at which the nearest form is named."""
MIXED, EQUAL, BATCH = (
    "where a group has both verdicts",
    "where a group's rewards agree",
    "where a batch has several groups",
)
Parts = Mapping[str, np.ndarray]


class _Likeness(NamedTuple):
    """Factor to a declared form, relative error in groups of unequal rewards, and the differences."""

    words: str
    factor: float
    off: float
    differs: tuple[str, ...]


def declared_advantage(advantage: Advantage, group_size: int, name: str = "") -> str:
    """Sentence that names the published advantage which a function equals, unless it has that name.

    Forms are compared in groups of every number of correct answers, alone and in a batch, up to a factor;
    then also up to the group's mean, and in expectation. The sentence is empty if the function fails.
    """
    size = min(group_size, LARGEST)
    try:
        parts = _parts(advantage, size, precise=True)
    except AdvantageError:
        return ""
    in_float32 = all(rounding_of(values) == FLOAT32 for values in parts.values())
    tolerance = FLOAT32 if in_float32 else EXACT
    closest: list[_Likeness] = []
    for words, change in _CHANGES.items():
        own = _gains(parts) if change is _gains else parts
        compared = [
            _likeness(own, change(other), source + words, tolerance)
            for source, other in _declared(size).items()
        ]
        closest = sorted(filter(None, [*closest, *compared]), key=lambda like: like.off)
        equal = [like for like in closest if like.off < tolerance]
        if equal:
            # A small number that is added shows: another one fits far better.
            equal = [like for like in equal if like.off <= 10 * equal[0].off + 1e-13]
            best = min(equal, key=lambda like: (len(like.differs), abs(math.log(abs(like.factor)))))
            factor = "" if abs(best.factor - 1) < 1e-5 else f"{best.factor:.6g} times "
            differs = f", but differs {' and '.join(best.differs)}" if best.differs else ""
            return "" if best.words.startswith(f"{name} (") else f"It is {factor}{best.words}{differs}."
    near = [like for like in closest if like.off < NEAR and " + " not in like.words][:1]
    nearest = "".join(f"; nearest is {like.words}, {like.off:.0%} off {MIXED}" for like in near)
    return f"It is none of the {len(FORMS) + len(ACROSS_GROUPS)} declared advantages{nearest}."


def _likeness(parts: Parts, other: Parts, words: str, tolerance: float) -> _Likeness | None:
    """Likeness of two forms' advantages up to a factor; None if they differ in mixed groups or vanish."""
    own, declared = (side[MIXED].ravel() for side in (parts, other))
    if not (declared.any() and own.any() and np.isfinite(own).all()):
        return None
    factor = float(own @ declared / (declared @ declared))
    if factor == 0:
        return None
    size = np.abs(own).max()
    offs = {part: float(np.abs(parts[part] - factor * other[part]).max() / size) for part in parts}
    differs = tuple(part for part, off in offs.items() if not off < tolerance)
    return _Likeness(words, factor, offs[MIXED], differs)


def _shuffled(size: int) -> np.ndarray:
    return np.random.default_rng(0).permuted(sorted_groups(size), axis=1)


def _parts(advantage: Advantage, size: int, *, precise: bool = False) -> Parts:
    """Advantages of groups of every correct count, by kind: mixed, equal rewards, and within a batch."""
    rows = _shuffled(size)
    alone = np.concatenate([called(advantage, row[None], precise=precise) for row in rows])
    # Groups of equal rewards may change what the others of a batch get; what they get is compared alone.
    batch = called(advantage, rows[[1, size // 2, size - 1, 1, 0, size]], precise=precise)
    return {MIXED: alone[1:-1], EQUAL: alone[[0, -1]], BATCH: batch[:4]}


@cache
def _declared(size: int) -> dict[str, Parts]:
    """Advantages, as in `_parts`, of every published form and setting for that group size, by its name."""
    declared = {}
    for form in (*FORMS, *ACROSS_GROUPS):
        for name, advantage in form.settings(size).items():
            with suppress(AdvantageError):  # Such as the std of the others, in a group of two.
                declared[f"{name} ({form.source})"] = _parts(advantage, size)
    return declared


def _gains(parts: Parts) -> Parts:
    """Advantage of a correct minus an incorrect answer, (G,), by how many of the others are correct."""
    size = parts[MIXED].shape[1]
    alone = np.concatenate([parts[EQUAL][:1], parts[MIXED], parts[EQUAL][1:]])
    rows = _shuffled(size)
    right = (alone * rows).sum(axis=1)[1:] / np.arange(1, size + 1)
    wrong = (alone * (1 - rows)).sum(axis=1)[:-1] / np.arange(size, 0, -1)
    return {MIXED: right - wrong}


_CHANGES: Mapping[str, Callable[[Parts], Parts]] = {
    "": lambda parts: parts,
    ", less its group's mean": lambda parts: {
        k: a - a.mean(axis=-1, keepdims=True) for k, a in parts.items()
    },
    " in expectation, with another baseline": _gains,
}
"""Changes up to which a declared advantage may be meant."""
