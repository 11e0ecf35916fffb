"""What an audit of an advantage finds, and its verdict in one line."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from .coupled import tabulate_pairs
from .enumeration import Advantage, AdvantageError, Table, tabulate
from .objectives import objective_of, words

VALIDITIES = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
BESIDE = (0.1, 0.5, 0.9)
"""Pass rates of the other group, where groups are coupled."""


@dataclass(frozen=True)
class AdvantageReport:
    """Everything found about one advantage at group size G; lists run over `validities`.

    `weight` is alpha_G(V), `objective` J_G(V), `variance` G times that of the group's gradient in units of
    grad V; `baseline_bias` is alpha_G - 1, what the baseline adds to the weight 1 of an unbiased gradient of
    V. `maximises` has the terms (coefficient, name) of J_G. `all_right`, `all_wrong`: the advantage in such
    groups. `other_sizes` has the weights at other group sizes; `beside`, of an advantage that couples groups,
    the weights beside a second group, by its pass rate (`weight` is that of a group alone). `not_finite`: the
    numbers of right answers at which some advantage is nan or infinite.
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
    beside: tuple[tuple[float, tuple[float, ...]], ...]
    not_finite: tuple[int, ...]

    def as_json(self) -> dict[str, Any]:
        """The report as plain data."""
        return asdict(self)


def audit_advantage(
    advantage: Advantage, *, group_size: int = 8, name: str | None = None, drops_equal_groups: bool = False
) -> AdvantageReport:
    """What an advantage weighs, by enumerating every outcome of a group.

    drops_equal_groups: groups whose answers are all right or all wrong are replaced by others, as in DAPO:
    the weight is divided by the chance 1 - V^G - (1-V)^G that a group is kept. Raises AdvantageError for a
    function that fails, ValueError for a group size below two.
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
        beside=_beside(advantage, table),
        not_finite=table.bad,
    )
    return replace(draft, verdict=verdict_line(draft))


def weight_of(table: Table, validity: np.ndarray, *, drops_equal_groups: bool = False) -> np.ndarray:
    """alpha_G(V), divided by the chance 1 - V^G - (1-V)^G that a group is kept, if equal ones are dropped."""
    size = table.group_size
    kept = 1 - validity**size - (1 - validity) ** size if drops_equal_groups else 1.0
    found: np.ndarray = table.weight(validity) / kept
    return found


def _beside(advantage: Advantage, table: Table) -> tuple[tuple[float, tuple[float, ...]], ...]:
    """The weights beside a second group, where groups are coupled."""
    if not (table.coupled and table.symmetric):
        return ()
    pairs = tabulate_pairs(advantage, table.group_size)
    return tuple((other, _numbers(pairs.weight(VALIDITIES, other))) for other in BESIDE)


def _other_sizes(advantage: Advantage, group_size: int) -> tuple[tuple[int, tuple[float, ...]], ...]:
    """The weights at half and at twice the group; a size at which the function fails is left out."""
    found = []
    for size in sorted({max(2, group_size // 2), 2 * group_size} - {group_size}):
        try:
            table: Table = tabulate(advantage, size)
        except AdvantageError:
            continue
        found.append((size, _numbers(table.weight(VALIDITIES))))
    return tuple(found)


def _numbers(values: np.ndarray) -> tuple[float, ...]:
    return tuple(map(float, values))


def verdict_line(report: AdvantageReport) -> str:
    """Such as: leave-one-out at G = 8: maximises V; its weight on grad V is 1 at every V; ..."""
    parts = [f"maximises {words(report.maximises)}"] if report.objective else []
    low, high = min(report.weight), max(report.weight)
    if high - low <= 1e-9 * max(abs(high), 1e-300):
        parts.append(f"its weight on grad V is {high:.4g} at every V")
    else:
        ends = (
            f"{report.weight[0]:.4g} at V = .01, {report.weight[3]:.4g} at .5, {report.weight[-1]:.4g} at .99"
        )
        parts.append(f"its weight on grad V is {ends}")
    if report.drops_equal_groups:
        parts.append("groups that are all right or all wrong are replaced")
    elif report.all_right == report.all_wrong == 0:
        parts.append("groups that are all right or all wrong give nothing")
    else:
        parts.append(f"all right gives {report.all_right:.4g} each, all wrong {report.all_wrong:.4g}")
    if report.couples_groups:
        parts.append("it COUPLES the groups of a batch: this is the weight of a group alone")
        three = {other: f"{w[0]:.4g}, {w[3]:.4g}, {w[-1]:.4g}" for other, w in report.beside}
        beside = [f"{found} beside one of {other:g}" for other, found in three.items()]
        parts += [f"in two groups the three are {'; '.join(beside)}"] if beside else []
    if not report.symmetric:
        parts.append("it tells the places of a group apart")
    if report.not_finite:
        parts.append(f"NOT FINITE in groups with {', '.join(map(str, report.not_finite))} right")
    return f"{report.advantage} at G = {report.group_size}: {'; '.join(parts)}"
