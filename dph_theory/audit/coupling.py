"""Losses that couple a batch: batches of one, two and three sequences enumerated, and how B matters."""

from collections.abc import Callable, Sequence

import numpy as np

from .exact import Loss, LossError, Measured, measure
from .match import EXACT, FLOAT32, match_gradient_or_sum
from .problems import Problem
from .report import Batches, Match

SIZES = (1, 2, 3)
MOST_BATCHES = 70
"""Problems with more batches of a size than this are left out for that size."""
MOST_TERMS = 2
"""So many terms a sum may have: the problems that are left are too small to tell more."""
_LAWS: tuple[tuple[str, Callable[[float], float]], ...] = (
    ("1", lambda b: 1.0),
    ("1 - 1/B", lambda b: 1 - 1 / b),
    ("1/B", lambda b: 1 / b),
    ("B", lambda b: b),
    ("B - 1", lambda b: b - 1),
    ("1 + 1/B", lambda b: 1 + 1 / b),
    ("(B - 1)/B^2", lambda b: (b - 1) / b**2),
    ("B (B - 1)", lambda b: b * (b - 1)),
)


def enumerate_batches(
    loss: Loss,
    names: tuple[str, ...],
    problems: Sequence[Problem],
    source: str,
    *,
    single: bool = False,
) -> tuple[Batches, list[tuple[Problem, Measured]]]:
    """What the loss descends on single outcomes at each batch size, and the problems measured at two.

    Raises LossError if it can be evaluated at no size.
    """
    found: dict[int, Match] = {}
    pairs: list[tuple[Problem, Measured]] = []
    why = ""
    for size in SIZES:
        small = [p for p in problems if len(p.token) ** size <= MOST_BATCHES]
        try:
            measured = [(p, measure(loss, names, p, source, size=size)) for p in small]
        except LossError as error:
            why = why or str(error)
            continue
        pairs = measured if size == 2 else pairs
        outcomes = [(p, m) for p, m in measured if p.length == 1]
        on, of = [p for p, _ in outcomes], [m for _, m in outcomes]
        found[size] = match_gradient_or_sum(of, on, source, single=single, most_terms=MOST_TERMS)
    if 2 not in found:
        raise LossError(f"it couples the sequences of a batch, and fails on pairs of them: {why}")
    return Batches(tuple(found.items()), _dependence(found, FLOAT32 if single else EXACT)), pairs


def _dependence(found: dict[int, Match], tolerance: float) -> str | None:
    """The constant as a function of B, such as "1 - 1/B" or "0.5 (B - 1)"; None if none is recognised."""
    named = {m.name for m in found.values() if m.name != "zero"}
    if len(named) != 1 or len(found) < 2 or not all(m.exact for m in found.values()):
        return None
    constants = np.array([0.0 if m.name == "zero" else m.constant or 0.0 for m in found.values()])
    sizes = np.array(list(found), dtype=float)
    for words, law in _LAWS:
        shape = np.array([law(b) for b in sizes])
        factor = float(constants @ shape / (shape @ shape))
        if np.abs(constants - factor * shape).max() < tolerance * np.abs(constants).max():
            if abs(factor - 1) < 1e-6:
                return words
            # Two sizes cannot tell a factor from another shape.
            if len(found) < len(SIZES) and words != "1":
                continue
            return f"{factor:.6g}" if words == "1" else f"{factor:.6g} ({words})"
    return None
