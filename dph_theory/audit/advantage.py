"""What an advantage weighs, by its exact weight on the gradient of a pass rate, maximises and retains."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product, zip_longest

import numpy as np

from ..coverage import effective_number
from ..losses.advantages import EPSILONS, Advantage
from ..numeric.arrays import Scalars, integers, open_rate, probability
from ..numeric.elementary import Values
from ..stationary import group_weight
from ..stationary.groups import success_weights
from ..support.errors import argument_error
from ..support.table import Table
from ..transfer.retention import Weighting, trained_shares
from .declared_advantages import declared_advantage
from .precision import COARSE, FLOAT32, ROUNDING, AdvantageError, called, rounding_of, sorted_groups
from .quantities import find_sum
from .report import Finding, LossReport

MOST_ENUMERATED, LARGEST_GROUP = 12, 1024
"""Groups up to the first are enumerated by all 2^G outcomes; larger ones, if symmetric, by G + 1 of them."""


@dataclass(frozen=True)
class ByCount:
    """Advantages by the number k of correct answers, k = 0 .. G, averaged over the outcomes with that k.

    `right` and `wrong` (G+1,) are the advantages of a correct and of an incorrect answer (0 where there is
    none); `symmetric` says that only k matters, `coupled` that a group's advantages depend on the others;
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

    def weight(self, pass_rate: Scalars) -> Values:
        """alpha_G(V), shape of `pass_rate` in [0, 1]: the mean of A(right) - A(wrong) over the others."""
        chances = success_weights(self.group_size - 1, probability("pass_rate", pass_rate))
        return np.asarray((chances * (self.right[1:] - self.wrong[:-1])).sum(axis=-1))

    def objective(self, pass_rate: Scalars) -> Values:
        """J_G(V), the integral of alpha_G from 0 to V, shape of `pass_rate`."""
        # The chance of k successes in G-1, integrated, is that of more than k in G, over G.
        gained = np.append(0.0, np.cumsum(self.right[1:] - self.wrong[:-1])) / self.group_size
        return np.asarray(success_weights(self.group_size, probability("pass_rate", pass_rate)) @ gained)

    def variance(self, pass_rate: Scalars) -> Values:
        """G times the variance of the gradient sum_i A_i s_i / G, s_i = d log p(v_i)/dV, at V in (0, 1)."""
        v = open_rate("pass_rate", pass_rate)[..., None]
        size, k = self.group_size, np.arange(self.group_size + 1)
        chance = success_weights(size, v[..., 0])
        gradient = (k * self.right / v - (size - k) * self.wrong / (1 - v)) / size
        mean = (chance * gradient).sum(axis=-1, keepdims=True)
        return np.asarray(size * (chance * (gradient - mean) ** 2).sum(axis=-1))


def tabulate(advantage: Advantage, group_size: int) -> ByCount:
    """The table of an advantage, computed in float64; AdvantageError says why there is none.

    A function that distinguishes the places in a group is enumerated over all 2^G outcomes, and its variance
    then is that of its mean over outcomes with the same k. Raises ValueError for a group below two.
    """
    sizes = integers("group_size", group_size, at_least=2)
    if sizes.ndim or sizes > LARGEST_GROUP:
        raise argument_error("group_size", group_size, f"a whole number from 2 to {LARGEST_GROUP}")
    size = int(sizes)
    if not callable(advantage):
        raise argument_error("advantage", advantage, "a function of rewards (groups, G) to as many numbers")

    def alone(groups: np.ndarray) -> np.ndarray:
        return np.concatenate([called(advantage, group[None], precise=True) for group in groups])

    rows = sorted_groups(size)
    advantages = alone(rows)
    coupled = not _agree(called(advantage, rows, precise=True), advantages)
    tried = np.concatenate([rows, np.random.default_rng(0).permuted(rows, axis=1)])
    right, wrong = (mean[tried.sum(axis=1).astype(int), None] for mean in _by_count(rows, advantages))
    symmetric = _agree(alone(tried), np.where(tried > 0, right, wrong))
    if not symmetric:
        if size > MOST_ENUMERATED:
            most = f"only groups up to {MOST_ENUMERATED} can be enumerated"
            raise AdvantageError(f"the advantage tells the places of a group apart: {most}")
        rows = (np.arange(2**size)[:, None] >> np.arange(size) & 1).astype(float)
        advantages = alone(rows)
    finite = np.isfinite(advantages)
    bad = np.unique(rows.sum(axis=1)[~finite.all(axis=1)].astype(int)).tolist()
    return ByCount(*_by_count(rows, np.where(finite, advantages, 0.0)), symmetric, coupled, tuple(bad))


