"""What is trained: each method of `dph_theory.losses`, at a strength, with its anchor at a place."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from dph_theory import beta_for_mean_validity
from dph_theory.losses import METHODS, TARGETED, Method
from dph_theory.losses.methods import in_the_toy
from dph_theory.numeric.arrays import Scalars
from dph_theory.support.errors import argument_error, choice

PLACES = ("explored", "rehearsed", "all")
"""Where an anchor acts: on the samples explored, on the rehearsed prompts D_pef, on all prompts alike."""

KL_CONTROL = in_the_toy(TARGETED["KL-control-sequence"], "KL control")
ALPHA_DPG = in_the_toy(TARGETED["alpha-DPG"], "alpha-DPG")

TRAINABLE: Mapping[str, Method] = MappingProxyType(
    {method.name: method for method in (*METHODS.values(), TARGETED["reverse"], KL_CONTROL, ALPHA_DPG)}
)
"""All methods that can be trained, by name, with the coefficients that a variant may replace."""


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
        choice("name", self.name, TRAINABLE)
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
        if self.mu is not None:
            strength = float(beta_for_mean_validity(base_rates, self.mu))
        if strength is None:
            return method
        if method.rehearsal is not None:
            eta = strength / method.rehearsal.divergence.curvature
            return replace(method, rehearsal=replace(method.rehearsal, eta=eta))
        return replace(method, penalty=method.penalty and replace(method.penalty, coefficient=strength))


def coefficient(method: Method) -> float | None:
    """What multiplies the method's anchor in the loss, or in the reward; None without an anchor."""
    if method.rehearsal is not None:
        return method.rehearsal.eta
    return None if method.penalty is None else method.penalty.coefficient
