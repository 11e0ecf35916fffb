"""Weight of prompts by their pass rate under an advantage, and the objective that it maximises.

The weight on the gradient of a prompt's pass rate is exact, from the table of advantages by the number of
correct answers in a group. If advantages depend on the other groups of a batch, those are simulated.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product, zip_longest

import numpy as np

from ..losses.advantages import EPSILONS, Advantage
from ..numeric.arrays import Scalars, integers, probability
from ..numeric.elementary import Values
from ..stationary import group_weight
from ..stationary.groups import success_weights
from ..support.errors import argument_error
from ..support.table import Table
from .declared_advantages import declared_advantage
from .precision import FLOAT32, ROUNDING, called, rounding_of, sorted_groups
from .quantities import find_sum
from .report import Finding, LossReport

MOST_ENUMERATED, LARGEST_GROUP = 12, 1024
"""Largest group whose 2^G outcomes are enumerated, and largest of all."""
PROMPTS = 64
"""Prompts in a simulated batch."""
BATCHES: Mapping[str, tuple[float, float]] = {"even": (0.0, 1.0), "hard": (0.0, 0.2), "easy": (0.8, 1.0)}
"""Range of the pass rates of the other prompts of a simulated batch, which are spread evenly."""


@dataclass(frozen=True)
class ByCount:
    """Mean advantages by the number k = 0 .. G of correct answers in the group.

    Attributes:
        right, wrong: Advantages of a correct and an incorrect answer, shape (G+1,); 0 where there is none.
        symmetric: True if only k matters, not the order of the answers.
        coupled: True if the other groups of a batch matter, over which the advantages then are means.
        bad: The k at which some advantage is not finite, which counts as zero.
    """

    right: np.ndarray
    wrong: np.ndarray
    symmetric: bool
    coupled: bool
    bad: tuple[int, ...]

    @property
    def group_size(self) -> int:
        """Group size G."""
        return len(self.right) - 1

    def weight(self, pass_rate: Scalars) -> Values:
        """alpha_G(V), shape of `pass_rate`: mean of A(correct) - A(incorrect) over the other answers."""
        chances = success_weights(self.group_size - 1, probability("pass_rate", pass_rate))
        return np.asarray((chances * (self.right[1:] - self.wrong[:-1])).sum(axis=-1))

    def objective(self, pass_rate: Scalars) -> Values:
        """Maximised objective J_G(V), shape of `pass_rate`: the weight alpha_G integrated from 0 to V."""
        # The chance of k successes in G-1, integrated, is that of more than k in G, over G.
        gained = np.append(0.0, np.cumsum(self.right[1:] - self.wrong[:-1])) / self.group_size
        return np.asarray(success_weights(self.group_size, probability("pass_rate", pass_rate)) @ gained)


def tabulate(advantage: Advantage, group_size: int, batch: str = "even", draws: int | None = None) -> ByCount:
    """Tabulate an advantage by the number of correct answers, in float64.

    A function that distinguishes the places in a group is averaged over all 2^G outcomes, above G = 12 over
    random orders. One whose groups depend on each other is averaged over `draws` batches of `batch`, one of
    BATCHES.

    Raises:
        AdvantageError: If the function fails; the message says why.
        ValueError: If it is no function, or the group is below two.
    """
    sizes = integers("group_size", group_size, at_least=2)
    if sizes.ndim or sizes > LARGEST_GROUP:
        raise argument_error("group_size", group_size, f"a whole number from 2 to {LARGEST_GROUP}")
    if not callable(advantage):
        raise argument_error("advantage", advantage, "a function of rewards (groups, G) to as many numbers")
    size, rng = int(sizes), np.random.default_rng(0)
    rows = sorted_groups(size)
    advantages = np.concatenate([called(advantage, row[None], precise=True) for row in rows])
    tried, (right, wrong) = rng.permuted(rows, axis=1), _by_count(rows, advantages)
    coupled = not _agree(called(advantage, rows, precise=True), advantages)
    expected = np.where(tried > 0, right[:, None], wrong[:, None])
    symmetric = coupled or _agree(called(advantage, tried, precise=True), expected)
    draws = draws or max(4, 256 // size)
    if coupled:
        rows, advantages = _in_batches(advantage, size, *BATCHES[batch], draws)
    elif not symmetric:
        outcomes = (np.arange(2 ** min(size, MOST_ENUMERATED))[:, None] >> np.arange(size) & 1).astype(float)
        drawn = rng.permuted(np.tile(rows, (max(draws, 4096 // size), 1)), axis=1)
        rows = outcomes if size <= MOST_ENUMERATED else drawn
        advantages = called(advantage, rows, precise=True)
    finite = np.isfinite(advantages)
    bad = np.unique(rows.sum(axis=1)[~finite.all(axis=1)].astype(int)).tolist()
    return ByCount(*_by_count(rows, np.where(finite, advantages, 0.0)), symmetric, coupled, tuple(bad))


def _in_batches(
    advantage: Advantage, size: int, low: float, high: float, draws: int
) -> tuple[np.ndarray, np.ndarray]:
    """Groups (groups, G) of every correct count, and advantages of their answers beside simulated prompts."""
    rng = np.random.default_rng(0)
    rates = low + (high - low) * (np.arange(PROMPTS - 1) + 0.5) / (PROMPTS - 1)
    drawn, advantages = [], []
    for _ in range(draws):
        other_rows = (rng.random((PROMPTS - 1, size)) < rates[:, None]).astype(float)
        drawn.append(rng.permuted(sorted_groups(size), axis=1))
        # The same other groups for every k, so that noise of theirs is no difference between the k. In its
        # own precision: the noise of the draws is larger, and a trainer is ten times faster so.
        batches = (np.concatenate([row[None], other_rows]) for row in drawn[-1])
        advantages += [called(advantage, rewards)[:1] for rewards in batches]
    return np.concatenate(drawn), np.concatenate(advantages)


def _agree(one: np.ndarray, other: np.ndarray) -> bool:
    tolerance = rounding_of(one)
    size = np.abs(one, where=np.isfinite(one), out=np.zeros_like(one)).max()
    return bool(np.allclose(one, other, rtol=tolerance, atol=tolerance * size + 1e-12, equal_nan=True))


def _by_count(rows: np.ndarray, advantages: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean advantages of correct and of incorrect answers, each (G+1,), by the group's correct count."""
    counts, places = rows.sum(axis=1).astype(int), np.arange(rows.shape[1] + 1)
    answers = np.bincount(counts) * np.stack([places, places[::-1]])
    sums = np.stack([np.bincount(counts, (advantages * side).sum(axis=1)) for side in (rows, 1 - rows)])
    right, wrong = sums / np.maximum(answers, 1)
    return right, wrong


