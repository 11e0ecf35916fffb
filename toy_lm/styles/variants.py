"""What is trained: each method of `dph_theory.losses`, at a strength, with its anchor at a place."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from dph_theory import beta_for_mean_validity
from dph_theory.losses import METHODS, Exploration, Method, Penalty
from dph_theory.numeric.arrays import Scalars
from dph_theory.references import Source
from dph_theory.support.errors import argument_error

PLACES = ("explored", "rehearsed", "all")
"""Where an anchor acts: on the samples explored, on the rehearsed prompts D_pef, on all prompts alike."""

# The objectives below fix their optimum by the reward's own scale, so the advantage is the plain
# difference to the group's other members, which leaves the expected gradient as it is.
_UNSCALED = Exploration(
    clip_low=0.2, clip_high=0.2, reduction="token_mean", normalise=False, leave_one_out=True
)
KL_CONTROL = Method("KL control", _UNSCALED, Penalty("k1", 0.0, "reward"), None, Source("dymetman2026binary"))
ALPHA_DPG = Method("alpha-DPG", _UNSCALED, None, None, Source("kruszewski2026whatever"))
# Reverse KL at its best: the estimator whose gradient is right (theory B6), on samples of the policy.
REVERSE = replace(
    METHODS["DAPO"], name="reverse", penalty=Penalty("k3_corrected", 0.0), source=Source("ours")
)

TRAINABLE: Mapping[str, Method] = MappingProxyType(
    {method.name: method for method in (*METHODS.values(), REVERSE, KL_CONTROL, ALPHA_DPG)}
)
"""All methods that can be trained, by name; coefficients as published where they are, else 0 until set."""


@dataclass(frozen=True)
class Variant:
    """One thing to train: a method's name and what is varied about it.

    strength: the coefficient of the anchor times its curvature f''(1), by which divergences compare fairly
    (theory B9); None keeps the method's own. place: see PLACES; None is the method's own. mu: the mean
    validity that KL control aims at. alpha: of alpha-DPG.
    Raises ValueError for unknown names and places, and settings that the method does not have or lacks.
    """

    name: str
    strength: float | None = None
    place: str | None = None
    mu: float | None = None
    alpha: float | None = None

    def __post_init__(self) -> None:
        if self.name not in TRAINABLE:
            raise argument_error("name", self.name, f"one of {', '.join(TRAINABLE)}")
        method = TRAINABLE[self.name]
        own = "rehearsed" if method.rehearsal or self.name == "reverse" else "explored"
        object.__setattr__(self, "place", own if self.place is None else self.place)
        places = ("explored",) if own == "explored" else ("rehearsed", "all")
        if self.place not in places:
            raise argument_error("place", self.place, f"for {self.name} one of {', '.join(places)}")
        self._check_setting("mu", self.mu, wanted=method is KL_CONTROL, below=1)
        self._check_setting("alpha", self.alpha, wanted=method is ALPHA_DPG, below=math.inf)
        anchored = (method.penalty or method.rehearsal) is not None and method is not KL_CONTROL
        if self.strength is not None and not (anchored and 0 <= self.strength < math.inf):
            raise argument_error(
                "strength", self.strength, f"for {self.name} {'at least 0' if anchored else 'None'}"
            )

    def _check_setting(self, name: str, value: float | None, *, wanted: bool, below: float) -> None:
        if (value is not None) != wanted or (value is not None and not 0 < value < below):
            raise argument_error(
                name, value, f"for {self.name} {f'a number in (0, {below:g})' if wanted else 'None'}"
            )

    @property
    def label(self) -> str:
        """The method, its setting and its place in a few characters, unique among variants."""
        settings = {"": self.strength, "mu=": self.mu, "alpha=": self.alpha}
        words = [f"{name}{value:g}" for name, value in settings.items() if value is not None]
        return " ".join([self.name, *words, *(["all"] if self.place == "all" else [])])

    def method(self, base_rates: Scalars) -> Method:
        """The method with its coefficients set; KL control's beta from mu and the base rates (theory A9)."""
        method, strength = TRAINABLE[self.name], self.strength
        if self.mu is not None and method.penalty is not None:
            beta = float(beta_for_mean_validity(base_rates, self.mu))
            return replace(method, penalty=replace(method.penalty, coefficient=beta))
        if strength is None:
            return method
        if method.rehearsal is not None:
            eta = strength / method.rehearsal.divergence.curvature
            return replace(method, rehearsal=replace(method.rehearsal, eta=eta))
        if method.penalty is not None:
            return replace(method, penalty=replace(method.penalty, coefficient=strength))
        return method


def coefficient(method: Method) -> float | None:
    """What multiplies the method's anchor in the loss, or in the reward; None without an anchor."""
    if method.rehearsal is not None:
        return method.rehearsal.eta
    return None if method.penalty is None else method.penalty.coefficient
