"""A method's training on a problem: its expected update, the flow of it, and chains of sampled ones.

A batch is groups of GROUP answers. The expected update sums over every group by its chance, a chain draws
its groups; both then do the same. Logits move by the step times the gradient (theory G).
"""

from functools import lru_cache
from itertools import combinations_with_replacement
from math import factorial
from typing import Any

import numpy as np
import torch
from scipy.integrate import solve_ivp

from ..trainers.surrogates import Sampled
from .problems import AtlasProblem
from .published_methods import PublishedMethod
from .updates import GROUP, GroupBatch

DECADES, EVALUATIONS = 12, 8_000
"""Powers of ten of a flow's time, and updates computed along it, at most."""
SETTLED = 1e-3
"""A flow has ended where two decades of time have moved the correct answers' shares by less."""


@lru_cache(maxsize=8)
def every_group(problem: AtlasProblem) -> tuple[np.ndarray, np.ndarray]:
    """All groups up to the order of their answers, (groups, G), and how many orders each stands for."""
    answers = range(len(problem.verdicts))
    groups = np.array(list(combinations_with_replacement(answers, GROUP)))
    counts = (groups[:, :, None] == np.array(answers)).sum(axis=1)
    repeats = np.prod([[factorial(n) for n in row] for row in counts.tolist()], axis=1)
    return groups, factorial(GROUP) / repeats


def expected(problem: AtlasProblem, theta: np.ndarray) -> GroupBatch:
    """Every group with its chance at these logits, one batch."""
    groups, orders = every_group(problem)
    log_pi = problem.log_policy(theta).sum(axis=-1)
    return _groups(problem, theta, groups, orders * np.exp(log_pi[groups].sum(axis=-1)))


def drawn(problem: AtlasProblem, theta: np.ndarray, groups: int, rng: np.random.Generator) -> GroupBatch:
    """So many groups for each row of logits, (batches, logits)."""
    cumulative = problem.answers(theta).cumsum(axis=-1)
    places = rng.random((len(theta), groups * GROUP)) * cumulative[:, -1:]
    answers = (places[:, :, None] > cumulative[:, None, :-1]).sum(axis=-1)
    shaped = answers.reshape(len(theta), groups, GROUP)
    return _groups(problem, theta, shaped, np.full((len(theta), groups), 1 / groups))


def _groups(problem: AtlasProblem, theta: np.ndarray, answers: np.ndarray, weights: np.ndarray) -> GroupBatch:
    log_base = problem.log_policy(problem.start)[answers]
    counted, log_pi = problem.tokens.counted[answers], _log_pi(problem, theta, answers)
    return GroupBatch(answers, problem.verdicts[answers], log_pi, log_base, counted, weights)


