"""What the experiment is run with; the defaults are the full run."""

from dataclasses import dataclass

import numpy as np

from dph_theory.support.errors import argument_error

from .problem import HIGHEST_RATE


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
