"""The audit of a loss: what its value estimates, what its gradient descends, and where training with it ends.

A loss is any torch callable of (log_pi, log_ref, log_old, advantages, mask), or some of them, shapes
(batch, tokens), that returns a scalar. Its expectation over samples, which are held fixed as in training, is
summed exactly and compared with the divergences of the theory.
"""

from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor, full_like

from ..support.errors import choice
from .batches import enumerate_batches, reduction_of
from .domain import NEAR, limits_of
from .equal_groups import equal_groups_of
from .exact import (
    Loss,
    LossError,
    MeasuredLoss,
    Problem,
    arguments_of,
    call,
    ending_problems,
    is_random,
    measure,
    near_the_reference,
    padding,
    random_problems,
)
from .law import find_minimiser, law_of
from .log_ratios import FINE, Slopes, computes_in, extremes, penalty_of, slopes_of, stopped_slopes
from .quantities import match_gradient, match_gradient_or_sum, match_value, quantities
from .report import (
    ENTROPY,
    REWARD,
    SAMPLES,
    SEVERAL,
    AddingUp,
    AuditReport,
    Batches,
    EqualGroups,
    Extremes,
    Failure,
    Limit,
    Match,
    Minimiser,
    Stopped,
    Term,
)
from .shapes import mixing_broadcast, of_answers, takes_one_an_answer
from .verdict import verdict_of

OTHER_SEEDS = 2
"""What a gradient is near is asked of so many more problems of each shape."""
_NO_SLOPES = Slopes((), (), None)
Results = list[tuple[Problem, MeasuredLoss]]


@dataclass(frozen=True)
class _Audited:
    """A loss with what every step of its audit needs; `failures` grows as problems fail."""

    loss: Loss
    names: tuple[str, ...]
    samples: str
    seed: int
    failures: list[Failure]
    precision: str = "float64"

    @property
    def single(self) -> bool:
        """Whether agreement is that of float32."""
        return self.precision == "float32"


def audit(loss: Loss, *, samples: str = "policy", name: str | None = None, seed: int = 0) -> AuditReport:
    """What a loss's value estimates and what its gradient descends, exactly, on random small problems.

    Parameters: `loss`, a torch function of any of log_pi, log_ref, log_old, advantages, mask, float64 tensors
    (batch, tokens) in nats, the advantages also (batch,), to a scalar; `samples`, "policy" (old = current
    policy), "old_policy", "reference", or "filtered" (correct samples of the reference); `name`, what it is
    called in the verdict; `seed` of the problems. It is given batches of one sequence, or of two where it
    couples a batch. Returns an AuditReport; a loss that fails on some problems is audited on the others.
    Raises ValueError for unknown samples, or a loss whose parameters are not the audited ones. Source: ours,
    theory B6, E1 to E3.

    >>> audit(lambda log_pi, log_ref: (log_pi - log_ref).square().mean() / 2, name="k2").gradient.name
    'reverse KL(pi||ref)'
    """
    choice("samples", samples, SAMPLES)
    names, called = arguments_of(loss), name or str(getattr(loss, "__name__", "the loss"))
    answers = takes_one_an_answer(loss, names)
    loss = of_answers(loss) if answers else loss
    audited = _Audited(loss, names, samples, seed, [])
    draft = _draft(audited, called, "one an answer" if answers else "one a token")
    if draft.drops_penalty:
        # Where a prompt is solved its groups agree: what holds the others there is not there.
        draft = replace(draft, law="not known", selects="none")
    return replace(draft, verdict=verdict_of(draft))


