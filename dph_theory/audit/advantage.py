"""What an advantage weighs: its exact weight on the gradient of a pass rate, and what it maximises."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import torch

from ..laws import group_weight
from ..laws.groups import success_weights
from ..methods.advantages import Advantage
from ..numeric.arrays import Scalars, probability, rate
from ..numeric.balls import Values
from ..support.errors import argument_error
from .quantities import FLOAT32, find_sum
from .report import LossReport

MOST_ENUMERATED, LARGEST_GROUP = 12, 1024
"""Groups up to the first are enumerated by all 2^G outcomes; larger ones, if symmetric, by G + 1 of them."""


class AdvantageError(Exception):
    """An advantage that cannot be audited, and why."""


@dataclass(frozen=True)
class ByCount:
    """Advantages by the number k of right answers, k = 0 .. G, averaged over the outcomes with that k.

    `right` and `wrong` (G+1,) are the advantages of a right and of a wrong answer (0 where there is none);
    `symmetric` says that only k matters, `coupled` that a group's advantages depend on the others;
    `bad` lists the k at which some advantage is not finite (counted as zero).
    """

    right: np.ndarray
    wrong: np.ndarray
    symmetric: bool
    coupled: bool
    bad: tuple[int, ...]

    @property
    def group_size(self) -> int:
        """G."""
        return len(self.right) - 1

    @property
    def gains(self) -> np.ndarray:
        """A(right) - A(wrong) of one answer when k of the others are right, k = 0 .. G-1."""
        return self.right[1:] - self.wrong[:-1]

    def weight(self, validity: Scalars) -> Values:
        """alpha_G(V), shape of `validity` in [0, 1]."""
        found: Values = (
            success_weights(self.group_size - 1, probability("validity", validity)) * self.gains
        ).sum(axis=-1)
        return found

    def objective(self, validity: Scalars) -> Values:
        """J_G(V), the integral of alpha_G from 0 to V: exact Gauss quadrature of a polynomial."""
        v = probability("validity", validity)
        nodes, weights = np.polynomial.legendre.leggauss(self.group_size)
        at = v[..., None] * (nodes + 1) / 2
        found: Values = (self.weight(at) * weights).sum(axis=-1) * v / 2
        return found

    def variance(self, validity: Scalars) -> Values:
        """G times the variance of the gradient sum_i A_i s_i / G, s_i = d log p(v_i)/dV, at V in (0, 1)."""
        v = rate("validity", validity)[..., None]
        size, k = self.group_size, np.arange(self.group_size + 1)
        chance = success_weights(size, v[..., 0])
        gradient = (k * self.right / v - (size - k) * self.wrong / (1 - v)) / size
        mean = (chance * gradient).sum(axis=-1, keepdims=True)
        found: Values = size * (chance * (gradient - mean) ** 2).sum(axis=-1)
        return found


def tabulate(advantage: Advantage, group_size: int) -> ByCount:
    """The table of an advantage; AdvantageError says why there is none.

    A function that tells the places in a group apart is enumerated over all 2^G outcomes, and its variance
    then is that of its mean over outcomes with the same k. Raises ValueError for a group below two.
    """
    if not 2 <= group_size <= LARGEST_GROUP:
        raise argument_error("group_size", group_size, f"a whole number from 2 to {LARGEST_GROUP}")
    sorted_rows = (np.arange(group_size) < np.arange(group_size + 1)[:, None]).astype(float)
    found = np.concatenate([called(advantage, row[None]) for row in sorted_rows])
    shuffled = np.random.default_rng(0).permuted(sorted_rows, axis=1)
    symmetric = _by_count(shuffled, np.concatenate([called(advantage, row[None]) for row in shuffled]), found)
    together = called(advantage, sorted_rows)
    coupled = not np.allclose(together, found, rtol=1e-9, atol=1e-12, equal_nan=True)
    rows, advantages = sorted_rows, found
    if not symmetric:
        if group_size > MOST_ENUMERATED:
            raise AdvantageError(
                f"it tells the places of a group apart: only groups up to {MOST_ENUMERATED} can be enumerated"
            )
        rows = (np.arange(2**group_size)[:, None] >> np.arange(group_size) & 1).astype(float)
        advantages = np.concatenate([called(advantage, row[None]) for row in rows])
    counts = rows.sum(axis=1).astype(int)
    bad = tuple(sorted({int(k) for k in counts[~np.isfinite(advantages).all(axis=1)]}))
    advantages = np.where(np.isfinite(advantages), advantages, 0.0)
    right, wrong = (_mean_by_count(advantages, rows == verdict, counts) for verdict in (1.0, 0.0))
    return ByCount(right, wrong, symmetric, coupled, bad)


def _mean_by_count(advantages: np.ndarray, chosen: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The mean advantage of the chosen answers, by the group's count; 0 where there is none."""
    size = advantages.shape[1] + 1
    totals = np.bincount(counts, (advantages * chosen).sum(axis=1), size)
    numbers = np.bincount(counts, chosen.sum(axis=1), size)
    return np.divide(totals, numbers, out=np.zeros(size), where=numbers > 0)


