"""How many prompts and answers would tell a difference of Pass@k apart."""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from .curves import PassTable
from .estimate import NORMAL
from .mixing import Mixing, likelihood, mixing
from .pairs import Pairs

CHANCE = 0.8
"""The power that is aimed at."""
_Z = NORMAL + NormalDist().inv_cdf(CHANCE)


@dataclass(frozen=True)
class Needed:
    """With n answers to each prompt on both sides: the prompts needed, and what the present ones would tell.

    `prompts` tell the asked difference with power 0.8 at level 0.05; `detectable` is the least difference
    that as many prompts as there are now tell as well.
    """

    n: int
    prompts: int
    detectable: float


def needed(pairs: Pairs, difference: float, k: int) -> tuple[Needed, ...]:
    """What a difference of Pass@k takes at several numbers of answers, from this comparison's own spread.

    The variance of a prompt's estimated difference is that of the true differences over prompts, which more
    answers do not lessen, and that of the estimates, which is exact given the rates: prompts needed =
    ((z_.975 + z_.8)/difference)^2 variance + z_.975^2/2.
    """
    both = mixing(pairs.base_n, pairs.base_c), mixing(pairs.run_n, pairs.run_c)
    asked = np.array([k])
    base, run = PassTable(pairs.base_n, pairs.base_c, asked), PassTable(pairs.run_n, pairs.run_c, asked)
    gap = run.rows(run.place)[:, 0] - base.rows(base.place)[:, 0]
    now = int(np.median(np.minimum(pairs.base_n, pairs.run_n)))
    true = max(0.0, float(np.var(gap, ddof=1)) - _sampling(both, now, k))
    found = []
    for n in sorted({max(k, round(now * factor)) for factor in (0.25, 0.5, 1, 2, 4)}):
        variance = true + _sampling(both, n, k)
        # The last term makes up for the Student quantile of few prompts.
        prompts = int(np.ceil(variance * (_Z / difference) ** 2 + NORMAL**2 / 2))
        found.append(Needed(n, prompts, float(_Z * np.sqrt(variance / len(pairs)))))
    return tuple(found)


def _sampling(both: tuple[Mixing, Mixing], n: int, k: int) -> float:
    """The mean over prompts of the variance that estimating Pass@k from n answers adds, of both sides."""
    c = np.arange(n + 1)
    value = PassTable(np.full(n + 1, n), c, np.array([k])).rows(c)[:, 0]
    total = 0.0
    for law in both:
        chance = likelihood(np.full(n + 1, n), c, law.rates)
        total += float(((value**2 @ chance) - (value @ chance) ** 2) @ law.weights)
    return total
