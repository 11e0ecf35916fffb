"""What a figure is: numbers computed from a configuration, and a drawing of nothing but those numbers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dph_theory.support.record import checked, record

from .results import experiments, store

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


@dataclass(frozen=True)
class Figure:
    """A figure by name: `compute(config, records)` makes its results, `draw(record)` its picture.

    `config` is what the stored numbers are computed from, `quick` what differs in a reduced run; compute is
    told `seed` and `quick` too. `needs` names the records (`figures.results.experiments`) that compute gets;
    a figure that needs some keeps no numbers of its own.
    `findings(results)` are sentences that follow from the numbers; `caption` says what to see and how it was
    computed.
    """

    name: str
    title: str
    caption: str
    compute: Callable[[Mapping[str, Any], Mapping[str, experiments.Record]], dict[str, Any]]
    draw: Callable[[Mapping[str, Any]], "Drawing"]
    config: Mapping[str, Any] = field(default_factory=dict)
    quick: Mapping[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    findings: Callable[[Mapping[str, Any]], list[str]] = lambda results: []
    packages: tuple[str, ...] = ("numpy", "scipy")

    @property
    def kind(self) -> str:
        """The kind of its record."""
        return f"figure.{self.name}"

    def numbers(self, *, seed: int = 0, quick: bool = False, folder: Path = store.NUMBERS) -> dict[str, Any]:
        """The record that is stored and drawn, computed from the experiments' records in the folder."""
        config = {**self.config, **(self.quick if quick else {}), "quick": quick}
        read = experiments.records(self.needs, quick=quick, folder=folder)
        results = self.compute({**config, "seed": seed}, read)
        said = self.findings(results)
        return record(
            self.kind, seed=seed, config=config, results=results, findings=said, packages=self.packages
        )

    def stored(self, folder: Path = store.NUMBERS) -> dict[str, Any]:
        """Its record as it is kept in the folder; of a figure that needs records, computed from these."""
        return self.numbers(folder=folder) if self.needs else store.load(self.name, self.kind, folder)

    def drawing(self, numbers: Any) -> "Drawing":
        """The picture of a stored record; ValueError if it is another figure's."""
        from .look.theme import look

        with look():
            return self.draw(checked(numbers, self.kind))
