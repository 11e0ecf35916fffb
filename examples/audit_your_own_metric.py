"""Is a Pass@k one? An unbiased estimate, and a bootstrap that is not, by exact binomial enumeration.

Run: python examples/audit_your_own_metric.py (needs torch: pip install -e ".[toy]")
"""

from math import comb

import numpy as np

from dph_theory.audit import audit_metric


def unbiased(n: int, c: int, k: int) -> float:
    """The share of the k-subsets of n answers in which one of the c right ones stands."""
    return 1 - comb(n - c, k) / comb(n, k)


def bootstrap(correct: np.ndarray, k: int) -> np.ndarray:
    """The chance that k draws with replacement find a right answer."""
    return 1 - (1 - correct.mean(axis=1)) ** k


def main() -> None:
    """Audit both: a function of counts (n, c, k), and one of a matrix of zeros and ones."""
    for metric in (unbiased, bootstrap):
        print(audit_metric(metric).verdict)


if __name__ == "__main__":
    main()
