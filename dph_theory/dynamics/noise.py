"""The noise that builds up along a flow: the covariance of a single decision's logits, to first order."""

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from ..numeric.arrays import Distribution, Mask, Scalars, distribution, mask, positive, whole
from ..numeric.balls import Values
from ..support.errors import argument_error, choice
from .answers import BASELINES, less, update
from .flow import Schedule, at_time, rising_times, single

DECISION_FORMS = ("none", "k2", "k3_corrected", "k3", "sequence_kl")


def noise_along(
    base: Distribution,
    valid: Mask,
    times: Scalars,
    *,
    step: float,
    answers: int,
    form: str = "none",
    beta: Schedule = 0.0,
    baseline: str = "mean",
) -> tuple[np.ndarray, np.ndarray]:
    """A decision's noiseless logits at the times, and the covariance that N answers a step give them.

    d Sigma/d tau = J Sigma + Sigma J^T + (eta/N) C, J the slope of the expected update and C the covariance
    of one answer's. Of this `drift_deviation` is the closed case. Parameters: base (outcomes,) and the
    verdicts; times rising from 0, in steps times eta; step eta in logits; answers N; form and beta of the
    penalty as in `flow`; baseline c of the verdicts, with the KL in the reward that of the penalised ones.
    Returns logits (times, outcomes) and covariances (times, outcomes, outcomes).
    Raises ValueError for what is no such decision, form, baseline or schedule. Source: ours, theory G1, G3.
    """
    base = distribution("base", base)
    if base.ndim != 1:
        raise argument_error("base.shape", base.shape, "one axis of outcomes")
    verdicts = mask("valid", valid, base).astype(float)
    choice("form", form, DECISION_FORMS)
    choice("baseline", baseline, BASELINES)
    drawn = single("answers", whole("answers", answers, at_least=1))
    scale = single("step", positive("step", step)) / drawn
    moments, n, log_base = rising_times(times), len(base), np.log(base)
    advantage = less(baseline)

    def terms(theta: np.ndarray, b: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The policy, each answer's coefficient, and the expected update; for complex logits too."""
        p = np.exp(theta) / np.exp(theta).sum()
        rows = np.log(p)[:, None], log_base[:, None]
        pull = update(np, *rows, verdicts, form=form, beta=b, advantage=advantage)[1][:, 0]
        return p, pull, p * (pull - (p * pull).sum())

    def slope(time: float, state: np.ndarray) -> np.ndarray:
        theta, sigma = state[:n], state[n:].reshape(n, n)
        b = at_time(beta, time)
        p, pull, update = terms(theta, b)
        small = 1e-30
        jacobian = np.stack([terms(theta + 1j * small * row, b)[2].imag / small for row in np.eye(n)], axis=1)
        spread = (p * pull**2)[:, None] * (np.eye(n) - p)
        covariance = (np.eye(n) - p).T @ spread - np.outer(update, update)
        return np.concatenate([update, (jacobian @ sigma + sigma @ jacobian.T + covariance).ravel()])

    start = np.concatenate([log_base, np.zeros(n * n)])
    found: Any = solve_ivp(
        slope, (0.0, moments[-1]), start, t_eval=moments, method="LSODA", rtol=1e-9, atol=1e-13
    )
    if not found.success:
        raise ArithmeticError(f"the flow was not followed to its end: {found.message}")
    # The equation is linear in the noise: it is solved for one unit of it.
    return found.y[:n].T, scale * found.y[n:].T.reshape(-1, n, n)


def log_ratio_deviation(covariance: np.ndarray, one: int = 0, other: int = 1) -> Values:
    """The deviation of the log ratio of two outcomes from the covariances (..., outcomes, outcomes)."""
    variance = covariance[..., one, one] + covariance[..., other, other] - 2 * covariance[..., one, other]
    return np.sqrt(np.maximum(variance, 0.0))
