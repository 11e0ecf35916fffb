"""What the experiment is run with, and what it finds: the values of a record, sentences and tables."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np

from dph_theory.support.errors import argument_error
from dph_theory.support.record import checked, from_json
from dph_theory.support.table import Table

ENOUGH = 3
"""An optimum met from fewer starts is searched for again, from fresh ones."""
HIGHEST_RATE = 0.3
"""Random bases that pass more often are drawn again: they have little to learn."""


@dataclass(frozen=True)
class Config:
    """How much is fitted; raises ValueError that names the field, its value and what is allowed.

    strengths: the values of 1/beta of the reverse KL. targets: pass rates mu, whose beta (theory A5) is tried
    too. starts: random starts at each of four scales. rounds: how often an optimum that few starts agree on
    is searched for again, at most. ascent_steps: of gradient ascent, at most. stages: of annealing, from one
    1/beta to the next. cases: random bases of a problem. Fields with `random_` are for those problems.
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


KIND = "toy.collapse"
FAMILIES = ("homogeneous", "inhomogeneous")

Objective: TypeAlias = Literal["reverse_kl", "forward_kl", "alpha", "reward"]
Method: TypeAlias = Literal["global", "ascent", "annealing", "closed form"]


@dataclass(frozen=True, kw_only=True)
class Target:
    """A base (its number, laws and pass rate), and the diversity of its filtered model p_*."""

    case: int
    base_rate: float
    entropy: float
    effective: float
    top_share: float
    top_word: str
    initial: tuple[float, ...]
    transition: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, kw_only=True)
class PolicyMeasures:
    """Measures of a policy of a family; `case` is the number of its base, entropies and KLs are in nats.

    validity pi(Y1); top, the mass of its likeliest valid word, and top_share, that mass over the validity;
    effective, e^entropy of pi(.|Y1); coverage, p_*{y : pi(y|Y1) >= p_*(y)/2}, the mass that p_* has on words
    which the policy, once valid, says at least half as often; overlap, 1 - TV(pi(.|Y1), p_*);
    forward_kl, KL(p_*||pi), inf where a valid word has been lost; kl, KL(pi||a), and its excess, the part
    that its validity did not need (theory A8), from valid and from invalid words; collapsed: one word has
    more than the share COLLAPSED of the valid mass, and of p_* none has.
    """

    case: int
    family: str
    top_word: str
    validity: float
    top: float
    top_share: float
    effective: float
    coverage: float
    overlap: float
    forward_kl: float
    kl: float
    excess_kl: float
    excess_valid: float
    excess_invalid: float
    collapsed: bool


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """How sure a global minimum is; the fields of `toy_lm.collapse.optimum.Optimum`."""

    starts: int
    agree: int
    unconverged: int
    gap: float
    gradient_norm: float
    curvature: float
    dirac: float
    boundary: bool


@dataclass(frozen=True, kw_only=True)
class FittedPolicy(PolicyMeasures):
    """A policy with the objective and method that gave it.

    inverse_beta is the 1/beta of a reverse KL, mu the validity that it aims at, if it does; `value` of the
    objective lies `above` the global minimum, which it `is_global` if that is rounding.
    """

    objective: Objective
    method: Method
    inverse_beta: float | None = None
    mu: float | None = None
    alpha: float | None = None
    value: float | None = None
    above: float | None = None
    is_global: bool | None = None
    certificate: Certificate | None = None

    @property
    def label(self) -> str:
        """The objective with its setting."""
        return _label(self, None if self.inverse_beta is None else f"1/beta = {self.inverse_beta:.4g}")


@dataclass(frozen=True, kw_only=True)
class Leap:
    """Neighbouring 1/beta between which the optimum's validity leaps, and where it jumps, if it does.

    At `jump` two minima have one value; both exist between `high_from` and `low_until`, where what an
    optimiser finds depends on where it comes from. Without a jump one minimum moves steeply.
    """

    family: str
    below: float
    above: float
    jump: float | None = None
    high_from: float | None = None
    low_until: float | None = None