REWARDS = ((0.35, 0.95), (0.1, 0.4))
"""Pairs of rewards without an exact float: if all agree, rounding may leave a deviation."""
SPIKE = 100.0
"""Advantages over a group's mean reach G; so many times as much is a division by almost zero."""


def _spike(advantage: Advantage, table: ByCount) -> Finding | None:
    """Finding on the largest advantage if a division by almost zero (or by rounding) made it, else None."""
    size, largest = table.group_size, np.maximum(np.abs(table.right), np.abs(table.wrong))
    if (most := float(largest.max())) > SPIKE * size:
        k = int(largest.argmax())
        return Finding(f"to {most:.2g} with {k} of {size} correct", {"size": most, "right": k})
    for (low, high), dtype in product(REWARDS, ("float32", "float64")):
        for k in {0, 1, size // 2, size - 1, size} if not table.coupled else ():
            rewards = (low + (high - low) * sorted_groups(size)[k]).astype(dtype)[None]
            reached = float(np.abs(np.nan_to_num(called(advantage, rewards), posinf=0.0, neginf=0.0)).max())
            if reached > SPIKE * max(1.0, most):
                words = f"to {reached:.2g} by rounding ({k} of {high:g} among {low:g}, in {dtype})"
                return Finding(words, {"size": reached, "right": k, "dtype": dtype})
    return None


PASS_RATES = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


@dataclass(frozen=True, repr=False)
class AdvantageReport(LossReport):
    """Findings about one advantage at group size G; lists run over `pass_rates`.

    Attributes:
        advantage, group_size, `verdict`: Name, G, and the answer in sentences.
        weight, objective: alpha_G(V), which is 1 for an unbiased gradient of V, and J_G(V).
        maximises: Terms (coefficient, name) of J_G.
        other_batches: Weights in a hard and in an easy batch (BATCHES), if `couples_groups`.
        all_right, all_wrong: Advantage in groups that are all correct or all incorrect.
        symmetric, couples_groups: As in `ByCount`; a coupled one has no objective.
        drops_equal_groups: True if groups of equal rewards are replaced.
        not_finite: Numbers of correct answers at which some advantage is not finite.
        spike: Largest advantage, if a division by almost zero makes it large.
        equals: Sentence on the declared advantage that it is.
    """

    advantage: str
    group_size: int
    verdict: str
    pass_rates: tuple[float, ...]
    weight: tuple[float, ...]
    objective: tuple[float, ...]
    maximises: tuple[tuple[float, str], ...]
    other_batches: Mapping[str, tuple[float, ...]]
    all_right: float
    all_wrong: float
    symmetric: bool
    couples_groups: bool
    drops_equal_groups: bool
    not_finite: tuple[int, ...]
    spike: Finding | None
    equals: str

    def tables(self) -> Sequence[Table]:
        """Tabulate the weights and the objective by pass rate."""
        columns = {"V": self.pass_rates, "weight": self.weight, "J_G": self.objective}
        columns |= {f"weight, {name} batch": weights for name, weights in self.other_batches.items()}
        shown = {name: column for name, column in columns.items() if column}
        return (Table.from_rows(tuple(shown), zip_longest(*shown.values())),)


def audit_advantage(
    advantage: Advantage,
    *,
    group_size: int = 8,
    name: str | None = None,
    drops_equal_groups: bool = False,
    draws: int | None = None,
) -> AdvantageReport:
    """Find how an advantage weights prompts and what it maximises.

    An advantage that depends on the other groups of a batch is audited in simulated batches of PROMPTS
    prompts, without an objective.

    Args:
        advantage: A function of rewards (groups, G), zeros and ones, to as many numbers.
        group_size: G, the answers to a prompt.
        name: Name in the report.
        drops_equal_groups: True if groups of equal rewards are replaced, as in DAPO: the weight is divided by
            the chance 1 - V^G - (1-V)^G of differing rewards.
        draws: Number of simulated batches, if the advantage depends on its batch.

    Raises:
        ValueError: If the function fails (AdvantageError) or is none, or the group is below two.

    Example:
        >>> round(audit_advantage(lambda r: r - r.mean(-1, keepdims=True), group_size=4).weight[0], 6)
        0.75

    Source: ours, entries `group_advantages`.
    """
    table = tabulate(advantage, group_size, draws=draws)
    name, v = name or str(getattr(advantage, "__name__", "the advantage")), np.array(PASS_RATES)
    size, drops = table.group_size, drops_equal_groups
    has_objective = not drops and not table.coupled
    batches = [batch for batch in BATCHES if batch != "even"] if table.coupled else []
    other_batches = {
        batch: weight_of(tabulate(advantage, size, batch, draws), v, drops_equal_groups=drops)
        for batch in batches
    }
    draft = AdvantageReport(
        advantage=name,
        group_size=size,
        verdict="",
        pass_rates=PASS_RATES,
        weight=tuple(weight_of(table, v, drops_equal_groups=drops).tolist()),
        objective=tuple(table.objective(v).tolist()) if has_objective else (),
        maximises=objective_of(table) if has_objective else (),
        other_batches={batch: tuple(weights.tolist()) for batch, weights in other_batches.items()},
        all_right=float(table.right[-1]),
        all_wrong=float(table.wrong[0]),
        symmetric=table.symmetric,
        couples_groups=table.coupled,
        drops_equal_groups=drops,
        not_finite=table.bad,
        spike=_spike(advantage, table),
        equals=declared_advantage(advantage, size, name),
    )
    return replace(draft, verdict=_verdict(draft))


def weight_of(table: ByCount, pass_rate: np.ndarray, *, drops_equal_groups: bool = False) -> np.ndarray:
    """Gradient weight alpha_G(V) at each pass rate, shape of `pass_rate`.

    With `drops_equal_groups` the weight is divided by the probability that a group's rewards differ.
    """
    size = table.group_size
    mixed_chance = 1 - pass_rate**size - (1 - pass_rate) ** size if drops_equal_groups else 1.0
    return np.asarray(table.weight(pass_rate) / mixed_chance)


def _verdict(report: AdvantageReport) -> str:
    """Summary in sentences, such as: leave-one-out at G = 8: It maximises V: a prompt weighs 1 at every V."""
    low, high = min(report.weight), max(report.weight)
    even = high - low <= 1e-9 * max(abs(high), 1e-300) or [name for _, name in report.maximises] == ["V"]
    weighs = f"{high:.4g} at every pass rate V" if even else _three(report.weight)
    subject = f"It maximises {_objective_words(report.maximises)}: a" if report.maximises else "A"
    sentences = [*_alarms(report), report.equals, f"{subject} prompt weighs {weighs}."]
    if report.couples_groups:
        hard, easy = (f"{report.other_batches[name][3]:.3g}" for name in ("hard", "easy"))
        at_half = (
            f"at .5 it weighs {hard} beside hard prompts (pass rates up to 0.2), {easy} beside easy ones"
        )
        sentences[-1] = f"Beside prompts of all pass rates a prompt weighs {_three(report.weight, 3)}; "
        sentences[-1] += f"{at_half} (from 0.8; simulated, {PROMPTS} prompts in a batch)."
    if report.drops_equal_groups:
        sentences.append("Groups that are all correct or all incorrect are replaced.")
    elif abs(report.all_right) + abs(report.all_wrong) <= 1e-9 * max(map(abs, report.weight)):
        sentences.append("Groups that are all correct or all incorrect give nothing.")
    else:
        mean = " on average" if report.couples_groups else ""
        ends = f"{report.all_right:.4g}, of one that is all incorrect {report.all_wrong:.4g}"
        sentences.append(f"Each answer of a group that is all correct gets {ends}{mean}.")
    return f"{report.advantage} at G = {report.group_size}: {' '.join(filter(None, sentences))}"


def _three(weights: Sequence[float], digits: int = 4) -> str:
    rare, even, frequent = (f"{weights[i]:.{digits}g}" for i in (0, 3, -1))
    return f"{rare} at V = .01, {even} at .5, {frequent} at .99"


def _alarms(report: AdvantageReport) -> list[str]:
    right = ", ".join(map(str, report.not_finite))
    alarms = [f"It is NOT FINITE in groups with {right} correct."] if right else []
    if report.spike:
        alarms.append(f"It SPIKES {report.spike.words}: it divides by almost zero.")
    if report.couples_groups:
        alarms.append(
            "It DEPENDS ON THE BATCH: a prompt's weight, and what is maximised, on the other prompts."
        )
    return alarms if report.symmetric else [*alarms, "It depends on the order of a group's answers."]


GRPO = "GRPO's objective, about 2 arcsin(sqrt V)"


def objective_of(table: ByCount) -> tuple[tuple[float, str], ...]:
    """Terms (coefficient, name) of J_G, at most two; empty if none is known.

    pass@k = 1 - (1-V)^k; all@k = V^k; log V truncated at order m is minus the sum of (1-V)^j/j to j = m;
    GRPO's tends to 2 arcsin(sqrt V). A number added to the std or the mean is named.
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
    """Terms of the objective if the divisor is a std or a mean plus one of EPSILONS; () if it is not."""
    named = {
        "std": f"{GRPO} (sample std{{}})",
        "population_std": f"{GRPO} (population std{{}})",
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
    """Derivatives, each in the shape of v, of the named objectives J(V) for group size `size`."""
    slopes = {"V": np.ones_like(v)}
    slopes |= {f"pass@{k}": k * (1 - v) ** (k - 1) for k in range(2, size + 1)}
    slopes |= {f"log V truncated at order {m}": (1 - (1 - v) ** m) / v for m in range(2, size + 1)}
    slopes[f"{GRPO} (sample std)"] = group_weight(size, v, "std")
    slopes[f"{GRPO} (population std)"] = group_weight(size, v, "population_std")
    slopes |= {f"all@{k}": k * v ** (k - 1) for k in range(2, size + 1)}
    return slopes


def _objective_words(terms: tuple[tuple[float, str], ...]) -> str:
    """Terms (coefficient, name) of an objective in words, such as: 0.875 V."""
    if terms[0][0] == 0:
        return "nothing"
    times = {name: " times" * (" " in name) for _, name in terms}
    words = " + ".join(name if abs(c - 1) < 5e-7 else f"{c:.6g}{times[name]} {name}" for c, name in terms)
    return words.replace("+ -", "- ")
