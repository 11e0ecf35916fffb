"""A hook of mkdocs: displayed formulas become MathML, which browsers set without any library or network."""

import re
from typing import Any
from xml.etree import ElementTree

from figures.report.markup import formula

DISPLAYED = re.compile(r"^\$\$\n(.*?)\n\$\$$", re.M | re.S)


def on_page_markdown(markdown: str, **page: Any) -> str:
    """The page with every formula between lines of $$ written as MathML."""
    return DISPLAYED.sub(_mathml, markdown)


def _mathml(found: re.Match[str]) -> str:
    written = ElementTree.tostring(formula(found[1]), encoding="unicode")
    return f'<div style="overflow-x: auto">{written}</div>'
