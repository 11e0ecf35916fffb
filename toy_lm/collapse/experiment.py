"""The experiment: collapse under misspecification, on a reference case and on random bases (theory A10)."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from itertools import count
from typing import Any

import numpy as np

from dph_theory import beta_from_mu
from dph_theory.support.errors import argument_error
from dph_theory.support.frozen import as_json
from dph_theory.support.progress import Progress, silent
from dph_theory.support.record import record

from ..threads import one_thread
from .config import Config
from .family import Bigrams
from .findings import findings
from .fits import Fits
from .measure import targets
from .problem import Problem, random_brackets, random_counts, reference
from .rates import rates
from .results import KIND, Fit, Leap, RandomBases, Reference, Results

STAGE = "families fitted"


def run(
    config: Config | None = None,
    *,
    seed: int = 0,
    progress: Progress | None = None,
    problem: Problem | None = None,
) -> dict[str, Any]:
    """Fit everything, and return the record of it, whose results `toy_lm.collapse.results.read` reads.

    Given a problem, of one base, only that is fitted, in place of the reference case.
    """
    config, given = config or Config(), {}
    if problem is None:
        with one_thread():
            results = _results(config, np.random.default_rng(seed), progress)
    else:
        results = Results(reference=fits(problem, config, seed=seed, progress=progress), random=())
        automaton = problem.automaton
        given["problem"] = {
            "alphabet": "".join(automaton.alphabet),
            "transitions": automaton.transitions.tolist(),
            "accepting": automaton.accepting.tolist(),
        }
    return record(
        KIND,
        seed=seed,
        config=asdict(config) | given,
        results=as_json(results),
        findings=findings(results),
        packages=("numpy", "scipy", "torch"),
    )


def fits(
    problem: Problem, config: Config | None = None, *, seed: int = 0, progress: Progress | None = None
) -> Reference:
    """Every fit to a problem of one base, in both families of bigrams: `fits(problem).fits`, and leaps.

    Of the configuration's targets only those above the base's pass rate are tried.
    """
    if problem.cases != 1:
        raise argument_error("problem.cases", problem.cases, "one base")
    with one_thread():
        families = _families(problem, _counter(2, progress or silent))
        return _reference(problem, families, config or Config(), np.random.default_rng(seed))


def _results(config: Config, rng: np.random.Generator, progress: Progress | None) -> Results:
    first, *others = reference(), random_brackets(config.cases, rng), random_counts(config.cases, rng)
    fitted = _counter(2 * (1 + len(others)), progress or silent)
    return Results(
        reference=_reference(first, _families(first, fitted), config, rng),
        random=tuple(_random(problem, _families(problem, fitted), config, rng) for problem in others),
    )


def _counter(total: int, progress: Progress) -> Callable[[], None]:
    """Says at every call how many families are fitted, 0 at once."""
    done = count()

    def fitted() -> None:
        progress(STAGE, next(done), total)

    fitted()
    return fitted


def _families(problem: Problem, fitted: Callable[[], None]) -> Iterator[Bigrams]:
    for homogeneous in (True, False):
        yield problem.family(homogeneous=homogeneous)
        fitted()


def _reference(
    problem: Problem, families: Iterable[Bigrams], config: Config, rng: np.random.Generator
) -> Reference:
    wanted = [mu for mu in config.targets if mu > problem.base_rates[0]]
    aims = 1 / beta_from_mu(problem.base_rates[0], np.array(wanted))
    strengths = np.unique([*config.strengths, *aims])
    mus = dict(zip(aims.tolist(), wanted, strict=True))
    lines: list[Fit] = []
    leaps: list[Leap] = []
    for family in families:
        found = Fits(problem, family, strengths[None], rng, config.starts, config)
        lines += found.lines([mus.get(strength) for strength in strengths.tolist()], config.alphas)
        leaps += found.leaps()
    (target,) = targets(problem)
    return Reference(**_described(problem), target=target, fits=tuple(lines), leaps=tuple(leaps))


def _random(
    problem: Problem, families: Iterable[Bigrams], config: Config, rng: np.random.Generator
) -> RandomBases:
    # One target is a different 1/beta for every base.
    mus = sorted(config.random_targets)
    strengths = 1 / beta_from_mu(problem.base_rates[:, None], np.array(mus))
    lines: list[Fit] = []
    for family in families:
        found = Fits(problem, family, strengths, rng, config.random_starts, config)
        lines += found.lines(mus, config.random_alphas)
    return RandomBases(**_described(problem), rates=rates(lines, targets(problem)))


def _described(problem: Problem) -> dict[str, Any]:
    return {
        "name": problem.name,
        "length": problem.length,
        "words": problem.automaton.symbols**problem.length,
        "valid_words": len(problem.valid_words),
    }
