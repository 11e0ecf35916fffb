"""Judgements of a measured number against a predicted number, by one explicit rule."""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias

from dph_theory.intervals import MeanEstimate

Sign: TypeAlias = Literal["==", ">="]
RATE = 0.1  # Resolution of pass rates: margins above ten points decide nothing.
NATS = 0.1  # Resolution of a mean KL over prompts.
PROMPT_NATS = 1.0  # Resolution of the excess KL of one prompt, or at one step of training.
LOG_ODDS = 0.5  # Resolution of the common log odds ratio.
ROUNDING = 1e-3  # Resolution, in nats, of sums of identical log-probabilities.


class Judgement(StrEnum):
    """Outcome of comparing samples with a number that the theory predicts."""

    CONSISTENT = "consistent"
    INCONSISTENT = "inconsistent"
    UNDECIDED = "not enough samples"
    CONDITION = "condition not met"
    """The number is off, but the prediction requires a condition that this run does not satisfy."""


@dataclass(frozen=True)
class Line:
    """A measured and a predicted number, judged; `standard_error` and `margin` are those of the gap."""

    name: str
    theory: str
    run: str
    set: str
    estimate: float
    relation: Sign
    prediction: float
    standard_error: float
    margin: float
    units: int
    verdict: Judgement
    detail: str = ""


def judged_line(
    name: str,
    theory: str,
    gap: MeanEstimate,
    relation: Sign,
    prediction: float,
    resolution: float,
    *,
    tests: int = 1,
    detail: str = "",
) -> Line:
    """Judge `estimate relation prediction` from the gap between the two; run and set are filled in later.

    Margins above `resolution`, in the units of the estimate, decide nothing. `tests` is the number of gaps of
    which this one is the worst.
    """
    estimate, margin = prediction + gap.value, gap.margin(tests)
    verdict = decide(gap, relation, resolution, tests)
    numbers = (estimate, relation, prediction, gap.standard_error, margin, gap.units)
    return Line(name, theory, "", "", *numbers, verdict, detail)


def decide(gap: MeanEstimate, relation: Sign, resolution: float, tests: int = 1) -> Judgement:
    """Judge a gap = estimate - prediction that should be 0 (`==`) or not negative (`>=`).

    The margin is at least ROUNDING. Inconsistent: the gap violates the relation by more than its margin.
    Consistent: the gap does not, and its margin is at most `resolution`, or the gap exceeds its margin in the
    allowed direction of `>=`. Otherwise the samples do not suffice. `tests` is the number of gaps of which
    this is the worst.
    """
    margin = max(gap.margin(tests), ROUNDING)
    if math.isnan(gap.value) or math.isinf(margin):
        return Judgement.UNDECIDED
    if gap.value < -margin or (relation == "==" and gap.value > margin):
        return Judgement.INCONSISTENT
    if margin <= resolution or (relation == ">=" and gap.value >= margin):
        return Judgement.CONSISTENT
    return Judgement.UNDECIDED
