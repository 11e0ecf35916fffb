"""The noise that builds up along a flow: the covariance of a single decision's logits, to first order.

An independent check of the closed forms in `dph_theory.dynamics.drift`.
"""

import numpy as np
from scipy.integrate import solve_ivp

from dph_theory.dynamics.answers import less, update
from dph_theory.dynamics.flow import at_time


def noise_along(base, valid, times, *, step, answers, form="none", beta=0.0, baseline="mean"):
    """A decision's noiseless logits at the times, and the covariance that N answers a step give them.

    d Sigma/d tau = J Sigma + Sigma J^T + (eta/N) C, J the slope of the expected update and C the covariance
    of one answer's. Returns logits (times, outcomes) and covariances (times, outcomes, outcomes).
    """
    log_base, verdicts, n = np.log(np.asarray(base)), np.asarray(valid, dtype=float), len(base)
    advantage = less(baseline)

    def terms(theta, b):
        """The policy, each answer's coefficient, and the expected update; for complex logits too."""
        p = np.exp(theta) / np.exp(theta).sum()
        rows = np.log(p)[:, None], log_base[:, None]
        pull = update(np, *rows, verdicts, form=form, beta=b, advantage=advantage)[1][:, 0]
        return p, pull, p * (pull - (p * pull).sum())

    def slope(time, state):
        theta, sigma = state[:n], state[n:].reshape(n, n)
        b, small = at_time(beta, time), 1e-30
        p, pull, mean = terms(theta, b)
        jacobian = np.stack([terms(theta + 1j * small * row, b)[2].imag / small for row in np.eye(n)], axis=1)
        spread = (p * pull**2)[:, None] * (np.eye(n) - p)
        covariance = (np.eye(n) - p).T @ spread - np.outer(mean, mean)
        return np.concatenate([mean, (jacobian @ sigma + sigma @ jacobian.T + covariance).ravel()])

    start = np.concatenate([log_base, np.zeros(n * n)])
    span = (0.0, times[-1])
    found = solve_ivp(slope, span, start, t_eval=times, method="LSODA", rtol=1e-9, atol=1e-13)
    # The equation is linear in the noise: it is solved for one unit of it.
    return found.y[:n].T, step / answers * found.y[n:].T.reshape(-1, n, n)


def log_ratio_deviation(covariance):
    """The deviation of the log ratio of the first two outcomes from covariances (..., outcomes, outcomes)."""
    variance = covariance[..., 0, 0] + covariance[..., 1, 1] - 2 * covariance[..., 0, 1]
    return np.sqrt(np.maximum(variance, 0.0))
