"""The experiment: collapse under misspecification, on a reference case and on random bases (theory A10)."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from dph_theory import beta_from_mu
from dph_theory.support.errors import argument_error
from dph_theory.support.frozen import as_json
from dph_theory.support.progress import Progress
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


def run(config: Config | None = None, *, seed: int = 0, progress: Progress | None = None) -> dict[str, Any]:
    """Fit everything, and return the record of it, whose results `toy_lm.collapse.results.read` reads."""
    config = config or Config()
    with one_thread():
        results = _results(config, np.random.default_rng(seed), progress)
    return record(
        KIND,
        seed=seed,
        config=asdict(config),
        results=as_json(results),
        findings=findings(results),
        packages=("numpy", "scipy", "torch"),
    )


def _results(config: Config, rng: np.random.Generator, progress: Progress | None) -> Results:
    first, *others = reference(), random_brackets(config.cases, rng), random_counts(config.cases, rng)
    done = 0

    def families(problem: Problem) -> Iterator[Bigrams]:
        nonlocal done
        for homogeneous in (True, False):
            if progress is not None:
                progress(STAGE, done, 2 * (1 + len(others)))
            yield problem.family(homogeneous=homogeneous)
            done += 1

    found = Results(
        reference=_reference(first, families(first), config, rng),
        random=tuple(_random(problem, families(problem), config, rng) for problem in others),
    )
    if progress is not None:
        progress(STAGE, done, done)
    return found


def _reference(
    problem: Problem, families: Iterable[Bigrams], config: Config, rng: np.random.Generator
) -> Reference:
    aims = 1 / beta_from_mu(problem.base_rates[0], np.array(config.targets))
    strengths = np.unique([*config.strengths, *aims])
    mus = dict(zip(aims.tolist(), config.targets, strict=True))
    lines: list[Fit] = []
    leaps: list[Leap] = []
    for family in families:
        fits = _fits(problem, family, strengths[None], config.starts, config, rng)
        reverse = [*fits.global_lines(), *fits.ascent_lines(), *fits.annealed_lines()]
        lines += aimed(reverse, [mus.get(fit.inverse_beta or 0.0) for fit in reverse])
        lines += [*fits.covering_lines(config.alphas), *fits.reward_lines()]
        leaps += fits.leaps()
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
        fits = _fits(problem, family, strengths, config.random_starts, config, rng)
        reverse = [*fits.global_lines(), *fits.ascent_lines(), *fits.annealed_lines()]
        lines += aimed(reverse, mus * (3 * problem.cases))
        lines += [*fits.covering_lines(config.random_alphas), *fits.reward_lines()]
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
