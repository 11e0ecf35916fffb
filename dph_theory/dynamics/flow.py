"""The noiseless training: the flow of next-token logits under any penalty and any schedule of beta."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import softmax

from ..laws import answer_probabilities, filtered_law
from ..laws.token import Tables, next_token_tables, verifier
from ..numeric.arrays import Array, Scalars, real
from ..numeric.balls import Values
from ..support.errors import argument_error, choice
from .answers import BASELINES, FORMS, STORED, Advantage, Tree, joined, less, update

Schedule: TypeAlias = float | Callable[[float], float]
"""beta, or beta as a function of the time."""
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
    baseline: str = "mean",
    per_answer_mean: bool = False,
) -> list[list[np.ndarray]]:
    """The policy's next-token tables at increasing times, each prefix with logits of its own.

    d theta/dt is the gradient of E v - beta KL by the form, of E v + beta E_{p_*} log pi for rehearsal, of
    E_{p_*} log pi for KL-DPG. A network under gradient descent moves so up to a factor of time, as long as
    its kernel changes little. beta may be a schedule: a run that follows it downwards slowly stays near the
    law of each beta on its way (theory G10).

    Parameters: base, one table a position, (V, ..., V); valid (V, ..., V); times rising from 0; start, the
    tables begun from, by default the base; end, the symbol after which only itself follows; reward False
    leaves the verdicts out; per_answer_mean weighs an answer's tokens by 1/length (theory G8): there alone
    the baseline, a name of BASELINES, makes a difference (theory G4). A single decision is one table. Returns
    the tables at each time.
    Raises ValueError for what is no such tree, form or schedule. Source: ours, theory E6, E7, G8 and G10.

    >>> (policy,) = flow([[0.2, 0.3, 0.5]], [1, 0, 0], [400.0], beta=0.5)[0]
    >>> policy.round(4)
    array([0.6488, 0.1317, 0.2195])
    """
    choice("form", form, FORMS)
    choice("baseline", baseline, BASELINES)
    if per_answer_mean and form in STORED:
        raise argument_error("per_answer_mean", True, f"False with {form}, whose answers are stored ones")
    checked = next_token_tables("base", base, end)
    begun = checked if start is None else next_token_tables("start", start, end)
    verdicts = verifier(valid, checked)
    if any(table.ndim != t + 1 for t, table in enumerate(checked)):
        raise argument_error("base", [t.shape for t in checked], "tables without batch axes")
    advantage = less(baseline) if reward and form != "kl_dpg" else _nothing
    course = _Course(checked, verdicts.astype(float), form, beta, end, advantage, per_answer_mean)
    moments = rising_times(times)
    if moments[-1] == 0:
        return [begun] * len(moments)
    found: Any = solve_ivp(
        course.slope, (0.0, moments[-1]), joined(begun), t_eval=moments, method="LSODA", rtol=1e-8, atol=1e-10
    )
    if not found.success:
        raise ArithmeticError(f"the flow was not followed to its end: {found.message}")
    cuts = np.cumsum([table.size for table in checked])[:-1]
    return [
        [
            softmax(part.reshape(table.shape), axis=-1)
            for part, table in zip(np.split(theta, cuts), checked, strict=True)
        ]
        for theta in found.y.T
    ]


def _nothing(verdicts: np.ndarray, validity: np.ndarray) -> np.ndarray:
    """The advantages of a training without verdicts."""
    return 0 * verdicts


class _Course(Tree):
    """The expected update of every prefix's logits."""

    def __init__(
        self,
        base: list[np.ndarray],
        verdicts: np.ndarray,
        form: str,
        beta: Schedule,
        end: int | None,
        advantage: Advantage,
        per_answer_mean: bool,
    ) -> None:
        self.base, self.end = base, end
        tokens = self.tokens
        self.weight = 1 / tokens.lengths if per_answer_mean else np.ones(len(tokens.answers))
        self.verdicts, self.form, self.beta, self.advantage = tokens.of(verdicts), form, beta, advantage
        self.log_base = np.where(tokens.counted, self.start[tokens.entries], 0.0)
        self.stored = np.zeros(len(self.verdicts))
        if form in STORED:
            target = answer_probabilities(filtered_law(base, verdicts > 0, end=end), end)
            self.stored = tokens.of(target)

    def slope(self, time: float, theta: np.ndarray) -> np.ndarray:
        """The update at the logits."""
        beta = at_time(self.beta, time)
        p, c = update(
            np,
            self.log_policy(theta),
            self.log_base,
            self.verdicts,
            form=self.form,
            beta=beta,
            advantage=self.advantage,
            weight=self.weight,
        )
        pull = p[:, None] * c + (beta if self.form == "rehearsal" else 1.0) * self.stored[:, None]
        return self.ascent(theta, (self.tokens.entries, pull * self.tokens.counted))