def _by_count(rows: np.ndarray, found: np.ndarray, sorted_found: np.ndarray) -> bool:
    """Whether shuffled groups give each verdict the advantage that it has in the sorted group."""
    for row, here, known in zip(rows, found, sorted_found, strict=True):
        right = int(row.sum())
        wanted = np.where(row > 0, known[0] if right else 0.0, known[-1])
        if not np.allclose(here, wanted, rtol=1e-9, atol=1e-12, equal_nan=True):
            return False
    return True


def called(advantage: Advantage, rewards: np.ndarray) -> np.ndarray:
    """The advantages of these groups, (groups, G) float64; what takes no tensor is given an array."""
    try:
        found = advantage(torch.as_tensor(rewards.copy()))
    except Exception as error:
        try:
            found = advantage(rewards.copy())
        except Exception as other:
            also = (
                ""
                if str(other) == str(error)
                else f" (of an array it raised {type(other).__name__}: {other})"
            )
            raise AdvantageError(f"it raised {type(error).__name__}: {error}{also}") from error
    numbers = found.detach().double().numpy() if isinstance(found, torch.Tensor) else np.asarray(found, float)
    if numbers.shape != rewards.shape:
        raise AdvantageError(f"it returned {numbers.shape} for rewards {rewards.shape}: as many are needed")
    return numbers


@dataclass(frozen=True)
class Spike:
    """An advantage far larger than any of verdicts: its size, and at how many high rewards among low ones."""

    size: float
    low: float
    high: float
    right: int
    dtype: str


REWARDS = ((0.35, 0.95), (0.1, 0.4))
"""Pairs of rewards that no float holds exactly: where all agree, rounding may leave a deviation."""
SPIKE, MOST_SPIKED = 100.0, 64
"""An advantage so many times the largest of verdicts is one; larger groups are not searched."""


def find_spike(advantage: Advantage, group_size: int) -> Spike | None:
    """The largest advantage at REWARDS in float32 and float64 that is a spike, if any."""
    if group_size > MOST_SPIKED:
        return None
    rows = (np.arange(group_size) < np.arange(group_size + 1)[:, None]).astype(float)

    def largest(of: np.ndarray) -> float:
        return float(np.abs(np.nan_to_num(called(advantage, of[None]), posinf=0.0, neginf=0.0)).max())

    plain = max(1.0, *(largest(row) for row in rows))
    found = [
        Spike(largest((low + (high - low) * row).astype(dtype)), low, high, right, dtype)
        for low, high in REWARDS
        for dtype in ("float32", "float64")
        for right, row in enumerate(rows)
    ]
    most = max(found, key=lambda spike: spike.size)
    return most if most.size > SPIKE * plain else None


VALIDITIES = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


