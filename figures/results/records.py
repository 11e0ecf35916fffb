"""The records that figures read, each as its own classes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dph_theory.support.errors import argument_error

from . import store
from .demo import Demo
from .laws import Laws

if TYPE_CHECKING:
    from toy_lm.collapse.results import Results as Collapse
    from toy_lm.strategies.config import Config as StrategiesConfig
    from toy_lm.strategies.results import Results as Strategies
    from toy_lm.styles.results import Results as Styles

Record = Mapping[str, Any]

FULL_SCALE = {"demo": ("full_scale_demo", "full_scale.demo"), "laws": ("laws", "laws")}
"""Records of full-scale runs, which are read as they are committed: by name, their file's name and kind."""


def stored_name(name: str, quick: bool) -> str:
    """The name under which an experiment's record is kept."""
    return f"toy_{name}{'_quick' if quick else ''}"


@dataclass(frozen=True)
class Records:
    """Records by name, read when they are asked for; ValueError for one that is not among them."""

    stored: Mapping[str, Record]

    @classmethod
    def load(cls, names: Iterable[str], *, quick: bool = False, folder: Path = store.NUMBERS) -> "Records":
        """The records of those names, experiments from the folder; ValueError if one is not there."""
        found = {
            name: store.load(*FULL_SCALE[name])
            if name in FULL_SCALE
            else store.load(stored_name(name, quick), f"toy.{name}", folder)
            for name in names
        }
        return cls(found)

    def __contains__(self, name: str) -> bool:
        return name in self.stored

    def of(self, name: str) -> Record:
        """A record as it is stored."""
        if name not in self.stored:
            raise argument_error("record", name, f"one of {', '.join(self.stored) or 'no others'}")
        return self.stored[name]

    # The packages are imported as they are needed: figures of the theory read none of them.
    @cached_property
    def collapse(self) -> "Collapse":
        """What `dph toy collapse` found."""
        from toy_lm.collapse import read

        return read(self.of("collapse"))

    @cached_property
    def strategies(self) -> "tuple[StrategiesConfig, Strategies]":
        """How `dph toy strategies` was set up, and what it found."""
        from toy_lm.strategies import read

        return read(self.of("strategies"))

    @cached_property
    def styles(self) -> "Styles":
        """What `dph toy styles` found."""
        from toy_lm.styles import read

        return read(self.of("styles"))

    @cached_property
    def demo(self) -> Demo:
        """What `dph demo` found."""
        return Demo.read(self.of("demo"))

    @cached_property
    def laws(self) -> Laws:
        """The runs of `dph laws`."""
        return Laws.read(self.of("laws"))