@dataclass(frozen=True, kw_only=True)
class CollapseRate:
    """A way of fitting over the random `bases`: how many collapsed, and means of their measures.

    effective_kept is the effective number as a share of p_*'s. For the reverse KL `is_global` counts those
    at the global minimum, and `confirmed` the global minima that enough starts met.
    """

    family: str
    objective: Objective
    method: Method
    mu: float | None
    alpha: float | None
    bases: int
    collapsed: int
    effective_kept: float
    validity: float
    coverage: float
    excess_kl: float
    is_global: int | None = None
    confirmed: int | None = None

    @property
    def label(self) -> str:
        """The objective with its setting."""
        return _label(self, f"mu = {self.mu:g}" if self.mu is not None else None)


@dataclass(frozen=True, kw_only=True)
class _Problem:
    name: str
    length: int
    words: int
    valid_words: int


@dataclass(frozen=True, kw_only=True)
class ReferenceFits(_Problem):
    """The reference case with every fit."""

    target: Target
    fits: tuple[FittedPolicy, ...]
    leaps: tuple[Leap, ...]

    def optima(self, family: str) -> list[FittedPolicy]:
        """The global minima of the reverse KL, 1/beta rising."""
        found = select(self.fits, family=family, objective="reverse_kl", method="global")
        return sorted(found, key=lambda fit: fit.inverse_beta or 0.0)

    def forward_kl(self, family: str) -> FittedPolicy:
        """The forward-KL fit to p_*."""
        (found,) = select(self.fits, family=family, objective="forward_kl")
        return found


@dataclass(frozen=True, kw_only=True)
class RandomBases(_Problem):
    """A problem with random bases: how often each way of fitting collapses."""

    rates: tuple[CollapseRate, ...]


@dataclass(frozen=True, kw_only=True)
class CollapseResults:
    """Everything in a record of the experiment."""

    reference: ReferenceFits
    random: tuple[RandomBases, ...]


def read(record: Any) -> CollapseResults:
    """The results of a record; ValueError unless it is one of this experiment."""
    return from_json(CollapseResults, checked(record, KIND)["results"])


Line = TypeVar("Line", FittedPolicy, Leap, CollapseRate)


def select(lines: Iterable[Line], **wanted: object) -> list[Line]:
    """The lines with these values."""
    return [line for line in lines if all(getattr(line, name) == value for name, value in wanted.items())]


def fitted(measured: Iterable[PolicyMeasures], objective: Objective, method: Method) -> list[FittedPolicy]:
    """Measured policies as fits of this objective by this method."""
    return [FittedPolicy(**vars(line), objective=objective, method=method) for line in measured]


def _label(line: FittedPolicy | CollapseRate, strength: str | None) -> str:
    if line.objective == "alpha":
        return f"alpha = {line.alpha:g}"
    words = {"forward_kl": "forward KL", "reward": "E[v]", "reverse_kl": strength or "reverse KL"}
    return words[line.objective]


def findings(results: CollapseResults) -> list[str]:
    """What the reverse KL selects, what the forward KL selects, and what gradient ascent finds of it."""
    reference = results.reference
    last = [reference.optima(family)[-1] for family in FAMILIES]
    forward = [reference.forward_kl(family) for family in FAMILIES]
    optima = select(reference.fits, objective="reverse_kl", method="global")
    missed = [fit for fit in select(reference.fits, method="ascent") if fit.is_global is False]
    certificates = [fit.certificate for fit in reference.fits if fit.certificate is not None]
    surest = min(certificates, key=lambda found: found.agree / found.starts)
    return [
        f"The global optimum of the reverse KL at {last[0].label} keeps {_kept(last)}; the filtered model "
        f"p_* has effective number {reference.target.effective:.2f}.",
        f"The forward-KL fit to p_* keeps {_kept(forward)}.",
        f"Gradient ascent from the base ends above {len(missed)} of the {len(optima)} global optima of the "
        f"reverse KL; each global optimum was met from at least {surest.agree} of {surest.starts} starts, "
        "which is strong evidence and no proof.",
    ]


def _kept(fits: Sequence[FittedPolicy]) -> str:
    return " and ".join(
        f"effective number {fit.effective:.2f} at validity {fit.validity:.3f} ({fit.family} bigrams)"
        for fit in fits
    )


