"""The trainer's settings with types and defaults, as stored: TRL's own take seconds to import."""

from ast import literal_eval
from pathlib import Path
from typing import Any, get_type_hints

_TRL, _OURS = (
    [line.replace(": ", " = ", 1).split(" = ", 2) for line in part.splitlines()]
    for part in (Path(__file__).parent / "settings.txt").read_text(encoding="utf-8").split("\n\n")
)
SETTINGS: dict[str, Any] = {name: literal_eval(default) for name, _, default in (*_TRL, *_OURS)}
"""The fields of OnlineConfig with their defaults."""
KINDS: dict[str, Any] = get_type_hints(
    type("Kinds", (), {"__annotations__": {name: kind for name, kind, _ in (*_TRL, *_OURS)}}),
    localns={"Any": Any},
)
"""Their types; a member of an enumeration is its text."""
OWN = frozenset(name for name, *_ in _OURS)
"""Those that GRPOConfig lacks."""
