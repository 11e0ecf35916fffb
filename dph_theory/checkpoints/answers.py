"""Correct answers left after training: how often two agree in one run, with the base, and between runs.

Codes are arrays (prompts, answers): equal answers to a prompt have equal numbers, incorrect ones -1. Two
answers at one place, such as one random stream, are never compared with each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ..intervals import Estimate, bounded_mean
from ..support.record import Readable
from .counts import PromptRow

_FEW = 10
"""Fewest shared prompts on which two runs are compared."""
ONE = 0.95
"""Least agreement at which one answer is left, or two runs are alike."""
CLEAR = 3
"""Lead, in answers, from which the base's likeliest answer is known."""


def answer_codes(sides: Sequence[Sequence[PromptRow]]) -> list[np.ndarray] | None:
    """Number the distinct correct answers to each prompt, alike for all checkpoints.

    Returns one array (prompts, answers) per checkpoint with the number of each correct answer's text and -1
    for incorrect or missing answers. Returns None if a prompt has no stored answers.
    """
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
    """Count how often each distinct correct answer was given to each prompt, shape (prompts, kinds).

    `codes` has shape (prompts, answers): the number of the answer's text, in 0..kinds-1, or -1 if the answer
    is incorrect or missing.
    """
    counts = np.zeros((len(codes), kinds + 1))
    np.add.at(counts, (np.arange(len(codes))[:, None], codes), 1)
    return counts[:, :-1]


def answer_agreement(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Probability that two correct answers to a prompt agree, (prompts,); nan without two such answers.

    `one` and `other` are codes (prompts, answers) as in `answer_codes`; an answer is not paired with itself.
    """
    kinds = int(max(one.max(), other.max())) + 1
    counts, other_counts = code_counts(one, kinds), code_counts(other, kinds)
    places = min(one.shape[1], other.shape[1])
    first, second = one[:, :places], other[:, :places]
    both = (first >= 0) & (second >= 0)
    pairs = counts.sum(axis=1) * other_counts.sum(axis=1) - both.sum(axis=1)
    same = (counts * other_counts).sum(axis=1) - (both & (first == second)).sum(axis=1)
    return np.divide(same, pairs, out=np.full(len(one), np.nan), where=pairs > 0)


def one_answer(rows: Sequence[PromptRow]) -> bool:
    """True if a prompt's correct answers nearly always agree, as for questions with one true answer."""
    codes = answer_codes([rows])
    return codes is not None and mean_known(answer_agreement(codes[0], codes[0])) >= ONE


def majority_answers(codes: np.ndarray) -> np.ndarray:
    """Code of the most frequent correct answer, (prompts,); -1 unless most answers are correct."""
    counts = code_counts(codes, max(1, int(codes.max()) + 1))
    solved = 2 * (codes >= 0).sum(axis=1) > codes.shape[1]
    return np.where(solved, counts.argmax(axis=1), -1)


@dataclass(frozen=True, repr=False)
class AnswersLeft(Readable):
    """Correct answers of a run beside its base's.

    Attributes:
        prompts: Prompts with two correct answers on both sides.
        base, run: How often two correct answers to a prompt agree.
        new, new_by_chance: Share of the run's correct answers that the base did not give, and that share for
            fresh answers of the base (Good and Turing's estimate from answers seen once).
        led, clear: Prompts whose likeliest answer is the same, of those where it is known for the base.
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
    """Measure what a run retains of its base's correct answers; None without texts or prompts enough."""
    codes = answer_codes((base, run))
    if codes is None:
        return None
    kinds = max(int(side.max()) for side in codes) + 2
    before, after = (code_counts(side, kinds) for side in codes)
    two = (before.sum(axis=1) >= 2) & (after.sum(axis=1) >= 2)
    if two.sum() < 2:
        return None
    agree, agree_run = (bounded_mean(answer_agreement(side, side)[two], rng, low=0.0) for side in codes)
    before, after = before[two], after[two]
    fresh = ((before == 0) * after).sum(axis=1) / after.sum(axis=1)
    once = (before == 1).sum(axis=1) / before.sum(axis=1)
    top = np.sort(before, axis=1)
    clear = top[:, -1] - top[:, -2] >= CLEAR
    led = (before.argmax(axis=1) == after.argmax(axis=1))[clear]
    new, by_chance = float(fresh.mean()), float(once.mean())
    return AnswersLeft(int(two.sum()), agree, agree_run, new, by_chance, int(led.sum()), int(clear.sum()))


def pair_agreement(won: np.ndarray) -> np.ndarray:
    """Share of prompts solved by both runs of a pair with the same answer left, from (runs, prompts).

    The result has shape (pairs,), with nan for pairs that share fewer than ten prompts.
    """
    shares = []
    for one, other in combinations(won, 2):
        both = (one >= 0) & (other >= 0)
        shares.append(float((one == other)[both].mean()) if both.sum() >= _FEW else np.nan)
    return np.array(shares)


@dataclass(frozen=True, repr=False)
class RunAgreement(Readable):
    """Agreement of runs on the correct answers that they are left with; None where unknown.

    Attributes:
        same: Groups of runs, by index, that agree on nearly all prompts.
        own: How often two correct answers of one run agree, on prompts that it mostly solves.
        pairs, least, most: Share of prompts with the same answer left; mean, minimum, maximum over pairs.
    """

    same: tuple[tuple[int, ...], ...]
    own: float | None
    pairs: float | None
    least: float | None
    most: float | None


def run_agreement(runs: Sequence[np.ndarray]) -> RunAgreement:
    """Compare the majority answers of runs, from their codes (prompts, answers) as in `answer_codes`."""
    answers = np.array([majority_answers(run) for run in runs])
    pairs = pair_agreement(answers)
    own = [mean_known(answer_agreement(run, run)[row >= 0]) for run, row in zip(runs, answers, strict=True)]
    numbers = (mean_known(own), mean_known(pairs), np.fmin.reduce(pairs), np.fmax.reduce(pairs))
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial.distance import squareform

    number, group = connected_components(squareform(pairs >= ONE))
    groups = (tuple(np.flatnonzero(group == label).tolist()) for label in range(number))
    same = tuple(members for members in groups if len(members) > 1)
    return RunAgreement(same, *(None if np.isnan(x) else float(x) for x in numbers))


def mean_known(values: Sequence[float] | np.ndarray) -> float:
    """Mean of the values that are not nan; nan if there are none."""
    numbers = np.asarray(values, dtype=float)
    numbers = numbers[~np.isnan(numbers)]
    return float(numbers.mean()) if numbers.size else np.nan
