"""Allowed values of a configuration's numbers, declared once in its annotations."""

from typing import Annotated, Any, TypeAlias, get_type_hints

from pydantic import Field

from dph_theory.support.checking import typed_arguments

Count: TypeAlias = Annotated[int, Field(ge=1)]
AtLeastTwo: TypeAlias = Annotated[int, Field(ge=2)]
Positive: TypeAlias = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Rate: TypeAlias = Annotated[float, Field(gt=0, lt=1)]
Filled = Field(min_length=1)  # At least one entry, as in `Annotated[tuple[Rate, ...], Filled]`.
Strengths: TypeAlias = Annotated[tuple[Positive, ...], Filled]
Rates: TypeAlias = Annotated[tuple[Rate, ...], Filled]


def check(config: Any) -> None:
    """Check a frozen class against its annotations; ValueError names field, value and what is allowed."""
    hints = get_type_hints(type(config), include_extras=True)
    # A field of a class of its own was checked when it was built.
    own = {name: value for name, value in vars(config).items() if not hasattr(value, "__dict__")}
    typed_arguments({name: hints[name] for name in own}, own, "")