def _agree(one: np.ndarray, other: np.ndarray) -> bool:
    tolerance = rounding_of(one)
    size = np.abs(one, where=np.isfinite(one), out=np.zeros_like(one)).max()
    return bool(np.allclose(one, other, rtol=tolerance, atol=tolerance * size + 1e-12, equal_nan=True))


def _by_count(rows: np.ndarray, advantages: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean advantages of right and of wrong answers, by the group's count; 0 where there is none."""
    counts, size = rows.sum(axis=1).astype(int), rows.shape[1] + 1
    means = []
    for chosen in (rows > 0, rows == 0):
        totals = np.bincount(counts, np.where(chosen, advantages, 0.0).sum(axis=1), size)
        means.append(totals / np.maximum(np.bincount(counts, chosen.sum(axis=1), size), 1))
    return means[0], means[1]


REWARDS = ((0.35, 0.95), (0.1, 0.4))
"""Pairs of rewards that no float holds exactly: where all agree, rounding may leave a deviation."""
SPIKE, MOST_SPIKED = 100.0, 64
"""An advantage so many times the largest of verdicts is one; larger groups are not searched."""


def _find_rounding(advantage: Advantage, group_size: int) -> tuple[float, Finding | None]:
    """How far its own precision moves an advantage, relative to the largest, and the largest spike."""
    if group_size > MOST_SPIKED:
        return 0.0, None
    rows = sorted_groups(group_size)

    def finite(rewards: np.ndarray, *, precise: bool = False) -> np.ndarray:
        return np.nan_to_num(called(advantage, rewards[None], precise=precise), posinf=0.0, neginf=0.0)

    own, exact = (np.concatenate([finite(row, precise=on) for row in rows]) for on in (False, True))
    spikes = [
        {
            "size": float(np.abs(finite(rewards)).max()),
            "low": low,
            "high": high,
            "right": right,
            "dtype": dtype,
        }
        for low, high in REWARDS
        for dtype in ("float32", "float64")
        for right, rewards in enumerate((low + (high - low) * rows).astype(dtype))
    ]
    spike = max(spikes, key=lambda spike: float(spike["size"]))
    moved = float(np.abs(own - exact).max() / (np.abs(exact).max() or 1.0))
    words = "to {size:.2g} where rounding passes for a std ({right} of {high:g} among {low:g}, in {dtype})"
    large = float(spike["size"]) > SPIKE * max(1.0, np.abs(own).max())
    return moved, Finding(words.format(**spike), spike) if large else None


PASS_RATES = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


@dataclass(frozen=True, repr=False)
class AdvantageReport(LossReport):
    """Everything found about one advantage at group size G; lists run over `pass_rates`.

    `weight` is alpha_G(V) (1 of an unbiased gradient of V), `objective` J_G(V), `variance` G times that of
    the group's gradient in units of grad V. `maximises` has the terms (coefficient, name) of J_G. `retains`
    is the effective number of ten strategies that prompts share which expected-gradient training leaves
    without a KL, one of them with 2% more merit (entries `retention`).
    `all_right`, `all_wrong`: the advantage in such groups. `not_finite`: the numbers of correct answers
    at which some advantage is nan or infinite; `spike`, of rewards other than 0 and 1, an advantage that
    rounding makes large; `rounding`, how far its own precision moves an advantage, relative to the largest.
    `equals` says which declared advantage it is.
    """

    advantage: str
    group_size: int
    verdict: str
    pass_rates: tuple[float, ...]
    weight: tuple[float, ...]
    objective: tuple[float, ...]
    variance: tuple[float, ...]
    maximises: tuple[tuple[float, str], ...]
    retains: float
    all_right: float
    all_wrong: float
    symmetric: bool
    couples_groups: bool
    drops_equal_groups: bool
    not_finite: tuple[int, ...]
    spike: Finding | None
    rounding: float
    equals: str

    def tables(self) -> Sequence[Table]:
        """One row a pass rate."""
        columns = self.pass_rates, self.weight, self.objective, self.variance
        return (Table.from_rows(("V", "weight", "J_G", "variance"), zip_longest(*columns)),)


def audit_advantage(
    advantage: Advantage, *, group_size: int = 8, name: str | None = None, drops_equal_groups: bool = False
) -> AdvantageReport:
    """What an advantage weighs and maximises, by enumerating every outcome of a group.

    Parameters: `advantage`, a function of rewards (groups, G), zeros and ones, to as many numbers;
    `group_size`, G; `drops_equal_groups`, whether groups whose answers are all correct or all incorrect are
    replaced by others, as in DAPO: the weight is divided by the chance 1 - V^G - (1-V)^G of differing
    rewards. Returns an AdvantageReport. Raises AdvantageError, a ValueError, for a function that fails, and
    ValueError for what is none, or a group below two. Source: ours, entries `group_advantages`.

    >>> round(audit_advantage(lambda r: r - r.mean(-1, keepdims=True), group_size=4).weight[0], 6)
    0.75
    """
    table = tabulate(advantage, group_size)
    v = np.array(PASS_RATES)
    weight = weight_of(table, v, drops_equal_groups=drops_equal_groups)
    name = name or str(getattr(advantage, "__name__", "the advantage"))
    rounding, spike = _find_rounding(advantage, table.group_size)
    draft = AdvantageReport(
        advantage=name,
        group_size=table.group_size,
        verdict="",
        pass_rates=PASS_RATES,
        weight=tuple(weight.tolist()),
        objective=() if drops_equal_groups else tuple(table.objective(v).tolist()),
        variance=() if drops_equal_groups else tuple(table.variance(v).tolist()),
        maximises=() if drops_equal_groups else objective_of(table),
        retains=_retained(table, drops_equal_groups),
        all_right=float(table.right[-1]),
        all_wrong=float(table.wrong[0]),
        symmetric=table.symmetric,
        couples_groups=table.coupled,
        drops_equal_groups=drops_equal_groups,
        not_finite=table.bad,
        spike=spike,
        rounding=rounding,
        equals=declared_advantage(advantage, table.group_size, name),
    )
    return replace(draft, verdict=_verdict(draft))


def weight_of(table: ByCount, pass_rate: np.ndarray, *, drops_equal_groups: bool = False) -> np.ndarray:
    """alpha_G(V), divided by the chance 1 - V^G - (1-V)^G that rewards differ, if equal ones are dropped."""
    size = table.group_size
    mixed_chance = 1 - pass_rate**size - (1 - pass_rate) ** size if drops_equal_groups else 1.0
    return np.asarray(table.weight(pass_rate) / mixed_chance)


_MERITS = np.array([1.02, *[1.0] * 9])
_LONG = 1e6
"""Of training, in steps times their size: the strategies' shares have ended."""


def _retained(table: ByCount, drops_equal_groups: bool) -> float:
    """exp of the entropy of the shares that are left of strategies of no common prompt, from equal ones."""
    weight = partial(weight_of, table, drops_equal_groups=drops_equal_groups)
    weighting = Weighting("", weight, table.objective, 0.0)
    start, alone = np.full(len(_MERITS), 1 / len(_MERITS)), np.eye(len(_MERITS))
    shares = trained_shares(start, alone, _MERITS / _MERITS.sum(), weighting, [_LONG])[-1]
    return float(effective_number(shares))


def _verdict(report: AdvantageReport) -> str:
    """Such as: leave-one-out at G = 8: It maximises V: a prompt weighs 1 at every pass rate V. ..."""
    low, high = min(report.weight), max(report.weight)
    even = high - low <= 1e-9 * max(abs(high), 1e-300) or [name for _, name in report.maximises] == ["V"]
    three = f"{report.weight[0]:.4g} at V = .01, {report.weight[3]:.4g} at .5, {report.weight[-1]:.4g} at .99"
    weighs = f"{high:.4g} at every pass rate V" if even else three
    subject = f"It maximises {_objective_words(report.maximises)}: a" if report.maximises else "A"
    alone = ", in a group alone," if report.couples_groups else ""
    if report.drops_equal_groups:
        ends = "Groups that are all correct or all incorrect are replaced."
    elif report.all_right == report.all_wrong == 0:
        ends = "Groups that are all correct or all incorrect give nothing."
    else:
        ends = f"All correct gives {report.all_right:.4g} each, all incorrect {report.all_wrong:.4g}."
    merits = "Of ten strategies that prompts share, one with 2% more merit,"
    findings = (report.equals, f"{subject} prompt weighs{alone} {weighs}.", ends)
    sentences = (*_alarms(report), *findings, f"{merits} it retains {report.retains:.3g}.")
    return f"{report.advantage} at G = {report.group_size}: {' '.join(filter(None, sentences))}"


def _alarms(report: AdvantageReport) -> list[str]:
    """What is wrong, or couples what should stand alone."""
    right = ", ".join(map(str, report.not_finite))
    alarms = [f"It is NOT FINITE in groups with {right} correct."] if right else []
    alarms += [f"It SPIKES {report.spike.words}."] if report.spike else []
    if report.rounding > COARSE:
        alarms.append(f"Its own ROUNDING moves an advantage by up to {report.rounding:.2g} of the largest.")
    if report.couples_groups:
        alarms.append("It COUPLES the groups of a batch: what a prompt weighs depends on those beside it.")
    return alarms if report.symmetric else [*alarms, "It depends on the order of a group's answers."]


def objective_of(table: ByCount) -> tuple[tuple[float, str], ...]:
    """(coefficient, name) of the terms of J_G, at most two; empty if none is known.

    pass@k = 1 - (1-V)^k; all@k = V^k; log V truncated at order m is minus the sum of (1-V)^j/j to j = m,
    the sum of pass@k/k to k = m up to a constant; the arcsine's is that of GRPO's deviation at this G, which
    tends to 2 arcsin sqrt V. A number added to the std or the mean is named.
    """
    size = table.group_size
    grid = (1 - np.cos(np.pi * (np.arange(2 * size + 6) + 0.5) / (2 * size + 6))) / 2
    weight, slopes = table.weight(grid), _slopes(size, grid)
    if np.abs(weight).max() < 1e-12:
        return ((0.0, "V"),)
    tolerance = rounding_of(table.right)
    single = find_sum(weight, slopes, ROUNDING, most_terms=1)
    terms = single or _with_an_epsilon(size, grid, weight, tolerance)
    if tolerance == FLOAT32:
        terms = terms or find_sum(weight, slopes, FLOAT32, most_terms=1) or ()
    # Groups of two and three have too few dimensions for a sum to mean anything.
    if terms or size <= 3:
        return terms
    return find_sum(weight, slopes, ROUNDING, most_terms=2) or ()


def _with_an_epsilon(
    size: int, v: np.ndarray, weight: np.ndarray, tolerance: float
) -> tuple[tuple[float, str], ...]:
    """The objective of an advantage over a deviation or a mean with one of EPSILONS added; () for others."""
    named = {
        "std": "the arcsine's (sample std{})",
        "population_std": "the arcsine's (population std{})",
        "mean": f"log V truncated at order {size - 1} (mean{{}})",
    }
    fits = []
    for scale, epsilon in product(named, (0.0, *EPSILONS)):
        slope = group_weight(size, v, scale, epsilon=epsilon)
        constant = float(weight @ slope / (slope @ slope))
        error = float(np.abs(constant * slope - weight).max() / np.abs(weight).max())
        if error < tolerance:
            name = named[scale].format(f" + {epsilon:g}" if epsilon else "")
            fits.append((error, constant, name.removesuffix(" (mean)")))
    # A sample std is a population std up to a factor: the one without a factor is meant.
    exact = [(c, name) for error, c, name in fits if error <= 10 * min(fits)[0] + 1e-14]
    return tuple(sorted(exact, key=lambda term: abs(np.log(abs(term[0]))))[:1])


def _slopes(size: int, v: np.ndarray) -> dict[str, np.ndarray]:
    """The derivatives of the named objectives at v."""
    slopes = {"V": np.ones_like(v)}
    slopes |= {f"pass@{k}": k * (1 - v) ** (k - 1) for k in range(2, size + 1)}
    slopes |= {f"log V truncated at order {m}": (1 - (1 - v) ** m) / v for m in range(2, size + 1)}
    slopes["the arcsine's (sample std)"] = group_weight(size, v, "std")
    slopes["the arcsine's (population std)"] = group_weight(size, v, "population_std")
    slopes |= {f"all@{k}": k * v ** (k - 1) for k in range(2, size + 1)}
    return slopes


def _objective_words(terms: tuple[tuple[float, str], ...]) -> str:
    """Such as: 0.875 V, or "none known"."""
    if not terms:
        return "none known"
    if terms[0][0] == 0:
        return "nothing"
    words = " + ".join(name if abs(c - 1) < 5e-7 else f"{c:.6g} {name}" for c, name in terms)
    return words.replace("+ -", "- ")