def _draft(audited: _Audited, called: str, advantages: str) -> AuditReport:
    """All that is found, before a verdict."""
    audited, reduction, why = _first_look(audited)
    batches, results = _measure_all(audited, reduction)
    if why and results and why not in {failure.what for failure in audited.failures}:
        audited.failures.append(Failure(SEVERAL, why))
    outcomes = [r for r in results if r[0].length == 1]
    sequences = [r for r in results if r[0].length > 1]
    found_extremes, slopes = _at_extremes(audited, reduction) if results else ((), _NO_SLOPES)
    gradient, sequence_gradient = (_found(audited, of, batches) for of in (outcomes, sequences))
    minimiser = _minimiser(audited, outcomes) if audited.samples == "filtered" and batches is None else None
    near, sequence_near = (
        _near(audited, of, found, slopes, batches)
        for of, found in ((outcomes, gradient), (sequences, sequence_gradient))
    )
    # Beyond a clamp that holds a value and not its slope, the law near says nothing.
    known = sequence_near if sequence_near.exact and slopes.dead else sequence_gradient
    law = law_of(audited.samples, known, minimiser, _released_below(slopes))
    return AuditReport(
        loss=called,
        samples=audited.samples,
        verdict="",
        value=_value(audited, outcomes),
        gradient=gradient,
        sequence_value=_value(audited, sequences),
        sequence_gradient=sequence_gradient,
        unequal_gradient=_unequal(audited, reduction) if results else Match("failed", exact=False),
        near_gradient=near,
        near_sequence_gradient=sequence_near,
        limits=_limits(audited, gradient, near, batches, slopes, reduction, sequences=False),
        sequence_limits=_limits(
            audited, sequence_gradient, sequence_near, batches, slopes, reduction, sequences=True
        ),
        terms=_terms(audited) if results and batches is None else (),
        reduction=reduction,
        precision=audited.precision,
        batches=batches,
        minimiser=minimiser,
        law=law.law,
        selects=law.selects,
        variance=_relative_variance(results),
        extremes=found_extremes,
        dead_zones=slopes.dead,
        rounded_zones=slopes.rounded,
        asymmetry=slopes.asymmetry,
        failures=tuple(audited.failures),
        stopped=_stopped(audited, reduction) if results else (),
        equal_groups=_equal_groups(audited, reduction) if results and batches is None else None,
        advantages=advantages,
        broadcast=mixing_broadcast(audited.loss, audited.names),
    )


def _first_look(audited: _Audited) -> tuple[_Audited, AddingUp | None, str]:
    """Whether it is steady, how precisely it computes, and how it adds up; None where it cannot be told.

    The last is why a batch of several sequences fails, if it does.
    """
    problem = (ending_problems if "mask" in audited.names else random_problems)(audited.seed)[-1]
    given = (audited.loss, audited.names, problem, audited.samples)
    try:
        if is_random(*given):
            why = "two calls on the same batch differ: it is random, or remembers"
            audited.failures.append(Failure("every problem", why))
            return audited, None, ""
        audited = replace(audited, precision=computes_in(*given))
        if audited.precision == "16 bits":
            return audited, None, ""
        return audited, reduction_of(*given, single=audited.single), ""
    except LossError as error:
        return audited, None, str(error)


def _measure_all(audited: _Audited, reduction: AddingUp | None) -> tuple[Batches | None, Results]:
    """The results of every problem that does not fail, on pairs where the loss couples its batch."""
    loss, names, samples = audited.loss, audited.names, audited.samples
    problems = random_problems(audited.seed)
    if any(failure.problem == "every problem" for failure in audited.failures):
        return None, []
    if reduction is not None and reduction.batch in ("coupled", "pairs only"):
        try:
            return enumerate_batches(loss, names, problems, samples, single=audited.single)
        except LossError as error:
            audited.failures.append(Failure("batches of one, two and three", str(error)))
            return None, []
    results: Results = []
    for problem in problems:
        try:
            weights = _undivided(problem, reduction) if _by_width(reduction) else None
            results.append((problem, measure(loss, names, problem, samples, weights=weights)))
        except LossError as error:
            audited.failures.append(Failure(problem.name, str(error)))
    return None, results


def _gradient(audited: _Audited, results: Results) -> Match:
    problems, measured = [r[0] for r in results], [r[1] for r in results]
    return match_gradient_or_sum(measured, problems, audited.samples, single=audited.single)


