"""What evaluated samples amount to: accuracy, Pass@k, styles, and what was kept or gained over the base."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from dph_theory import pass_at_k
from dph_theory.coverage import entropy
from dph_theory.support.errors import argument_error

from .record import Mean, PromptAnswers, Share, Solved, Summary

Prompts = Sequence[PromptAnswers]


def summary(prompts: Prompts, ks: Sequence[int]) -> Summary:
    """Means over prompts, each with the standard error of a mean over prompts.

    greedy; pass_at_k for each k (unbiased, from every prompt's samples); style_entropy, in nats, of each
    prompt's histogram over the samples whose style has a name (prompts without any left out); and over all
    samples, the shares of styles and of outcomes. Source: chen2021codex for Pass@k.
    """
    if not prompts:
        raise argument_error("prompts", [], "at least one")
    correct = np.array([sum(p.correct) for p in prompts])
    samples = np.array([len(p.correct) for p in prompts])
    named = [counts for p in prompts if (counts := Counter(s for s in p.styles if s is not None))]
    outcomes: Counter[str] = sum((Counter(p.outcomes) for p in prompts), Counter())
    return Summary(
        prompts=len(prompts),
        greedy=mean(np.array([p.greedy for p in prompts], dtype=float)),
        pass_at_k={str(k): mean(pass_at_k(samples, correct, k)) for k in ks},
        style_entropy=mean(np.array([_entropy(counts) for counts in named])) if named else None,
        styles=_shares(sum(named, Counter())),
        outcomes=_shares(outcomes),
    )


def against_base(prompts: Prompts, base: Prompts) -> tuple[Solved, Solved]:
    """Retention and exploration, over the prompts that both hold.

    A prompt is solved greedily if the greedy answer is correct, and by sampling if any of the samples is.
    Retention: of the prompts that the base solved, the share still solved; exploration: of the others, the
    share now solved. A value is None where there is no such prompt. Chance alone moves prompts of low pass
    rate either way, so that a model compared with new samples of its own does not reach 1 and 0.
    """
    of_base = {entry.id: entry for entry in base}
    pairs = [(entry, of_base[entry.id]) for entry in prompts if entry.id in of_base]
    if not pairs:
        raise argument_error(
            "base", [entry.id for entry in base][:3], "prompts that the run's evaluation has too"
        )
    greedy = np.array([[bool(entry.greedy) for entry in pair] for pair in pairs])
    samples = np.array([[any(entry.correct) for entry in pair] for pair in pairs])
    kept, gained = (
        Solved(*(_share(now[before == solved]) for now, before in (greedy.T, samples.T)))
        for solved in (True, False)
    )
    return kept, gained


def mean(values: Float[np.ndarray, " prompts"]) -> Mean:
    """The mean and its standard error, s/sqrt(n); that of a single value is unknown."""
    n = len(values)
    return Mean(float(values.mean()), float(values.std(ddof=1)) / math.sqrt(n) if n > 1 else None)


def _share(solved: np.ndarray) -> Share:
    found = mean(solved.astype(float)) if len(solved) else Mean(None, None)
    return Share(found.value, found.standard_error, len(solved))


def _entropy(counts: Counter[str]) -> float:
    law = np.array(list(counts.values()), dtype=float)
    return float(entropy(law / law.sum()))


def _shares(counts: Counter[str]) -> dict[str, float]:
    total = sum(counts.values())
    return {name: count / total for name, count in counts.most_common()}
