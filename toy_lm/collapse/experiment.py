"""The experiment: collapse under misspecification, on a reference case and on random bases (theory A10)."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from dph_theory import beta_from_mu
from dph_theory.support.errors import argument_error
from dph_theory.support.frozen import as_json
from dph_theory.support.progress import Progress, silent
from dph_theory.support.record import record

from ..threads import one_thread
from .family import Bigrams
from .findings import findings
from .fits import Fits
from .measure import targets
from .problem import HIGHEST_RATE, Problem, random_brackets, random_counts, reference
from .rates import rates
from .results import KIND, Fit, Leap, RandomBases, Reference, Results, aimed

STAGE = "families fitted"


@dataclass(frozen=True)
class Config:
    """What is run. `starts` are random starts at each of four scales; `cases` random bases make a problem.

    strengths are the 1/beta of the reverse KL, and targets the validities mu whose beta (theory A5)
    is tried too, in the reference case; those with `random_` are for the random problems. Optima that few
    starts agree on are searched for again, at most `rounds` times. Gradient ascent takes at most
    `ascent_steps`, and annealing `stages` from one 1/beta to the next. Raises ValueError naming the field.
    """

    strengths: tuple[float, ...] = (0.5, 1.0, 2.0, 3.0, 4.0, 4.5, 5.0, 6.0, 8.0, 10.0, 20.0)
    alphas: tuple[float, ...] = (0.9, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.3, 0.1)
    targets: tuple[float, ...] = (0.1, 0.3, 0.5, 0.7, 0.9, 0.99)
    starts: int = 8
    ascent_steps: int = 400
    stages: int = 2
    cases: int = 10
    random_targets: tuple[float, ...] = (0.9, 0.999)
    random_alphas: tuple[float, ...] = (0.75, 0.5)
    random_starts: int = 2
    rounds: int = 12

    def __post_init__(self) -> None:
        for name in ("starts", "ascent_steps", "stages", "cases", "random_starts", "rounds"):
            if getattr(self, name) < 1:
                raise argument_error(name, getattr(self, name), "a whole number, at least 1")
        bounds = dict.fromkeys(("alphas", "targets", "random_alphas"), (0.0, 1.0))
        # A validity can only be aimed at from below.
        bounds |= {"strengths": (0.0, np.inf), "random_targets": (HIGHEST_RATE, 1.0)}
        for name, (lower, upper) in bounds.items():
            values = getattr(self, name)
            if not values or any(not lower < value < upper for value in values):
                raise argument_error(
                    name, values, f"at least one number, each above {lower} and below {upper}"
                )

    @classmethod
    def quick(cls) -> "Config":
        """A run of seconds, with every part of the full one."""
        return cls(
            strengths=(4.0, 4.5, 10.0),
            alphas=(0.5,),
            targets=(0.9,),
            starts=2,
            ascent_steps=64,
            stages=1,
            cases=2,
            random_targets=(0.9,),
            random_alphas=(0.5,),
            random_starts=1,
            rounds=1,
        )


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
        families = _families(problem, _Steps(2, progress or silent))
        return _reference(problem, families, config or Config(), np.random.default_rng(seed))


def _results(config: Config, rng: np.random.Generator, progress: Progress | None) -> Results:
    first, *others = reference(), random_brackets(config.cases, rng), random_counts(config.cases, rng)
    steps = _Steps(2 * (1 + len(others)), progress or silent)
    return Results(
        reference=_reference(first, _families(first, steps), config, rng),
        random=tuple(_random(problem, _families(problem, steps), config, rng) for problem in others),
    )


class _Steps:
    """Tells how many families are fitted."""

    def __init__(self, total: int, progress: Progress) -> None:
        self.done, self.total, self.progress = 0, total, progress
        progress(STAGE, 0, total)

    def next(self) -> None:
        """One more."""
        self.done += 1
        self.progress(STAGE, self.done, self.total)


def _families(problem: Problem, steps: _Steps) -> Iterator[Bigrams]:
    for homogeneous in (True, False):
        yield problem.family(homogeneous=homogeneous)
        steps.next()


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
        found = _fits(problem, family, strengths[None], config.starts, config, rng)
        reverse = [*found.global_lines(), *found.ascent_lines(), *found.annealed_lines()]
        lines += aimed(reverse, [mus.get(fit.inverse_beta or 0.0) for fit in reverse])
        lines += [*found.covering_lines(config.alphas), *found.reward_lines()]
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
        found = _fits(problem, family, strengths, config.random_starts, config, rng)
        reverse = [*found.global_lines(), *found.ascent_lines(), *found.annealed_lines()]
        lines += aimed(reverse, mus * (3 * problem.cases))
        lines += [*found.covering_lines(config.random_alphas), *found.reward_lines()]
    return RandomBases(**_described(problem), rates=rates(lines, targets(problem)))


def _described(problem: Problem) -> dict[str, Any]:
    return {
        "name": problem.name,
        "length": problem.length,
        "words": problem.automaton.symbols**problem.length,
        "valid_words": len(problem.valid_words),
    }


def _fits(
    problem: Problem,
    family: Bigrams,
    strengths: Float[np.ndarray, "cases settings"],
    starts: int,
    config: Config,
    rng: np.random.Generator,
) -> Fits:
    return Fits(problem, family, strengths, rng, starts, config.rounds, config.ascent_steps, config.stages)
