"""The audit of policy losses: what each descends at first and later, and where a token's slope stops.

A policy loss multiplies advantages by some function of the ratio r = pi/old. At ratio one all published ones
have the gradient of the reward; they differ in how they weigh sequences of unequal length, and off the old
policy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..methods.policy_losses import POLICY_LOSSES
from ..support.processes import in_order
from .exact import Loss, LossError, arguments_of, measure, random_problems
from .log_ratios import DTYPES, GRID, responses
from .loss import audit
from .quantities import match_gradient, quantities
from .report import REWARD, AuditReport, LossReport, Match, angle_words, between
from .shapes import of_answers

Zones = tuple[tuple[float, float], ...]


@dataclass(frozen=True, repr=False)
class PolicyReport(LossReport):
    """What is found about one policy loss.

    `on_policy` is its audit on samples of the policy, the old one. `later` and `sequence_later` compare its
    gradient with the reward's on samples of an old policy that the policy has left. `stopped_right`,
    `stopped_wrong`: the ratios pi/old without a slope, whatever pi is, of a token with advantage 1 and -1.
    `nan` pairs a dtype with the smallest |log(pi/old)| at which value or slope is nan.
    """

    loss: str
    on_policy: AuditReport
    later: Match
    sequence_later: Match
    stopped_right: Zones
    stopped_wrong: Zones
    nan: tuple[tuple[str, float], ...]

    @property
    def verdict(self) -> str:  # type: ignore[override]
        """That of its audit on the policy's samples, and how far it turns from the reward later."""
        said = "the reward's" if self.later.exact else f"{off_words(self.later)} off the reward's"
        return f"{self.on_policy.verdict} Later, off the old policy, its direction is {said}."

    def rows(self) -> Sequence[tuple[str, str]]:
        """The findings, (name, words) each."""
        return (
            *self.on_policy.rows(),
            ("later", f"{off_words(self.later)}; several tokens: {off_words(self.sequence_later)}"),
            ("no slope, A > 0", zone_words(self.stopped_right)),
            ("no slope, A < 0", zone_words(self.stopped_wrong)),
        )


def audit_policy_loss(
    loss: Loss, *, name: str | None = None, samples: str = "policy", seed: int = 0
) -> PolicyReport:
    """What a policy loss descends at first and later, and the ratios at which a token has no slope.

    Parameters: `loss`, a torch function of any of log_pi, log_old, advantages, mask, (batch, tokens) each, to
    a scalar; `samples`, "old_policy" for one whose `log_old` is a sampler that differs from the policy from
    the start; `name`, `seed` as for `audit`. Returns a PolicyReport. Raises ValueError as `audit` does.
    Source: ours.

    >>> audit_policy_loss(lambda log_pi, advantages: -(advantages * log_pi).mean()).on_policy.gradient.name
    'minus expected reward'
    """
    names = arguments_of(loss)
    report = audit(loss, samples=samples, name=name, seed=seed)
    loss = of_answers(loss) if report.advantages == "one an answer" else loss
    return PolicyReport(
        loss=report.loss,
        on_policy=report,
        later=_later(loss, names, seed, single=True),
        sequence_later=_later(loss, names, seed, single=False),
        stopped_right=_zones(report, 1.0),
        stopped_wrong=_zones(report, -1.0),
        nan=_nan(loss, names),
    )


def _zones(report: AuditReport, advantage: float) -> Zones:
    return tuple((zone.low, zone.high) for zone in report.stopped if zone.advantage == advantage)


def _later(loss: Loss, names: tuple[str, ...], seed: int, *, single: bool) -> Match:
    """The match with the reward on samples of the old policy, of single outcomes or of sequences."""
    problems = [p for p in random_problems(seed) if (p.length == 1) == single]
    try:
        measured = [measure(loss, names, p, "old_policy") for p in problems]
    except LossError:
        return Match("failed", exact=False)
    known = [{REWARD: quantities(p, "old_policy")[REWARD]} for p in problems]
    return match_gradient(measured, known, [float(p.length) for p in problems], far=180.0)


def _nan(loss: Loss, names: tuple[str, ...]) -> tuple[tuple[str, float], ...]:
    found = []
    for dtype in DTYPES:
        bad = np.zeros(len(GRID), dtype=bool)
        for advantage in (1.0, -1.0):
            for part in responses(loss, names, GRID, dtype, advantage=advantage):
                bad |= np.isnan(part)
        if bad.any():
            found.append((str(dtype).removeprefix("torch."), float(np.abs(GRID[bad]).min())))
    return tuple(found)


def off_words(match: Match) -> str:
    """The reward's gradient exactly, or its angle to it."""
    return "exact" if match.exact else angle_words(match.angle or 0.0) if match.name != "failed" else "-"


def zone_words(zones: Zones) -> str:
    """Such as: r >= 1.2; r <= 2.1e-09."""
    return ", ".join(between("r", low, high) for low, high in zones) or "none"


def audit_trainer_policy_loss(index: int, seed: int) -> PolicyReport:
    """The audit of one of them."""
    form = POLICY_LOSSES[index]
    return audit_policy_loss(form.loss, samples=form.samples, name=form.title, seed=seed)


def audit_policy_losses(*, seed: int = 0) -> list[PolicyReport]:
    """Audit every policy loss in two processes, in the table's order."""
    return in_order(partial(audit_trainer_policy_loss, seed=seed), range(len(POLICY_LOSSES)))
