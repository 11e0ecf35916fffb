"""The answer of `dph predict`: the forecast of Pass@k first, one next command last."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..coverage import exact_pass_at_k, pass_at_k
from ..losses.objective import UNDIVIDED, Objective
from .configuration import Case, Configuration, penalty
from .prediction import Prediction
from .stored_runs import Advice, expectation, methods_that_retained, setting_rows

if TYPE_CHECKING:
    from .shared_model import SharedModelForecast

_INDEPENDENT = (
    "This table treats prompts as independent. Interference between prompts, the usual cause of a falling "
    "Pass@k, is not included."
)
WIDTH, MOST_LINES = 80, 20
"""Columns and lines of an answer."""


@dataclass(frozen=True)
class Base:
    """The base's pass rates, a list or by prompt, and the counts behind them, if any."""

    rates: Mapping[str, float] | Sequence[float]
    n: np.ndarray | None = None
    c: np.ndarray | None = None

    @property
    def _pass_rates(self) -> np.ndarray:
        return np.array([*self.rates.values()] if isinstance(self.rates, Mapping) else self.rates, float)

    def pass_at(self, k: int) -> float | None:
        """Pass@k, unbiased if there are counts; None where a prompt has fewer answers than k."""
        if self.n is None or self.c is None:
            return float(np.mean(exact_pass_at_k(self._pass_rates, k)))
        return None if k > self.n.min() else float(pass_at_k(self.n, self.c, k).mean())

    def uniform_share(self, group: int) -> float | None:
        """The share of groups with equal rewards, unbiased if there are counts; None if n is too small."""
        if self.n is None or self.c is None:
            return float(np.mean(uniform_share(self._pass_rates, group)))
        if group > self.n.min():
            return None
        some_correct, some_incorrect = (pass_at_k(self.n, c, group) for c in (self.c, self.n - self.c))
        return float(np.mean(2 - (some_correct + some_incorrect)))


def uniform_share(rates: np.ndarray, group: int) -> np.ndarray:
    """V^G + (1-V)^G: how often a prompt's group of G answers is all correct or all incorrect."""
    return np.asarray(rates**group + (1 - rates) ** group)


