"""Widths and fonts of figures, by venue."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Venue:
    """Widths of text and column in inches; fonts of words and formulas, matplotlib's own."""

    text: float = 6.9
    column: float = 3.35
    words: str = "DejaVu Sans"
    formulas: str = "cm"


SCREEN, PHONE = Venue(), Venue(text=3.9)
"""A page on a desktop; as wide as a telephone, so that words in pictures can be read there."""
VENUES: Mapping[str, Venue] = MappingProxyType(
    {
        # Widths of neurips_20xx.sty, icml20xx.sty, iclr20xx_conference.sty, acl.sty, jmlr2e.sty; on a page
        # with one column, a column is the width of two figures side by side. STIX replaces Times.
        "neurips": Venue(5.5, 2.7, "STIXGeneral", "stix"),
        "icml": Venue(6.75, 3.25, "STIXGeneral", "stix"),
        "iclr": Venue(5.5, 2.7, "STIXGeneral", "stix"),
        "acl": Venue(6.3, 3.03, "STIXGeneral", "stix"),
        "jmlr": Venue(6.0, 2.95, "STIXGeneral", "cm"),
        # A slide of 160 x 90 mm minus 10 mm on either side.
        "beamer": Venue(5.5, 2.7, "DejaVu Sans", "dejavusans"),
    }
)
WIDTHS, TITLES = ("text", "column"), ("finding", "panels", "none")
"""Width of a figure; title with the finding, titles of panels only, or none."""
