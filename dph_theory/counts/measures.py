"""Further measures of two checkpoints' counts, and Pass@k of each category of prompts apart."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.special import betaln

from ..coverage import pass_at_k
from ..intervals import LEVEL, Estimate, bounded_mean
from ..numeric.arrays import Scalars, probability, whole
from ..numeric.balls import Values
from ..support.errors import argument_error
from ..support.record import readable
from .pairs import Pairs
from .pass_at_k import gaps

LEVELS = (0.5, 0.9, 1.0)
"""The shares of correct answers at which Cover@tau is told."""


def all_at_k(n: Scalars, c: Scalars, k: Scalars) -> Values:
    """Pass^k, the chance that all of k answers are correct, unbiased from c of n: C(c, k)/C(n, k).

    Shapes and errors as `pass_at_k`.

    >>> float(all_at_k(10, 5, 2).round(4))
    0.2222
    """
    n, c = whole("n", n, at_least=1), whole("c", c, at_least=0)
    if (c > n).any():
        raise argument_error("c", int(c.max()), "at most n, the number of samples")
    return 1 - pass_at_k(n, n - c, k)


def posterior_pass_at_k(n: Scalars, c: Scalars, k: Scalars, *, level: float = LEVEL) -> Estimate:
    """The mean of Pass@k over these prompts by Bayes, each rate uniform beforehand; with a credible interval.

    A prompt's rate is Beta(c+1, n-c+1), so that E (1-p)^k = B(c+1, n-c+1+k)/B(c+1, n-c+1), for any k, also
    beyond n, where the prior weighs. The interval is the normal one of the mean over prompts, which are fixed
    here: it is about these prompts, not about others like them. n and c are (prompts,). Source: arXiv
    2510.04265, who take the same posterior of Pass@1.
    """
    probability("level", level)
    n, c, k = whole("n", n, at_least=1), whole("c", c, at_least=0), whole("k", k, at_least=1)
    start = betaln(c + 1, n - c + 1)
    missed, squared = (np.exp(betaln(c + 1, n - c + 1 + power * k) - start) for power in (1, 2))
    mean = 1 - float(missed.mean())
    half = stats.norm.ppf((1 + level) / 2) * float(np.sqrt((squared - missed**2).sum())) / len(missed)
    return Estimate(mean, max(0.0, mean - half), min(1.0, mean + half))


@dataclass(frozen=True)
class Measure:
    """A number of the base and of the run, and its change; intervals over prompts, of this number alone.

    Of the posterior they are of these prompts, and the change has none.
    """

    __repr__ = readable

    name: str
    base: Estimate
    run: Estimate
    change: Estimate | float


def measures(pairs: Pairs, k: int, rng: np.random.Generator) -> tuple[Measure, ...]:
    """Pass^k and the posterior of Pass@k at one k, and Cover@tau at LEVELS, of the prompts with k answers.

    Cover@tau is the share of prompts of whose answers at least a share tau is correct (arXiv 2510.08325), at
    equal numbers of answers on both sides (`Pairs.thinned`).
    """
    pairs = pairs.chosen(pairs.reach >= k)
    thin = pairs.thinned(rng)
    sides = ((pairs.base_n, pairs.base_c), (pairs.run_n, pairs.run_c))
    found = [_measure(f"Pass^{k}: all of {k} correct", [all_at_k(n, c, k) for n, c in sides], rng)]
    for tau in LEVELS:
        words = f"Cover@{tau:g}: at least {tau:.0%} correct"
        # Shares such as 0.9 of 10 answers are not exact as floats.
        least = tau * thin.base_n - 1e-9
        found.append(_measure(words, [(c >= least).astype(float) for c in (thin.base_c, thin.run_c)], rng))
    base, run = (posterior_pass_at_k(n, c, k) for n, c in sides)
    name = f"Pass@{k} by Bayes, these prompts"
    return (*found, Measure(name, base, run, run.value - base.value))


def _measure(name: str, sides: Sequence[np.ndarray], rng: np.random.Generator) -> Measure:
    base, run = (bounded_mean(values, rng, low=0.0) for values in sides)
    return Measure(name, base, run, bounded_mean(sides[1] - sides[0], rng))


@dataclass(frozen=True)
class CategoryChange:
    """A category's prompts, and the change of Pass@1 and of Pass@k; the intervals of all hold at once."""

    __repr__ = readable

    category: str
    prompts: int
    first: Estimate
    k: int
    last: Estimate


def by_category(
    pairs: Pairs, categories: Sequence[str | None], k: int, rng: np.random.Generator
) -> tuple[CategoryChange, ...]:
    """The change of Pass@1 and Pass@k in each category of the prompts (prompts,), those without one apart.

    Each of the 2 C intervals has confidence 1 - 0.05/(2 C) (Bonferroni), so that all hold at once with 95%.
    """
    named = ["none" if name is None else name for name in categories]
    names, found = sorted(set(named)), []
    level, of = 1 - (1 - LEVEL) / (2 * len(names)), np.array(named)
    for name in names:
        some = pairs.chosen((of == name) & (pairs.reach >= k))
        if not len(some):
            continue
        first, last = (bounded_mean(gaps(some, [j])[:, 0], rng, level=level) for j in (1, k))
        found.append(CategoryChange(name, len(some), first, k, last))
    return tuple(found)
