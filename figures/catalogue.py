"""Every figure by name: a module of the gallery, imported when its figure is asked for."""

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
    "transfer",
    "models",
    "frontier",
    "divisors",
    "pretrained",
    "real_runs",
    "stationary_policies",
    "way_back",
    "budget_and_family",
    "drift",
    "causes_of_misses",
    "direction",
    "filtering",
    "mu_beta",
    "tilted_to_filtered",
    "implicit_bias",
    "forward_reverse_fits",
    "collapse",
    "pass_at_k",
    "styles",
    "sweeps",
    "keep_and_explore",
    "training_curves",
    "kl_both_ways",
    "bounds",
    "losing_a_strategy",
    "published",
    "what_your_kl_does",
    "what_your_advantage_weighs",
)
"""In the order of the report."""


@dataclass(frozen=True)
class Figure:
    """A figure: numbers from records or from theory, a drawing of them, a title that they bear out.

    `numbers(records)` are computed or read, `draw(sheet, numbers)` draws them, `claim(numbers)` is whether
    the title is so, `table(numbers)` is printed beside the drawing, and `quotes(numbers)` are the few numbers
    that a paper's text would name. `needs` are the records that are read.
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
        """The picture of these numbers, on a sheet of a venue's width and fonts.

        Above it stands its title, if the sheet has one, or that these numbers do not bear it out.
        """
        sheet, finding = sheet or Sheet(), ""
        if sheet.title == "finding":
            finding = self.title if self.claim(numbers) else f"Not so in these numbers: {self.title}"
        with sheet.look():
            self.draw(sheet, numbers)
            return sheet.finished(finding)


def figure(name: str) -> Figure:
    """The figure of that name; ValueError says which there are.

    Its module's docstring is the title and, below, the caption; NEEDS and `quotes` may be left out.
    """
    choice("figure", name, NAMES)
    module = importlib.import_module(f"figures.gallery.{name}")
    title, _, caption = str(module.__doc__).partition("\n\n")
    words = (name, title.removesuffix("."), " ".join(caption.split()))
    more = {key.lower(): getattr(module, key) for key in ("quotes", "NEEDS") if hasattr(module, key)}
    return Figure(*words, module.numbers, module.draw, module.claim, module.table, **more)
