"""What the experiment is run with; the defaults are the full run."""

from dataclasses import dataclass

import numpy as np

from dph_theory import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, FDivergence, alpha_divergence
from dph_theory.numeric.arrays import positive, rate, real, whole
from dph_theory.support.errors import argument_error

from .stability import largest_strength
from .task import ALL, Task, task
from .train import Optimiser

_DRAWS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
_STRENGTHS = tuple(float(f"{s:.3g}") for s in np.geomspace(0.01, 10, 13))


@dataclass(frozen=True)
class Config:
    """The task, the optimiser, the reference point and the sweeps around it.

    Anchors are compared at equal strength eta f''(1) (theory B9). Raises ValueError that names the field, its
    value and what is allowed.
    """

    prompts: tuple[int, ...] = (15, 10, 7, 7, 6, 5)
    """How many prompts of each type there are: the easy one, then H_1, H_2, ..."""
    base: tuple[float, ...] = (0.30, 0.25, 0.20, 0.15, 0.10)
    """The base's strategies."""
    easy_rate: float = 0.97
    hard_rate: float = 0.4
    group: int = 8
    learning_rate: float = 0.5
    steps: int = 2000
    conditioning: float = 0.1
    """g: how far each type's own logits act; 0 for fully shared strategies."""
    strength: float = 1.0
    """eta f''(1) of the anchors in the comparison of methods."""
    alpha: float = 0.5
    """The alpha-divergence of that comparison."""
    conditionings: tuple[float, ...] = (0.0, 0.03, 0.1, 0.3, 1.0)
    strengths: tuple[float, ...] = _STRENGTHS
    alphas: tuple[float, ...] = (0.1, 0.25, 0.5, 0.75, 0.9)
    targets: tuple[float, ...] = (0.45, 0.55, 0.65, 0.75, 0.85, 0.95)
    """Mean validities that KL control is to reach."""
    draws: tuple[int, ...] = _DRAWS
    """The k of the pass@k curves."""
    coverage_draws: int = 16
    """The k of the pass@k that stands for coverage everywhere else."""
    rises: tuple[float, ...] = (0.02, 0.05, 0.1, 0.2)
    """Thresholds of the collapse meter, in nats of mean excess KL."""
    fall: float = 0.05
    """How far pass@k must fall below its highest value so far to count as fallen."""
    random_tasks: int = 100
    """How many tasks with random weights, bases and skills the comparison is repeated on."""

    def __post_init__(self) -> None:
        _numbers(self)
        for name, value in (("conditioning", self.conditionings), ("strength", self.strengths)):
            if getattr(self, name) not in value:
                raise argument_error(name, getattr(self, name), f"one of the sweep's values {value}")
        if self.alpha not in self.alphas:
            raise argument_error("alpha", self.alpha, f"one of the sweep's values {self.alphas}")
        most = float(largest_strength(self.task, np.array(max(self.conditionings)), ALL, self.learning_rate))
        if max(self.strengths) >= most:
            raise argument_error(
                "strengths", max(self.strengths), f"below {most:.4g}, or the steps overshoot"
            )

    @classmethod
    def quick(cls) -> "Config":
        """The same task, fewer steps, and thin sweeps."""
        return cls(
            conditionings=(0.0, 0.1, 1.0),
            strengths=(0.01, 0.1, 1.0, 10.0),
            alphas=(0.5,),
            targets=(0.55, 0.75),
            random_tasks=20,
            steps=800,
        )

    @property
    def task(self) -> Task:
        """The prompt types, weighted by their share."""
        weights = np.array(self.prompts) / sum(self.prompts)
        return task(weights, np.array(self.base), easy_rate=self.easy_rate, hard_rate=self.hard_rate)

    @property
    def optimiser(self) -> Optimiser:
        """GRPO's exact gradient ascent."""
        return Optimiser(self.learning_rate, self.steps, self.group)

    @property
    def divergences(self) -> dict[str, FDivergence]:
        """The directions that are compared, from forward to reverse."""
        return {
            "forward KL": FORWARD_KL,
            "JS": JENSEN_SHANNON,
            "alpha": alpha_divergence(self.alpha),
            "reverse KL": REVERSE_KL,
        }


def _numbers(config: Config) -> None:
    """Check the kind and the range of every field."""
    for name, least in (("prompts", 1), ("draws", 1)):
        _filled(name, whole(name, getattr(config, name), at_least=least))
    for name, least in (("steps", 1), ("group", 2), ("coverage_draws", 1), ("random_tasks", 2)):
        whole(name, getattr(config, name), at_least=least)
    for name in ("learning_rate", "strength"):
        positive(name, getattr(config, name))
    for name in ("easy_rate", "hard_rate", "fall", "alpha"):
        rate(name, getattr(config, name))
    for name in ("strengths", "rises"):
        _filled(name, positive(name, getattr(config, name)))
    for name in ("alphas", "targets"):
        _filled(name, rate(name, getattr(config, name)))
    real("conditioning", config.conditioning, at_least=0, below=np.inf)
    _filled("conditionings", real("conditionings", config.conditionings, at_least=0, below=np.inf))


def _filled(name: str, values: np.ndarray) -> None:
    if values.ndim != 1 or len(values) == 0:
        raise argument_error(name, values, "a sequence with at least one value")
