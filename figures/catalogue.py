"""Catalogue of all figures by name; a figure's gallery module is imported on demand."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dph_theory.support.errors import choice
from dph_theory.support.table import Table

from .frames import Records
from .style import Sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

NAMES = (
    "sql",
    "transfer",
    "pass_at_k",
    "styles",
    "real_runs",
    "stationary_policies",
    "implicit_bias",
    "collapse",
    "bounds",
    "what_your_kl_does",
    "pretrained",
    "distance",
    "what_your_advantage_weighs",
    "mu_beta",
    "tilted_to_filtered",
    "forward_reverse_fits",
    "losing_a_strategy",
    "kl_both_ways",
    "sweeps",
    "keep_and_explore",
    "training_curves",
    "published",
    "budget_and_family",
    "drift",
    "causes_of_misses",
)  # In the order of the report, whose first screen has the first ten.


@dataclass(frozen=True)
class Figure:
    """A figure: numbers from records or theory, a drawing of them, and a title that is checked against them.

    `numbers(records)` computes or reads the numbers, `draw(sheet, numbers)` draws them, `claim(numbers)`
    tests the title, `table(numbers)` is printed beside the drawing, and `quotes(numbers)` are the few numbers
    for a paper's text. `needs` names the records that are read.
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

    def finding(self, numbers: Any) -> str:
        """The title, or a note that the numbers contradict it."""
        return self.title if self.claim(numbers) else f"Not so in these numbers: {self.title}"

    def drawing(self, numbers: Any, sheet: Sheet | None = None) -> "Drawing":
        """Draw these numbers on a sheet of a venue's width and fonts.

        Above the drawing stands the finding, if the sheet has one.
        """
        sheet = sheet or Sheet()
        finding = self.finding(numbers) if sheet.title == "finding" else ""
        with sheet.look():
            self.draw(sheet, numbers)
            return sheet.finished(finding)


def figure(name: str) -> Figure:
    """Load the figure of that name; ValueError lists the names.

    Its module's docstring is the title and, below, the caption; NEEDS and `quotes` are optional.
    """
    choice("figure", name, NAMES)
    module = importlib.import_module(f"figures.gallery.{name}")
    title, _, caption = str(module.__doc__).partition("\n\n")
    words = (name, title.removesuffix("."), " ".join(caption.split()))
    more = {key.lower(): getattr(module, key) for key in ("quotes", "NEEDS") if hasattr(module, key)}
    return Figure(*words, module.numbers, module.draw, module.claim, module.table, **more)
