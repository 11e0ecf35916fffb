"""The page: one HTML document, made from templates, that holds everything and asks nobody for anything."""

import json
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dph_theory.references import REFERENCES
from dph_theory.theorems import THEOREMS
from dph_theory.verification.pages import MEANINGS

from . import markup, words
from .claims import CLAIMS, DIFFERENCES
from .contents import Contents
from .markup import html


def page(contents: Contents) -> str:
    """The whole document as text."""
    from .guide import highlights  # Which fills these templates too.

    given = {"contents": contents, "reports": contents.reports, "found": highlights()}
    return templates().get_template("page.html").render(given)


@cache
def templates() -> Environment:
    """The templates with what they may use; text that is put into HTML is escaped."""
    made = Environment(
        loader=PackageLoader("figures.report"),
        autoescape=lambda name: name is not None and name.endswith(".html"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(theorems=THEOREMS, references=REFERENCES, claims=CLAIMS, differences=DIFFERENCES)
    made.globals.update(meanings=MEANINGS)
    made.tests["numeric"] = words.is_numeric
    made.filters |= {
        "linked": words.linked,
        "members": words.members,
        "number": words.number,
        "g": "{:g}".format,
        "g3": "{:.3g}".format,
        "f2": "{:.2f}".format,
        "f3": "{:.3f}".format,
        "signed": "{:+.3f}".format,
        "count_of": words.count,
        "json": _json,
        "formula": _formula,
        "drawn": _drawn,
        "once": markup.once,
    }
    return made


def _json(value: Any) -> Markup:
    return Markup(json.dumps(value, ensure_ascii=False).replace("&", "&amp;").replace("<", "&lt;"))


def _formula(latex: str) -> Markup:
    return Markup(html(markup.formula(latex)))


def _drawn(svg: bytes, key: str) -> Markup:
    """A drawing whose title and caption have ids that begin with the key."""
    names = {"aria_labelledby": f"{key}-title", "aria_describedby": f"{key}-caption"}
    return Markup(html(markup.picture(svg, **names)))
