"""Which right answers are left: whether two of them agree, in one run, with the base, and between runs.

Right answers stand as numbers that agree where the answers do, wrong ones as -1: arrays (prompts, answers).
Two answers at one place, such as one random stream, are never compared with each other.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

FEW = 10
"""Runs that share fewer prompts than these are not compared."""


def counted(codes: np.ndarray, kinds: int) -> np.ndarray:
    """How often each right answer was given to each prompt, (prompts, kinds)."""
    found = np.zeros((len(codes), kinds + 1))
    np.add.at(found, (np.arange(len(codes))[:, None], codes), 1)
    return found[:, :-1]


def agreement(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The chance that two right answers to a prompt at two places agree, (prompts,); nan without any two."""
    kinds = int(max(one.max(), other.max())) + 1
    often, others = counted(one, kinds), counted(other, kinds)
    places = min(one.shape[1], other.shape[1])
    here, there = one[:, :places], other[:, :places]
    both = (here >= 0) & (there >= 0)
    pairs = often.sum(axis=1) * others.sum(axis=1) - both.sum(axis=1)
    same = (often * others).sum(axis=1) - (both & (here == there)).sum(axis=1)
    return np.divide(same, pairs, out=np.full(len(one), np.nan), where=pairs > 0)


def left(codes: np.ndarray) -> np.ndarray:
    """The most frequent right answer to each prompt that is mostly solved, (prompts,); else -1."""
    often = counted(codes, int(codes.max()) + 1)
    solved = 2 * (codes >= 0).sum(axis=1) > codes.shape[1]
    return np.where(solved, often.argmax(axis=1), -1) if often.size else np.full(len(codes), -1)


def alike(won: np.ndarray) -> np.ndarray:
    """Of each pair of runs (runs, prompts) the share of prompts solved by both with the same answer left.

    (pairs,), nan for pairs that share fewer than FEW.
    """
    found = []
    for one, other in combinations(won, 2):
        both = (one >= 0) & (other >= 0)
        found.append(float((one == other)[both].mean()) if both.sum() >= FEW else np.nan)
    return np.array(found)


def named_by_others(won: np.ndarray, possible: np.ndarray) -> float:
    """How often the strategy that is left most often on a run's other prompts is the one left on a prompt.

    `won` (runs, prompts) numbers the strategies, -1 where a prompt is not solved; `possible` (prompts,
    strategies) are those that can be right. Only prompts with two or more count; ties are shared.
    """
    choice = possible.sum(axis=1) >= 2
    total, cases = 0.0, 0
    for run in won:
        used = np.flatnonzero((run >= 0) & choice)
        among, mine = possible[used], np.eye(possible.shape[1])[run[used]]
        # What is learnt from all prompts, less what this prompt tells.
        wins, chances = mine.sum(axis=0) - mine, np.maximum(among.sum(axis=0) - among, 1)
        score = np.where(among, wins / chances, -1.0)
        top = score == score.max(axis=1, keepdims=True, initial=-1.0)
        total += float(((top * mine).sum(axis=1) / np.maximum(top.sum(axis=1), 1)).sum())
        cases += len(used)
    return total / cases if cases else np.nan


def shuffled(won: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The answers left, dealt anew to the runs that solve each prompt: prompts keep theirs, runs do not."""
    keys = np.where(won >= 0, rng.random(won.shape), np.inf)
    # The k-th solving run of a prompt takes the answer of the run with the k-th random key.
    found, place = won.copy(), np.argsort(keys, axis=0)
    rank = np.cumsum(won >= 0, axis=0) - 1
    drawn = np.take_along_axis(np.take_along_axis(won, place, axis=0), np.maximum(rank, 0), axis=0)
    found[won >= 0] = drawn[won >= 0]
    return found


def p_of(seen: float, null: Sequence[float]) -> float:
    """The share of the null, with what was seen in it, that is as large."""
    return (1 + sum(value >= seen - 1e-12 for value in null)) / (1 + len(null))
