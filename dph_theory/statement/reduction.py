"""A theorem reduced to a few scalars on a box, which ball arithmetic can decide as a whole."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..numeric.boxes import Range, Scalar, described
from ..support.errors import argument_error


@dataclass(frozen=True)
class Reduction:
    """The scalars of a statement, the way from them to its instances, and the statement in them.

    `instance` gives the parts of the instance, nested lists of scalars or of booleans, from the scalars of
    `box` and of `free`, those on which the statement does not depend. A bound states `gap`, its components
    of (rhs - lhs)/factor with a positive `factor` each; an identity states `sides`, its pairs (lhs, rhs).
    `components` are those of the statement that it speaks of, all if None. `zero` names a scalar and the
    order to which every gap vanishes with it: that power is divided out. `tolerance` is the error that is to
    be shown of an identity.
    """

    text: str
    box: Mapping[str, Range]
    instance: Callable[..., Mapping[str, Any]]
    gap: Callable[..., Sequence[Scalar]] | None = None
    sides: Callable[..., Sequence[tuple[Scalar, Scalar]]] | None = None
    factor: Callable[..., Sequence[Scalar]] | None = None
    components: tuple[int, ...] | None = None
    zero: tuple[str, int] | None = None
    free: Mapping[str, Range] = field(default_factory=dict)
    tolerance: float = 1e-6

    def __str__(self) -> str:
        return described({**self.box, **self.free})

    def pairs(self, **scalars: Scalar) -> Sequence[tuple[Scalar, Scalar]]:
        """The two sides of an identity; raises ValueError if neither they nor a gap are stated."""
        if self.sides is None:
            raise argument_error("sides", self.sides, "what an identity states, where there is no gap")
        return self.sides(**scalars)