@dataclass(frozen=True, repr=False)
class AdvantageReport(LossReport):
    """Everything found about one advantage at group size G; lists run over `validities`.

    `weight` is alpha_G(V), `objective` J_G(V), `variance` G times that of the group's gradient in units of
    grad V; `baseline_bias` is alpha_G - 1, what the baseline adds to the weight 1 of an unbiased gradient of
    V. `maximises` has the terms (coefficient, name) of J_G. `all_right`, `all_wrong`: the advantage in such
    groups. `other_sizes` has the weights at other group sizes; `not_finite`: the
    numbers of right answers at which some advantage is nan or infinite; `spike`, of rewards other than 0 and
    1, an advantage that rounding makes large.
    """

    advantage: str
    group_size: int
    verdict: str
    validities: tuple[float, ...]
    weight: tuple[float, ...]
    objective: tuple[float, ...]
    variance: tuple[float, ...]
    baseline_bias: tuple[float, ...]
    maximises: tuple[tuple[float, str], ...]
    all_right: float
    all_wrong: float
    symmetric: bool
    couples_groups: bool
    drops_equal_groups: bool
    other_sizes: tuple[tuple[int, tuple[float, ...]], ...]
    not_finite: tuple[int, ...]
    spike: Spike | None

    def rows(self) -> Sequence[tuple[str, str]]:
        """The weight at each pass rate."""
        return tuple(
            (f"weight at V = {v:g}", f"{weight:.4g}")
            for v, weight in zip(self.validities, self.weight, strict=True)
        )


def audit_advantage(
    advantage: Advantage, *, group_size: int = 8, name: str | None = None, drops_equal_groups: bool = False
) -> AdvantageReport:
    """What an advantage weighs and maximises, by enumerating every outcome of a group.

    Parameters: `advantage`, a function of rewards (groups, G), zeros and ones, to as many numbers;
    `group_size`, G; `drops_equal_groups`, whether groups whose answers are all right or all wrong are
    replaced by others, as in DAPO: the weight is divided by the chance 1 - V^G - (1-V)^G that a group is
    kept. Returns an AdvantageReport. Raises AdvantageError for a function that fails, ValueError for a group
    below two. Source: ours, theory E4.

    >>> round(audit_advantage(lambda r: r - r.mean(-1, keepdims=True), group_size=4).weight[0], 6)
    0.75
    """
    table = tabulate(advantage, group_size)
    v = np.array(VALIDITIES)
    weight = weight_of(table, v, drops_equal_groups=drops_equal_groups)
    draft = AdvantageReport(
        advantage=name or str(getattr(advantage, "__name__", "the advantage")),
        group_size=group_size,
        verdict="",
        validities=VALIDITIES,
        weight=_numbers(weight),
        objective=() if drops_equal_groups else _numbers(table.objective(v)),
        variance=() if drops_equal_groups else _numbers(table.variance(v)),
        baseline_bias=_numbers(weight - 1),
        maximises=() if drops_equal_groups else objective_of(table),
        all_right=float(table.right[-1]),
        all_wrong=float(table.wrong[0]),
        symmetric=table.symmetric,
        couples_groups=table.coupled,
        drops_equal_groups=drops_equal_groups,
        other_sizes=_other_sizes(advantage, group_size),
        not_finite=table.bad,
        spike=find_spike(advantage, group_size),
    )
    return replace(draft, verdict=verdict_line(draft))


def weight_of(table: ByCount, validity: np.ndarray, *, drops_equal_groups: bool = False) -> np.ndarray:
    """alpha_G(V), divided by the chance 1 - V^G - (1-V)^G that a group is kept, if equal ones are dropped."""
    size = table.group_size
    kept = 1 - validity**size - (1 - validity) ** size if drops_equal_groups else 1.0
    found: np.ndarray = table.weight(validity) / kept
    return found


