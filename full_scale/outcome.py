"""What a set of runs amounts to beside the base: a table's numbers, and sentences on what reproduced."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dph_theory import pass_at_k
from dph_theory.coverage import entropy

from .verdicts import Estimate, mean

COLUMNS = ("greedy", "Pass@1", "Pass@8", "Pass@32", "styles kept", "retention", "excess KL")
Evaluations = Mapping[str, Sequence[Mapping[str, Any]]]
"""The evaluated set, as `full_scale.evaluation` stores it, of each seed of each method, and of "base"."""


def outcomes(evaluations: Evaluations, excess: Mapping[str, Sequence[float]]) -> dict[str, dict[str, Any]]:
    """Each column for each method: mean over seeds, and their standard deviation where there are several.

    styles kept: entropy of a prompt's style histogram over its samples, in nats; retention: of the prompts of
    which a base sample was correct, the share of which a sample still is.
    """
    found = {}
    for name, seeds in evaluations.items():
        columns = [_numbers(seed["summary"]) for seed in seeds]
        values = {key: [column[key] for column in columns] for key in columns[0]}
        values["excess KL"] = list(excess[name])
        found[name] = {key: _spread(numbers) for key, numbers in values.items()}
    return found


def _numbers(summary: Mapping[str, Any]) -> dict[str, float | None]:
    styles, retention = summary["style_entropy"], summary.get("retention")
    return {
        "greedy": summary["greedy"]["value"],
        **{f"Pass@{k}": value["value"] for k, value in summary["pass_at_k"].items()},
        "styles kept": styles["value"] if styles else None,
        "retention": retention["samples"]["value"] if retention else None,
    }


def _spread(numbers: Sequence[float | None]) -> dict[str, float | None]:
    known = [number for number in numbers if number is not None]
    return {
        "mean": float(np.mean(known)) if known else None,
        "deviation": float(np.std(known, ddof=1)) if len(known) > 1 else None,
    }


def findings(evaluations: Evaluations) -> list[str]:
    """What did and did not reproduce: every sentence a difference between two means, with its margin.

    Differences are taken prompt by prompt, averaged over seeds; the margin is that of `verdicts.Estimate`
    over prompts. Prompts that share a question count as independent, and seeds are not resampled.
    """
    said = []
    samples = min(len(p["correct"]) for seeds in evaluations.values() for s in seeds for p in s["prompts"])
    many = max(k for k in (1, 2, 4, 8, 16, 32) if k <= samples)
    measures = {
        "Pass@1": lambda prompt: _pass(prompt, 1),
        f"Pass@{many}": lambda prompt: _pass(prompt, many),
        "style entropy": _style_entropy,
    }
    methods = [name for name in evaluations if name != "base"]
    for name in methods:
        said += [_against("base", name, words, of, evaluations) for words, of in measures.items()]
    kept = [key for key in measures if key != "Pass@1"]
    for name in methods:
        if name.startswith("DPH") and "GRPO" in evaluations:
            said += [_against("GRPO", name, words, measures[words], evaluations) for words in kept]
    return said


def _against(before: str, after: str, words: str, of: Any, evaluations: Evaluations) -> str:
    gap = difference(evaluations[before], evaluations[after], of)
    margin = gap.margin()
    if gap.value > margin:
        verdict = "higher"
    elif gap.value < -margin:
        verdict = "lower"
    else:
        verdict = "not told apart"
    return f"{words}, {after} against {before}: {gap.value:+.3f}, margin {margin:.3f}: {verdict}"


def difference(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]], of: Any) -> Estimate:
    """The mean over common prompts of a measure after minus before, each averaged over its seeds."""
    first, second = (_by_prompt(seeds, of) for seeds in (before, after))
    common = [name for name in first if name in second]
    return mean([second[name] - first[name] for name in common])


def _by_prompt(seeds: Sequence[Mapping[str, Any]], of: Any) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for seed in seeds:
        for prompt in seed["prompts"]:
            found.setdefault(prompt["id"], []).append(of(prompt))
    return {name: float(np.mean(values)) for name, values in found.items()}


def _pass(prompt: Mapping[str, Any], k: int) -> float:
    return float(pass_at_k(len(prompt["correct"]), sum(prompt["correct"]), k))


def _style_entropy(prompt: Mapping[str, Any]) -> float:
    named = [style for style in prompt["styles"] if style is not None]
    counts = np.unique(named, return_counts=True)[1] if named else np.ones(1)
    return float(entropy(counts / counts.sum()))
