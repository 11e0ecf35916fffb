"""How often the intervals of `dph confront` hold the truth, for few prompts and rates of several shapes.

No rates of real prompts are stored here, so they are made: shapes that counts of language models have, and
two in which what matters is rare. Beside the band stands that of arXiv 2609.22547, mean +- q standard errors
with a multiplier bootstrap's q; a sign is false if a side of zero is claimed where the truth is on the other.
A second table has the other intervals: Pass@k beyond n, the prompts needed, seeds, the log odds
ratio, what a change is made of, the beta of a law, the KL beyond the least.

Run: python benchmarks/intervals.py [TRIALS]
"""

import sys
from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import expit, logit
from stored import store

from dph_theory import exact_pass_at_k, excess_kl
from dph_theory.checkpoints import Pairs
from dph_theory.checkpoints.kl import kl_spent
from dph_theory.checkpoints.law_fits import JointCounts, beta_of, laws
from dph_theory.checkpoints.pairs import PromptRow
from dph_theory.checkpoints.pass_at_k import change_parts, gaps, needed, pass_curves
from dph_theory.checkpoints.prompts import log_odds_shift
from dph_theory.checkpoints.rates import solved_beyond
from dph_theory.checkpoints.together import over_seeds
from dph_theory.intervals import Estimate, bounded_mean
from dph_theory.support.table import Table

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


def sampled(rng: np.random.Generator, shape: Shape, prompts: int, answers: int) -> Pairs:
    """Counts of so many prompts, so many answers to each on both sides."""
    before, after = shape(rng, prompts)
    return Pairs.of(answers, rng.binomial(answers, before), answers, rng.binomial(answers, after))


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
    pairs = sampled(rng, shape, prompts, answers)
    gap, found = gaps(pairs, range(1, answers + 1)), pass_curves(pairs, draws=DRAWS, seed=seed[0])
    bands = (np.array(found.low), np.array(found.high)), published(gap, rng)
    for low, high in bands:
        yield ((low <= wanted) & (wanted <= high)).all()
        # Rates that do not move agree but for rounding.
        yield (((low > 0) & (wanted < 1e-9)) | ((high < 0) & (wanted > -1e-9))).any()
        yield float((high - low).mean() / 2)
    alone = bounded_mean(gap[:, -1], rng, draws=DRAWS)
    yield alone.low <= wanted[-1] <= alone.high


def holds(found: Estimate, wanted: float) -> bool:
    """Whether an interval holds the truth."""
    return found.low <= wanted <= found.high


def beyond(shape: Shape, n: int, k: int, prompts: int) -> Callable[[np.random.Generator], bool]:
    """Pass@k of the base, k above n."""
    wanted = float(exact_pass_at_k(shape(np.random.default_rng(5), POPULATION)[0], k).mean())

    def trial(rng: np.random.Generator) -> bool:
        c = rng.binomial(n, shape(rng, prompts)[0])
        return holds(solved_beyond(np.full(prompts, n), c, k), wanted)

    return trial


def prompts_needed(shape: Shape, k: int, pilot: int) -> Callable[[np.random.Generator], bool]:
    """The prompts that tell 0.1 of Pass@k, from a pilot of so many."""

    def told(rng: np.random.Generator, prompts: int) -> Estimate:
        lines = needed(sampled(rng, shape, prompts, 8), 0.1, k)
        return next(line.prompts for line in lines if line.n == 8)

    wanted = told(np.random.default_rng(5), 40_000).value
    return lambda rng: holds(told(rng, pilot), wanted)


def log_odds(answers: int) -> Callable[[np.random.Generator], bool]:
    """One shift of the log odds of 120 prompts, for few answers and for many."""

    def trial(rng: np.random.Generator) -> bool:
        return holds(log_odds_shift(sampled(rng, SHAPES["one shift of 0.8"], 120, answers)).pooled, 0.8)

    return trial


def part_of_change(name: str) -> Callable[[np.random.Generator], bool]:
    """A part of the change of Pass@4 of 6 answers."""

    def told(rng: np.random.Generator, prompts: int) -> Estimate:
        pairs = sampled(rng, SHAPES["crowded at 0 and 1, shifts vary, a tenth lost"], prompts, 6)
        found: Estimate = getattr(change_parts(pairs, (4,), rng)[0], name)
        return found

    wanted = told(np.random.default_rng(5), POPULATION).value
    return lambda rng: holds(told(rng, 150), wanted)


