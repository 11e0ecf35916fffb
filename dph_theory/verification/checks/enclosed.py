"""The enclosed check: a statement, reduced to a few scalars, decided on a whole box in ball arithmetic.

A bound is ENCLOSED if its gap is positive on all of the box (or, where the two sides meet, what is left of
the gap after the power of the distance with which it vanishes); an identity if the error of its two sides
is below the reduction's tolerance. That the scalars say what the statement says is checked in balls at
random instances.
"""

from collections.abc import Iterator, Mapping, Sequence
from inspect import signature
from typing import Any

import numpy as np
from flint import arb

from ...numeric.balls import precision
from ...numeric.enclosures import Enclosure, OnBox, Range, Scalar, distance_from_zero, positive
from ...statement.charts import Instance
from ...statement.theorem import ScalarForm, Theorem, Verdict
from .result import CheckResult, Enclosed

BITS = 192
"""Working precision on the pieces."""
BITS_AT_POINTS = 384
"""Working precision at single instances."""
WIDTH = 1e-25
POINTS = 6
"""Random instances at which the scalar form is compared with the statement's sides."""
BUDGET = 60_000
"""The most pieces of a box."""


def enclosed(theorem: Theorem, *, seed: int = 0, budget: int = BUDGET) -> CheckResult:
    """Decide each of the theorem's boxes, within a budget of pieces for each.

    ENCLOSED if all are decided; HOLDS, with the piece or the component that is left, if the budget did not
    do; REFUTED, with the piece, if the statement fails on all of one; UNDECIDED if a scalar form is not that
    of the statement.
    """
    found: list[Enclosed] = []
    decided: dict[Any, Enclosure] = {}

    def result(verdict: Verdict, detail: str) -> CheckResult:
        return CheckResult(
            "enclosed", verdict, POINTS * len(found), seed=seed, detail=detail, boxes=tuple(found)
        )

    for here in theorem.reductions:
        if difference := differs(theorem, here, seed):
            return result(Verdict.UNDECIDED, difference)
        same = here.gap or here.sides, tuple(here.box.items()), here.zero
        if same not in decided:
            decided[same] = decide(here, budget)
        outcome = decided[same]
        if outcome.fails is not None:
            return result(Verdict.REFUTED, f"fails: {described_piece(here, outcome.fails)}")
        if outcome.left is not None:
            return result(Verdict.HOLDS, f"left: {described_piece(here, outcome.left)}")
        found.append(Enclosed(str(here), finding(here, outcome), outcome.pieces))
    if missing := _left_out(theorem):
        return result(Verdict.HOLDS, f"left: component {missing[0]}")
    return result(Verdict.ENCLOSED, _summary(found))


def _left_out(theorem: Theorem) -> list[int]:
    """The components of the statement that no reduction speaks of."""
    spoken = [reduction.components for reduction in theorem.reductions]
    if None in spoken:
        return []
    instance = theorem.instances(np.full((1, theorem.instances.dimension), 0.5))
    components = range(theorem.sides(instance)[0].size)
    return sorted(set(components) - {component for own in spoken for component in own or ()})


def decide(reduction: ScalarForm, budget: int) -> Enclosure:
    """What branch and bound finds on the reduction's box."""
    with precision(BITS):
        if reduction.gap is not None:
            zero = reduction.zero and (list(reduction.box).index(reduction.zero[0]), reduction.zero[1])
            return positive(OnBox(reduction.gap, reduction.box), zero=zero, budget=budget)
        error = OnBox(_errors(reduction), reduction.box)
        return distance_from_zero(error, tolerance=reduction.tolerance, budget=budget)


def _errors(reduction: ScalarForm) -> Any:
    return lambda **scalars: [lhs - rhs for lhs, rhs in reduction.pairs(**scalars)]


def finding(reduction: ScalarForm, outcome: Enclosure) -> str:
    """What was decided, in words."""
    if reduction.sides is not None:
        return f"|lhs - rhs| <= {outcome.bound:.1e}"
    if reduction.zero is None:
        return "lhs < rhs"
    name, order = reduction.zero
    return f"(rhs - lhs)/{name}^{order} > 0"


def _summary(boxes: Sequence[Enclosed]) -> str:
    return "; ".join(f"{box.finding} on {box.box}, {box.pieces} pieces" for box in boxes)


def described_piece(reduction: ScalarForm, piece: Sequence[tuple[float, float]]) -> str:
    """A piece of the reduction's box in words."""
    parts = []
    for (name, span), ends in zip(reduction.box.items(), piece, strict=True):
        low, high = (float(span.scalar(arb(end))) for end in ends)
        parts.append(f"{name} in [{low:.4g}, {high:.4g}]")
    return ", ".join(parts)


def differs(theorem: Theorem, reduction: ScalarForm, seed: int) -> str:
    """Where the scalar form is not the statement, at random points of its box; empty if nowhere."""
    with precision(BITS_AT_POINTS):
        for scalars in _points({**reduction.box, **reduction.free}, seed):
            lhs, rhs = theorem.sides(as_instance(reduction.instance(**scalars)))
            pairs = [(arb(a), arb(b)) for a, b in zip(lhs.ravel(), rhs.ravel(), strict=True)]
            spoken = range(len(pairs)) if reduction.components is None else reduction.components
            pairs = [pairs[component] for component in spoken]
            expected = [(b - a,) for a, b in pairs] if reduction.gap is not None else pairs
            if not _same(expected, _forms(reduction, scalars)):
                place = ", ".join(f"{name}={float(value):.6g}" for name, value in scalars.items())
                return f"the scalar form differs from the sides at {place}"
    return ""


def _points(ranges: Mapping[str, Range], seed: int) -> Iterator[dict[str, arb]]:
    for cube in np.random.default_rng(seed).random((POINTS, len(ranges))):
        ends = ((span.ends, span) for span in ranges.values())
        values = [
            span.scalar(arb(low + z * (high - low)))
            for ((low, high), span), z in zip(ends, cube, strict=True)
        ]
        yield dict(zip(ranges, values, strict=True))


def _forms(reduction: ScalarForm, scalars: Mapping[str, arb]) -> list[tuple[Scalar, ...]]:
    """What the scalars say of each component: (rhs - lhs,) of a bound, (lhs, rhs) of an identity."""
    own = {name: scalars[name] for name in reduction.box}
    if reduction.gap is None:
        return [tuple(pair) for pair in reduction.pairs(**own)]
    gaps = reduction.gap(**own)
    if reduction.factor is None:
        return [(gap,) for gap in gaps]
    factors = list(
        reduction.factor(**{name: scalars[name] for name in signature(reduction.factor).parameters})
    )
    factors = factors * len(gaps) if len(factors) == 1 else factors
    return [(factor * gap,) for factor, gap in zip(factors, gaps, strict=True) if factor > 0]


def _same(expected: Sequence[tuple[arb, ...]], forms: Sequence[tuple[Scalar, ...]]) -> bool:
    if len(expected) != len(forms):
        return False
    differences = (a - b for x, y in zip(expected, forms, strict=True) for a, b in zip(x, y, strict=True))
    return all(d.contains(0) and d.rad() < WIDTH for d in differences)


def as_instance(parts: Mapping[str, Any]) -> Instance:
    """The parts as a batch of one: masks as booleans, all else as balls."""
    return {name: _as_array(value)[None] for name, value in parts.items()}


def _as_array(value: Any) -> np.ndarray:
    array = np.array(value, dtype=object)
    if all(isinstance(entry, bool) for entry in array.flat):
        return array.astype(bool)
    return np.asarray(np.frompyfunc(arb, 1, 1)(array), dtype=object)
