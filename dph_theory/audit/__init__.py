"""What a loss estimates and which quantity its gradient descends, by exact enumeration and autograd.

A loss is any torch callable of (log_pi, log_ref, log_old, advantages, mask), or some of them, shapes
(batch, tokens), that returns a scalar. Its expectation over samples, which are held fixed as in training, is
summed exactly and compared with the divergences of the theory.
"""

from dataclasses import replace

import numpy as np

from ..support.errors import argument_error
from .candidates import quantities
from .exact import Loss, LossError, Measured, arguments_of, is_random, measure
from .extremes import dead_zones, extremes
from .laws import law_of
from .match import Known, match_gradient, match_value
from .minimiser import find_minimiser
from .problems import Problem, random_problems
from .report import SAMPLES as SAMPLES
from .report import AuditReport as AuditReport
from .report import Extremes as Extremes
from .report import Failure as Failure
from .report import Match as Match
from .report import Minimiser as Minimiser
from .report import verdict_line

Results = list[tuple[Problem, Measured, Known]]


def audit(loss: Loss, *, samples: str = "policy", name: str | None = None, seed: int = 0) -> AuditReport:
    """What the loss's value estimates and what its gradient descends, exactly, on random small problems.

    samples: "policy" (old = current policy), "old_policy", "reference", or "filtered" (correct samples of
    the reference). Evaluated on batches of one sequence, in float64. Raises ValueError for an unknown
    samples, or a loss whose parameters are not the audited ones; a loss that fails on some problems is
    audited on the others.
    """
    if samples not in SAMPLES:
        raise argument_error("samples", samples, f"one of {', '.join(SAMPLES)}")
    names = arguments_of(loss)
    results, failures = _measure_all(loss, names, random_problems(seed), samples)
    outcomes = [r for r in results if r[0].length == 1]
    sequences = [r for r in results if r[0].length > 1]
    found_extremes, zones, asymmetry = _at_extremes(loss, names, failures) if results else ((), (), None)
    sequence_gradient = match_gradient(*_columns(sequences))
    minimiser = _minimiser(loss, names, outcomes, failures) if samples == "filtered" else None
    law = law_of(samples, sequence_gradient, minimiser)
    draft = AuditReport(
        loss=name or str(getattr(loss, "__name__", "the loss")),
        samples=samples,
        verdict="",
        value=match_value(*_columns(outcomes)),
        gradient=match_gradient(*_columns(outcomes)),
        sequence_value=match_value(*_columns(sequences)),
        sequence_gradient=sequence_gradient,
        minimiser=minimiser,
        law=law.law,
        selects=law.selects,
        variance=_relative_variance(results),
        extremes=found_extremes,
        dead_zones=zones,
        asymmetry=asymmetry,
        failures=tuple(failures),
    )
    return replace(draft, verdict=verdict_line(draft))


def _measure_all(
    loss: Loss, names: tuple[str, ...], problems: tuple[Problem, ...], source: str
) -> tuple[Results, list[Failure]]:
    results: Results = []
    failures = []
    for problem in problems:
        try:
            if is_random(loss, names, problem, source):
                raise LossError("it is random: two calls on the same batch differ")
            results.append((problem, measure(loss, names, problem, source), quantities(problem, source)))
        except LossError as error:
            failures.append(Failure(problem.name, str(error)))
    return results, failures


def _columns(results: Results) -> tuple[list[Measured], list[Known], list[int]]:
    return [r[1] for r in results], [r[2] for r in results], [r[0].length for r in results]


def _relative_variance(results: Results) -> float | None:
    """The median of Var/|mean|^2; None where the mean vanishes on every problem."""
    ratios = [
        m.variance / float(m.gradient @ m.gradient)
        for _, m, _ in results
        if m.gradient.norm() > 1e-10 * m.scale
    ]
    return float(np.median(ratios)) if ratios else None


def _minimiser(
    loss: Loss, names: tuple[str, ...], outcomes: Results, failures: list[Failure]
) -> Minimiser | None:
    try:
        return find_minimiser(loss, names, tuple(r[0] for r in outcomes)) if outcomes else None
    except LossError as error:
        failures.append(Failure("its minimiser on filtered samples", str(error)))
        return None


def _at_extremes(
    loss: Loss, names: tuple[str, ...], failures: list[Failure]
) -> tuple[tuple[Extremes, ...], tuple[tuple[float, float], ...], float | None]:
    try:
        return (extremes(loss, names), *dead_zones(loss, names))
    except LossError as error:
        failures.append(Failure("extreme log ratios", str(error)))
        return (), (), None
