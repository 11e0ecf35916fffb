"""What follows from the numbers, in sentences that are computed from them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .summary import FALL, Run, of_group, pass_at

Results = Mapping[str, Any]
RISE = 0.02
"""How far Pass@1 must rise to count as learning."""


def findings(results: Results) -> list[str]:
    """The sentences, most important first; a question that was not asked has none."""
    parts = (_trade, _held_out, _targets, _meter, _guarantee, _overlap, _strengths, _places, _long)
    return [sentence for part in parts for sentence in part(results)]


def _trade(results: Results) -> Iterable[str]:
    """Which methods pay for Pass@1 with Pass@16."""
    base, *methods = (_Scores(results, label, "train") for label in results["summary"]["methods"])
    seeds = len(results["bases"])
    yield f"On training prompts the base has {base.words} (mean of {seeds} seed{'s' * (seeds > 1)})."
    better = [m for m in methods if m.first > base.first + RISE]
    groups = {
        f"Pass@1 rises by more than {RISE:g} and Pass@16 falls by more than {FALL:g} with": [
            m for m in better if m.sixteenth < base.sixteenth - FALL
        ],
        f"Pass@1 rises by more than {RISE:g} and Pass@16 falls by no more than {FALL:g} with": [
            m for m in better if m.sixteenth >= base.sixteenth - FALL
        ],
        f"Pass@1 rises by no more than {RISE:g} with": [m for m in methods if m not in better],
    }
    for words, those in groups.items():
        if those:
            yield f"{words} {'; '.join(f'{m.label} ({m.words})' for m in those)}."


def _held_out(results: Results) -> Iterable[str]:
    """Whether anything learnt on the training prompts serves on others."""
    base, *methods = (_Scores(results, label, "held_out") for label in results["summary"]["methods"])
    for name, of in (("Pass@1", "first"), ("Pass@16", "sixteenth"), ("Pass@256", "last")):
        bar = getattr(base, of)
        above = [m for m in methods if getattr(m, of) > bar]
        best = max(methods, key=lambda m: getattr(m, of))
        whom = f"{len(above)} of {len(methods)} methods exceed" if above else "no method exceeds"
        yield (
            f"On held-out prompts {whom} the base's {name} of {bar:.3f}; "
            f"the best is {best.label} with {getattr(best, of):.3f}."
        )


def _targets(results: Results) -> Iterable[str]:
    """KL control: validity predicted from beta, and reached."""
    runs = [run for run in of_group(results, "main") if run["mu"] is not None]
    base = np.mean([pass_at(results, each["train"], 1) for each in results["bases"]])
    for mu in sorted({run["mu"] for run in runs}):
        those = [run for run in runs if run["mu"] == mu]
        reached = np.mean([pass_at(results, run["end"]["train"], 1) for run in those])
        excess = np.mean([run["end"]["train"]["excess"] for run in those])
        yield (
            f"KL control at the beta whose optimum has mean validity {mu:g} reaches {reached:.3f} from "
            f"the base's {base:.3f} in {those[0]['updates']} updates, with excess KL {excess:.3f} "
            "where the optimum has none."
        )


def _meter(results: Results) -> Iterable[str]:
    """Whether the excess KL warns, and how often for nothing."""
    for warning in results["summary"]["meter"]:
        fallen, stood = warning["fallen"], warning["stood"]
        leads = [run["lead"] for run in warning["runs"] if run["lead"] is not None]
        median = f", median lead {np.median(leads):g} updates" if leads else ""
        yield (
            f"A rise of the excess KL by {warning['rise']:g} nats came before a fall of Pass@16 by {FALL:g} "
            f"in {warning['warned_before']} of {fallen} runs that fell, together with it in "
            f"{warning['warned_at_once']}{median}; of {stood} that did not fall, "
            f"{warning['false_alarms']} had it too."
        )


def _guarantee(results: Results) -> Iterable[str]:
    """C4 along every training."""
    margins = [margin for run in results["runs"] for margin in run["curve"]["guarantee_margin"]]
    broken = sum(margin < -1e-12 for margin in margins)
    yield (
        f"The rehearsal guarantee exp(-KL(p_*||pi)) exceeded the exact pass rate of a rehearsed prompt in "
        f"{broken} of {len(margins)} measurements (rounding beyond 1e-12 counted)."
    )
    ends: dict[str, list[tuple[float, float]]] = {}
    for run in of_group(results, "main"):
        ends.setdefault(run["label"], []).append(
            (run["curve"]["guarantee"][-1], run["curve"]["rehearsed_pass"][-1])
        )
    gaps = {label: np.mean(pairs, axis=0) for label, pairs in ends.items()}
    tight, loose = (choose(gaps, key=lambda m: gaps[m][1] - gaps[m][0]) for choose in (min, max))
    yield (
        "At the end it is "
        + ", ".join(
            f"{how} for {label} ({gaps[label][0]:.3f} against {gaps[label][1]:.3f})"
            for how, label in (("tightest", tight), ("loosest", loose))
        )
        + "."
    )


def _strengths(results: Results) -> Iterable[str]:
    """How much the choice of divergence matters at each strength."""
    runs = [*of_group(results, "strengths")]
    for strength in sorted({run["strength"] for run in runs}):
        scores = {
            r["name"]: pass_at(results, r["end"]["train"], 16) for r in runs if r["strength"] == strength
        }
        low, high = (choose(scores, key=scores.__getitem__) for choose in (min, max))
        base = pass_at(results, results["bases"][0]["train"], 16)
        yield (
            f"At strength {strength:g} (one seed) Pass@16 lies between {scores[low]:.3f} ({low}) and "
            f"{scores[high]:.3f} ({high}); the base has {base:.3f}."
        )


def _overlap(results: Results) -> Iterable[str]:
    """Whether the seeds suffice to tell the anchored methods apart."""
    labels = {run["label"] for run in of_group(results, "main") if run["strength"] is not None}
    scores = {
        label: splits["train"]["pass@16"]
        for label, splits in results["summary"]["methods"].items()
        if label in labels
    }
    if len(scores) > 1 and len(results["bases"]) > 1:
        apart = max(score["low"] for score in scores.values()) > min(s["high"] for s in scores.values())
        yield (
            f"The 95% intervals of Pass@16 of {', '.join(scores)} "
            f"{'do not all overlap' if apart else 'all overlap: the seeds do not tell them apart'}."
        )


def _places(results: Results) -> Iterable[str]:
    """What an anchor on all prompts gives over one on D_pef."""
    runs = [*of_group(results, "places")]
    for strength in sorted({run["strength"] for run in runs}):
        gains = [_gain(results, [r for r in runs if r["strength"] == strength], k) for k in (1, 16)]
        yield (
            f"At strength {strength:g} (one seed) an anchor on all training prompts instead of D_pef alone "
            f"changes Pass@1 by {gains[0]:+.3f} and Pass@16 by {gains[1]:+.3f} on average."
        )


def _gain(results: Results, runs: Sequence[Run], k: int) -> float:
    scores = {
        place: np.mean([pass_at(results, run["end"]["train"], k) for run in runs if run["place"] == place])
        for place in ("rehearsed", "all")
    }
    return float(scores["all"] - scores["rehearsed"])


def _long(results: Results) -> Iterable[str]:
    """What longer training wears down."""
    for run in of_group(results, "long"):
        shorter = [
            r
            for r in of_group(results, "main")
            if (r["label"], r["seed"]) == (run["label"], run["seed"]) and r["updates"] < run["updates"]
        ]
        for short in shorter:
            before, after = (_words(*_end(results, r)) for r in (short, run))
            yield (
                f"{run['label']} trained for {run['updates']} updates, not {short['updates']} (one seed): "
                f"from {before} to {after}."
            )


def _end(results: Results, run: Run) -> tuple[float, float, float]:
    end = run["end"]["train"]
    return pass_at(results, end, 1), pass_at(results, end, 16), end["style_entropy"]


def _words(first: float, sixteenth: float, entropy: float) -> str:
    """The three numbers that tell the trade."""
    return f"Pass@1 {first:.3f}, Pass@16 {sixteenth:.3f}, style entropy {entropy:.2f}"


class _Scores:
    """A method's means over seeds on one split."""

    def __init__(self, results: Results, label: str, split: str) -> None:
        found = results["summary"]["methods"][label][split]
        self.label = label
        names = ("pass@1", "pass@16", "pass@256", "style_entropy")
        self.first, self.sixteenth, self.last, self.entropy = (found[name]["mean"] for name in names)

    @property
    def words(self) -> str:
        """Pass@1, Pass@16 and style entropy."""
        return _words(self.first, self.sixteenth, self.entropy)
