"""Audit of a loss: the quantities that its value estimates and its gradient minimises, and training's limit.

A loss is a torch callable of some of (log_pi, log_ref, log_old, advantages, mask), shapes (batch, tokens),
that returns a scalar. Its expectation over detached samples is summed exactly and compared with the
divergences of the theory.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import torch

from ..support.errors import choice
from .argument_names import Loss
from .batches import enumerate_batches, reduction_of
from .called_loss import CALLS, Audited, ExpectedLoss, LossError
from .convergence import convergence_of, find_minimiser
from .declared_losses import declared_loss
from .domain import NEAR_REFERENCE, limits_of
from .log_ratios import AtExtremes, at_extremes, computes_in, stopped_ratios
from .problem import Problem, near_the_reference, random_problems
from .quantities import match_gradient, match_value, nearest
from .report import ANSWERS, ENTROPY, REWARD, SAMPLES, SEVERAL, TOKENS, AuditReport, Finding, Match
from .shapes import mixes_answers, with_one_an_answer
from .verdict import verdict_of

OTHER_SEEDS = 2
"""Further problems of each shape on which the nearest quantity is compared."""
EVERY, FAILED = "every problem", Match("failed", exact=False)
_T = TypeVar("_T")


def audit(loss: Loss, *, samples: str = "policy", name: str | None = None, seed: int = 0) -> AuditReport:
    """Find what a loss's value estimates and its gradient minimises, exactly, on random small problems.

    Args:
        loss: Torch function of any of log_pi, log_ref, log_old, advantages, mask, float64 tensors
            (batch, tokens) in nats, advantages also (batch,), to a scalar.
        samples: "policy" (old = current policy), "old_policy", "reference", or "filtered" (correct samples of
            the reference).
        name: Name in the report.
        seed: Seed of the problems.

    Raises:
        ValueError: If the samples or a parameter of the loss are unknown.

    Example:
        >>> audit(lambda log_pi, log_ref: (log_pi - log_ref).square().mean() / 2, name="k2").gradient.name
        'reverse KL(pi||ref)'

    Source: ours, entries `kl_estimators`, `sequence_penalties`, `token_penalties`.
    """
    choice("samples", samples, SAMPLES)
    audited = with_one_an_answer(Audited.from_function(loss, samples))
    draft = _Audit(audited, seed).draft(name or str(getattr(loss, "__name__", "the loss")))
    if draft.drops_penalty:
        # Where a prompt is solved its groups agree: what holds the others there is not there.
        draft = replace(draft, acts_on="not known", selects="none")
    return replace(draft, verdict=verdict_of(draft))


def _failure(problem: str, what: str) -> Finding:
    return Finding(f"{problem}: {what}", {"problem": problem, "what": what})


class _Audit:
    """Audit of one loss; `failures` grows as problems fail."""

    def __init__(self, audited: Audited, seed: int) -> None:
        self.audited, self.seed, self.failures = audited, seed, list[Finding]()

    def attempt(self, compute: Callable[[], _T], otherwise: _T, what: str = "") -> _T:
        """Return compute(), or `otherwise` if the loss fails; recorded if `what` names the test."""
        try:
            return compute()
        except LossError as error:
            self.failures += [_failure(what, str(error))] if what else []
            return otherwise

    def match(self, measured: Sequence[ExpectedLoss]) -> Match:
        return match_gradient(measured, in_float32=self.audited.in_float32)

    def matches(self, measured: Sequence[ExpectedLoss]) -> dict[str, tuple[list[ExpectedLoss], Match]]:
        """Problems measured and their match, by kind: answers of several tokens, and single tokens."""
        sequences = [m for m in measured if m.problem.length > 1]
        outcomes = [m for m in measured if m.problem.length == 1]
        return {ANSWERS: (sequences, self.match(sequences)), TOKENS: (outcomes, self.match(outcomes))}

    def draft(self, name: str) -> AuditReport:
        """Report with all findings but without a summary yet."""
        failure = self.settle_reduction()
        batches, measured = self.measure_all()
        if failure and measured and failure not in {earlier.what for earlier in self.failures}:
            self.failures.append(_failure(SEVERAL, failure))
        audited, matches = self.audited, self.matches(measured)
        (_, sequence_gradient), (outcomes, gradient) = matches[ANSWERS], matches[TOKENS]
        single = bool(measured) and audited.batch_reduction != "pairs only"
        extreme = AtExtremes()
        if single:
            extreme = self.attempt(partial(at_extremes, audited), extreme, "extreme log ratios")
        alone = bool(measured) and batches is None
        scope, descended = self.descended(matches, extreme) if alone else (ANSWERS, sequence_gradient)
        length = 2 if scope == ANSWERS else 1
        minimiser = None
        if audited.samples == "filtered" and batches is None and outcomes:
            minimise = partial(find_minimiser, audited, [m.problem for m in outcomes])
            minimiser = self.attempt(minimise, None, "its minimiser on filtered samples")
        # Beyond a clamp that holds a value and not its slope, the policy near says nothing.
        near = descended if scope == ANSWERS and descended.exact and extreme.dead else sequence_gradient
        acts_on, selects = convergence_of(audited.samples, near, minimiser, extreme.released_below)
        return AuditReport(
            loss=name,
            samples=audited.samples,
            verdict="",
            value=match_value(outcomes, in_float32=audited.in_float32),
            gradient=gradient,
            sequence_gradient=sequence_gradient,
            unequal_gradient=self.unequal() if measured else FAILED,
            descended=descended,
            scope=scope,
            limits=limits_of(audited, descended, length=length, reach=_reach(extreme)) if alone else (),
            terms=self.terms() if alone else (),
            reduction=audited.reduction,
            precision=audited.precision,
            batches=batches,
            minimiser=minimiser,
            acts_on=acts_on,
            selects=selects,
            extremes=extreme.extremes,
            dead_zones=extreme.dead,
            failures=tuple(self.failures),
            stopped=self.attempt(partial(stopped_ratios, audited), ()) if single else (),
            equal_groups=self.equal_groups() if alone else None,
            mixes_answers=mixes_answers(audited) is True,
            declared=declared_loss(audited, name) if measured and audited.samples in SAMPLES[:2] else "",
        )

    def settle_reduction(self) -> str:
        """Set the precision and reduction of the loss, if it is deterministic; return why it fails, or ""."""
        problem = random_problems(self.seed, ends="mask" in self.audited.names)[-1]
        try:
            inputs = self.audited.rows(self.audited.batch(problem), range(len(problem.token)), problem)
            if len({float(self.audited.value(inputs).detach()) for _ in range(CALLS)}) > 1:
                what = "two calls on the same batch differ: it is random, or remembers"
                self.failures.append(_failure(EVERY, what))
                return ""
            self.audited = replace(self.audited, precision=computes_in(self.audited, problem))
            if self.audited.precision != "16 bits":
                self.audited = replace(self.audited, reduction=reduction_of(self.audited, problem))
        except LossError as error:
            return str(error)
        return ""

    def measure_all(self) -> tuple[Finding | None, list[ExpectedLoss]]:
        """Expected losses of the problems that do not fail; for coupled batches, on pairs, with a Finding."""
        problems = random_problems(self.seed)
        if any(failure.problem == EVERY for failure in self.failures):
            return None, []
        if self.audited.batch_reduction in ("coupled", "pairs only"):
            nothing: tuple[Finding | None, list[ExpectedLoss]] = (None, [])
            pairs = partial(enumerate_batches, self.audited, problems)
            return self.attempt(pairs, nothing, "batches of one, two and three")
        measured = [self.attempt(partial(self.audited.measure, p), None, p.name) for p in problems]
        return None, [m for m in measured if m is not None]

    def descended(
        self, matches: Mapping[str, tuple[Sequence[ExpectedLoss], Match]], extreme: AtExtremes
    ) -> tuple[str, Match]:
        """Scope of the gradient (answers or tokens) and its match: exact, exact near zero, or nearest."""
        for scope, (measured, match) in matches.items():
            near = match if match.exact else self.near(measured, _reach(extreme))
            if near.exact:
                return scope, near
        scope = ANSWERS if matches[ANSWERS][1].name != "failed" else TOKENS
        measured, match = matches[scope]
        if match.angle is None:
            return scope, match
        shapes = {m.problem.name for m in measured}
        seeds = range(self.seed + 1, self.seed + 1 + OTHER_SEEDS)
        problems = [p for seed in seeds for p in random_problems(seed) if p.name in shapes]
        return scope, self.attempt(lambda: nearest([*measured, *map(self.audited.measure, problems)]), match)

    def near(self, measured: Sequence[ExpectedLoss], reach: float) -> Match:
        """Exact match of the gradient at log ratios below `reach` if there is a unique one, else FAILED."""
        problems = [near_the_reference(m.problem, reach) for m in measured]
        match = self.attempt(lambda: self.match([self.audited.measure(p) for p in problems]), FAILED)
        # Near zero all divergences are alike: a sum of two of them fits what is none.
        divergences = [name for _, name in match.terms if not name.startswith((REWARD, ENTROPY))]
        return match if match.exact and match.name != "zero" and len(divergences) < 2 else FAILED

    def unequal(self) -> Match:
        """Match of the gradient on sequences of unequal lengths; token means in the large-batch limit."""
        if self.audited.batch_reduction in ("coupled", "pairs only", "unknown"):
            return FAILED
        measure = partial(self.audited.measure, undivided=True)
        what, problems = "sequences of unequal lengths", random_problems(self.seed, ends=True)
        match = self.attempt(lambda: self.match([*map(measure, problems)]), FAILED, what)
        # The mean over all tokens of a large batch is the sum over them by the expected length.
        divided = self.audited.batch_reduction == "token mean" and match.exact and match.name != "zero"
        return replace(match, per_token=1) if divided else match

    def terms(self) -> tuple[Finding, ...]:
        """Parts of a loss: policy (vanishes without advantages), KL (needs the reference), and the rest.

        Empty if there is only one part.
        """
        if "advantages" not in self.audited.names:
            return ()
        rest = self.audited.at_zero_advantages()
        other = rest.with_inputs(log_ref=lambda inputs: inputs["log_pi"].detach())
        parts = {"policy": self.audited - rest, "KL": rest - other, "other": other}
        terms = []
        for name, part in parts.items():
            try:
                measured = [part.measure(p) for p in random_problems(self.seed)]
            except LossError:
                return ()
            audit = _Audit(part, self.seed)
            matches = audit.matches(measured)
            if any(match.name != "zero" for _, match in matches.values()):
                gradient = audit.descended(matches, AtExtremes())[1]
                terms.append(Finding(gradient.words, {"name": name, "gradient": gradient}))
        return tuple(terms) if len(terms) > 1 else ()

    def equal_groups(self) -> Finding | None:
        """Finding on the gradient at zero advantages, and on the weight of such answers beside others."""
        if "advantages" not in self.audited.names:
            return None
        problems = [p for p in random_problems(self.seed) if p.length > 1]
        weight = self.attempt(partial(_weight, self.audited, problems[-1]), "unknown")
        silent = replace(self.audited.at_zero_advantages(), reduction=None)
        gradient, why = FAILED, ""
        try:
            gradient = self.match([silent.measure(p) for p in problems])
        except LossError as error:
            why = str(error)
        left_out = ", left out of the mean" if weight == "left out" else ""
        data = {"gradient": gradient, "weight": weight, "why": why}
        return Finding(f"{why or gradient.words}{left_out}", data)


def _weight(audited: Audited, problem: Problem) -> str:
    """Weight of zero-advantage answers in the mean over answers: "left out", "counted" or "unknown"."""
    if audited.batch_reduction not in ("mean", "token mean"):
        return "unknown"
    inputs, unchanged = audited.batch(problem), []
    first = torch.tensor([[1.0], [0.0]])
    silenced = audited.with_inputs(advantages=lambda inputs: inputs["advantages"] * first)
    for one, other in ((0, 1), (1, 2), (2, 0)):
        # A mean of two of one length halves what each has alone.
        alone = audited.slope(audited.rows(inputs, [one], problem))[1][0]
        paired = silenced.slope(audited.rows(inputs, [one, other], problem))[1][0]
        if float(alone.norm()) > 0:
            unchanged.append(bool(torch.allclose(paired, alone, rtol=1e-6, atol=1e-12)))
    if not unchanged:
        return "unknown"
    return "left out" if all(unchanged) else "counted"


def _reach(extreme: AtExtremes) -> float:
    """Largest |log ratio| that counts as near zero: at most half of a clamp's range."""
    return min([NEAR_REFERENCE, *(abs(end) / 2 for zone in extreme.dead for end in zone if end)])