@dataclass(frozen=True)
class PredictionReport:
    """Everything that an answer needs: settings, prompts by themselves, the base, and one model's forecast.

    retained: the settings that retained more in measured runs; next_command: the last line.
    """

    configuration: Configuration
    prediction: Prediction | None
    base: Base | None
    k: int
    forecast: "SharedModelForecast | None" = None
    retained: Advice | None = None
    next_command: str = ""
    kernel: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The configuration, the expectation from measured runs, and the prediction and forecast if any."""
        entries = self.configuration.to_dict()
        entries["expected"] = asdict(expectation(self.configuration.objective))
        if self.prediction is not None:
            entries["prediction"] = {**self.prediction.to_dict(), "configuration": None}
        if self.forecast is not None:
            entries["transfer"] = self.forecast.to_dict()
        return entries

    def lines(self, *, everything: bool = False) -> list[str]:
        """The answer, in at most `MOST_LINES` lines, for which lists are shortened, or with everything."""
        run = self.configuration
        last = f"Next: {self.next_command}"
        if run.void:
            return [*_wrapped(f"{run.trainer}: no RL with verifiable rewards: {run.void}."), last]
        lines: list[str] = []
        sizes = [(2, True), (1, True), (1, False), (0, False)] if self.forecast is None else [(0, True)]
        for rows, settings in [(1000, True)] if everything else sizes:
            lines = [*self._first(), *self._objective(rows), *self._rates(), *self._settings(rows)]
            lines += self._advice(settings)
            if len(lines) < MOST_LINES:
                break
        return [*lines, last]

    def _first(self) -> Iterator[str]:
        """The change of Pass@k, and the evidence."""
        run = self.configuration
        if self.forecast is not None:
            for text in self.forecast.lines(self.kernel):
                yield from _wrapped(text)
            return
        expected = [expectation(case.objective) for case in run.cases]
        first, *evidence = expected[0].sentences()
        if len({one.course for one in expected}) > 1:
            cases = zip(run.cases, expected, strict=True)
            courses = [f"{case.condition}: {one.course or 'not known'}" for case, one in cases]
            first = f"Held-out Pass@k at large k depends: {'; '.join(courses)}."
        for case in run.older:
            if (course := expectation(case.objective).course) != expected[0].course:
                words = f"it will probably {course}" if course else "that is not known"
                first += f" B{case.condition[1:]} {words}."
        yield from _wrapped(" ".join([first, *evidence]))

    def _objective(self, rows: int) -> Iterator[str]:
        """The KL and its end, the advantage, and what else matters."""
        run = self.configuration
        yield from _wrapped(f"{run.trainer} {run.version}: {' or '.join(map(_case, run.cases))}.")
        yield from _wrapped(" ".join(f"B{_case(case)[1:]}." for case in run.older))
        if len(run.cases) == 1 and rows and run.selects != "not known" and self.forecast is None:
            yield from _wrapped(f"Long training converges to {run.selects}.")
        advantages = dict.fromkeys(case.objective.advantage.words for case in run.cases)
        groups = dict.fromkeys(str(case.objective.group_size or "not known") for case in run.cases)
        if self.forecast is None:
            words = f"Advantage: {' or '.join(advantages)}; answers a prompt: {' or '.join(groups)}."
            yield from _wrapped(words)
            yield from _wrapped(_strategies(run.objective))
        if run.objective.rehearsal is not None:
            yield from _wrapped(f"{run.objective.rehearsal.words}.")
        yield from _listed("Also", run.also, rows)

    def _settings(self, rows: int) -> Iterator[str]:
        """List the settings that were read, are uncertain, change the answer, or were not read."""
        run = self.configuration
        yield from _listed("Read", run.read, rows)
        yield from _listed("Not certain", run.doubts, max(rows, 1))
        yield from _listed("Changes this answer", run.changes, max(rows, 1))
        yield from _listed("Not read, may change this answer by its name", run.suspicious, max(rows, 1))
        if rows > 2:
            yield from _listed("Not read", run.not_read, rows)
        elif run.not_read and rows:
            names = "1 other name" if len(run.not_read) == 1 else f"{len(run.not_read)} other names"
            yield f"Not read: {names} (--all), assumed not to change the loss."

    def _advice(self, settings: bool) -> Iterator[str]:
        """The methods that retained more on SQL; the settings that did, with their price, if asked for."""
        if self.forecast is None:
            run = self.configuration
            yield from _wrapped(methods_that_retained(run.objective, run.trainer))
        if self.retained is None or not settings:
            return
        row, own = self.retained.runs, self.retained.without
        words = " ".join(self.retained.settings)
        *first, last = textwrap.wrap(words, 46, break_on_hyphens=False, break_long_words=False)
        pairs = ((own.setting, own), (last, row))
        outcomes = [(name, runs.ends[1], (runs.trained or runs.held_out)["end"][0]) for name, runs in pairs]
        head, without, better = setting_rows(f"held-out Pass@{row.k}", outcomes)
        yield from (f"What retained more ({row.place}):", head, without, *first, better)

    def _rates(self) -> Iterator[str]:
        """Pass rates of prompts by themselves, or why there are none, and how many groups have no signal."""
        run, prediction, base = self.configuration, self.prediction, self.base
        if base is not None and prediction is None:
            unknown = "; ".join(run.objective.undecided) or run.objective.unpredicted
            yield from _wrapped(f"No pass rates of single prompts: not known is {unknown}.")
        if base is None or prediction is None:
            return
        if len(run.cases) > 1:
            yield from _wrapped(f"If {run.cases[0].condition}:")
        now, end = prediction.mean_base_rate, prediction.mean_pass_rate
        yield _row("each prompt by itself", ["base now", "in the end"])
        yield _row("Pass@1", [f"{now:.3f}", shown(end, now)])
        passed = base.pass_at(self.k)
        if self.k > 1 and passed is not None:
            yield _row(f"Pass@{self.k}", [f"{passed:.3f}", "not less"])
        elif self.k > 1 and base.n is not None:
            least = base.n.min()
            yield f"Pass@{self.k} needs {self.k} answers a prompt: the fewest here are {least} (--k {least})."
        yield from _wrapped(_INDEPENDENT)
        if run.objective.group_size is not None:
            yield from _wrapped(_uniform_groups(run.objective, prediction, base))


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def _listed(label: str, words: Sequence[str], rows: int) -> list[str]:
    """A list in at most so many lines, with the number of entries that are left out."""
    for count in range(len(words), 0, -1) if rows else ():
        more = f" and {len(words) - count} more (--all)" if count < len(words) else ""
        lines = _wrapped(f"{label}: {'; '.join(words[:count])}{more}")
        if len(lines) <= rows:
            return lines
    if not words or not rows:
        return []
    more = f" and {len(words) - 1} more (--all)" if len(words) > 1 else " (--all)"
    first = words[0][: WIDTH * rows - len(label + more) - 7].rstrip()
    return _wrapped(f"{label}: {first}...{more}")


def _case(case: Case) -> str:
    """A KL term with its coefficient and the KL that training converges to, under the case's condition."""
    objective = case.objective
    words = penalty(objective)
    if objective.undecided:
        words = f"not certain: {', '.join(objective.undecided)}"
    elif objective.term is not None and objective.coefficient:
        end = objective.term.stationary_kl
        words += f": {'its end is not known' if end == 'not known' else end}"
    if case.condition.startswith("before "):
        return f"{case.condition}: {words}"
    return f"{words} if {case.condition}" if case.condition else words


def _strategies(objective: Objective) -> str:
    """Sentence on the number of strategies that stay if no KL retains the base's proportions."""
    if objective.coefficient or objective.undecided or objective.mixed_only:
        return ""
    one = "not divided, one strategy survives"
    ends = {"mean": "divided by the mean, a mixture of strategies survives", **dict.fromkeys(UNDIVIDED, one)}
    end = ends.get(objective.advantage.scale or "")
    return f"Shared strategies: {end}." if end else ""


def _row(name: str, cells: Sequence[str]) -> str:
    return f"{name:22}" + "".join(f"{cell:>19}" for cell in cells)


def _uniform_groups(objective: Objective, prediction: Prediction, base: Base) -> str:
    """The share of groups whose rewards are equal, now and at the end, and the gradient of such groups."""
    size, gradient = objective.group_size or 1, "no gradient"
    if objective.coefficient:
        gradient = "left out" if objective.mixed_only else "the KL acts alone"
    if objective.advantage.baseline != "mean":
        gradient = "with a gradient: their mean is not subtracted"
    now = base.uniform_share(size)
    end = uniform_share(np.array([prompt.pass_rate for prompt in prediction.prompts]), size).mean()
    begins = "" if now is None else f"{now:.3f} now, "
    return f"Groups of {size} with equal rewards ({gradient}): {begins}{end:.3f} in the end."


def shown(rate: float, base_rate: float = 0.0) -> str:
    """A pass rate; three digits do not round it up to 1."""
    return "> 0.999" if rate > 0.9995 and base_rate < 1 else f"{rate:.3f}"