def _log_pi(problem: AtlasProblem, theta: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """Of the tokens of these answers, (..., groups, G, tokens), each row of logits having its own."""
    log_policy = problem.log_policy(theta)
    places = answers.reshape(*theta.shape[:-1], -1, 1)
    return np.take_along_axis(log_policy, places, axis=-2).reshape(*answers.shape, -1)


def coefficients(method: PublishedMethod, samples: GroupBatch, knob: float) -> np.ndarray:
    """What multiplies each token's grad log pi at the first update on a batch, as the loss adds tokens up."""
    advantages, lengths = method.advantage(samples, knob), samples.lengths[..., None]
    if advantages.ndim < samples.counted.ndim:
        advantages = advantages[..., None]
    if method.reduction == "sequence_mean":
        advantages = advantages * (1 / lengths)
    elif method.reduction == "token_mean":
        advantages = advantages * (1 / samples.mean(samples.lengths)[..., None])
    return np.where(samples.counted, advantages, 0.0)


def gradient(
    method: PublishedMethod,
    problem: AtlasProblem,
    theta: np.ndarray,
    samples: GroupBatch,
    knob: float,
    log_old: Any = None,
) -> np.ndarray:
    """The update of the logits on a batch; log_old: of its tokens, where theta is no longer the sampler."""
    return problem.ascent(theta, *token_coefficients(method, problem, theta, samples, knob, log_old))


def token_coefficients(
    method: PublishedMethod,
    problem: AtlasProblem,
    theta: np.ndarray,
    samples: GroupBatch,
    knob: float,
    log_old: Any = None,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The coefficient of each token's log-probability: of the batch's answers, and of stored ones."""
    c = coefficients(method, samples, knob)
    if log_old is not None and method.surrogate is not None:
        c = c * _slope(method, problem, theta, samples, log_old, c)
    entries = problem.tokens.entries
    terms = [(entries[samples.answers], c * (samples.weights / GROUP)[..., None, None])]
    if method.stored is not None:
        stored = method.stored(problem, problem.log_policy(theta), knob)
        terms.append((np.broadcast_to(entries, stored.shape), np.where(problem.tokens.counted, stored, 0.0)))
    return terms


def _slope(
    method: PublishedMethod,
    problem: AtlasProblem,
    theta: np.ndarray,
    samples: GroupBatch,
    log_old: np.ndarray,
    c: np.ndarray,
) -> np.ndarray:
    """The surrogate's slope in each token's log pi, per unit of the advantage."""
    log_pi = _log_pi(problem, theta, samples.answers)
    tokens = log_old.shape[-1]
    x = torch.from_numpy(log_pi.reshape(-1, tokens).copy()).requires_grad_()
    old, a, mask = (
        torch.from_numpy(part.reshape(-1, tokens).copy()) for part in (log_old, np.sign(c), samples.counted)
    )
    total = (method.surrogate(Sampled(x, old, a, mask.double())) * mask).sum()  # type: ignore[misc]
    (slope,) = torch.autograd.grad(total, x)
    return np.nan_to_num((slope * a).numpy().reshape(log_old.shape))


def updated_logits(
    method: PublishedMethod,
    problem: AtlasProblem,
    theta: np.ndarray,
    samples: GroupBatch,
    knob: float,
    step: float,
) -> np.ndarray:
    """The logits after all updates on one batch, `method.updates` of them, each of step/updates."""
    update_step = step / method.updates
    moved = theta + update_step * gradient(method, problem, theta, samples, knob)
    for _ in range(method.updates - 1):
        moved = moved + update_step * gradient(method, problem, moved, samples, knob, samples.log_pi)
    return moved


class UnsettledError(Exception):
    """A flow that was not followed to its end within EVALUATIONS updates."""


def flow(
    method: PublishedMethod,
    problem: AtlasProblem,
    knob: float,
    *,
    start: np.ndarray | None = None,
    pass_rate: float | None = None,
) -> tuple[float, np.ndarray]:
    """The expected-gradient run from the base to its end, or to a pass rate: the time, and the logits.

    A method with several updates on a batch moves as one round of STEP does.
    """
    evaluations = 0

    def slope(time: float, theta: np.ndarray) -> np.ndarray:
        nonlocal evaluations
        evaluations += 1
        if evaluations > EVALUATIONS:
            raise UnsettledError
        samples = expected(problem, theta)
        return (updated_logits(method, problem, theta, samples, knob, STEP) - theta) / STEP

    def above_reached(time: float, theta: np.ndarray) -> float:
        return float(problem.validity(theta)) - (2.0 if pass_rate is None else pass_rate)

    above_reached.terminal = True  # type: ignore[attr-defined]
    theta, begin, settled = problem.start if start is None else start, 0.0, 0
    for ended in 10.0 ** np.arange(1, DECADES + 1):
        solution: Any = solve_ivp(
            slope, (begin, ended), theta, method="LSODA", rtol=1e-6, atol=1e-8, events=above_reached
        )
        if not solution.success:
            raise UnsettledError
        moved = np.abs(problem.shares(solution.y[:, -1]) - problem.shares(theta)).sum()
        theta, begin, settled = solution.y[:, -1], ended, settled + 1 if moved < SETTLED else 0
        if solution.status == 1 or (pass_rate is None and settled >= 2 and ended >= 1e4):
            return float(solution.t[-1]), theta
    if pass_rate is not None:
        raise UnsettledError
    return begin, theta


STEP = 0.5
"""In logits, of a round whose updates differ by the importance weight."""


ROUNDS, GROUPS, CHAINS, REACHED = 20, 64, 400, 0.8
"""A chain takes about ROUNDS rounds, of GROUPS groups each, to the pass rate REACHED."""


def drift_over_chains(
    method: PublishedMethod, problem: AtlasProblem, knob: float, *, seed: int = 0, rounds: int = ROUNDS
) -> float:
    """The std over chains of the log ratio of the first two answers, where the pass rate is REACHED.

    The step is that at which the expected-gradient run takes `rounds` rounds.
    """
    step = flow(method, problem, knob, pass_rate=REACHED)[0] / rounds
    rng = np.random.default_rng(seed)
    theta = np.tile(problem.start, (CHAINS, 1))
    log_ratios = np.full(CHAINS, np.nan)
    for _ in range(4 * rounds):
        theta = updated_logits(method, problem, theta, drawn(problem, theta, GROUPS, rng), knob, step)
        arrived = np.isnan(log_ratios) & (problem.validity(theta) >= REACHED)
        log_ratios[arrived] = (theta[:, 0] - theta[:, 1])[arrived]
        if not np.isnan(log_ratios).any():
            break
    final = theta[:, 0] - theta[:, 1]
    return float(np.sqrt(np.mean(np.where(np.isnan(log_ratios), final, log_ratios) ** 2)))
