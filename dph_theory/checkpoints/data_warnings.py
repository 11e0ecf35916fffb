"""Warnings about data that break the statistical assumptions: independent answers and different prompts."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from .counts import Counts, PromptRow

_BYTES = "are equal byte for byte: one file under several names, or runs that end alike"
_DRAWS = 99
"""Random orders of each prompt's answers with which the given order is compared."""
_MOST_PROMPTS, _MOST_PLACES = 400, 256
_FEWER, _ENOUGH, _HARDLY = 0.5, 2.0, 0.1
"""Answers repeat at a distance where they differ at most so often, against chance; two places are one where
independent ones would differ on ENOUGH prompts, and they do on at most a share HARDLY of these."""
_WIDER = 1.5
"""Ratio of variances from which answers at one place share random numbers."""


def data_warnings(files: Sequence[Counts]) -> Iterator[str]:
    """Yield warnings about repeated answers, shared random seeds, duplicate prompts and equal files."""
    yield from _equal(files)
    by_width: dict[int, list[tuple[str, np.ndarray, np.ndarray]]] = defaultdict(list)
    for file in files:
        texts = Counter(" ".join(row.text.split()) for row in file.rows.values() if row.text)
        if (more := sum(texts.values()) - len(texts)) > 0:
            yield f"{file.name}: {more} prompts have the text of another, {len(texts)} are different"
        if (in_order := ordered(file)) is not None:
            by_width[in_order[0].shape[1]].append((file.name, *in_order))
    for n, entries in by_width.items():
        # Answers that repeat do so in all files of one sampler.
        if (different := independent(np.vstack([codes for *_, codes in entries]))) < n:
            names = ", ".join(name for name, *_ in entries)
            yield (
                f"{names}: of {n} answers to a prompt {different} are independent, the others repeat them, "
                "and what is said of more counts repeats"
            )
        for name, verdicts, _ in entries:
            if (wider := shared(verdicts)) > 1:
                yield (
                    f"{name}: the k-th answers to all prompts share their random numbers: "
                    f"its pass rates have {wider:.1f} times the sampling variance of independent ones"
                )


def _equal(files: Sequence[Counts]) -> Iterator[str]:
    by_bytes: dict[str, list[Counts]] = defaultdict(list)
    by_counts: dict[tuple[tuple[str, int, int], ...], list[Counts]] = defaultdict(list)
    for file in files:
        by_bytes[file.sha256].append(file)
    for group in by_bytes.values():
        counts = sorted((str(key), row.n, row.c) for key, row in group[0].rows.items())
        by_counts[tuple(counts)].append(group[0])
    for groups, description in ((by_bytes, _BYTES), (by_counts, "have the same counts of every prompt")):
        for group in groups.values():
            if len(group) > 1:
                yield f"{', '.join(file.name for file in group)} {description}"


def ordered(file: Counts) -> tuple[np.ndarray, np.ndarray] | None:
    """Rewards and codes of the answers in their order, both (prompts, answers), of prompts that vary.

    None for counts, unequal numbers of answers, sorted rewards, and fewer than three prompts or answers.
    """
    rows = [row for row in file.rows.values() if row.correct]
    if len({row.n for row in rows}) != 1 or len(rows) < len(file.rows):
        return None
    verdicts = [row.correct or () for row in rows]
    if any(all([*v] == sorted(v, reverse=down) for v in verdicts) for down in (False, True)):
        return None
    codes = np.array([_codes(row) for row in rows])
    differ = np.flatnonzero((codes != codes[:, :1]).any(axis=1))[:_MOST_PROMPTS]
    return (np.array(verdicts)[differ], codes[differ]) if min(len(differ), codes.shape[1]) > 2 else None


def _codes(row: PromptRow) -> list[int]:
    numbers: dict[tuple[int, str], int] = {}
    answers = zip(row.correct or (), row.answers or [""] * row.n, strict=True)
    return [numbers.setdefault(answer, len(numbers)) for answer in answers]


def independent(codes: np.ndarray) -> int:
    """Number of independent answers per prompt if some repeat others at a fixed distance, else all of them.

    `codes` (prompts, answers) are those of `answer_codes`. At some distance neighbours must differ less often
    than at any distance in random orders, and less than half as often as by chance. There two places are one
    if they differ on hardly any prompt, though each often differs from its prompt's commonest answer.
    """
    n, rng = codes.shape[1], np.random.default_rng(0)
    if n > _MOST_PLACES:
        return n
    often = (codes[:, :, None] == np.arange(codes.max() + 1)).sum(axis=1)
    chance = float((1 - (often * (often - 1)).sum(axis=1) / (n * (n - 1))).mean())
    differing = _differing(codes) / chance
    null = min(float(_differing(rng.permuted(codes, axis=1)).min()) for _ in range(_DRAWS)) / chance
    apart, group = codes != often.argmax(axis=1)[:, None], np.arange(n)
    rate = apart.mean(axis=0)
    for lag in 1 + np.flatnonzero((differing < null) & (differing <= _FEWER)):
        expected = len(codes) * (rate[lag:] + rate[:-lag] - 2 * rate[lag:] * rate[:-lag])
        differ = (codes[:, lag:] != codes[:, :-lag]).sum(axis=0)
        for i in np.flatnonzero((expected >= _ENOUGH) & (differ <= _HARDLY * expected)):
            group[group == group[i + lag]] = group[i]
    return len(np.unique(group))


def _differing(codes: np.ndarray) -> np.ndarray:
    # Of the greatest distance there is one pair, which shows nothing.
    lags = range(1, codes.shape[1] - 1)
    return np.array([(codes[:, lag:] != codes[:, :-lag]).mean() for lag in lags])


def shared(verdicts: np.ndarray) -> float:
    """Variance of pass rates over answer positions relative to independent answers; 1 if within chance."""
    rng = np.random.default_rng(0)

    def spread(rows: np.ndarray) -> float:
        return float(rows.mean(axis=0).var())

    null = np.array([spread(rng.permuted(verdicts, axis=1)) for _ in range(_DRAWS)])
    ratio = spread(verdicts) / max(float(null.mean()), 1e-12)
    return ratio if ratio >= _WIDER and spread(verdicts) > null.max() else 1.0
