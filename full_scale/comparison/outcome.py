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

    Expected are a higher Pass@1 than the base's, for every method; a lower Pass@k at many samples and a lower
    style entropy, for GRPO; higher ones than GRPO's, for DPH. See `difference`; the margin is that of
    `verdicts.Estimate`. Seeds are not resampled.
    """
    samples = min(len(p["correct"]) for seeds in evaluations.values() for s in seeds for p in s["prompts"])
    many = max(k for k in (1, 2, 4, 8, 16, 32) if k <= samples)
    measures = {
        "Pass@1": lambda prompt: _pass(prompt, 1),
        f"Pass@{many}": lambda prompt: _pass(prompt, many),
        "style entropy": _style_entropy,
    }
    methods = [name for name in evaluations if name != "base"]
    pairs = [("base", name, key) for name in methods for key in measures]
    if "GRPO" in evaluations:
        rehearsing = [name for name in methods if name.startswith("DPH")]
        pairs += [("GRPO", name, key) for name in rehearsing for key in measures if key != "Pass@1"]
    gaps = [difference(evaluations[pair[0]], evaluations[pair[1]], measures[pair[2]]) for pair in pairs]
    found = [_signs(gap) for gap in gaps]
    expected = [_expected(*pair) for pair in pairs]
    said = [_sentence(*each) for each in zip(pairs, gaps, found, expected, strict=True)]
    both = [(sign, hoped) for sign, hoped in zip(found, expected, strict=True) if hoped]
    agreed, open_ = sum(sign == hoped for sign, hoped in both), sum(sign == 0 for sign, _ in both)
    against = len(both) - agreed - open_
    return [
        *said,
        f"Of {len(both)} expected differences {agreed} were found, {open_} were not told apart from none, "
        f"{against} went the other way.",
    ]


def _expected(before: str, after: str, measure: str) -> int:
    """The sign of the difference that the literature reports, or 0 where it reports none."""
    if before == "GRPO" or measure == "Pass@1":
        return 1
    return -1 if after == "GRPO" else 0


def _signs(gap: Estimate) -> int:
    return 0 if abs(gap.value) <= gap.margin() else int(np.sign(gap.value))


def _sentence(pair: tuple[str, str, str], gap: Estimate, found: int, expected: int) -> str:
    before, after, measure = pair
    words = {0: "not told apart", 1: "higher", -1: "lower"}
    verdict = words[found]
    if expected:
        verdict += ", as expected" if found == expected else f", expected {words[expected]}"
    return f"{measure}, {after} against {before}: {gap.value:+.3f}, margin {gap.margin():.3f}: {verdict}"


def difference(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]], of: Any) -> Estimate:
    """The mean over questions of a measure after minus before, each averaged over its seeds.

    A prompt is compared with itself. Prompts of the same text, asked of several databases, are one question:
    a policy cannot tell them apart, so that only questions count as independent.
    """
    first, second = (_by_prompt(seeds, of) for seeds in (before, after))
    gaps: dict[str, list[float]] = {}
    for name, (question, value) in first.items():
        if name in second:
            gaps.setdefault(question, []).append(second[name][1] - value)
    return mean([np.mean(values) for values in gaps.values()])


def _by_prompt(seeds: Sequence[Mapping[str, Any]], of: Any) -> dict[str, tuple[str, float]]:
    """Each prompt's question, and its measure averaged over seeds."""
    found: dict[str, list[float]] = {}
    questions = {}
    for seed in seeds:
        for prompt in seed["prompts"]:
            questions[prompt["id"]] = prompt["question"]
            found.setdefault(prompt["id"], []).append(of(prompt))
    return {name: (questions[name], float(np.mean(values))) for name, values in found.items()}


def _pass(prompt: Mapping[str, Any], k: int) -> float:
    return float(pass_at_k(len(prompt["correct"]), sum(prompt["correct"]), k))


def _style_entropy(prompt: Mapping[str, Any]) -> float:
    named = [style for style in prompt["styles"] if style is not None]
    counts = np.unique(named, return_counts=True)[1] if named else np.ones(1)
    return float(entropy(counts / counts.sum()))
