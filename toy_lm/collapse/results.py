"""What the experiment finds, as frozen values that a record holds as JSON."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

from dph_theory.support.frozen import from_json
from dph_theory.support.record import checked

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
class Measured:
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
class Fit(Measured):
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
class Rate:
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
class Reference(_Problem):
    """The reference case with every fit."""

    target: Target
    fits: tuple[Fit, ...]
    leaps: tuple[Leap, ...]

    def optima(self, family: str) -> list[Fit]:
        """The global minima of the reverse KL, 1/beta rising."""
        found = select(self.fits, family=family, objective="reverse_kl", method="global")
        return sorted(found, key=lambda fit: fit.inverse_beta or 0.0)

    def forward_kl(self, family: str) -> Fit:
        """The forward-KL fit to p_*."""
        (found,) = select(self.fits, family=family, objective="forward_kl")
        return found


@dataclass(frozen=True, kw_only=True)
class RandomBases(_Problem):
    """A problem with random bases: how often each way of fitting collapses."""

    rates: tuple[Rate, ...]


@dataclass(frozen=True, kw_only=True)
class Results:
    """Everything in a record of the experiment."""

    reference: Reference
    random: tuple[RandomBases, ...]


def read(record: Any) -> Results:
    """The results of a record; ValueError unless it is one of this experiment."""
    return from_json(Results, checked(record, KIND)["results"])


Line = TypeVar("Line", Fit, Leap, Rate)


def select(lines: Iterable[Line], **wanted: object) -> list[Line]:
    """The lines with these values."""
    return [line for line in lines if all(getattr(line, name) == value for name, value in wanted.items())]


def fitted(measured: Iterable[Measured], objective: Objective, method: Method) -> list[Fit]:
    """Measured policies as fits of this objective by this method."""
    return [Fit(**vars(line), objective=objective, method=method) for line in measured]


def _label(line: Fit | Rate, strength: str | None) -> str:
    if line.objective == "alpha":
        return f"alpha = {line.alpha:g}"
    words = {"forward_kl": "forward KL", "reward": "E[v]", "reverse_kl": strength or "reverse KL"}
    return words[line.objective]
