"""The symbolic check: the steps of a derivation, decided, and tied to the statement where they are it."""

from collections.abc import Mapping
from inspect import signature
from typing import Any

import sympy
from flint import acb, arb

from ...numeric.balls import precision
from ...statement.charts import Instance, OutsideDomainError, as_balls
from ...statement.theorem import Claim, FalseStep, Relation, Theorem, Verdict
from ..proofs.decision import Decision, decide
from ..proofs.evaluation import NotEvaluatedError, value
from .certified import rational_instances
from .result import CheckResult

TIED_AT = 6
"""Random instances, beside the examples, at which a claim is compared with the statement's sides."""
TIED_BITS = 384
TIED_WIDTH = 1e-25


def symbolic(theorem: Theorem, *, seed: int = 0, first_only: bool = False) -> CheckResult:
    """PROVED or DERIVED if every step is decided and every false step refused, REFUTED if a step is false.

    PROVED only if claims say that they are the statement, and are at instances. UNDECIDED otherwise, and for
    a derivation without a claim or without a false step. With `first_only` a claim goes to the second
    decider only if the first does not prove it; a false step is tried at the same points in every run.
    """
    steps = list(theorem.derivation()) if theorem.derivation else []
    decided: list[Decision] = []
    for step in steps:
        if isinstance(step, str):
            decided.append(Decision(step, None, kind="sentence"))
        elif isinstance(step, FalseStep):
            decided.append(_refused(decide(step)))
        else:
            decided.append(decide(step, seed=seed, first_only=first_only))
    kinds = {step.kind for step in decided}
    failed = [f"{d.text}: {d.detail}" for d in decided if d.verdict in (Verdict.REFUTED, Verdict.UNDECIDED)]
    failed += [f"no {kind} is given" for kind in ("claim", "false step") if kind not in kinds]
    verdict = Verdict.DERIVED
    if failed:
        false = any(d.verdict is Verdict.REFUTED for d in decided)
        verdict = Verdict.REFUTED if false else Verdict.UNDECIDED
    elif states := [step for step in steps if isinstance(step, Claim) and step.states is not None]:
        failed = untied(theorem, states)
        verdict = Verdict.UNDECIDED if failed else Verdict.PROVED
    number = sum(step.kind != "sentence" for step in decided)
    return CheckResult("symbolic", verdict, number, detail="; ".join(failed), steps=tuple(decided))


def _refused(found: Decision) -> Decision:
    """The decision on a false step: PROVED that it is false, or UNDECIDED."""
    if found.verdict is Verdict.REFUTED:
        return Decision(found.text, Verdict.PROVED, found.by, found.detail, kind="false step")
    return Decision(found.text, Verdict.UNDECIDED, (), "is false, and was not refused", kind="false step")


def untied(theorem: Theorem, claims: list[Claim]) -> list[str]:
    """Where claims that say they are the statement are not; the components that no claim speaks of."""
    if theorem.relation is Relation.TENDS:
        return ["a limit is no claim"]
    found = []
    instances = [*rational_instances(theorem, TIED_AT, seed=0)]
    for claim in claims:
        compared = [_differs(theorem, claim, instance) for instance in instances]
        if any(compared) or all(differs is None for differs in compared):
            found.append(f"{claim.text}: is not the statement")
    with precision(TIED_BITS):
        components = theorem.sides(as_balls(instances[0]))[0].size
    missing = sorted(set(range(components)) - {claim.component for claim in claims})
    return found + [f"component {component} is stated by no claim" for component in missing]


def _differs(theorem: Theorem, claim: Claim, instance: Instance) -> bool | None:
    """Whether the claim's sides are not the statement's at an instance; None where it has none."""
    with precision(TIED_BITS):
        balls = as_balls(instance)
        try:
            parts = theorem.instances.completed(balls)
            lhs, rhs = (arb(side.ravel()[claim.component]) for side in theorem.sides(balls))
        except OutsideDomainError:
            return None
        place = _symbols_at(claim, parts)
        try:
            left, right = (value(sympy.sympify(side), place) for side in (claim.expression, claim.equals))
        except NotEvaluatedError:
            return True
        same = claim.sign == "=0"
        gaps = (left - lhs, right - rhs) if same else (left - right - (rhs - lhs),)
        return not all(gap.contains(acb(0)) and float(gap.real.rad()) < TIED_WIDTH for gap in gaps)


def _symbols_at(claim: Claim, parts: Mapping[str, Any]) -> dict[sympy.Symbol, acb]:
    states = claim.states or dict
    first = {name: parts[name][0] for name in signature(states).parameters}
    own = {name: part[()] if getattr(part, "ndim", 1) == 0 else part for name, part in first.items()}
    return {symbol: acb(number) for symbol, number in states(**own).items()}
