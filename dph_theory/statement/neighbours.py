"""False neighbours that nearly every instance obeys: only a check that looks everywhere refutes them."""

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..numeric.balls import trailing
from .theorem import FalseNeighbour, Side, Theorem, evaluate, parameters

Centre = float | tuple[float, ...]
Spot = Mapping[str, tuple[Centre, float]]
"""Where the first numbers of some parts are near given ones: part -> (one or several numbers, width)."""


def near(by: float, changes: Mapping[str, Any] | None = None, **spot: tuple[Centre, float]) -> FalseNeighbour:
    """The neighbour whose right side is larger by `by`, but only where parts are near a point.

    The point is given as part=(centre, width); `changes` are made to the theorem before.
    """
    centres = ", ".join(f"{part} = {_written(centre)}" for part, (centre, _) in spot.items())

    def alter(theorem: Theorem) -> Theorem:
        return replace(theorem, rhs=_raised(theorem.rhs, by, spot))

    return FalseNeighbour(f"off by {by:g} near {centres}", changes or {}, alter)


def nearness(spot: Spot, values: Mapping[str, Any]) -> Any:
    """The product of 1/(1 + ((x - centre)/width)^8) over the parts, shape (batch,): one at the centre.

    It falls to 1e-7 within 8 widths and to rounding within 50: a search can climb from well outside of the
    region where it matters.
    """
    product: Any = 1.0
    for part, (centre, width) in spot.items():
        numbers = values[part].reshape(len(values[part]), -1)
        for index, number in enumerate(_several(centre)):
            # Three squares: powers of balls that hold zero are not defined.
            eighth = np.square(np.square(np.square((numbers[:, index] - number) / width)))
            product = product / (1 + eighth)
    return product


def _several(centre: Centre) -> tuple[float, ...]:
    return centre if isinstance(centre, tuple) else (centre,)


def _written(centre: Centre) -> str:
    return " ".join(f"{number:g}" for number in _several(centre))


def _raised(side: Side, by: float, spot: Spot) -> Side:
    def raised(**values: Any) -> np.ndarray:
        value = evaluate(side, values)
        return value + trailing(by * nearness(spot, values), value.ndim - 1)

    names = dict.fromkeys((*parameters(side), *spot))
    asked = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names]
    raised.__signature__ = inspect.Signature(asked)  # type: ignore[attr-defined]
    return raised