def tables(record: dict[str, Any]) -> list[Table]:
    """The fits of the reference in each family, jumps, targets and what was reached, rates of collapse.

    Raises ValueError unless it is a record of this experiment.
    """
    results = read(record)
    return [
        *(_fits(results.reference, family) for family in FAMILIES),
        _leaps(results.reference),
        _targets(results.reference),
        *(_rates(problem, family) for problem in results.random for family in FAMILIES),
    ]


def _fits(reference: ReferenceFits, family: str) -> Table:
    target = reference.target
    title = (
        f"{family} bigrams: optima of reverse KL (1/beta), forward KL, alpha-divergences (alpha), and E[v]; "
        f"the base has validity {target.base_rate:.4f}, p_* effective number {target.effective:.3f}"
    )
    headers = ("validity", "top", "effective", "coverage", "excess KL", "met from", "gap")
    shown: list[tuple[str, ...]] = []
    for fit in select(reference.fits, family=family):
        if fit.method in ("global", "closed form") or fit.objective == "reward":
            numbers = (fit.validity, fit.top, fit.effective, fit.coverage, fit.excess_kl)
            reached = [_reached(reference.fits, fit, method) for method in ("ascent", "annealing")]
            cells = (f"{number:.4f}" for number in numbers)
            shown.append((fit.label, *cells, *_certified(fit), *reached))
    return Table.of(("optimum of", *headers, "ascent", "annealing"), shown, title)


def _certified(fit: FittedPolicy) -> tuple[str, str]:
    """From how many of the starts the optimum was met, and how far above it the next minimum lies."""
    found = fit.certificate
    if found is None:
        return "-", "-"
    at = " (Dirac)" if found.boundary else ""
    return f"{found.agree}/{found.starts}{at}", f"{found.gap:.3f}" if found.gap < float("inf") else "-"


def _reached(fits: Sequence[FittedPolicy], fit: FittedPolicy, method: str) -> str:
    """Whether a method reached the global minimum, else how far above it it stopped."""
    if fit.objective != "reverse_kl":
        return "-"
    (other,) = select(fits, family=fit.family, method=method, inverse_beta=fit.inverse_beta)
    return "reached" if other.is_global else f"{other.above:+.3f}"


def _leaps(reference: ReferenceFits) -> Table:
    title = "Between which 1/beta the optimum's validity leaps; at a jump two minima have one value"
    shown: list[tuple[str, ...]] = []
    for leap in reference.leaps:
        jump = ("-", "-")
        if leap.jump is not None:
            jump = (f"{leap.jump:.4f}", f"{leap.high_from:.3f} to {leap.low_until:.3f}")
        shown.append((leap.family, f"{leap.below:.4g} and {leap.above:.4g}", *jump))
    return Table.of(("family", "leaps between", "jumps at", "both minima exist"), shown, title)


def _targets(reference: ReferenceFits) -> Table:
    title = "Validity aimed at by beta(mu), exact for unrestricted policies, and of the optimum"
    shown: list[tuple[str, ...]] = []
    lines = [fit for fit in select(reference.fits, method="global") if fit.mu is not None]
    for mu in sorted({fit.mu for fit in lines if fit.mu is not None}):
        here = {fit.family: fit for fit in select(lines, mu=mu)}
        reached = [f"{here[family].validity:.4f}" for family in FAMILIES]
        shown.append((f"{mu:g}", f"{here[FAMILIES[0]].inverse_beta:.4f}", *reached))
    return Table.of(("target mu", "1/beta", *FAMILIES), shown, title)


def _rates(problem: RandomBases, family: str) -> Table:
    words = f"{problem.valid_words} of {problem.words} words valid"
    title = f"{problem.name}, {family} bigrams; {words}; means over bases"
    means = ("validity", "effective kept", "coverage", "excess KL")
    headers = ("optimum of", "method", "collapsed", *means, "optimum reached", f"met from {ENOUGH}")
    shown: list[tuple[str, ...]] = []
    for rate in select(problem.rates, family=family):
        shown.append(
            (
                rate.label,
                rate.method,
                f"{rate.collapsed}/{rate.bases}",
                *(f"{x:.3f}" for x in (rate.validity, rate.effective_kept, rate.coverage, rate.excess_kl)),
                *("-" if n is None else f"{n}/{rate.bases}" for n in (rate.is_global, rate.confirmed)),
            )
        )
    return Table.of(headers, shown, title)
