"""The worked example of the plain policy gradient, and its flow by a solver of high order."""

import numpy as np
from scipy.integrate import solve_ivp

from dph_theory.finite_training import decision

BASE = np.array([[0.3, 0.2, 0.1, 0.4]])
VALID = np.array([[True, True, True, False]])
AT_TEN = [0.550324414695, 0.264193832982, 0.103209092539, 0.082272659784]


def exact_flow(time):
    """Logits from a solver of high order, to about 13 digits."""
    solution = solve_ivp(
        lambda _, theta: decision.plain_gradient(theta[None], VALID)[0],
        (0, time),
        np.log(BASE[0]),
        method="DOP853",
        rtol=1e-13,
        atol=1e-14,
    )
    return solution.y[:, -1][None]