def _found(audited: _Audited, results: Results, batches: Batches | None) -> Match:
    """What the gradient is; where it is no known one, what it is near on the problems of other seeds too."""
    found = _gradient(audited, results)
    if found.exact or found.angle is None or batches is not None:
        return found
    shapes = {problem.name for problem, _ in results}
    for seed in range(audited.seed + 1, audited.seed + 1 + OTHER_SEEDS):
        more = [problem for problem in random_problems(seed) if problem.name in shapes]
        try:
            results = [
                *results,
                *((p, measure(audited.loss, audited.names, p, audited.samples)) for p in more),
            ]
        except LossError:
            break
    known = [quantities(problem, audited.samples) for problem, _ in results]
    lengths = [float(problem.length) for problem, _ in results]
    return match_gradient([m for _, m in results], known, lengths, single=audited.single)


def _value(audited: _Audited, results: Results) -> Match:
    known = [quantities(problem, audited.samples) for problem, _ in results]
    lengths = [float(problem.length) for problem, _ in results]
    return match_value([m for _, m in results], known, lengths, single=audited.single)


def _unequal(audited: _Audited, reduction: AddingUp | None) -> Match:
    """The gradient on sequences of unequal lengths; a token mean in the limit of large batches."""
    if reduction is None or reduction.batch in ("coupled", "pairs only", "unknown"):
        return Match("failed", exact=False)
    problems = ending_problems(audited.seed)
    given = (audited.loss, audited.names)
    try:
        measured = [
            measure(*given, problem, audited.samples, weights=_undivided(problem, reduction))
            for problem in problems
        ]
    except LossError as error:
        audited.failures.append(Failure("sequences of unequal lengths", str(error)))
        return Match("failed", exact=False)
    found = _gradient(audited, list(zip(problems, measured, strict=True)))
    # The mean over all tokens of a large batch is the sum over them by the expected length.
    divided = reduction.batch == "token mean" and found.exact and found.name != "zero"
    return replace(found, per_token=1) if divided else found


def _released_below(slopes: Slopes) -> float:
    """The log ratio below which a token has no gradient because a clamp acts; -inf if there is none."""
    return max((high for low, high in slopes.dead if low == FINE[0]), default=-np.inf)


def _reach(slopes: Slopes) -> float:
    """Log ratios that count as near zero: within half of what a clamp lets through."""
    return min([NEAR, *(abs(end) / 2 for zone in slopes.dead for end in zone if end)])


def _near(
    audited: _Audited, results: Results, found: Match, slopes: Slopes, batches: Batches | None
) -> Match:
    """The gradient where all log ratios are near zero, of a loss whose gradient elsewhere is not exact."""
    none = Match("failed", exact=False)
    if found.exact or batches is not None or not results:
        return none
    problems = [near_the_reference(problem, _reach(slopes)) for problem, _ in results]
    try:
        measured = [measure(audited.loss, audited.names, p, audited.samples) for p in problems]
    except LossError:
        return none
    match = _gradient(audited, list(zip(problems, measured, strict=True)))
    # Near zero all divergences are alike: a sum of two of them fits what is none.
    divergences = [name for _, name in match.terms if not name.startswith((REWARD, ENTROPY))]
    return match if match.exact and match.name != "zero" and len(divergences) < 2 else none


def _limits(
    audited: _Audited,
    found: Match,
    near: Match,
    batches: Batches | None,
    slopes: Slopes,
    reduction: AddingUp | None,
    *,
    sequences: bool,
) -> tuple[Limit, ...]:
    """How far the one that is exact holds."""
    if batches is not None:
        return ()
    match, single = (found if found.exact else near), audited.single
    given = (audited.loss, audited.names, match, audited.samples)
    return limits_of(
        *given,
        sequences=sequences,
        single=single,
        reach=_reach(slopes),
        weights=lambda problem: _undivided(problem, reduction) if _by_width(reduction) else None,
    )