def _other_sizes(advantage: Advantage, group_size: int) -> tuple[tuple[int, tuple[float, ...]], ...]:
    """The weights at half and at twice the group; a size at which the function fails is left out."""
    found = []
    for size in sorted({max(2, group_size // 2), 2 * group_size} - {group_size}):
        try:
            table: ByCount = tabulate(advantage, size)
        except AdvantageError:
            continue
        found.append((size, _numbers(table.weight(VALIDITIES))))
    return tuple(found)


def _numbers(values: np.ndarray) -> tuple[float, ...]:
    return tuple(map(float, values))


def verdict_line(report: AdvantageReport) -> str:
    """Such as: leave-one-out at G = 8: It maximises V: at every pass rate a prompt weighs 1. ..."""
    wrong = _alarms(report)
    low, high = min(report.weight), max(report.weight)
    even = high - low <= 1e-9 * max(abs(high), 1e-300)
    three = f"{report.weight[0]:.4g} at V = .01, {report.weight[3]:.4g} at .5, {report.weight[-1]:.4g} at .99"
    weighs = f"{high:.4g} at every pass rate V" if even else three
    known = f"It maximises {objective_words(report.maximises)}: a" if report.maximises else "A"
    alone = ", in a group alone," if report.couples_groups else ""
    parts = [*wrong, f"{known} prompt weighs{alone} {weighs}."]
    if report.drops_equal_groups:
        parts.append("Groups that are all right or all wrong are replaced.")
    elif report.all_right == report.all_wrong == 0:
        parts.append("Groups that are all right or all wrong give nothing.")
    else:
        parts.append(f"All right gives {report.all_right:.4g} each, all wrong {report.all_wrong:.4g}.")
    return f"{report.advantage} at G = {report.group_size}: {' '.join(parts)}"


def _alarms(report: AdvantageReport) -> list[str]:
    """What is wrong, or couples what should stand alone."""
    found = []
    if report.not_finite:
        found.append(f"It is NOT FINITE in groups with {', '.join(map(str, report.not_finite))} right.")
    if (spike := report.spike) is not None:
        where = f"{spike.right} of {spike.high:g} among {spike.low:g}, in {spike.dtype}"
        found.append(f"It SPIKES to {spike.size:.2g} where rounding passes for a deviation ({where}).")
    if report.couples_groups:
        found.append("It COUPLES the groups of a batch: what a prompt weighs depends on those beside it.")
    if not report.symmetric:
        found.append("It tells the places of a group apart.")
    return found


EXACT = 1e-9


def objective_of(table: ByCount) -> tuple[tuple[float, str], ...]:
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
    rounded = np.array_equal(table.right, table.right.astype(np.float32))
    if one := find_sum(wanted, _slopes(size, grid), EXACT, most_terms=1):
        return one.terms
    if found := _with_an_epsilon(size, grid, wanted, FLOAT32 if rounded else EXACT):
        return found
    # Groups of two and three have too few dimensions for a sum to mean anything.
    two = find_sum(wanted, _slopes(size, grid), EXACT, most_terms=2) if size > 3 else None
    return () if two is None else two.terms


def _with_an_epsilon(
    size: int, v: np.ndarray, wanted: np.ndarray, tolerance: float
) -> tuple[tuple[float, str], ...]:
    """The objective of an advantage over a deviation or a mean with one of EPSILONS added; () for others."""
    named = {
        "std": "the arcsine's (sample deviation + {:g})",
        "population_std": "the arcsine's (population deviation + {:g})",
        "mean": f"log V truncated at order {size - 1} (mean + {{:g}})",
    }
    found = []
    for scale, epsilon in product(named, EPSILONS):
        slope = group_weight(size, v, scale, epsilon=epsilon)
        constant = float(wanted @ slope / (slope @ slope))
        error = float(np.abs(constant * slope - wanted).max() / np.abs(wanted).max())
        if error < tolerance:
            found.append((error, constant, named[scale].format(epsilon)))
    # A sample deviation is a population deviation up to a factor: the one without a factor is meant.
    exact = [(c, name) for error, c, name in found if error <= 10 * min(found)[0] + 1e-14]
    return tuple(sorted(exact, key=lambda term: abs(np.log(abs(term[0]))))[:1])


EPSILONS = tuple(float(f"{digit}e-{power}") for power in range(1, 11) for digit in (1, 2, 3, 5))
"""What is added to a deviation or a mean."""


def _slopes(size: int, v: np.ndarray) -> dict[str, np.ndarray]:
    """The derivatives of the named objectives at v."""
    found = {"V": np.ones_like(v)}
    found |= {f"pass@{k}": k * (1 - v) ** (k - 1) for k in range(2, size + 1)}
    found |= {f"log V truncated at order {m}": (1 - (1 - v) ** m) / v for m in range(2, size + 1)}
    found["the arcsine's (sample deviation)"] = group_weight(size, v, "std")
    found["the arcsine's (population deviation)"] = group_weight(size, v, "population_std")
    found |= {f"all@{k}": k * v ** (k - 1) for k in range(2, size + 1)}
    return found


def objective_words(terms: tuple[tuple[float, str], ...]) -> str:
    """Such as: 0.875 V, or "none known"."""
    if not terms:
        return "none known"
    if terms[0][0] == 0:
        return "nothing"
    return " + ".join(name if abs(c - 1) < 1e-9 else f"{c:.6g} {name}" for c, name in terms).replace(
        "+ -", "- "
    )
