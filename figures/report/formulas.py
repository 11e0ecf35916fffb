"""Statements in LaTeX as MathML, which browsers set without any library or network."""

import re
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert

from dph_theory.support.errors import argument_error

from .markup import plain

_ARG = re.compile(r"\\arg\s*\\(min|max)")
_LETTERS = re.compile(r'(?:<mi mathvariant="normal">\w</mi>){2,}')
_COLON = "<mi>:</mi>"


def formula(latex: str) -> Element:
    """A displayed formula; ValueError if a command in it has no MathML."""
    # The library sets arg and max as two words, of which only the second takes the limits.
    mathml = convert(_ARG.sub(r"\\operatorname*{arg\1}", latex), display="block")
    mathml = _LETTERS.sub(_one_word, mathml).replace(_COLON, "<mo>:</mo>")
    tree = plain(ElementTree.fromstring(mathml))
    left = [text for text in tree.itertext() if "\\" in text]
    if left:
        raise argument_error("latex", latex, f"commands that MathML has, not {', '.join(left)}")
    return tree


def _one_word(letters: re.Match[str]) -> str:
    """An upright word such as KL as one identifier, so that no space comes between its letters."""
    return f'<mi mathvariant="normal">{"".join(re.findall(r">(.)<", letters.group()))}</mi>'
