"""What a figure is: results computed from a configuration, and a drawing of nothing but those results."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from dph_theory.support.record import as_json, checked, from_json, record
from dph_theory.support.table import Table

from . import records
from .records import Records
from .style.venues import Venue

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

DIGITS = 8
"""Significant digits of the numbers that figures store, more than can be seen."""


@dataclass(frozen=True, kw_only=True)
class FigureConfig:
    """What every figure is computed from; a figure adds fields of its own."""

    seed: int = 0
    quick: bool = False


_PLAIN: Any = FigureConfig()
C = TypeVar("C", bound=FigureConfig)
R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class Figure(Generic[C, R]):
    """A figure by name: `compute(config, records)` makes its `results`, `draw(config, results)` its picture.

    `config` is what the stored numbers are computed from, `quick` that of a reduced run, if there is one.
    `needs` names the records (`figures.records`) that compute reads; a figure that needs some keeps
    no numbers of its own. `caption` says in three sentences at most what to see and how it was computed,
    `table(results)` gives the numbers to quote.
    """

    name: str
    title: str
    caption: str
    results: type[R]
    compute: Callable[[C, Records], R]
    draw: Callable[[C, R], "Drawing"]
    table: Callable[[R], Table]
    config: C = _PLAIN
    quick: C | None = None
    needs: tuple[str, ...] = ()
    packages: tuple[str, ...] = ("numpy", "scipy")

    @property
    def kind(self) -> str:
        """The kind of its record."""
        return f"figure.{self.name}"

    def numbers(
        self, *, seed: int = 0, quick: bool = False, folder: Path = records.NUMBERS
    ) -> dict[str, Any]:
        """The record that is stored and drawn, computed from the experiments' records in the folder."""
        chosen = (quick and self.quick) or self.config
        config = replace(chosen, seed=seed, quick=quick)
        results = self.compute(config, Records.load(self.needs, quick=quick, folder=folder))
        return record(
            self.kind,
            seed=seed,
            config=as_json(config),
            results=as_json(results, DIGITS),
            findings=(),
            packages=self.packages,
        )

    def stored(self, folder: Path = records.NUMBERS) -> dict[str, Any]:
        """Its record as it is kept in the folder; of a figure that needs records, computed from these."""
        return self.numbers(folder=folder) if self.needs else records.load(self.name, self.kind, folder)

    def read(self, numbers: Any) -> tuple[C, R]:
        """The configuration and results of a record; ValueError if it is another figure's."""
        found = checked(numbers, self.kind)
        return from_json(type(self.config), found["config"]), from_json(self.results, found["results"])

    def drawing(self, numbers: Any, venue: Venue | None = None) -> "Drawing":
        """The picture of a stored record, at the size and with the fonts of a venue."""
        from .style.theme import look

        with look(venue):
            return self.draw(*self.read(numbers))

    def numbers_to_quote(self, numbers: Any) -> Table:
        """The table of a stored record."""
        _, results = self.read(numbers)
        return self.table(results)
