"""The five checks, symbolic to enclosed: each maps a theorem to a `CheckResult`."""

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from types import MappingProxyType

from ...statement.theorem import Relation, Theorem
from .adversarial import adversarial
from .certified import certified
from .enclosed import enclosed
from .numeric import numeric
from .result import CheckResult
from .symbolic import symbolic

CHECKS: Mapping[str, Callable[..., CheckResult]] = MappingProxyType(
    {
        "symbolic": symbolic,
        "numeric": numeric,
        "adversarial": adversarial,
        "certified": certified,
        "enclosed": enclosed,
    }
)
"""The checks by name, in the order in which they run."""


def applies(check: str, theorem: Theorem) -> bool:
    """Whether the theorem has what the check needs, and this machine what the theorem needs."""
    if theorem.needs is not None and find_spec(theorem.needs) is None:
        return False
    if check == "symbolic":
        return theorem.symbolic is not None
    if check == "certified":
        return theorem.certified and theorem.relation is not Relation.TENDS
    if check == "enclosed":
        return bool(theorem.reductions)
    return True


__all__ = ["CHECKS", "CheckResult", "adversarial", "applies", "certified", "enclosed", "numeric", "symbolic"]
