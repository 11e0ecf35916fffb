"""The certified check: the same sides in ball arithmetic at rational instances.

Equality means overlapping balls narrower than 1e-30, an inequality disjoint balls, so that no verdict can
be a rounding artefact. An instance where some component of a bound is attained (balls that overlap however
narrow) is a tie: it neither certifies nor refutes and is not counted.
"""

from collections.abc import Iterator

import numpy as np
from flint import arb

from ...numeric.balls import precision
from ...statement.charts import Instance, OutsideDomainError, as_balls
from ...statement.theorem import Relation, Theorem, Verdict
from .result import CheckResult, pick, plain, smallest
from .search import sample

BITS = (192, 768, 3072)
"""Working precisions, tried in turn until the balls decide."""
WIDTH = 1e-30
INSTANCES = 16


def rational_instances(theorem: Theorem, count: int, seed: int) -> Iterator[Instance]:
    """The theorem's examples, then random instances rounded to few digits, each a batch of one."""
    yield from (example.parts for example in theorem.examples)
    rng = np.random.default_rng(seed)
    batch = theorem.instances(sample(theorem.instances, count, rng))
    for index in range(count):
        yield theorem.instances.rounded(pick(batch, index), theorem.digits)


def compare(relation: Relation, lhs: arb, rhs: arb) -> Verdict:
    """CERTIFIED, REFUTED, or at this precision UNDECIDED, or HOLDS for a tie in a bound."""
    if lhs.is_nan() or rhs.is_nan():
        return Verdict.UNDECIDED
    if not lhs.is_finite() and not rhs.is_finite():
        same = (lhs > 0) == (rhs > 0)
        return Verdict.CERTIFIED if same else Verdict.REFUTED
    if not lhs.overlaps(rhs):
        return Verdict.CERTIFIED if relation is Relation.AT_MOST and lhs < rhs else Verdict.REFUTED
    if max(float(lhs.rad()), float(rhs.rad())) >= WIDTH:
        return Verdict.UNDECIDED
    return Verdict.HOLDS if relation is Relation.AT_MOST else Verdict.CERTIFIED


def certify(theorem: Theorem, instance: Instance) -> Verdict:
    """Compare both sides at one rational instance (fractions), raising the precision until it decides."""
    found = Verdict.UNDECIDED
    for bits in BITS:
        with precision(bits):
            try:
                lhs, rhs = theorem.sides(as_balls(instance))
            except ZeroDivisionError:  # A matrix too wide to invert at this precision.
                continue
            except OutsideDomainError:  # Rounded out of it, or too wide to tell: no evidence.
                return Verdict.HOLDS
            pairs = zip(lhs.ravel(), rhs.ravel(), strict=True)
            found = _combine([compare(theorem.relation, arb(a), arb(b)) for a, b in pairs])
        if found in (Verdict.CERTIFIED, Verdict.REFUTED):
            break
    return found


def _combine(verdicts: list[Verdict]) -> Verdict:
    """Of one instance's components, or of instances: a tie in one lets none of them certify."""
    order = (Verdict.REFUTED, Verdict.UNDECIDED, Verdict.HOLDS, Verdict.CERTIFIED)
    return next((verdict for verdict in order if verdict in verdicts), Verdict.UNDECIDED)


def certified(theorem: Theorem, *, seed: int = 0, count: int = INSTANCES) -> CheckResult:
    """Certify the theorem at its examples and at random rational instances; REFUTED at the first that fails.

    Its examples have to be decided; a random instance whose balls stay too wide is no evidence, and counted
    in the detail, so that no verdict turns with the seed. A theorem expected to be false is also tried at
    the rounded witness of a short random search.
    """
    kept, wide = len(theorem.examples), 0
    verdicts: list[Verdict] = []
    for index, instance in enumerate(_candidates(theorem, count, seed)):
        verdict = certify(theorem, instance)
        if verdict is Verdict.UNDECIDED and index >= kept:
            wide += 1
        elif verdict is not Verdict.HOLDS:
            verdicts.append(verdict)
        if verdict is Verdict.REFUTED:
            return CheckResult("certified", verdict, len(verdicts), witness=plain(instance), seed=seed)
    detail = f"{wide} random instances stayed undecided" if wide else ""
    return CheckResult("certified", _combine(verdicts), len(verdicts), seed=seed, detail=detail)


def _candidates(theorem: Theorem, count: int, seed: int) -> Iterator[Instance]:
    yield from rational_instances(theorem, count, seed)
    if theorem.expected is Verdict.REFUTED:
        yield from _witnesses(theorem, seed)


def _witnesses(theorem: Theorem, seed: int) -> Iterator[Instance]:
    rng = np.random.default_rng(seed)
    batch = theorem.instances(sample(theorem.instances, 4096, rng))
    violation = theorem.violation(batch)
    for index in np.argsort(-violation)[:4]:
        if violation[index] > theorem.tolerance:
            exact = smallest(theorem, pick(batch, int(index)))[1]
            if exact is not None:
                yield exact
