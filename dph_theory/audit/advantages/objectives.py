"""Which objective a weight on grad V belongs to: V, pass@k, truncated log V, the arcsine's, sums of two."""

import numpy as np
from scipy.optimize import brentq

from ...laws import group_weight
from ..combinations import find_sum
from .enumeration import Table

EXACT = 1e-9


def objective_of(table: Table) -> tuple[tuple[float, str], ...]:
    """(coefficient, name) of the terms of J_G, at most two; empty if none is known.

    pass@k = 1 - (1-V)^k; all@k = V^k; log V truncated at order m is minus the sum of (1-V)^j/j to j = m,
    the sum of pass@k/k to k = m up to a constant; the arcsine's is that of GRPO's deviation at this G, which
    tends to 2 arcsin sqrt V. A number added to the deviation or the mean is told.
    """
    size = table.group_size
    grid = (1 - np.cos(np.pi * (np.arange(2 * size + 6) + 0.5) / (2 * size + 6))) / 2
    wanted = table.weight(grid)
    if np.abs(wanted).max() < 1e-12:
        return ((0.0, "V"),)
    # Groups of two and three have too few dimensions for a sum to mean anything.
    found = find_sum(wanted, _slopes(size, grid), None, EXACT, most_terms=2 if size > 3 else 1)
    return _with_an_epsilon(size, grid, wanted) if found is None else found.terms


def _with_an_epsilon(size: int, v: np.ndarray, wanted: np.ndarray) -> tuple[tuple[float, str], ...]:
    """The objective of an advantage over a deviation or a mean with a small number added; () for others."""
    named = {
        "std": "the arcsine's (sample deviation + {:g})",
        "population_std": "the arcsine's (population deviation + {:g})",
        "mean": f"log V truncated at order {size - 1} (mean + {{:g}})",
    }
    if not wanted.all():
        return ()
    found = []
    middle = len(v) // 2
    for scale, name in named.items():

        def off(exponent: float, scale: str = scale) -> np.ndarray:
            slope = group_weight(size, v, scale, epsilon=10.0**exponent)
            return slope / slope[0] * wanted[0] / wanted - 1

        # How the weight at an end compares with that in the middle falls or rises with what is added.
        ends = [off(exponent)[middle] for exponent in _EXPONENTS]
        if ends[0] * ends[1] >= 0:
            continue
        exponent = brentq(lambda exponent: off(exponent)[middle], *_EXPONENTS, xtol=1e-14)
        if np.abs(off(exponent)).max() < EXACT:
            constant = wanted[0] / group_weight(size, v[0], scale, epsilon=10.0**exponent)
            found.append((float(constant), name.format(float(f"{10.0**exponent:.3g}"))))
    # A sample deviation is a population deviation up to a factor: the one without a factor is meant.
    return tuple(sorted(found, key=lambda term: abs(np.log(abs(term[0]))))[:1])


_EXPONENTS = (-10.0, 0.0)
"""Powers of ten between which the number added is looked for."""


def _slopes(size: int, v: np.ndarray) -> dict[str, np.ndarray]:
    """The derivatives of the named objectives at v."""
    found = {"V": np.ones_like(v)}
    found |= {f"pass@{k}": k * (1 - v) ** (k - 1) for k in range(2, size + 1)}
    found |= {f"log V truncated at order {m}": (1 - (1 - v) ** m) / v for m in range(2, size + 1)}
    found["the arcsine's (sample deviation)"] = group_weight(size, v, "std")
    found["the arcsine's (population deviation)"] = group_weight(size, v, "population_std")
    found |= {f"all@{k}": k * v ** (k - 1) for k in range(2, size + 1)}
    return found


def words(terms: tuple[tuple[float, str], ...]) -> str:
    """Such as: 0.875 V, or "none known"."""
    if not terms:
        return "none known"
    if terms[0][0] == 0:
        return "nothing"
    return " + ".join(name if abs(c - 1) < 1e-9 else f"{c:.6g} {name}" for c, name in terms).replace(
        "+ -", "- "
    )
