"""How many prompts and answers would tell a difference of Pass@k apart."""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from ..support.errors import argument_error
from .curves import PassTable
from .estimate import NORMAL
from .mixing import Mixing, likelihood, mixing
from .pairs import Pairs

CHANCE = 0.8
"""The power that is aimed at."""
_Z_CHANCE = NormalDist().inv_cdf(CHANCE)


@dataclass(frozen=True)
class Needed:
    """With n answers to each prompt on both sides: the prompts needed, and what the present ones would tell.

    `prompts` tell the difference of Pass@k with power 0.8 at level 0.05, if it is asked of this k alone;
    `prompts_in_band` do so in a band over all k that is as wide, in standard errors, as the present one.
    `detectable` is the least difference that as many prompts as there are now tell at this k alone.
    """

    k: int
    difference: float
    n: int
    prompts: int
    prompts_in_band: int
    detectable: float


def needed(pairs: Pairs, difference: float, k: int, critical: float = NORMAL) -> tuple[Needed, ...]:
    """What a difference of Pass@k takes at several numbers of answers, from this comparison's own spread.

    The variance of a prompt's estimated difference is that of the true differences over prompts, which more
    answers do not lessen, and that of the estimates, which is exact given the spread of the rates (`mixing`):
    prompts needed = ((z + z_.8)/difference)^2 variance + z^2/2, z = z_.975 or the band's `critical` value.
    Raises ValueError for a difference outside (0, 1], a single prompt, or k above the least n.
    """
    if not 0 < difference <= 1:
        raise argument_error("difference", difference, "above 0, at most 1")
    if len(pairs) < 2:
        raise argument_error("prompts", len(pairs), "at least two")
    if not 1 <= k <= pairs.least:
        raise argument_error("k", k, f"at most {pairs.least}: the fewest answers")
    asked = np.array([k])
    sides = [(n, c, mixing(n, c)) for n, c in ((pairs.base_n, pairs.base_c), (pairs.run_n, pairs.run_c))]
    base, run = (PassTable(n, c, asked) for n, c, _ in sides)
    gap = run.rows(run.place)[:, 0] - base.rows(base.place)[:, 0]
    by_chance = sum(_sampling(law, n, k) for n, _, law in sides)
    true = max(0.0, float(np.var(gap, ddof=1)) - by_chance)
    now = int(np.median(np.minimum(pairs.base_n, pairs.run_n)))
    found = []
    for n in sorted({max(k, round(now * factor)) for factor in (0.25, 0.5, 1, 2, 4)}):
        variance = true + sum(_sampling(law, np.array([n]), k) for _, _, law in sides)
        alone, band = (_prompts(variance, difference, z) for z in (NORMAL, critical))
        detectable = float((NORMAL + _Z_CHANCE) * np.sqrt(variance / len(pairs)))
        found.append(Needed(k, difference, n, alone, band, detectable))
    return tuple(found)


def _prompts(variance: float, difference: float, z: float) -> int:
    # The last term makes up for the Student quantile of few prompts.
    return int(np.ceil(variance * ((z + _Z_CHANCE) / difference) ** 2 + z**2 / 2))


def _sampling(law: Mixing, answers: np.ndarray, k: int) -> float:
    """The mean over prompts (of so many answers) of the variance of Pass@k estimated from these answers."""
    each, counts = np.unique(answers, return_counts=True)
    return float(np.array([_variance(law, int(n), k) for n in each]) @ counts) / len(answers)


def _variance(law: Mixing, n: int, k: int) -> float:
    c = np.arange(n + 1)
    value = PassTable(np.full(n + 1, n), c, np.array([k])).rows(c)[:, 0]
    chance = likelihood(np.full(n + 1, n), c, law.rates)
    return float(((value**2 @ chance) - (value @ chance) ** 2) @ law.weights)
