"""The widths and fonts of places where figures are printed, as data."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True)
class Venue:
    """The width of the text in inches; fonts of words and formulas.

    Fonts are those that come with matplotlib: STIX stands for Times.
    """

    text: float
    words: str
    formulas: str

    def fonts(self) -> dict[str, Any]:
        """Matplotlib's settings for them."""
        return {"font.family": self.words, "mathtext.fontset": self.formulas}


VENUES: Mapping[str, Venue] = MappingProxyType(
    {
        # The text widths of neurips_20xx.sty, icml20xx.sty, iclr20xx_conference.sty and jmlr2e.sty.
        "neurips": Venue(5.5, "STIXGeneral", "stix"),
        "icml": Venue(6.75, "STIXGeneral", "stix"),
        "iclr": Venue(5.5, "STIXGeneral", "stix"),
        "jmlr": Venue(6.0, "STIXGeneral", "cm"),
        # A slide of 160 x 90 mm less 10 mm on either side.
        "beamer": Venue(5.5, "DejaVu Sans", "dejavusans"),
    }
)
