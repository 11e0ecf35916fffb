"""What a policy loss descends while the policy is the old one and later, and where a token's slope stops."""

from dataclasses import dataclass

import numpy as np
import torch

from .. import AuditReport, audit
from ..candidates import REWARD, quantities
from ..exact import Loss, LossError, arguments_of, measure
from ..extremes import DTYPES, GRID, SHIFT, responses, runs
from ..match import match_gradient
from ..problems import random_problems
from ..report import Match

_X = np.linspace(-30.0, 30.0, 1201)
"""log(pi/old) where stopped slopes are looked for; what is stopped at an end is so beyond it."""
_SHIFTS = (0.0, SHIFT, 5.0)
"""Three pairs (pi, old) at every ratio: a slope counts as stopped if it vanishes at all."""
Zones = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class PolicyReport:
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


def audit_policy_loss(
    loss: Loss, *, name: str | None = None, samples: str = "policy", seed: int = 0
) -> PolicyReport:
    """The audit of a policy loss of (log_pi, log_old, advantages, mask), or some of them.

    samples: "old_policy" for one whose `log_old` is a sampler that differs from the policy from the start.
    """
    names = arguments_of(loss)
    report = audit(loss, samples=samples, name=name, seed=seed)
    return PolicyReport(
        loss=report.loss,
        on_policy=report,
        later=_later(loss, names, seed, single=True),
        sequence_later=_later(loss, names, seed, single=False),
        stopped_right=_stopped(loss, names, 1.0),
        stopped_wrong=_stopped(loss, names, -1.0),
        nan=_nan(loss, names),
    )


def _later(loss: Loss, names: tuple[str, ...], seed: int, *, single: bool) -> Match:
    """The match with the reward on samples of the old policy, of single outcomes or of sequences."""
    problems = [p for p in random_problems(seed) if (p.length == 1) == single]
    try:
        measured = [measure(loss, names, p, "old_policy") for p in problems]
    except LossError:
        return Match("failed", exact=False)
    known = [{REWARD: quantities(p, "old_policy")[REWARD]} for p in problems]
    return match_gradient(measured, known, [float(p.length) for p in problems])


def _stopped(loss: Loss, names: tuple[str, ...], advantage: float) -> Zones:
    """Intervals of the ratio, to three digits, without a slope; 0 and inf where it is so at an end."""
    zero = _zero(loss, names, _X, advantage)
    zones = []
    for start, end in runs(zero):
        # A single point is where an absolute value or a square has its corner.
        if end - start < 2:
            continue
        low = 0.0 if start == 0 else _edge(loss, names, advantage, _X[start], _X[start - 1])
        high = np.inf if end == len(_X) - 1 else _edge(loss, names, advantage, _X[end], _X[end + 1])
        zones.append((float(f"{low:.3g}"), float(f"{high:.3g}")))
    return tuple(zones)


def _zero(loss: Loss, names: tuple[str, ...], points: np.ndarray, advantage: float) -> np.ndarray:
    zero = np.ones(len(points), dtype=bool)
    for shift in _SHIFTS:
        slopes = responses(loss, names, points, torch.float64, shift=shift, advantage=advantage)[1]
        zero &= slopes == 0
    return zero


def _edge(loss: Loss, names: tuple[str, ...], advantage: float, stopped: float, alive: float) -> float:
    """The ratio between the two log ratios where the slope stops, by repeated division into 64 parts."""
    for _ in range(3):
        points = np.linspace(stopped, alive, 65)
        first = int(np.argmin(_zero(loss, names, points, advantage)))
        stopped, alive = points[first - 1], points[first]
    return float(np.exp(stopped))


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
