"""The six checks, kernel to enclosed: each maps a theorem to a `CheckResult`."""

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from types import MappingProxyType

from ...statement.theorem import Relation, Theorem
from .certified import certified
from .enclosed import enclosed
from .kernel import kernel
from .result import CheckResult
from .search import adversarial, numeric
from .symbolic import symbolic

CHECKS: Mapping[str, Callable[..., CheckResult]] = MappingProxyType(
    {
        "kernel": kernel,
        "symbolic": symbolic,
        "numeric": numeric,
        "adversarial": adversarial,
        "certified": certified,
        "enclosed": enclosed,
    }
)
"""The checks by name, in the order in which they run."""


def available(theorem: Theorem) -> bool:
    """Whether this machine has the optional package that the theorem needs, if it needs one."""
    return theorem.needs is None or find_spec(theorem.needs) is not None


def applies(check: str, theorem: Theorem) -> bool:
    """Whether the theorem has what the check needs, and this machine what the theorem needs."""
    if not available(theorem):
        return False
    if check == "kernel":
        return bool(theorem.kernels)
    if check == "symbolic":
        return theorem.derivation is not None
    if check == "certified":
        return theorem.certified and theorem.relation is not Relation.TENDS
    if check == "enclosed":
        return bool(theorem.reductions)
    return True


__all__ = [
    "CHECKS",
    "CheckResult",
    "adversarial",
    "applies",
    "available",
    "certified",
    "enclosed",
    "kernel",
    "numeric",
    "symbolic",
]
