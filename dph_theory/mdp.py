"""Tabular discounted MDPs, batched over leading axes, solved exactly by linear algebra.

Shapes: transitions P (..., states, actions, states), rewards r (..., states, actions), start rho0
(..., states), policies (..., states, actions); gamma in [0, 1) of shape (...).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .numeric.arrays import Array, distribution, finite, real, require_common_shape
from .numeric.elementary import Values, add_axes
from .support.errors import argument_error


@dataclass(frozen=True, eq=False)
class TabularMDP:
    """A tabular discounted MDP, from which values and advantages of any policy follow exactly.

    Attributes:
        P: Transition probabilities, shape (..., states, actions, states).
        r: Rewards, shape (..., states, actions).
        gamma: Discount in [0, 1), shape (...).
        rho0: Start distribution, shape (..., states).

    Raises:
        ValueError: If the arrays do not describe an MDP.
    """

    P: Any
    r: Any
    gamma: Any
    rho0: Any

    def __post_init__(self) -> None:
        P, rho0 = distribution("P", self.P), distribution("rho0", self.rho0)
        r, gamma = finite("r", self.r), real("gamma", self.gamma, at_least=0, below=1)
        if P.ndim < 3 or P.shape[-3] != P.shape[-1]:
            raise argument_error("P.shape", P.shape, "(..., states, actions, states)")
        if r.shape[-2:] != (axes := P.shape[-3:-1]):
            raise argument_error("r.shape", r.shape, f"the last axes must be (states, actions) = {axes}")
        if rho0.shape[-1] != P.shape[-1]:
            raise argument_error("rho0.shape", rho0.shape, f"the last axis must be states = {P.shape[-1]}")
        require_common_shape(P=P[..., 0, 0, 0], r=r[..., 0, 0], gamma=gamma, rho0=rho0[..., 0])
        for name, value in (("P", P), ("r", r), ("gamma", gamma), ("rho0", rho0)):
            object.__setattr__(self, name, value)

    def policy(self, name: str, pi: Array) -> Values:
        """Validate a policy of shape (..., states, actions)."""
        pi = distribution(name, pi)
        if pi.shape[-2:] != (axes := self.r.shape[-2:]):
            raise argument_error(
                f"{name}.shape", pi.shape, f"the last axes must be (states, actions) = {axes}"
            )
        require_common_shape(**{name: pi[..., 0, 0], "P": self.P[..., 0, 0, 0]})
        return pi

    def value(self, pi: Array) -> Values:
        """V(s) = E[sum_t gamma^t r_t | s_0 = s], from (I - gamma P_pi) V = r_pi; shape (..., states)."""
        pi = self.policy("pi", pi)
        return self._solve(self._step(pi), (pi * self.r).sum(axis=-1))

    def action_value(self, pi: Array) -> Values:
        """Q(s, a) = r(s, a) + gamma E V(s'); shape (..., states, actions)."""
        future = (self.P * self.value(pi)[..., None, None, :]).sum(axis=-1)
        return self.r + add_axes(self.gamma, 2) * future

    def advantage(self, pi: Array) -> Values:
        """A(s, a) = Q(s, a) - V(s); shape (..., states, actions), E_pi A = 0 in every state."""
        pi = self.policy("pi", pi)
        q = self.action_value(pi)
        return q - (pi * q).sum(axis=-1, keepdims=True)

    def visitation(self, pi: Array) -> Values:
        """d(s) = (1-gamma) sum_t gamma^t P(s_t = s), normalised to sum one; shape (..., states)."""
        pi = self.policy("pi", pi)
        start = add_axes(1 - self.gamma, 1) * self.rho0
        return self._solve(np.swapaxes(self._step(pi), -1, -2), start)

    def return_(self, pi: Array) -> Values:
        """J = E_{rho0} V; shape (...)."""
        return (self.rho0 * self.value(pi)).sum(axis=-1)

    def _step(self, pi: Values) -> Values:
        return (pi[..., None] * self.P).sum(axis=-2)

    def _solve(self, step: Values, vector: Values) -> Values:
        system = np.eye(step.shape[-1]) - add_axes(self.gamma, 2) * step
        return np.linalg.solve(system, vector[..., None])[..., 0]
