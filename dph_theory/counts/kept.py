"""Which prompts a run still solves, which it newly solves, and what chance alone would do."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from .conditional import margins_of
from .estimate import Estimate, share
from .mixing import mixing
from .pairs import Pairs

FALSE_DISCOVERIES = 0.05
"""The expected share of wrong names among the prompts that are named."""


@dataclass(frozen=True)
class Kept:
    """Prompts solved at least once: the run's share of those that the base solves, and of the others.

    All at equal numbers of answers (`Pairs.thinned`). `p_value` is exact: were base and run alike, a prompt
    that only one of them solves would be either's with equal chance. `kept_unchanged`, `new_unchanged` are
    what a model with the base's rates would reach. A prompt never solved in n answers may have a small rate:
    `lost_again` of the lost prompts the run would solve in n further answers, `gained_before` of the gained
    ones the base would have, in expectation (`mixing`). A number over no prompts is None.
    `never` prompts were solved by neither; the rate of each is below `never_below` with 95% confidence.
    """

    kept: Estimate | None
    new: Estimate | None
    solved_by_base: int
    lost: int
    gained: int
    p_value: float
    kept_unchanged: float | None
    new_unchanged: float | None
    lost_again: float | None
    gained_before: float | None
    never: int
    never_below: float


def kept(pairs: Pairs, rng: np.random.Generator) -> Kept:
    """The prompts kept and newly solved, with exact intervals and an exact test."""
    pairs = pairs.thinned(rng)
    n, before, after = pairs.base_n, pairs.base_c > 0, pairs.run_c > 0
    lost, gained = int((before & ~after).sum()), int((~before & after).sum())
    again = mixing(n, pairs.base_c).solved_in(n, pairs.base_c, n)
    never = ~before & ~after
    return Kept(
        kept=share(int((before & after).sum()), int(before.sum())) if before.any() else None,
        new=share(gained, int((~before).sum())) if not before.all() else None,
        solved_by_base=int(before.sum()),
        lost=lost,
        gained=gained,
        p_value=float(stats.binomtest(lost, lost + gained).pvalue) if lost + gained else 1.0,
        kept_unchanged=_mean(again[before]),
        new_unchanged=_mean(again[~before]),
        lost_again=_further(n, pairs.run_c, before, before & ~after),
        gained_before=_further(n, pairs.base_c, after, ~before & after),
        never=int(never.sum()),
        never_below=float(1 - 0.05 ** (1 / n[never].min())) if never.any() else 0.0,
    )


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if len(values) else None


def _further(n: np.ndarray, c: np.ndarray, like: np.ndarray, those: np.ndarray) -> float | None:
    """The chance that n further answers solve one of those prompts, with rates spread as among the `like`."""
    if not those.any():
        return None
    return float(mixing(n[like], c[like]).solved_in(n[those], c[those], n[those]).mean())


def changed(pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
    """The prompts whose rate fell, and those whose rate rose, by Fisher's exact test on each.

    Of the prompts named, a share of `FALSE_DISCOVERIES` is expected to be wrong (Benjamini and Hochberg over
    both tails of all prompts together). Gives their places, the clearest first.
    """
    fell, rose = fisher(pairs)
    p = np.minimum(1.0, 2 * np.minimum(fell, rose))
    named = named_by(p)
    return named[fell[named] < rose[named]], named[fell[named] >= rose[named]]


def fisher(pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
    """P(as few correct answers of the run's or fewer) and P(as many or more), given each prompt's total."""
    fell, rose = np.ones(len(pairs)), np.ones(len(pairs))
    for margin, members in margins_of(pairs):
        chance = margin.chances(np.zeros(1))[0]
        at = pairs.run_c[members] - margin.first
        fell[members] = np.cumsum(chance)[at]
        rose[members] = np.cumsum(chance[::-1])[::-1][at]
    return fell.clip(max=1), rose.clip(max=1)


def named_by(p_values: np.ndarray) -> np.ndarray:
    """The places that Benjamini and Hochberg's procedure names, smallest p-value first."""
    order = np.argsort(p_values, kind="stable")
    passed = p_values[order] <= FALSE_DISCOVERIES * np.arange(1, len(order) + 1) / len(order)
    return order[: np.flatnonzero(passed)[-1] + 1] if passed.any() else order[:0]