def _terms(audited: _Audited) -> tuple[Term, ...]:
    """What goes with the advantages, what of the rest goes with the reference, and the rest, if several do.

    They are told apart by advantages of zero, and by a reference that is the policy, held fixed.
    """
    if not {"advantages", "log_ref"} <= set(audited.names):
        return ()

    def without(given: dict[str, Tensor], *names: str) -> Tensor:
        held = {"advantages": 0 * given["advantages"], "log_ref": given["log_pi"].detach()}
        found = call(audited.loss, {**given, **{name: held[name] for name in names}})
        return found + 0 * given["log_pi"].sum()

    both = ("advantages", "log_ref")
    parts: dict[str, Loss] = {
        "policy": lambda **given: without(given) - without(given, "advantages"),
        "KL": lambda **given: without(given, "advantages") - without(given, *both),
        "other": lambda **given: without(given, *both),
    }
    found = []
    for name, part in parts.items():
        try:
            results = [
                (p, measure(part, audited.names, p, audited.samples)) for p in random_problems(audited.seed)
            ]
        except LossError:
            return ()
        of = [[r for r in results if (r[0].length > 1) == many] for many in (False, True)]
        single, sequence = (_gradient(audited, some) for some in of)
        if not single.name == sequence.name == "zero":
            near = _near(replace(audited, loss=part), of[0], single, _NO_SLOPES, None)
            found.append(Term(name, single, sequence, near))
    return tuple(found) if len(found) > 1 else ()


def _stopped(audited: _Audited, reduction: AddingUp | None) -> tuple[Stopped, ...]:
    if reduction is not None and reduction.batch == "pairs only":
        return ()
    try:
        return stopped_slopes(audited.loss, audited.names)
    except LossError:
        return ()


def _equal_groups(audited: _Audited, reduction: AddingUp | None) -> EqualGroups | None:
    problems = [problem for problem in random_problems(audited.seed) if problem.length > 1]
    return equal_groups_of(
        audited.loss, audited.names, problems, audited.samples, lambda of: _gradient(audited, of), reduction
    )


def _by_width(reduction: AddingUp | None) -> bool:
    return reduction is not None and reduction.padding == "divides by the padded length"


def _undivided(problem: Problem, reduction: AddingUp | None) -> Tensor | None:
    """What a sequence's loss is multiplied by to undo a division by tokens of the batch, or None."""
    if reduction is None:
        return None
    if reduction.batch == "token mean":
        return problem.lengths
    if _by_width(reduction):
        width = problem.length + padding(problem)
        return full_like(problem.lengths, width)
    return None


def _relative_variance(results: Results) -> float | None:
    """The median of Var/|mean|^2; None where the mean vanishes on every problem."""
    ratios = [
        m.variance / float(m.gradient @ m.gradient) for _, m in results if m.gradient.norm() > 1e-10 * m.scale
    ]
    return float(np.median(ratios)) if ratios else None


def _minimiser(audited: _Audited, outcomes: Results) -> Minimiser | None:
    try:
        problems = tuple(problem for problem, _ in outcomes)
        return find_minimiser(audited.loss, audited.names, problems) if outcomes else None
    except LossError as error:
        audited.failures.append(Failure("its minimiser on filtered samples", str(error)))
        return None


def _at_extremes(audited: _Audited, reduction: AddingUp | None) -> tuple[tuple[Extremes, ...], Slopes]:
    """What happens at extreme log ratios of a single token; nothing for a loss that takes no single one."""
    if reduction is not None and reduction.batch == "pairs only":
        return (), _NO_SLOPES
    try:
        loss = penalty_of(audited.loss, audited.names)
        return extremes(loss, audited.names), slopes_of(loss, audited.names)
    except LossError as error:
        audited.failures.append(Failure("extreme log ratios", str(error)))
        return (), _NO_SLOPES
