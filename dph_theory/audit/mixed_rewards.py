"""A format reward beside correctness: what each weighs under an advantage, and when the format wins."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import multinomial

from ..numeric.arrays import integers, one, real
from ..trainers.advantages import Advantage
from .precision import AdvantageError, called

LARGEST = 16
"""Groups of at most so many are enumerated, by how many answers have which of the two rewards."""
SHARE = 0.5
"""Of the answers that have the format, correct or not."""
GRID = np.linspace(np.log(1e-3), -np.log(1e-3), 25)
"""Log odds of V at which it is searched where the format wins."""


@dataclass(frozen=True)
class MixedRewards:
    """What correctness and a format reward weigh at pass rates, (rates,) each, and below which it wins.

    Each weight is the factor on the gradient of its share of the answers, which moves the share's log odds by
    the weight times share (1 - share); `correct_first` are the pass rates between which that is larger for
    correctness, or None.
    """

    format_reward: float
    correct: tuple[float, ...]
    format: tuple[float, ...]
    correct_first: tuple[float, float] | None

    @property
    def words(self) -> str:
        """Such as: Beside a format reward of 0.2 that half of the answers have, it maximises ..."""
        first, even = self.correct_first, np.ptp(self.correct) < 1e-9 and np.ptp(self.format) < 1e-9
        wins = "at every V" if first is None else f"below V = {first[0]:.2g} and above {first[1]:.3g}"
        maximised = f"it maximises {self.correct[0]:.3g} V + {self.format[0]:.3g} (the share with it)"
        start = f"Beside a format reward of {self.format_reward:g} that half of the answers have"
        what = maximised if even else "what each weighs depends on V"
        return f"{start}, {what}; the format wins (its log odds move faster) {wins}."


def mixed_rewards(
    advantage: Advantage, group_size: int, format_reward: float, validities: Sequence[float]
) -> MixedRewards:
    """The weights of both, by every outcome of a group, correctness and format being independent.

    Raises AdvantageError for groups above LARGEST, or as the advantage does; ValueError for a format reward
    that is not positive.
    """
    value = one("format_reward", real("format_reward", format_reward, above=0))
    size = int(integers("group_size", group_size, at_least=2))
    if size > LARGEST:
        raise AdvantageError(
            f"with a format reward only groups up to {LARGEST} can be enumerated, not {size}"
        )
    answers = np.array(list(combinations_with_replacement(range(4), size)))
    counts = (answers[..., None] == np.arange(4)).sum(axis=1)
    # Of an answer's four kinds: correct with the format, correct, with the format, neither.
    correct, form = np.array([1, 1, 0, 0]), np.array([1, 0, 1, 0])
    rewards = correct[answers] + value * form[answers]
    advantages = np.concatenate([called(advantage, row[None], precise=True) for row in rewards])
    advantages = np.where(np.isfinite(advantages), advantages, 0.0)

    def weights(rate: float) -> np.ndarray:
        shares = [rate * SHARE, rate * (1 - SHARE), (1 - rate) * SHARE, (1 - rate) * (1 - SHARE)]
        chances = multinomial.pmf(counts, size, shares)
        scores = [
            np.where(kind[answers] > 0, 1 / p, -1 / (1 - p)) for kind, p in ((correct, rate), (form, SHARE))
        ]
        return np.array([chances @ (advantages * score).mean(axis=1) for score in scores])

    def lead(log_odds: float) -> float:
        rate = float(expit(log_odds))
        by_correctness, by_format = weights(rate)
        return float(by_correctness * rate * (1 - rate) - by_format * SHARE * (1 - SHARE))

    ahead = np.array([lead(x) > 1e-12 for x in GRID])
    ends = [float(brentq(lead, *GRID[i : i + 2])) for i in np.flatnonzero(np.diff(ahead))]
    ends = [GRID[0]] * bool(ahead[0]) + ends + [GRID[-1]] * bool(ahead[-1])
    first = (float(expit(ends[0])), float(expit(ends[-1]))) if ends else None
    by_correctness, by_format = np.array([weights(rate) for rate in validities]).T.tolist()
    return MixedRewards(value, tuple(by_correctness), tuple(by_format), first)
