"""A pass rate of so many samples, and its interval."""

from typing import NamedTuple

from scipy.special import betaincinv


class Rate(NamedTuple):
    """A base pass rate: correct of n rollouts, and Jeffreys' 95% interval."""

    correct: int
    n: int
    low: float
    high: float

    @classmethod
    def of_counts(cls, correct: int, n: int) -> "Rate":
        """The rate with its interval: the 2.5% and 97.5% quantiles of Beta(correct + 1/2, n - correct + 1/2).

        The ends are 0 and 1 where no, or every, rollout was correct.
        """
        low, high = (float(betaincinv(correct + 0.5, n - correct + 0.5, q)) for q in (0.025, 0.975))
        return cls(correct, n, 0.0 if correct == 0 else low, 1.0 if correct == n else high)

    @property
    def value(self) -> float:
        """The share of correct rollouts."""
        return self.correct / self.n
