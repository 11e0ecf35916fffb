"""Whether the noise that decides which answers a run is left with is one draw a run, for all its prompts.

For the study of public runs (`real_runs.py`). Correct answers are numbered, arrays (prompts, answers), -1
where an answer is incorrect.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from dph_theory.checkpoints.answers import code_counts, majority_answers, mean_known, pair_agreement


def agreement_with_other_prompts(won: np.ndarray, possible: np.ndarray) -> float:
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


def styles_left(
    codes: Sequence[np.ndarray], kinds: Sequence[np.ndarray], base: Sequence[np.ndarray] = ()
) -> tuple[np.ndarray, np.ndarray]:
    """The style of the answer that each run is left with, (runs, prompts), and which can be correct.

    Of correct answers (prompts, answers) and their styles, numbered alike on all prompts; those of
    the base count too. (prompts, styles).
    """
    every = [*base, *kinds]
    most = max(int(style_codes.max()) for style_codes in every) + 1
    possible, won = np.sum([code_counts(style_codes, most) for style_codes in every], axis=0) > 0, []
    for answers, styles in zip(codes, kinds, strict=True):
        row = majority_answers(answers)
        place = (answers == row[:, None]).argmax(axis=1)
        won.append(np.where(row >= 0, np.take_along_axis(styles, place[:, None], axis=1)[:, 0], -1))
    return np.array(won), possible


def shuffled(won: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The answers left, dealt anew to the runs that solve each prompt: prompts keep theirs, runs do not."""
    keys = np.where(won >= 0, rng.random(won.shape), np.inf)
    # The k-th solving run of a prompt takes the answer of the run with the k-th random key.
    dealt, place = won.copy(), np.argsort(keys, axis=0)
    rank = np.cumsum(won >= 0, axis=0) - 1
    drawn = np.take_along_axis(np.take_along_axis(won, place, axis=0), np.maximum(rank, 0), axis=0)
    dealt[won >= 0] = drawn[won >= 0]
    return dealt


def run_noise(
    runs: Sequence[np.ndarray], styles: tuple[np.ndarray, np.ndarray] | None = None, *, draws: int = 199
) -> dict[str, float | None]:
    """How far runs differ by noise that is drawn once a run, with p-values by dealing answers anew.

    `varied` is the variance over pairs of runs of the share of prompts with the same answer left, which noise
    of one draw for all prompts makes greater than `varied_shuffled`, where each prompt's answers are dealt
    anew to the runs; `p_varied` of such deals reach it. With `styles_left` these are of prompts with a
    choice, and `named`, `named_shuffled`, `p_named` say how often a run's other prompts name the strategy
    that is left. Source: ours, entries `falling_pass_at_k`.
    """
    answers, rng = np.array([majority_answers(run) for run in runs]), np.random.default_rng(0)
    chosen, possible = (answers, None) if styles is None else styles
    if possible is not None:
        chosen = np.where(possible.sum(axis=1) >= 2, chosen, -1)
    dealt = [shuffled(chosen, rng) for _ in range(draws)]
    measures: dict[str, Callable[[np.ndarray], float]] = {"varied": _pair_variance}
    if possible is not None:
        measures["named"] = partial(agreement_with_other_prompts, possible=possible)
    numbers: dict[str, float] = {}
    for name, measure in measures.items():
        observed, null = measure(chosen), np.array([measure(deal) for deal in dealt])
        beyond = (1 + (null >= observed - 1e-12).sum()) / (1 + draws)
        numbers |= {name: observed, f"{name}_shuffled": mean_known(null)}
        numbers[f"p_{name}"] = np.nan if np.isnan(observed) else beyond
    return {name: None if np.isnan(value) else float(value) for name, value in numbers.items()}


def _pair_variance(won: np.ndarray) -> float:
    shares = pair_agreement(won)
    shares = shares[~np.isnan(shares)]
    return float(shares.var()) if shares.size > 1 else np.nan
