"""KL control aimed at a mean validity: the beta that theory gives for it, and the validity it reaches."""

import numpy as np
from jaxtyping import Float

from dph_theory import REVERSE_KL, beta_for_mean_validity, mu_from_beta
from dph_theory.numeric.balls import trailing

from .config import Config
from .measure import mean_pass_at_k
from .policy import pass_rates
from .results import Targets
from .task import Task
from .train import Anchor, train


def targets(config: Config) -> Targets:
    """Mean validity predicted and reached for each target, rows over conditionings where policies share.

    "unrestricted" trains a free law of outcomes on every type; "best_of_family" is the optimum of the shared
    policy, whose rate on the easy type no training changes: w_E easy_rate + sum_j w_j mu_j(beta), the limit
    at any conditioning above 0; "reached" is that policy after the configured steps of the plain gradient
    of E v - beta KL. Source: ours, theory A5 and A9.
    """
    task, mean = config.task, np.array(config.targets)
    rates = pass_rates(task.base_law)
    beta = beta_for_mean_validity(np.repeat(rates, config.prompts), mean)
    mu = mu_from_beta(rates, trailing(beta, 1))
    family = np.concatenate([np.full_like(mu[:, :1], config.easy_rate), mu[:, 1:]], axis=1)
    free = mirror_ascent(task, beta, config.steps)
    shared = train(
        task,
        Anchor(REVERSE_KL, everywhere=True),
        beta,
        np.array(config.conditionings)[:, None],
        config.optimiser._replace(group=None),
        np.array([0, config.steps]),
    )[-1]
    return Targets(
        target=config.targets,
        beta=tuple(beta.tolist()),
        predicted=tuple((task.weights * mu).sum(axis=-1).tolist()),
        unrestricted=tuple(mean_pass_at_k(free, task, 1).tolist()),
        best_of_family=tuple((task.weights * family).sum(axis=-1).tolist()),
        reached=tuple(map(tuple, mean_pass_at_k(shared, task, 1).tolist())),
    )


def mirror_ascent(
    task: Task, beta: Float[np.ndarray, " betas"], steps: int
) -> Float[np.ndarray, "betas types outcomes"]:
    """Free laws of outcomes on each type, after natural-gradient ascent of E v - beta KL(pi || base).

    A step r moves log pi by r (v - beta log(pi/base)) up to a constant, so that log(pi/base) tends to v/beta,
    its error shrinking by the factor 1 - r beta; here r = 1/(2 beta).
    """
    gain = np.zeros((len(beta), 1, len(task.valid)))
    for _ in range(steps):
        gain = gain + (task.valid / trailing(beta, 2) - gain) / 2
    weight = task.base_law * np.exp(gain - gain.max(axis=-1, keepdims=True))
    return weight / weight.sum(axis=-1, keepdims=True)
