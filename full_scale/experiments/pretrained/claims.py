"""What theory says before the runs of differences between them: declared here, whatever came out."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dph_theory.coverage import exact_pass_at_k

from .runs import (
    ALONE,
    ANCHORED,
    BY_KERNEL,
    EXPLORED,
    HELD,
    HELD_OUT,
    NEVER,
    PRODUCTS,
    RANDOM,
    REHEARSED,
    STORED,
    WIDE,
    Policy,
)

Ends = Mapping[tuple[str, Any], Policy]
"""Of one seed: by method and strength; of the anchors by tasks and setting."""
Value = Callable[[Ends, Policy], float]
"""Of a seed's ends and the base."""


@dataclass(frozen=True)
class Claim:
    """A number that theory puts into a band before the runs, and what else it could be."""

    theory: str
    says: str
    rival: str
    value: Value
    band: tuple[float, float]
    experiment: str = "methods"
    """Whose ends it is about; those of "anchors" are by tasks and setting."""
    identity: bool = False
    """Whether the two sides turned out to be one training: it checks the code, and no training could miss."""


def pass_at(policy: Policy, tasks: Sequence[str], k: int, *, without: Sequence[int] = ()) -> float:
    """Exact Pass@k, the mean over all texts of the tasks but those numbers."""
    rates = np.delete(np.concatenate([policy[task].validity for task in tasks]), [*without])
    return float(exact_pass_at_k(np.minimum(rates, 1.0), np.asarray(k)).mean())


_MEASURES: Mapping[str, Callable[[Policy], float]] = {
    "held out, Pass@1": lambda policy: pass_at(policy, [HELD], 1),
    "held out, Pass@256": lambda policy: pass_at(policy, [HELD], 256),
    "rehearsed": lambda policy: pass_at(policy, REHEARSED, 1),
    "answers": lambda policy: float(np.mean([policy[task].effective_answers for task in REHEARSED])),
    "never trained": lambda policy: pass_at(policy, NEVER, 1),
}


def _less(name: str, of: tuple[str, float], other: tuple[str, float] | None = None) -> Value:
    """A measure of one method's end less that of another's, or of the base."""
    measure = _MEASURES[name]
    return lambda ends, base: measure(ends[of]) - measure(base if other is None else ends[other])


def at_equal_first(ends: Ends, task: str) -> tuple[float, ...]:
    """A Pass@1 in the middle of what the strengths of k3 and of k2 share, and there each one's Pass@256.

    Linear between neighbours of the curve over those strengths that there are, which begins without a KL.
    KeyError where one of the two has fewer than two.
    """
    curves = []
    for method in ("GRPO", "GRPO, k2"):
        chosen = [("GRPO", 0.0), *(key for key in ends if key[0] == method and key[1])]
        if len(chosen) < 3:
            raise KeyError(method)
        curves.append([(pass_at(ends[key], [task], 1), pass_at(ends[key], [task], 256)) for key in chosen])
    return _in_the_middle(*curves)


def _in_the_middle(*curves: Sequence[tuple[float, float]]) -> tuple[float, ...]:
    """A place amid what two curves share but for their first points, and each one's height there."""
    spans = [[first for first, _ in curve[1:]] for curve in curves]
    first = (max(map(min, spans)) + min(map(max, spans))) / 2
    return first, *(float(np.interp(first, *np.array(sorted(curve)).T)) for curve in curves)


def _forward_less_reverse(ends: Ends, base: Policy) -> float:
    _, forward, reverse = at_equal_first(ends, HELD)
    return forward - reverse


def _share_kept(ends: Ends, base: Policy) -> float:
    measure = _MEASURES["answers"]
    return measure(ends["KL-DPG", 0.0]) / measure(base) - 1


def _passed(policy: Policy, other: Policy, task: str, k: int) -> tuple[float, float]:
    """Held-out Pass@k of two policies, on the texts that neither holds at the base."""
    rates = np.array([policy[task].validity, other[task].validity])
    both = exact_pass_at_k(np.minimum(rates[:, ~np.isnan(rates).any(axis=0)], 1.0), np.asarray(k))
    one, two = both.mean(axis=1).tolist()
    return one, two


def _apart(task: str, k: int, one: str, other: str) -> Value:
    """Held-out Pass@k of one setting of a task less that of another."""

    def value(ends: Ends, base: Policy) -> float:
        ours, theirs = _passed(ends[task, one], ends[task, other], task + HELD_OUT, k)
        return ours - theirs

    return value


def _anchors_less_k3(ends: Ends, base: Policy) -> float:
    """Held-out Pass@256 of four anchors at random less that of k3 on all, at equal trained Pass@1."""
    strengths = ("0.1", "0.3", "1")
    few = [_few(RANDOM, strength=strength) for strength in strengths]
    curves = []
    for names in (few, [f"GRPO, {strength}" for strength in strengths]):
        each = [ends[EXPLORED, name] for name in ("GRPO", *names)]
        beside = ends[EXPLORED, few[0]]
        curves.append([(pass_at(end, [EXPLORED], 1), _passed(end, beside, HELD, 256)[0]) for end in each])
    _, anchored, plain = _in_the_middle(*curves)
    return anchored - plain


