"""The audit of a loss: what its value estimates, what its gradient descends, and where training with it ends.

A loss is any torch callable of (log_pi, log_ref, log_old, advantages, mask), or some of them, shapes
(batch, tokens), that returns a scalar. Its expectation over samples, which are held fixed as in training, is
summed exactly and compared with the divergences of the theory.
"""

from collections.abc import Callable, Mapping, Sequence
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
from .log_ratios import (
    NO_SLOPES,
    Slopes,
    computes_in,
    extremes,
    penalty_of,
    released_below,
    slopes_of,
    stopped_slopes,
)
from .quantities import match_gradient, match_gradient_or_sum, match_value, quantities
from .report import (
    ANSWERS,
    ENTROPY,
    REWARD,
    SAMPLES,
    SEVERAL,
    TOKENS,
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
EVERY, FAILED = "every problem", Match("failed", exact=False)
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
    reduction: AddingUp | None = None

    @property
    def single(self) -> bool:
        """Whether agreement is that of float32."""
        return self.precision == "float32"

    @property
    def adds(self) -> str:
        """How a batch is added up, "unknown" if that could not be told."""
        return "unknown" if self.reduction is None else self.reduction.batch

    def measure(self, problems: Sequence[Problem], *, undivided: bool = False) -> Results:
        """The expected loss and gradient on each; raises LossError.

        A division by the padded length is undone, and if `undivided` one by the tokens of the batch.
        """
        return [
            (p, measure(self.loss, self.names, p, self.samples, weights=self.weights(p, undivided)))
            for p in problems
        ]

    def weights(self, problem: Problem, undivided: bool = False) -> Tensor | None:
        """What a sequence's loss is multiplied by for that, or None."""
        if undivided and self.adds == "token mean":
            return problem.lengths
        if self.reduction is not None and self.reduction.padding == "divides by the padded length":
            return full_like(problem.lengths, problem.length + padding(problem))
        return None

    def match(self, results: Results) -> Match:
        """Which quantity's gradient the measured ones are, or which sum of quantities'; else the nearest."""
        problems, measured = [r[0] for r in results], [r[1] for r in results]
        return match_gradient_or_sum(measured, problems, self.samples, single=self.single)


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
    draft = _draft(_Audited(loss, names, samples, seed, []), called)
    draft = replace(draft, advantages="one an answer" if answers else "one a token")
    if draft.drops_penalty:
        # Where a prompt is solved its groups agree: what holds the others there is not there.
        draft = replace(draft, law="not known", selects="none")
    return replace(draft, verdict=verdict_of(draft))


def _draft(audited: _Audited, called: str) -> AuditReport:
    """All that is found, before a verdict."""
    audited, why = _first_look(audited)
    batches, results = _measure_all(audited)
    if why and results and why not in {failure.what for failure in audited.failures}:
        audited.failures.append(Failure(SEVERAL, why))
    outcomes = [r for r in results if r[0].length == 1]
    sequences = [r for r in results if r[0].length > 1]
    alone = bool(results) and batches is None
    found_extremes, slopes = _at_extremes(audited) if results else ((), NO_SLOPES)
    gradient, sequence_gradient = (audited.match(of) for of in (outcomes, sequences))
    found = {ANSWERS: (sequences, sequence_gradient), TOKENS: (outcomes, gradient)}
    scope, known = _known(audited, found, slopes) if alone else (ANSWERS, sequence_gradient)
    minimiser = _minimiser(audited, outcomes) if audited.samples == "filtered" and batches is None else None
    # Beyond a clamp that holds a value and not its slope, the law near says nothing.
    near = scope == ANSWERS and known.exact and bool(slopes.dead)
    law = law_of(audited.samples, known if near else sequence_gradient, minimiser, released_below(slopes))
    return AuditReport(
        loss=called,
        samples=audited.samples,
        verdict="",
        value=_value(audited, outcomes),
        gradient=gradient,
        sequence_gradient=sequence_gradient,
        unequal_gradient=_unequal(audited) if results else FAILED,
        known=known,
        scope=scope,
        limits=_limits(audited, known, scope, slopes) if alone else (),
        terms=_terms(audited) if alone else (),
        reduction=audited.reduction,
        precision=audited.precision,
        batches=batches,
        minimiser=minimiser,
        law=law.law,
        selects=law.selects,
        variance=_relative_variance(results),
        extremes=found_extremes,
        dead_zones=slopes.dead,
        rounded_zones=slopes.rounded,
        failures=tuple(audited.failures),
        stopped=_stopped(audited) if results else (),
        equal_groups=_equal_groups(audited) if alone else None,
        broadcast=mixing_broadcast(audited.loss, audited.names),
    )


def _first_look(audited: _Audited) -> tuple[_Audited, str]:
    """Whether it is steady, how precisely it computes, and how it adds up.

    The last is why a batch of several sequences fails, if it does.
    """
    problem = (ending_problems if "mask" in audited.names else random_problems)(audited.seed)[-1]
    given = (audited.loss, audited.names, problem, audited.samples)
    try:
        if is_random(*given):
            why = "two calls on the same batch differ: it is random, or remembers"
            audited.failures.append(Failure(EVERY, why))
            return audited, ""
        audited = replace(audited, precision=computes_in(*given))
        if audited.precision != "16 bits":
            audited = replace(audited, reduction=reduction_of(*given, single=audited.single))
        return audited, ""
    except LossError as error:
        return audited, str(error)


def _measure_all(audited: _Audited) -> tuple[Batches | None, Results]:
    """The results of every problem that does not fail, on pairs where the loss couples its batch."""
    problems = random_problems(audited.seed)
    if any(failure.problem == EVERY for failure in audited.failures):
        return None, []
    if audited.adds in ("coupled", "pairs only"):
        given = (audited.loss, audited.names, problems, audited.samples)
        try:
            return enumerate_batches(*given, single=audited.single)
        except LossError as error:
            audited.failures.append(Failure("batches of one, two and three", str(error)))
            return None, []
    results: Results = []
    for problem in problems:
        try:
            results += audited.measure([problem])
        except LossError as error:
            audited.failures.append(Failure(problem.name, str(error)))
    return None, results


def _known(
    audited: _Audited, found: Mapping[str, tuple[Results, Match]], slopes: Slopes
) -> tuple[str, Match]:
    """What is said of its gradient, and on what: exact, near log ratios of zero, or the nearest."""
    for scope, (results, match) in found.items():
        near = match if match.exact else _near(audited, results, slopes)
        if near.exact:
            return scope, near
    scope = ANSWERS if found[ANSWERS][1].name != "failed" else TOKENS
    return scope, _nearest(audited, *found[scope])


def _nearest(audited: _Audited, results: Results, found: Match) -> Match:
    """What it is near on the problems of other seeds too."""
    if found.angle is None:
        return found
    shapes = {problem.name for problem, _ in results}
    seeds = range(audited.seed + 1, audited.seed + 1 + OTHER_SEEDS)
    try:
        more = [p for seed in seeds for p in random_problems(seed) if p.name in shapes]
        return _matched(match_gradient, audited, [*results, *audited.measure(more)])
    except LossError:
        return found


def _matched(by: Callable[..., Match], audited: _Audited, results: Results) -> Match:
    known = [quantities(problem, audited.samples) for problem, _ in results]
    lengths = [float(problem.length) for problem, _ in results]
    return by([m for _, m in results], known, lengths, single=audited.single)


def _value(audited: _Audited, results: Results) -> Match:
    return _matched(match_value, audited, results)


def _unequal(audited: _Audited) -> Match:
    """The gradient on sequences of unequal lengths; a token mean in the limit of large batches."""
    if audited.adds in ("coupled", "pairs only", "unknown"):
        return FAILED
    try:
        found = audited.match(audited.measure(ending_problems(audited.seed), undivided=True))
    except LossError as error:
        audited.failures.append(Failure("sequences of unequal lengths", str(error)))
        return FAILED
    # The mean over all tokens of a large batch is the sum over them by the expected length.
    divided = audited.adds == "token mean" and found.exact and found.name != "zero"
    return replace(found, per_token=1) if divided else found


def _reach(slopes: Slopes) -> float:
    """Log ratios that count as near zero: within half of what a clamp lets through."""
    return min([NEAR, *(abs(end) / 2 for zone in slopes.dead for end in zone if end)])


def _near(audited: _Audited, results: Results, slopes: Slopes) -> Match:
    """The gradient where all log ratios are near zero, of a loss whose gradient elsewhere is not exact."""
    problems = [near_the_reference(problem, _reach(slopes)) for problem, _ in results]
    try:
        match = audited.match(audited.measure(problems))
    except LossError:
        return FAILED
    # Near zero all divergences are alike: a sum of two of them fits what is none.
    divergences = [name for _, name in match.terms if not name.startswith((REWARD, ENTROPY))]
    return match if match.exact and match.name != "zero" and len(divergences) < 2 else FAILED


def _limits(audited: _Audited, known: Match, scope: str, slopes: Slopes) -> tuple[Limit, ...]:
    """How far the one that is exact holds."""
    return limits_of(
        audited.loss,
        audited.names,
        known,
        audited.samples,
        sequences=scope == ANSWERS,
        single=audited.single,
        reach=_reach(slopes),
        weights=audited.weights,
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

    outcomes = sum(problem.length == 1 for problem in random_problems(audited.seed))
    both = ("advantages", "log_ref")
    parts: dict[str, Loss] = {
        "policy": lambda **given: without(given) - without(given, "advantages"),
        "KL": lambda **given: without(given, "advantages") - without(given, *both),
        "other": lambda **given: without(given, *both),
    }
    found = []
    for name, loss in parts.items():
        part = replace(audited, loss=loss)
        try:
            results = part.measure(random_problems(audited.seed))
        except LossError:
            return ()
        of = {ANSWERS: results[outcomes:], TOKENS: results[:outcomes]}
        told = {scope: (some, part.match(some)) for scope, some in of.items()}
        if any(match.name != "zero" for _, match in told.values()):
            found.append(Term(name, _known(part, told, NO_SLOPES)[1]))
    return tuple(found) if len(found) > 1 else ()


def _stopped(audited: _Audited) -> tuple[Stopped, ...]:
    try:
        return () if audited.adds == "pairs only" else stopped_slopes(audited.loss, audited.names)
    except LossError:
        return ()


def _equal_groups(audited: _Audited) -> EqualGroups | None:
    problems = [problem for problem in random_problems(audited.seed) if problem.length > 1]
    given = (audited.loss, audited.names, problems, audited.samples)
    return equal_groups_of(*given, audited.match, audited.reduction)


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


def _at_extremes(audited: _Audited) -> tuple[tuple[Extremes, ...], Slopes]:
    """What happens at extreme log ratios of a single token; nothing for a loss that takes no single one."""
    if audited.adds == "pairs only":
        return (), NO_SLOPES
    try:
        loss = penalty_of(audited.loss, audited.names)
        return extremes(loss, audited.names), slopes_of(loss, audited.names)
    except LossError as error:
        audited.failures.append(Failure("extreme log ratios", str(error)))
        return (), NO_SLOPES
