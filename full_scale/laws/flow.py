"""The expected update of a run as a flow of next-token logits: how fast theory says it goes (E6, E7)."""

from collections.abc import Sequence

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import log_softmax, softmax

from dph_theory.laws import answer_probabilities, filtered_law
from dph_theory.support.errors import argument_error

from ..tasks.glass_box.box import GlassBox
from .run import Run

Tables = list[np.ndarray]
ON_POLICY = ("none", "k2", "k3_corrected", "future_kl", "sequence_kl")
"""Forms on the policy's own answers, with a flow each; KL-DPG, on policy too, has that of rehearsal."""


def flow(
    run: Run, box: GlassBox, base: Sequence[np.ndarray], start: Sequence[np.ndarray], times: Sequence[float]
) -> list[Tables]:
    """The policy's tables at increasing times from 0, each prefix with logits of its own.

    d theta/dt is the gradient of E v - beta KL (by the run's form), of E v + beta E_{p_*} log pi for
    rehearsal, of E_{p_*} log pi for KL-DPG, p_* the base's filtered model. A Llama under gradient descent
    moves so up to a factor of time, as long as its kernel changes little. Base, start: of a box of one text.
    ValueError for another box, or a form that this flow does not describe.
    """
    if len(box.texts) != 1:
        raise argument_error("box", box.name, "a box of one text")
    described = run.form in ON_POLICY or (run.form == "alpha_dpg" and run.alpha == 1)
    if not described and run.rehearsed != "log_u":
        raise argument_error("form", run.form, f"one of {', '.join(ON_POLICY)}, KL-DPG, rehearsal of -log u")
    sizes = [table[0].size for table in start]
    cuts = np.cumsum(sizes)[:-1]
    shapes = [table[0].shape for table in start]

    def unpacked(flat: np.ndarray) -> list[np.ndarray]:
        return [part.reshape(shape) for part, shape in zip(np.split(flat, cuts), shapes, strict=True)]

    def slope(_: float, flat: np.ndarray) -> np.ndarray:
        return np.concatenate([part.ravel() for part in _gradient(run, box, base, unpacked(flat))])

    logits = np.concatenate([np.log(table[0]).ravel() for table in start])
    found = solve_ivp(slope, (0.0, times[-1]), logits, t_eval=times, method="LSODA", rtol=1e-8, atol=1e-10)
    return [[softmax(part, axis=-1)[None] for part in unpacked(flat)] for flat in found.y.T]


def _gradient(
    run: Run, box: GlassBox, base: Sequence[np.ndarray], logits: list[np.ndarray]
) -> list[np.ndarray]:
    """The expected update of each prefix's logits: the weights of its tokens, less pi times their sum."""
    tables = [softmax(part, axis=-1) for part in logits]
    answers = answer_probabilities(tables, box.end)
    target = answer_probabilities(filtered_law(list(base), box.valid, end=box.end), box.end)[0]
    log_u = [log_softmax(part, axis=-1) - np.log(table[0]) for part, table in zip(logits, base, strict=True)]
    found = []
    for t, table in enumerate(tables):
        weights = _weights(run, box, answers, target, log_u, t)
        through = weights.sum(axis=tuple(range(t + 1, box.length)))
        gradient = through - table * through.sum(axis=-1, keepdims=True)
        found.append(gradient * box.before_the_end(t)[..., None])
    return found


def _weights(
    run: Run, box: GlassBox, answers: np.ndarray, target: np.ndarray, log_u: list[np.ndarray], t: int
) -> np.ndarray:
    """For the logits of token t, the weight of each answer's log-probability."""
    if run.form == "alpha_dpg":
        return target
    rewarded = answers * (box.valid[0] if run.reward else 0.0)
    if run.form == "rehearsal":
        return rewarded + run.beta * target
    if run.form == "none":
        return rewarded
    counted = [_along(part, box, s) for s, part in enumerate(log_u)]
    penalty = counted[t] if run.form in ("k2", "k3_corrected") else sum(counted)
    return rewarded - run.beta * answers * penalty


def _along(part: np.ndarray, box: GlassBox, t: int) -> np.ndarray:
    """A table's values at token t of every answer; none after the end symbol."""
    kept = part * box.before_the_end(t)[..., None]
    return kept.reshape(*kept.shape, *[1] * (box.length - t - 1))