def _few(how: str, many: int = 4, strength: str = "1") -> str:
    """The setting of a run with so many anchors, as `setting_of` has it."""
    return f"{ANCHORED}, {strength}, {many} {how}"


_ANY, _FREE, _DAPO = math.inf, ("GRPO", 0.0), ("DAPO", 0.0)
_UP, _ALIKE = (0, _ANY), (-0.05, 0.05)
CLAIMS = (
    Claim(
        "D3", "without a KL the held-out Pass@1 rises", "it does not", _less("held out, Pass@1", _FREE), _UP
    ),
    Claim(
        "D3",
        "without a KL the held-out Pass@256 falls",
        "it does not",
        _less("held out, Pass@256", _FREE),
        (-_ANY, 0),
    ),
    Claim(
        "B6, E7",
        "at equal Pass@1 plain k3 (forward KL) keeps more of Pass@256 than k2 (reverse KL)",
        "as much, or less",
        _forward_less_reverse,
        _UP,
    ),
    Claim(
        "B6",
        "corrected k3 and k2 at .3 have one expected gradient: their Pass@256 differ by less than .05",
        "by more",
        _less("held out, Pass@256", ("GRPO, corrected k3", 0.3), ("GRPO, k2", 0.3)),
        _ALIKE,
        identity=True,
    ),
    Claim(
        "B3",
        "DPH-F at eta .5 aims at p_*: the pass rate of what it rehearses rises, by .05 or more",
        "it stays",
        _less("rehearsed", ("DPH-F", 0.5)),
        (0.05, _ANY),
    ),
    Claim(
        "B3",
        "DPH-JS at eta 10 aims at the base's own rate: the pass rate of what it rehearses stays within .05",
        "it rises as DPH-F's does",
        _less("rehearsed", ("DPH-JS", 10.0)),
        _ALIKE,
    ),
    Claim(
        "B3",
        "so does that of DPH-alpha at eta 5",
        "it rises as DPH-F's does",
        _less("rehearsed", ("DPH-alpha", 5.0)),
        _ALIKE,
    ),
    Claim(
        "D3",
        "a rehearsal of solved prompts holds nothing of the others: held out, DPH-F at .05 keeps Pass@256 as "
        "DAPO does, within .05",
        "it keeps more, as the paper found",
        _less("held out, Pass@256", ("DPH-F", 0.05), _DAPO),
        _ALIKE,
    ),
    Claim(
        "B3, E7",
        "on what it rehearses DPH-F at .5 keeps more different right answers than DAPO (effective number)",
        "as many, or fewer",
        _less("answers", ("DPH-F", 0.5), _DAPO),
        _UP,
    ),
    Claim(
        "B7",
        "KL-DPG aims at p_* of each prompt: its effective number stays within a tenth of the base's",
        "it falls as without a KL",
        _share_kept,
        (-0.1, 0.1),
    ),
    Claim(
        "first runs",
        "what was never trained keeps its pass rate within .03 without a KL",
        "it moves further",
        _less("never trained", _FREE),
        (-0.03, 0.03),
    ),
    Claim(
        "N4",
        "at equal trained Pass@1 four anchors at random keep as much of Pass@256 as k3 on all, within .05",
        "the kernel has few directions, so that a few prompts hold all others: more",
        _anchors_less_k3,
        _ALIKE,
        "anchors",
    ),
    Claim(
        "N4",
        "anchors picked by the kernel keep more of Pass@256 than as many at random",
        "as much: the kernel's directions are held by any four",
        _apart(EXPLORED, 256, _few(BY_KERNEL), _few(RANDOM)),
        _UP,
        "anchors",
    ),
    Claim(
        "N4",
        "the four least coupled keep less of Pass@256 than four at random",
        "as much",
        _apart(EXPLORED, 256, _few(ALONE), _few(RANDOM)),
        (-_ANY, 0),
        "anchors",
    ),
    Claim(
        "N4",
        "eight anchors keep more of Pass@256 than two",
        "two are enough",
        _apart(EXPLORED, 256, _few(RANDOM, 8), _few(RANDOM, 2)),
        _UP,
        "anchors",
    ),
    Claim(
        "N4",
        "64 stored answers of each anchor keep as much as its exact probabilities, within .05",
        "about half, as first runs had it",
        _apart(EXPLORED, 256, f"{_few(RANDOM)} of {STORED} answers", _few(RANDOM)),
        _ALIKE,
        "anchors",
    ),
    Claim(
        "N4",
        "products, whose Pass@256 does not fall without a KL: four anchors cost held-out Pass@1",
        "they cost nothing",
        _apart(*PRODUCTS, 1, _few(RANDOM), "GRPO"),
        (-_ANY, 0),
        "anchors",
    ),
    Claim(
        "N4",
        "products: DPH-F at .5 on the solved prompts costs less held-out Pass@1 than four anchors",
        "as much, or more",
        _apart(*PRODUCTS, 1, "DPH-F, 0.5", _few(RANDOM)),
        _UP,
        "anchors",
    ),
    Claim(
        "N4",
        "116 trained prompts: sixteen anchors keep more of Pass@256 than four",
        "four are enough, as of 24",
        _apart(*WIDE, 256, _few(RANDOM, 16), _few(RANDOM)),
        _UP,
        "anchors",
    ),
)
"""Each over the seeds: held if the 90% interval of the mean lies in the band, missed if it lies outside."""
