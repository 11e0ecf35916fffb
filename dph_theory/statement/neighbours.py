"""False neighbours that nearly every instance obeys: only a check that looks everywhere refutes them."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np

from ..numeric.balls import Values, normalised, trailing
from .theorem import FalseNeighbour, Side, Theorem, evaluate

Centre = float | tuple[float, ...]
SideName: TypeAlias = Literal["lhs", "rhs"]
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


def masses_clamped(part: str, least: float, side: SideName = "rhs") -> FalseNeighbour:
    """The neighbour one side of which takes laws with no mass below `least`, as code that clamps them would.

    The laws are normalised again.
    """
    return _clamped("masses", part, least, side, lambda law: normalised(_at_least(law, least)))


def rates_clamped(part: str, least: float, side: SideName = "rhs") -> FalseNeighbour:
    """The neighbour one side of which takes rates from `least` to 1 - `least`, which keeps logits finite."""
    return _clamped("rates", part, least, side, lambda p: 1 - _at_least(1 - _at_least(p, least), least))


def _at_least(values: Values, least: float) -> Values:
    return np.where(values < least, 0 * values + least, values)


def _clamped(
    what: str, part: str, least: float, side: SideName, clamp: Callable[[Values], Values]
) -> FalseNeighbour:
    def alter(theorem: Theorem) -> Theorem:
        chart, function = theorem.instances, theorem.lhs if side == "lhs" else theorem.rhs

        def on_clamped(**values: Any) -> np.ndarray:
            instance = {name: values[name] for name in chart.parts}
            return evaluate(
                function, {**values, **chart.completed({**instance, part: clamp(instance[part])})}
            )

        changed = _asking(on_clamped, function, chart.parts)
        return replace(theorem, lhs=changed) if side == "lhs" else replace(theorem, rhs=changed)

    where = {"lhs": "left", "rhs": "right"}[side]
    return FalseNeighbour(f"{what} of {part} clamped at {least:g} on the {where}", {}, alter)


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

    return _asking(raised, side, spot)


def _asking(side: Side, other: Side, names: Iterable[str]) -> Side:
    """The side that takes what another one does, and these parts of an instance."""
    taken = inspect.signature(other).parameters
    asked = [part.replace(kind=part.KEYWORD_ONLY) for part in taken.values()]
    asked += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names if name not in taken]
    side.__signature__ = inspect.Signature(asked)  # type: ignore[attr-defined]
    return side
