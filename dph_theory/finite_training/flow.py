"""Expected-gradient run: the flow of next-token logits with any penalty, schedule of beta and sampler."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import log_softmax, softmax

from ..numeric.arrays import Array, Scalars, positive, real, scalar
from ..stationary import answer_probabilities, filtered_policy
from ..stationary.token import Tables, next_token_tables, verifier
from ..support.errors import argument_error, choice
from .answers import BASELINES, FORMS, STORED, Advantage, answer_tokens, joined, reward_less, update
from .rollouts import ON_POLICY, Rollouts

Schedule: TypeAlias = float | Callable[[float], float]  # beta, or beta as a function of time.
MOST = 1e6  # Bound of times and betas: a flow has converged by then, and stiffness beyond it is no training.


def at_time(beta: Schedule, time: float) -> float:
    """Value at a time of beta, a number or a function of time; ValueError if negative or not a number."""
    try:
        value = beta(time) if callable(beta) else beta
    except TypeError as error:
        raise argument_error("beta", beta, f"a number, or a function of the time ({error})") from error
    return scalar("beta", real("beta", value, at_least=0, below=MOST))


def rising_times(times: Scalars) -> np.ndarray:
    """Times (times,) as floats; ValueError unless they start at 0 or later and do not fall."""
    moments = np.asarray(real("times", times, at_least=0, below=MOST), dtype=float)
    if moments.ndim != 1 or not len(moments) or (np.diff(moments) < 0).any():
        raise argument_error("times", times, "a sequence of times that rise, at least one")
    return moments


def flow(
    base: Tables,
    valid: Array,
    times: Scalars,
    *,
    form: str = "sequence_kl",
    beta: Schedule = 0.0,
    start: Tables | None = None,
    end: int | None = None,
    reward: bool = True,
    baseline: str = "mean",
    per_answer_mean: bool = False,
    rollouts: Rollouts = ON_POLICY,
    step: float | None = None,
) -> list[list[np.ndarray]]:
    """Next-token tables of the policy at increasing times, with separate logits for each prefix.

    d theta/dt is the gradient of E v - beta KL by the form, of E v + beta E_{p_*} log pi for rehearsal, of
    E_{p_*} log pi for KL-DPG. A network follows this path up to a factor of time while its kernel changes
    little; a slowly falling beta leads along the stationary policies.

    Parameters: base, one table per position, (V, ..., V); valid (V, ..., V); times increasing from 0; start,
    the initial tables, by default the base; end, the symbol after which only itself follows; reward False
    drops the rewards; per_answer_mean weighs an answer's tokens by 1/length: only then, or with other
    rollouts, the baseline (a name of BASELINES) matters; rollouts, the source of answers, by default the
    policy; step, gradient steps of that size in place of their limit, needed for a sampler that jumps and for
    old answers. A single decision is one table. Returns the tables at each time. Raises ValueError for an
    invalid tree, form or schedule.

    >>> (policy,) = flow([[0.2, 0.3, 0.5]], [1, 0, 0], [400.0], beta=0.5)[0]
    >>> policy.round(4)
    array([0.6488, 0.1317, 0.2195])

    Source: ours, entries `convergence_time`, `sampling_noise`, `updates_and_means`, `samplers`.
    """
    choice("form", form, FORMS)
    choice("baseline", baseline, BASELINES)
    if form in STORED and (per_answer_mean or rollouts != ON_POLICY):
        name, given = ("per_answer_mean", True) if per_answer_mean else ("rollouts", rollouts)
        raise argument_error(name, given, f"none with {form}, whose answers are stored ones")
    checked = next_token_tables("base", base, end)
    begun = checked if start is None else next_token_tables("start", start, end)
    verdicts = verifier(valid, checked)
    if any(table.ndim != t + 1 for t, table in enumerate(checked)):
        raise argument_error("base", [t.shape for t in checked], "tables without batch axes")
    rewarded = reward and form != "kl_dpg"
    advantage = reward_less(baseline) if rewarded else lambda verdicts, _: 0 * verdicts
    run = _TabularRun(checked, verdicts.astype(float), form, beta, end, advantage, rollouts, per_answer_mean)
    moments = rising_times(times)
    if moments[-1] == 0:
        return [begun] * len(moments)
    if step is not None or rollouts.stale:
        size = scalar("step", positive("step", 0.0 if step is None else step))
        return [run.policy(theta) for theta in _stepped(run, joined(begun), moments, size)]
    solution: Any = solve_ivp(
        run.slope, (0.0, moments[-1]), joined(begun), t_eval=moments, method="LSODA", rtol=1e-8, atol=1e-10
    )
    if not solution.success:
        raise ArithmeticError(f"the flow was not followed to its end: {solution.message}")
    return [run.policy(theta) for theta in solution.y.T]


def _stepped(run: "_TabularRun", theta: np.ndarray, times: np.ndarray, step: float) -> Iterator[np.ndarray]:
    """Yield logits at each time, by gradient steps of size `step` on answers that are some steps old."""
    depth = run.rollouts.stale + 1
    path, taken = deque([theta] * depth, maxlen=depth), 0
    for time in times:
        while taken < round(time / step):
            path.append(path[-1] + step * run.slope(taken * step, path[-1], path[0]))
            taken += 1
        yield path[-1]


class _TabularRun:
    """Expected update of every prefix's logits; the logits of all tables are joined to one vector."""

    def __init__(
        self,
        base: list[np.ndarray],
        verdicts: np.ndarray,
        form: str,
        beta: Schedule,
        end: int | None,
        advantage: Advantage,
        rollouts: Rollouts,
        per_answer_mean: bool,
    ) -> None:
        self.base, self.end = base, end
        self.tokens = tokens = answer_tokens(base[0].shape[-1], len(base), end)
        self.weight = 1 / tokens.lengths if per_answer_mean else np.ones(len(tokens.answers))
        self.verdicts, self.rollouts = tokens.per_answer(verdicts), rollouts
        self.form, self.beta, self.advantage = form, beta, advantage
        if rollouts.weights is not None:
            self.weight = self.weight * tokens.per_answer(rollouts.answer_weights(verdicts.shape))
        self.log_base = np.where(tokens.counted, joined(base)[tokens.entries], 0.0)
        self.stored = np.zeros(len(self.verdicts))
        if form in STORED:
            target = answer_probabilities(filtered_policy(base, verdicts > 0, end=end), end)
            self.stored = tokens.per_answer(target)

    def policy(self, theta: np.ndarray) -> list[np.ndarray]:
        cuts = np.cumsum([table.size for table in self.base])[:-1]
        pairs = zip(np.split(theta, cuts), self.base, strict=True)
        return [softmax(part.reshape(table.shape), axis=-1) for part, table in pairs]

    def _rows(self, vector: np.ndarray) -> np.ndarray:
        return vector.reshape(-1, self.base[0].shape[-1])

    def _log_policy(self, theta: np.ndarray) -> np.ndarray:
        log_tables = log_softmax(self._rows(theta), axis=-1).ravel()
        return np.where(self.tokens.counted, log_tables[self.tokens.entries], 0.0)

    def slope(self, time: float, theta: np.ndarray, old: np.ndarray | None = None) -> np.ndarray:
        """Expected update of the joined logits `theta`, on answers sampled at logits `old` (or theta)."""
        old = theta if old is None else old
        beta, log_policy, log_drawn = at_time(self.beta, time), self._log_policy(theta), self._log_policy(old)
        log_rewarded = log_drawn if self.form in ("sequence_kl", "future_kl") else log_policy
        if self.rollouts.sampler is not None:
            drawn = joined(next_token_tables("sampler", self.rollouts.sampler(self.policy(old)), self.end))
            log_drawn = np.where(self.tokens.counted, drawn[self.tokens.entries], 0.0)

        def coefficients(form: str) -> tuple[np.ndarray, np.ndarray]:
            return update(
                np,
                log_rewarded,
                self.log_base,
                self.verdicts,
                form=form,
                beta=beta,
                advantage=self.advantage,
                weight=self.weight,
                drawn=np.exp(log_drawn.sum(axis=-1)),
            )

        p, c = coefficients(self.form)
        if self.rollouts.correction != "none":
            weight = self.rollouts.importance_weights(log_policy - log_drawn)
            c = weight * c if self.rollouts.corrects_penalty else c + (weight - 1) * coefficients("none")[1]
        gradient = p[:, None] * c + (beta if self.form == "rehearsal" else 1.0) * self.stored[:, None]
        entries, counted = self.tokens.entries.ravel(), self.tokens.counted
        total = self._rows(np.bincount(entries, (gradient * counted).ravel(), minlength=theta.size))
        ascent: np.ndarray = total - softmax(self._rows(theta), axis=-1) * total.sum(axis=-1, keepdims=True)
        return ascent.ravel()
