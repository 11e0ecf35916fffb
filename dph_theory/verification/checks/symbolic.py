"""The symbolic check: every step of a theorem's derivation is tried at points and proved by the deciders."""

from ...statement.theorem import Theorem, Verdict
from ..proofs.decision import decide
from .result import CheckResult


def symbolic(theorem: Theorem, *, seed: int = 0, first_only: bool = False) -> CheckResult:
    """PROVED if every claim is, REFUTED if one is false, UNDECIDED otherwise.

    With `first_only` a claim goes to the second decider only if the first does not prove it.
    """
    if theorem.symbolic is None:
        return CheckResult("symbolic", Verdict.UNDECIDED, 0, detail="no derivation given")
    decisions = tuple(decide(claim, seed=seed, first_only=first_only) for claim in theorem.symbolic())
    ranking = (Verdict.REFUTED, Verdict.UNDECIDED, Verdict.PROVED)
    verdict = next(v for v in ranking if any(decision.verdict is v for decision in decisions))
    detail = "; ".join(f"{d.text}: {d.detail}" for d in decisions if d.verdict is not Verdict.PROVED)
    return CheckResult("symbolic", verdict, len(decisions), detail=detail, claims=decisions)
