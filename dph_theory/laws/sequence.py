"""The law of a penalty on the whole answer: max_pi E v - beta D_f(pi || a)."""

import numpy as np

from ..divergences import REVERSE_KL
from ..fdivergence import FDivergence
from ..numeric.arrays import Array, Scalars
from ..numeric.balls import trailing
from ..tokens import joint
from .response import respond
from .trees import Tables, conditionals, tree


def sequence_law(
    base: Tables,
    valid: Array,
    beta: Scalars,
    divergence: FDivergence = REVERSE_KL,
    *,
    end: int | None = None,
) -> list[np.ndarray]:
    """The maximiser of E v - beta D_f(pi || a) over all laws of answers, as next-token tables.

    u = pi/a depends on an answer only through its verdict, so pi(.|Y1) = a(.|Y1) and pi(.|Y0) = a(.|Y0) for
    every f, which decides the validity alone (`validity_at`). Reverse KL: the tilted model p_b ~ a e^{v/b}.
    base: a list, entry t of shape (*batch, V, ..., V) with t+1 trailing axes; valid: (*batch, V, ..., V);
    beta > 0: (*batch); the law has the tables' shapes. Prefixes without mass keep the base's law.
    Source: ours, theory E1; reverse KL: dymetman2026binary.
    """
    setting = tree(base, valid, end, beta)
    answers, axes = joint(setting.base), tuple(range(-setting.length, 0))
    split = [np.where(part, answers, 0.0).sum(axis=axes) for part in (setting.valid, ~setting.valid)]
    masses = np.stack(split, axis=-1)
    policy = respond(masses, np.array([1.0, 0.0]), setting.beta, divergence).policy
    ratio = policy / np.where(masses > 0, masses, 1.0)
    valid_ratio, invalid_ratio = (trailing(ratio[..., i], setting.length) for i in (0, 1))
    tilted = answers * np.where(setting.valid, valid_ratio, invalid_ratio)
    return conditionals(tilted, setting.length, setting.base)
