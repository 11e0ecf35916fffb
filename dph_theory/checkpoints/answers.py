"""Which correct answers are left: whether two of them agree, in one run, with the base, and between runs.

Correct answers stand as numbers that agree where the answers do, incorrect ones as -1: arrays (prompts,
answers). Two answers at one place, such as one random stream, are never compared with each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ..intervals import Estimate, bounded_mean
from ..support.record import Readable
from .counts import PromptRow

FEW = 10
"""Runs that share fewer prompts than these are not compared."""
ONE = 0.95
"""From this agreement on, one answer is left; two runs are the same."""
CLEAR = 3
"""By so many answers the base's likeliest must lead to be known."""


def answer_codes(sides: Sequence[Sequence[PromptRow]]) -> list[np.ndarray] | None:
    """Each checkpoint's correct answers to the same prompts, numbered by prompt; None if one has none."""
    if not all(row.correct and row.answers for side in sides for row in side):
        return None
    numbers: list[dict[str, int]] = [{} for _ in sides[0]]
    coded = []
    for side in sides:
        codes = np.full((len(side), max(row.n for row in side)), -1)
        for i, row in enumerate(side):
            for k, (right, text) in enumerate(zip(row.correct or (), row.answers or (), strict=True)):
                if right:
                    codes[i, k] = numbers[i].setdefault(text, len(numbers[i]))
        coded.append(codes)
    return coded


def code_counts(codes: np.ndarray, kinds: int) -> np.ndarray:
    """How often each correct answer was given to each prompt, (prompts, kinds)."""
    counts = np.zeros((len(codes), kinds + 1))
    np.add.at(counts, (np.arange(len(codes))[:, None], codes), 1)
    return counts[:, :-1]


def answer_agreement(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The chance that two correct answers to a prompt at two places agree, (prompts,); else nan."""
    kinds = int(max(one.max(), other.max())) + 1
    counts, other_counts = code_counts(one, kinds), code_counts(other, kinds)
    places = min(one.shape[1], other.shape[1])
    first, second = one[:, :places], other[:, :places]
    both = (first >= 0) & (second >= 0)
    pairs = counts.sum(axis=1) * other_counts.sum(axis=1) - both.sum(axis=1)
    same = (counts * other_counts).sum(axis=1) - (both & (first == second)).sum(axis=1)
    return np.divide(same, pairs, out=np.full(len(one), np.nan), where=pairs > 0)


def one_answer(rows: Sequence[PromptRow]) -> bool:
    """True if the correct answers to each prompt agree, as those to questions with one true answer."""
    codes = answer_codes([rows])
    return codes is not None and mean_known(answer_agreement(codes[0], codes[0])) >= ONE


def majority_answers(codes: np.ndarray) -> np.ndarray:
    """The most frequent correct answer to each prompt that is mostly solved, (prompts,); else -1."""
    counts = code_counts(codes, max(1, int(codes.max()) + 1))
    solved = 2 * (codes >= 0).sum(axis=1) > codes.shape[1]
    return np.where(solved, counts.argmax(axis=1), -1)


@dataclass(frozen=True, repr=False)
class AnswersLeft(Readable):
    """The correct answers of a run beside its base's, on the `prompts` with two of them on both sides.

    `base` and `run`: how often two correct answers to a prompt agree. `new`: the share of the run's
    that are none of the base's, and what fresh ones of the base would be (Good and Turing's estimate from
    answers seen once). On `led` of the `clear` prompts, where the base's likeliest correct answer leads by
    CLEAR, it is the run's most frequent too.
    """

    prompts: int
    base: Estimate
    run: Estimate
    new: float
    new_by_chance: float
    led: int
    clear: int


def answers_left(
    base: Sequence[PromptRow], run: Sequence[PromptRow], rng: np.random.Generator
) -> AnswersLeft | None:
    """What a run retains of its base's correct answers; None without answers, or two prompts."""
    codes = answer_codes((base, run))
    if codes is None:
        return None
    kinds = max(int(side.max()) for side in codes) + 2
    before, after = (code_counts(side, kinds) for side in codes)
    two = (before.sum(axis=1) >= 2) & (after.sum(axis=1) >= 2)
    if two.sum() < 2:
        return None
    agree = [bounded_mean(answer_agreement(side, side)[two], rng, low=0.0) for side in codes]
    before, after = before[two], after[two]
    fresh = ((before == 0) * after).sum(axis=1) / after.sum(axis=1)
    once = (before == 1).sum(axis=1) / before.sum(axis=1)
    top = np.sort(before, axis=1)
    clear = top[:, -1] - top[:, -2] >= CLEAR
    led = (before.argmax(axis=1) == after.argmax(axis=1))[clear]
    return AnswersLeft(
        prompts=int(two.sum()),
        base=agree[0],
        run=agree[1],
        new=float(fresh.mean()),
        new_by_chance=float(once.mean()),
        led=int(led.sum()),
        clear=int(clear.sum()),
    )


def pair_agreement(won: np.ndarray) -> np.ndarray:
    """Of each pair of runs (runs, prompts) the share of prompts solved by both with the same answer left.

    (pairs,), nan for pairs that share fewer than FEW.
    """
    shares = []
    for one, other in combinations(won, 2):
        both = (one >= 0) & (other >= 0)
        shares.append(float((one == other)[both].mean()) if both.sum() >= FEW else np.nan)
    return np.array(shares)


@dataclass(frozen=True, repr=False)
class RunAgreement(Readable):
    """Runs beside each other: whether they are left with the same correct answers.

    `own`: how often two correct answers of one run agree, on prompts that it mostly solves. `pairs`, `least`,
    `most`: the share of prompts on which two runs are left with the same answer, over pairs. `same`: groups
    of runs, by their places, that agree on nearly all prompts. What cannot be known is None.
    """

    same: tuple[tuple[int, ...], ...]
    own: float | None
    pairs: float | None
    least: float | None
    most: float | None


def run_agreement(runs: Sequence[np.ndarray]) -> RunAgreement:
    """Runs beside each other, from their correct answers (prompts, answers)."""
    answers = np.array([majority_answers(run) for run in runs])
    pairs = pair_agreement(answers)
    own = [mean_known(answer_agreement(run, run)[row >= 0]) for run, row in zip(runs, answers, strict=True)]
    numbers = (mean_known(own), mean_known(pairs), np.fmin.reduce(pairs), np.fmax.reduce(pairs))
    return RunAgreement(_same(pairs), *(None if np.isnan(x) else float(x) for x in numbers))


def _same(pairs: np.ndarray) -> tuple[tuple[int, ...], ...]:
    """The groups of runs that agree, joined by pairs."""
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial.distance import squareform

    number, group = connected_components(squareform(pairs >= ONE))
    groups = (tuple(np.flatnonzero(group == label).tolist()) for label in range(number))
    return tuple(members for members in groups if len(members) > 1)


def mean_known(values: Sequence[float] | np.ndarray) -> float:
    """The mean of the values that are known, nan of none."""
    numbers = np.asarray(values, dtype=float)
    numbers = numbers[~np.isnan(numbers)]
    return float(numbers.mean()) if numbers.size else np.nan
