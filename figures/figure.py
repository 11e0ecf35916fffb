"""What a figure is: numbers from records or from theory, a drawing of them, a title that they bear out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dph_theory.support.table import Table

from .frames import Records
from .style import Sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure by name: `numbers(records)` are computed or read, `draw(sheet, numbers)` draws them.

    `claim(numbers)` is whether the title is so, `table(numbers)` what is printed beside the drawing, `quotes`
    the few numbers that a paper's text would name. `needs` are the records that are read. `caption` says in
    three sentences what to see and how it was computed.
    """

    name: str
    title: str
    caption: str
    numbers: Callable[[Records], Any]
    draw: Callable[[Sheet, Any], None]
    claim: Callable[[Any], bool]
    table: Callable[[Any], Table]
    quotes: Callable[[Any], Mapping[str, float | str]] = lambda numbers: {}
    needs: tuple[str, ...] = ()

    def drawing(self, numbers: Any, sheet: Sheet | None = None) -> "Drawing":
        """The picture of these numbers, on a sheet of a venue's width and fonts."""
        sheet = sheet or Sheet()
        with sheet.look():
            self.draw(sheet, numbers)
        return sheet.finished()
