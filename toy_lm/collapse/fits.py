"""The fits of one problem in one family: what each objective selects, and what each way of optimising reaches."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from .ascent import Path, descend
from .branch import RADIUS, Jump, find_jump, follow
from .family import Bigrams
from .measure import Row, measure
from .newton import minimise
from .optimum import Optimum, best_dirac, global_minimum, projected
from .problem import Problem

LEAP = 0.3
"""Between neighbouring lambdas a validity that grows by more is looked at for a jump."""


@dataclass(frozen=True, eq=False)
class Fits:
    """Everything fitted to a problem in a family, from given starts (cases, starts, size).

    strengths (cases, settings) are the lambdas = 1/beta of the reverse-KL fits, increasing along a row.
    `ascent_steps` limits gradient ascent, and annealing goes from one strength to the next in `stages` steps.
    """

    problem: Problem
    family: Bigrams
    starts: Float[Tensor, "cases starts size"]
    strengths: Float[np.ndarray, "cases settings"]
    ascent_steps: int
    stages: int

    @property
    def case(self) -> np.ndarray:
        """The base that each reverse-KL fit is about, (cases * settings,), settings varying fastest."""
        return np.repeat(np.arange(self.problem.cases), self.strengths.shape[1])

    @property
    def base(self) -> Tensor:
        """Every base's own logits, (cases, size)."""
        return self.family.tables(self.problem.bases).flatten(-2)

    def reverse_kl(self) -> tuple[Optimum, Tensor]:
        """The global minima of KL(pi||p_b) at every strength, and the parameters that they are for."""
        parameters = (*self.problem.tables(self.case), torch.from_numpy(self.strengths.ravel()))
        dirac = best_dirac(self.problem, self.family)[self.case]
        objective = self.problem.reverse_kl(self.family)
        return global_minimum(objective, self.family, self.starts[self.case], dirac, *parameters)
