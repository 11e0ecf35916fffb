"""How log odds go on after a checkpoint: by the clock of the trained prompts, along a line or as a walk.

Where one direction couples all prompts, the log odds of each have moved by its own change times one clock s,
and ds/dt is the trained prompts' drive, whatever the optimiser's step. Where changes of a prompt do not
persist, they are a walk whose deviation grows with the clock.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import integrate

from ..coverage import exact_pass_at_k
from ..numeric.arrays import Scalars
from ..numeric.elementary import Values, expit
from ..stationary.sequence import pass_rate_drive
from ..transfer import LinearisedMethod, group_drive

SHARED = 0.25
"""The part of a walk's variance that one draw decides for all prompts of a run, as in stored runs."""
_LEAST_SPEED = 1e-3
"""Of the greatest speed so far: where trained prompts are solved for good, some drive is left."""
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
_INSIDE = 1e-15
"""So far from 0 and 1 are the rates at which a divergence's force is taken."""


def drive(log_odds: Values, start: Values, method: LinearisedMethod) -> Values:
    """What drives a trained prompt's log odds: alpha_G(V) V (1-V), less beta times the divergence's force."""
    rates = expit(log_odds)
    force = group_drive(method.group_size, rates, method.scale)
    if method.beta and method.divergence is not None:
        now, before = (np.clip(x, _INSIDE, 1 - _INSIDE) for x in (rates, expit(start)))
        force = force - method.beta * now * (1 - now) * pass_rate_drive(before, now, method.divergence)
    return np.asarray(force)


def later_clock(
    start: Values, change: Values, weights: Values, ratio: float, method: LinearisedMethod
) -> float:
    """The clock s after `ratio` times the steps in which it went from 0 to 1.

    ds/dt = c sum_i weights_i drive(start_i + s change_i), over trained prompts, (prompts,); c is what makes
    s = 1 at the checkpoint. Exact for a kernel a a^T with weights proportional to the changes a, and for one
    a 1^T with equal weights. Source: ours, entries `pilot`.
    """

    def speed(s: float) -> float:
        return float(weights @ drive(start + s * change, start, method))

    floor = _LEAST_SPEED * max(speed(s) for s in np.linspace(0, 1, 9))
    if not floor > 0:
        return 1.0
    unit = integrate.quad(lambda s: 1 / max(speed(s), floor), 0, 1, epsrel=1e-8, limit=200)[0]
    flow = integrate.solve_ivp(
        lambda _, s: [speed(float(s[0]))], (0, (ratio - 1) * unit), [1.0], "LSODA", rtol=1e-7, atol=1e-8
    )
    return float(flow.y[0, -1])


class Walk(NamedTuple):
    """What follows a change of log odds of this `deviation` over prompts, when the clock is at `clock`.

    A prompt's change goes on by `persistence` times the clock's, and what it moves beside is drawn so that
    the deviation of all changes grows with the clock: at 1 it is the straight line, at 0 a walk.
    """

    clock: float
    persistence: float
    deviation: float

    @property
    def reach(self) -> float:
        """By how much a prompt's change so far is multiplied."""
        return 1 + self.persistence * (self.clock - 1)

    @property
    def spread(self) -> float:
        """The deviation of what a prompt moves beside."""
        return float(self.deviation * np.sqrt(max(self.clock**2 - self.reach**2, 0.0)))

    def log_odds(self, now: Values, change: Values, noise: Scalars = 0.0) -> Values:
        """The log odds by run's draw and node of a prompt's own draw, (*noise, nodes, *now).

        `now` and `change`, of equal shape; `noise`, the run's draws, in deviations.
        """
        draws = np.sqrt(SHARED) * np.asarray(noise)[..., None] + np.sqrt(1 - SHARED) * _NODES
        later = now + (self.reach - 1) * change
        return np.asarray(later + self.spread * draws.reshape(*draws.shape, *[1] * later.ndim))

    def pass_at_k(self, now: Values, change: Values, ks: Sequence[int], noise: Scalars) -> Values:
        """The mean over a prompt's draw of its Pass@k, and of its square: (k, draws, 2, prompts).

        `now` and `change`, (prompts,), log odds and changes so far.
        """
        rates = expit(self.log_odds(now, change, noise))
        passed = (exact_pass_at_k(rates, k) for k in ks)
        return np.array([[over_draws(x, 1), over_draws(x**2, 1)] for x in passed]).swapaxes(1, 2)


def over_draws(values: Values, axis: int = 0) -> Values:
    """The mean over a prompt's own draw of values, whose axis has the nodes."""
    return np.tensordot(_WEIGHTS / _WEIGHTS.sum(), values, axes=(0, axis))
