"""Which objective a weight on grad V belongs to: V, pass@k, truncated log V, the arcsine's, sums of two."""

import numpy as np

from ...laws import group_weight
from ..combinations import find_sum
from .enumeration import Table

EXACT = 1e-9


def objective_of(table: Table) -> tuple[tuple[float, str], ...]:
    """(coefficient, name) of the terms of J_G, at most two; empty if none is known.

    pass@k = 1 - (1-V)^k; all@k = V^k; log V truncated at order m is minus the sum of (1-V)^j/j to j = m,
    the sum of pass@k/k to k = m up to a constant; the arcsine's is that of GRPO's deviation at this G, which
    tends to 2 arcsin sqrt V.
    """
    size = table.group_size
    grid = (1 - np.cos(np.pi * (np.arange(2 * size + 6) + 0.5) / (2 * size + 6))) / 2
    wanted = table.weight(grid)
    if np.abs(wanted).max() < 1e-12:
        return ((0.0, "V"),)
    # Groups of two and three have too few dimensions for a sum to mean anything.
    found = find_sum(wanted, _slopes(size, grid), None, EXACT, most_terms=2 if size > 3 else 1)
    return () if found is None else found.terms


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
