"""How often the intervals of `dph confront` hold the truth, for few prompts and rates of several shapes.

No rates of real prompts are stored here, so they are made: shapes that counts of language models have, and
two in which what matters is rare. Beside the band stands that of arXiv 2609.22547, mean +- q standard errors
with a multiplier bootstrap's q; a sign is false if a side of zero is claimed where the truth is on the other.

Run: python benchmarks/coverage.py [TRIALS]
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy.special import expit, logit

from dph_theory import exact_pass_at_k
from dph_theory.counts import Pairs
from dph_theory.counts.pass_at_k import gaps, pass_curves
from dph_theory.intervals import bounded_mean
from dph_theory.support.files import write_json
from dph_theory.support.table import Table

RESULT = Path(__file__).parent / "results" / "coverage.json"
PROMPTS, ANSWERS = (20, 30, 100, 300), (4, 16, 64)
DRAWS, POPULATION = 400, 200_000
NOMINAL = 0.95
Shape = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]


def moved(
    a: float, b: float, shift: float, spread: float = 0.0, lost: float = 0.0, slope: float = 1.0
) -> Shape:
    """Base rates of a beta law; log odds times `slope`, moved by a normal shift; a share of prompts lost."""

    def drawn(rng: np.random.Generator, m: int) -> tuple[np.ndarray, np.ndarray]:
        before = rng.beta(a, b, m).clip(1e-12, 1 - 1e-12)
        after = expit(slope * logit(before) + shift + spread * rng.standard_normal(m))
        return before, np.where(rng.random(m) < lost, 0.0, after)

    return drawn


SHAPES: dict[str, Shape] = {
    "crowded at 0 and 1, shifts vary, a tenth lost": moved(0.3, 0.5, 1, spread=1, lost=0.1),
    "one shift of 0.8": moved(0.7, 0.7, 0.8),
    "one shift of 0.8, middling prompts": moved(2, 2, 0.8),
    "hard prompts": moved(0.2, 2, 0.5, spread=0.7),
    "easy prompts": moved(3, 0.6, 0.8, spread=0.5),
    "sharpened": moved(0.5, 0.8, 0.5, slope=2),
    "unchanged": moved(0.4, 0.6, 0),
    "a few lost, else unchanged": moved(4, 4, 0, lost=0.03),
    "a few lost, else better": moved(4, 4, 0.3, lost=0.03),
}


def truth(shape: Shape, answers: int) -> np.ndarray:
    """The difference of Pass@k at k = 1, ..., answers over the population, (answers,)."""
    before, after = shape(np.random.default_rng(5), POPULATION)
    return np.array(
        [(exact_pass_at_k(after, k) - exact_pass_at_k(before, k)).mean() for k in range(1, answers + 1)]
    )


def published(gap: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The band mean +- q se over all columns, e_i standard normal; no claim where all prompts agree."""
    m, mean = len(gap), gap.mean(axis=0)
    error = gap.std(axis=0, ddof=1) / np.sqrt(m)
    away = np.abs(rng.standard_normal((DRAWS, m)) @ (gap - mean)) / np.maximum(m * error, 1e-12)
    half = np.where(error < 1e-12, 1.0, np.quantile(away.max(axis=1), NOMINAL) * error)
    return mean - half, mean + half


def trial(shape: Shape, wanted: np.ndarray, prompts: int, answers: int, seed: list[int]) -> Iterator[float]:
    """Of one sample: whether each band holds the truth, tells a false sign, its width; the last k alone."""
    rng = np.random.default_rng(seed)
    before, after = shape(rng, prompts)
    pairs = Pairs.of(answers, rng.binomial(answers, before), answers, rng.binomial(answers, after))
    gap, found = gaps(pairs, range(1, answers + 1)), pass_curves(pairs, draws=DRAWS, seed=seed[0])
    bands = (np.array(found.low), np.array(found.high)), published(gap, rng)
    for low, high in bands:
        yield ((low <= wanted) & (wanted <= high)).all()
        # Rates that do not move agree but for rounding.
        yield (((low > 0) & (wanted < 1e-9)) | ((high < 0) & (wanted > -1e-9))).any()
        yield float((high - low).mean() / 2)
    alone = bounded_mean(gap[:, -1], rng, draws=DRAWS)
    yield alone.low <= wanted[-1] <= alone.high


def main(trials: int = 300) -> int:
    """Print and store the table; exits 1 where a band covers clearly less than 0.94."""
    rows: list[list[float | str]] = []
    for number, (name, shape) in enumerate(SHAPES.items()):
        for answers in ANSWERS:
            wanted = truth(shape, answers)
            for prompts in PROMPTS:
                seeds = ([t, number, prompts, answers] for t in range(trials))
                means = np.mean(
                    [list(trial(shape, wanted, prompts, answers, seed)) for seed in seeds], axis=0
                )
                rows.append([name, prompts, answers, *means.round(3).tolist()])
    head = ("shape", "prompts", "answers", "covers", "false sign", "half-width",
            "published covers", "its false sign", "its half-width", "largest k alone covers")  # fmt: skip
    print(Table.of(head, rows).markdown())
    least = 0.94 - 2 * np.sqrt(0.94 * 0.06 / trials)
    failed = [row for row in rows if min(float(row[3]), float(row[9])) < least or float(row[4]) > 1 - least]
    if trials >= 300:
        write_json(RESULT, {"trials": trials, "head": head, "rows": rows})
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
