"""Sums of up to three quantities, found by exact least squares: a reward less 0.04 of a divergence."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
from scipy.optimize import minimize_scalar

MOST_TERMS = 3
PER_TOKEN = ", per token"
"""What ends the name of a column that is divided by the number of tokens."""
ALPHAS = (-2.0, -1.5, -0.5, 0.1, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9, 1.25, 1.5, 1.75, 2.5, 3.0)
"""Where the search for alpha begins (what is declared stands among the columns); between these it goes on."""
_SHORTLIST = 8
"""So many of the sums that fit best, by their normal equations, are fitted again exactly."""
_NEAR, _REFINED = 0.1, 3
"""Of the sums with an alpha on the grid, so many are refined, if they are off by less than this."""
_SMALLEST = 1e-5
"""A term that contributes less than this share of the whole is none."""

Columns = Mapping[str, np.ndarray]
OfAlpha = Callable[[float], Columns]
"""alpha -> the columns of the alpha-divergence, by name."""


@dataclass(frozen=True)
class Sum:
    """A sum of named columns, and how far off it is, relative to the whole."""

    terms: tuple[tuple[float, str], ...]
    error: float


def find_sum(
    wanted: np.ndarray,
    columns: Columns,
    of_alpha: OfAlpha | None,
    tolerance: float,
    most_terms: int = MOST_TERMS,
) -> Sum | None:
    """The shortest sum of columns that is `wanted` (rows,) within the tolerance, relative to its norm.

    Of equally short ones the best. of_alpha: an alpha-divergence may be one of the terms, its alpha refined
    from the best of ALPHAS. None if there is no such sum.
    """
    columns = _distinct(columns)
    known = _Products.of(columns, wanted)
    for count in range(1, most_terms + 1):
        found = _best(wanted, columns, known, count)
        if found is not None and found.error < tolerance:
            return found
        if of_alpha is not None:
            found = _with_alpha(wanted, columns, known, of_alpha, count - 1)
            if found is not None and found.error < tolerance:
                return found
    return None


@dataclass(frozen=True)
class _Products:
    """The columns as unit vectors (rows, columns), their products with one another and with the wanted."""

    units: np.ndarray
    gram: np.ndarray
    pull: np.ndarray
    whole: float

    @classmethod
    def of(cls, columns: Columns, wanted: np.ndarray) -> "_Products":
        """Those of these columns."""
        stacked = np.stack(list(columns.values()), axis=1)
        units = stacked / np.linalg.norm(stacked, axis=0)
        return cls(units, units.T @ units, units.T @ wanted, float(wanted @ wanted))

    def and_one(self, column: np.ndarray, wanted: np.ndarray) -> "_Products":
        """Those with one more column, the last."""
        unit = column / np.linalg.norm(column)
        across = self.units.T @ unit
        gram = np.block([[self.gram, across[:, None]], [across[None], np.ones((1, 1))]])
        return _Products(self.units, gram, np.append(self.pull, unit @ wanted), self.whole)

    def explained(self, places: np.ndarray) -> np.ndarray:
        """The share of |wanted|^2 that each sum explains, by its normal equations, (sums,)."""
        normal = self.gram[places[:, :, None], places[:, None, :]] + 1e-13 * np.eye(places.shape[1])
        reached = self.pull[places]
        solved = np.linalg.solve(normal, reached[..., None])[..., 0]
        found: np.ndarray = (reached * solved).sum(axis=-1) / self.whole
        return found


@cache
def _sums(names: tuple[str, ...], count: int) -> np.ndarray:
    """The places of the terms of every sum of so many, none of them in two scales, (sums, count)."""
    bare = [name.removesuffix(PER_TOKEN) for name in names]
    chosen = [c for c in combinations(range(len(names)), count) if len({bare[i] for i in c}) == count]
    return np.array(chosen, dtype=int).reshape(len(chosen), count)


def _distinct(columns: Columns) -> Columns:
    """Without the columns that vanish or are multiples of an earlier one."""
    kept: dict[str, np.ndarray] = {}
    units: list[np.ndarray] = []
    for name, column in columns.items():
        size = np.linalg.norm(column)
        if size > 0 and not any(abs(unit @ column) > (1 - 1e-12) * size for unit in units):
            kept[name] = column
            units.append(column / size)
    return kept


def _best(wanted: np.ndarray, columns: Columns, known: _Products, count: int) -> Sum | None:
    """The best sum of so many columns: all by their normal equations, the shortlist exactly."""
    names = tuple(columns)
    places = _sums(names, count)
    order = np.argsort(-known.explained(places))[:_SHORTLIST]
    sums = [_fitted(wanted, columns, [names[i] for i in places[k]]) for k in order]
    return min((s for s in sums if s is not None), key=lambda s: s.error, default=None)


def _fitted(wanted: np.ndarray, columns: Columns, names: Sequence[str]) -> Sum | None:
    """Least squares in these columns; None if one of them is not needed."""
    stacked = np.stack([columns[name] for name in names], axis=1)
    solved, _, rank, _ = np.linalg.lstsq(stacked, wanted, rcond=1e-12)
    whole = float(np.linalg.norm(wanted))
    shares = np.abs(solved) * np.linalg.norm(stacked, axis=0) / whole
    if rank < len(names) or (shares < _SMALLEST).any():
        return None
    error = float(np.linalg.norm(stacked @ solved - wanted)) / whole
    return Sum(tuple((float(c), name) for c, name in zip(solved, names, strict=True)), error)


def _with_alpha(
    wanted: np.ndarray, columns: Columns, known: _Products, of_alpha: OfAlpha, others: int
) -> Sum | None:
    """The best sum of an alpha-divergence and so many other columns."""
    names = tuple(columns)
    rest = _sums(names, others)
    places = np.concatenate([np.full((len(rest), 1), len(names)), rest], axis=1)
    starts = []
    for alpha in ALPHAS:
        for place, column in enumerate(of_alpha(alpha).values()):
            share = known.and_one(column, wanted).explained(places)
            best = int(share.argmax())
            starts.append((1 - share[best], alpha, place, tuple(names[i] for i in rest[best])))
    near = sorted(start for start in starts if start[0] < _NEAR**2)
    found = [_refined(wanted, columns, of_alpha, *start[1:]) for start in near[:_REFINED]]
    return min(found, key=lambda s: s.error, default=None)


def _refined(
    wanted: np.ndarray, columns: Columns, of_alpha: OfAlpha, alpha: float, place: int, rest: tuple[str, ...]
) -> Sum:
    """The sum of the alpha-divergence at that place and the rest, its alpha searched between neighbours.

    A rounded alpha is taken where it is as good.
    """

    def fit(at: float) -> Sum:
        name, column = list(of_alpha(at).items())[place]
        return _fitted(wanted, {**columns, name: column}, (name, *rest)) or Sum((), np.inf)

    around = (*ALPHAS, -4.0, 5.0)
    bounds = (max(a for a in around if a < alpha), min(a for a in around if a > alpha))
    found = minimize_scalar(
        lambda at: fit(at).error, bounds=bounds, method="bounded", options={"xatol": 1e-11}
    )
    return min((fit(round(float(found.x), 5)), fit(float(found.x))), key=lambda s: s.error)