def law_beta(rng: np.random.Generator) -> bool:
    """The beta of the law that made the counts of 200 prompts, 16 answers to each."""
    law = laws(8)["reverse KL, advantages not normalised"]
    before = rng.beta(0.4, 0.6, 200)
    c = rng.binomial(16, before), rng.binomial(16, law(before, 0.6))
    found = beta_of(law, JointCounts.of(Pairs.of(16, c[0], 16, c[1])))
    return found is not None and holds(found, 0.6)


def kl_beyond(name: str) -> Callable[[np.random.Generator], bool]:
    """The KL of 40 prompts, 20 answers to each, or a part of it."""
    base, run, valid = np.array([0.15, 0.1, 0.45, 0.3]), np.array([0.3, 0.25, 0.25, 0.2]), np.arange(4) < 2
    truth = excess_kl(run, base, valid)
    wanted = {"total": truth.total, "excess": truth.excess, "correct": truth.valid}[name]

    def trial(rng: np.random.Generator) -> bool:
        said = rng.choice(4, (40, 20), p=run)
        right, ratio = valid[said], np.log(run / base)[said]
        rows = [
            PromptRow(i, 20, int(v.sum()), float(x.mean()), float((x * v).mean()))
            for i, (v, x) in enumerate(zip(right, ratio, strict=True))
        ]
        pairs = Pairs.of(20, rng.binomial(20, base[valid].sum(), 40), 20, right.sum(axis=1))
        return holds(getattr(kl_spent(rows, pairs), name), float(wanted))

    return trial


def seeds(
    count: int, prompts: int, over_prompts: float, spread: float
) -> Callable[[np.random.Generator], bool]:
    """The mean over seeds and prompts of differences that vary over both."""

    def trial(rng: np.random.Generator) -> bool:
        own, run = rng.choice([-1, 1], prompts), rng.standard_normal((count, 1))
        gap = over_prompts * own + spread * run + 0.15 * rng.choice([-1, 1], (count, prompts)) - 0.1
        return holds(over_seeds(gap, rng), -0.1)

    return trial


def others() -> dict[str, Callable[[np.random.Generator], bool]]:
    """The other intervals by what they are of."""
    found: dict[str, Callable[[np.random.Generator], bool]] = {}
    for name in ("one shift of 0.8", "hard prompts", "easy prompts"):
        for n, k in ((4, 64), (16, 64), (16, 256)):
            for prompts in (30, 200):
                words = f"Pass@{k} beyond n = {n}, {prompts} prompts, {name}"
                found[words] = beyond(SHAPES[name], n, k, prompts)
    for k in (1, 8):
        found[f"prompts needed for 0.1 of Pass@{k}, pilot of 200"] = prompts_needed(
            SHAPES["hard prompts"], k, 200
        )
    for answers in (2, 40):
        found[f"log odds ratio, {answers} answers"] = log_odds(answers)
    for name in ("change", "solved_set", "narrowing"):
        found[f"{name} of Pass@4"] = part_of_change(name)
    for name in ("total", "excess", "correct"):
        found[f"KL, {name}"] = kl_beyond(name)
    found["beta of the reverse KL"] = law_beta
    for count, over, spread in ((3, 0.3, 0.02), (3, 0.1, 0.1), (8, 0.3, 0.05)):
        found[f"{count} seeds, {over} over prompts, {spread} over seeds"] = seeds(count, 60, over, spread)
    return found


def main(trials: int = 300) -> int:
    """Print and store the tables; exits 1 where an interval covers clearly less than 0.94."""
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
    more: list[list[float | str]] = [
        [name, round(float(np.mean([trial(np.random.default_rng([t, 1])) for t in range(trials)])), 3)]
        for name, trial in others().items()
    ]
    print(Table.of(("interval", "covers"), more).markdown())
    failed += [row for row in more if float(row[1]) < least]
    if trials >= 300:
        store("intervals", trials=trials, head=head, rows=rows, others=more)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
