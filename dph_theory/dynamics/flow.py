"""The noiseless training: the flow of next-token logits under any penalty and any schedule of beta."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import log_softmax, softmax

from ..laws import answer_probabilities, filtered_law
from ..laws.token import Tables, answer_lengths, next_token_tables, verifier
from ..numeric.arrays import Array, Scalars, real
from ..numeric.balls import Values
from ..support.errors import argument_error, choice

Schedule: TypeAlias = float | Callable[[float], float]
"""beta, or beta as a function of the time."""
FORMS = ("none", "k2", "k3_corrected", "k3", "future_kl", "sequence_kl", "rehearsal", "kl_dpg")
"""The penalties by name: of each token in the loss (k2, k3_corrected, k3), of the tokens to come or of the
whole answer in the reward (future_kl, sequence_kl: one expected update), -log u on stored right answers
(rehearsal), the same alone (kl_dpg)."""
_STORED = ("rehearsal", "kl_dpg")
MOST = 1e6
"""Times and betas are below it: by then a flow has ended, and stiffness beyond it is no training."""


def at_time(beta: Schedule, time: float) -> float:
    """beta at that time; ValueError for one that is negative or no number."""
    try:
        value = beta(time) if callable(beta) else beta
    except TypeError as error:
        raise argument_error("beta", beta, f"a number, or a function of the time ({error})") from error
    return single("beta", real("beta", value, at_least=0, below=MOST))


def single(name: str, value: Values) -> float:
    """A checked value as the one number that it is to be."""
    if np.ndim(value):
        raise argument_error(name, value, "one number")
    return float(value)


def rising_times(times: Scalars) -> np.ndarray:
    """The times, if they rise from 0 or later."""
    found = np.asarray(real("times", times, at_least=0, below=MOST), dtype=float)
    if found.ndim != 1 or not len(found) or (np.diff(found) < 0).any():
        raise argument_error("times", times, "a sequence of times that rise, at least one")
    return found


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
    per_answer_mean: bool = False,
) -> list[list[np.ndarray]]:
    """The policy's next-token tables at increasing times, each prefix with logits of its own.

    d theta/dt is the gradient of E v - beta KL by the form, of E v + beta E_{p_*} log pi for rehearsal, of
    E_{p_*} log pi for KL-DPG. A network under gradient descent moves so up to a factor of time, as long as
    its kernel changes little. beta may be a schedule: a run that follows it downwards slowly stays near the
    law of each beta on its way (theory G10).

    Parameters: base, one table a position, (V, ..., V); valid (V, ..., V); times rising from 0; start, the
    tables begun from, by default the base; end, the symbol after which only itself follows; reward False
    leaves the verdicts out; per_answer_mean weighs an answer's tokens by 1/length (theory G8), its verdict
    then less the pass rate. A single decision is one table. Returns the tables at each time.
    Raises ValueError for what is no such tree, form or schedule. Source: ours, theory E6, E7, G8 and G10.

    >>> (policy,) = flow([[0.2, 0.3, 0.5]], [1, 0, 0], [400.0], beta=0.5)[0]
    >>> policy.round(4)
    array([0.6488, 0.1317, 0.2195])
    """
    choice("form", form, FORMS)
    if per_answer_mean and form in _STORED:
        raise argument_error("per_answer_mean", True, f"False with {form}, whose answers are stored ones")
    checked = next_token_tables("base", base, end)
    begun = checked if start is None else next_token_tables("start", start, end)
    verdicts = verifier(valid, checked)
    if any(table.ndim != t + 1 for t, table in enumerate(checked)):
        raise argument_error("base", [t.shape for t in checked], "tables without batch axes")
    course = _Course(checked, verdicts.astype(float), form, beta, end, reward, per_answer_mean)
    with np.errstate(divide="ignore"):
        # A token of no mass keeps none: its update is zero, and a finite logit stands for -inf.
        logits = course.packed([np.maximum(np.log(table), -1e3) for table in begun])
    moments = rising_times(times)
    if moments[-1] == 0:
        return [begun] * len(moments)
    found: Any = solve_ivp(
        course.slope, (0.0, moments[-1]), logits, t_eval=moments, method="LSODA", rtol=1e-8, atol=1e-10
    )
    if not found.success:
        raise ArithmeticError(f"the flow was not followed to its end: {found.message}")
    return [[softmax(part, axis=-1) for part in course.unpacked(flat)] for flat in found.y.T]


class _Course:
    """The expected update of every prefix's logits."""

    def __init__(
        self,
        base: list[np.ndarray],
        verdicts: np.ndarray,
        form: str,
        beta: Schedule,
        end: int | None,
        reward: bool,
        per_answer_mean: bool,
    ) -> None:
        self.base, self.verdicts, self.form, self.beta, self.end = base, verdicts, form, beta, end
        self.length, self.reward, self.centred = len(base), reward, per_answer_mean
        lengths = answer_lengths(base[0].shape[-1], self.length, end)
        self.weight = 1 / lengths if per_answer_mean else np.ones(lengths.shape)
        # Whether position t of an answer is one of its tokens, or padding after its end.
        self.counts = [lengths > t for t in range(self.length)]
        self.target = None
        if form in _STORED:
            self.target = answer_probabilities(filtered_law(base, verdicts > 0, end=end), end)
        with np.errstate(divide="ignore"):
            self.log_base = [np.maximum(np.log(table), -1e3) for table in base]
        self.shapes = [table.shape for table in base]

    def packed(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        """The tables as one vector."""
        return np.concatenate([part.ravel() for part in parts])

    def unpacked(self, flat: np.ndarray) -> list[np.ndarray]:
        """The vector as tables."""
        cuts = np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1]
        return [part.reshape(shape) for part, shape in zip(np.split(flat, cuts), self.shapes, strict=True)]

    def slope(self, time: float, flat: np.ndarray) -> np.ndarray:
        """The update at the logits: at each prefix the weights of its tokens, less pi times their sum."""
        logits = self.unpacked(flat)
        tables = [softmax(part, axis=-1) for part in logits]
        answers = answer_probabilities(tables, self.end)
        log_u = [
            self._along(log_softmax(part, axis=-1) - base, t) * self.counts[t]
            for t, (part, base) in enumerate(zip(logits, self.log_base, strict=True))
        ]
        parts = []
        for t, table in enumerate(tables):
            weights = self._weights(answers, log_u, t, at_time(self.beta, time)) * self.counts[t]
            through = weights.sum(axis=tuple(range(t + 1, self.length)))
            parts.append(through - table * through.sum(axis=-1, keepdims=True))
        return self.packed(parts)

    def _weights(self, answers: np.ndarray, log_u: list[np.ndarray], t: int, beta: float) -> np.ndarray:
        """For the logits of token t, the weight of each answer's log-probability."""
        if self.form == "kl_dpg":
            return np.asarray(self.target)
        verdicts = self.verdicts - ((answers * self.verdicts).sum() if self.centred else 0.0)
        rewarded = answers * (verdicts if self.reward else 0.0)
        if self.form == "rehearsal":
            return rewarded + beta * np.asarray(self.target)
        if self.form == "none" or beta == 0:
            return rewarded * self.weight
        if self.form in ("k2", "k3_corrected"):
            penalty = log_u[t]
        elif self.form == "k3":
            penalty = -np.expm1(-log_u[t])
        else:
            penalty = np.sum(log_u, axis=0)
            if self.centred:
                penalty = penalty - (answers * penalty).sum()
        return (rewarded - beta * answers * penalty) * self.weight

    def _along(self, part: np.ndarray, t: int) -> np.ndarray:
        """A table's values at token t of every answer."""
        return part.reshape(*part.shape, *[1] * (self.length - t - 1))
