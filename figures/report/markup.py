"""MathML and SVG as they stand inside an HTML page: statements in LaTeX, drawings with names of their own."""

import re
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert

from dph_theory.support.errors import argument_error


def plain(tree: Element) -> Element:
    """The tree with the namespaces taken off its names, as HTML writes MathML and SVG; changed in place."""
    for node in tree.iter():
        node.tag = node.tag.rpartition("}")[2]
        for key in [key for key in node.attrib if key.startswith("{")]:
            node.set(key.rpartition("}")[2], node.attrib.pop(key))
    return tree


def html(tree: Element) -> str:
    """The tree as a part of an HTML document."""
    return ElementTree.tostring(tree, encoding="unicode", method="html")


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


_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_DROPPED = ("metadata", "style")
_STROKES = "stroke-linejoin:round;stroke-linecap:butt"
"""What matplotlib says of all elements of a drawing in a style sheet, which would hold for the whole page."""


def picture(svg: bytes, name: str, **attributes: str) -> Element:
    """An SVG drawing as an element: ids that are used begin with the name, no style sheet, no fixed size.

    Its natural width stays as the custom property --width, in pixels.
    """
    root = plain(ElementTree.fromstring(svg))
    for parent in list(root.iter()):
        for child in [c for c in parent if c.tag in _DROPPED]:
            parent.remove(child)
    used = _used(root)
    for node in root.iter():
        _rename(node, name, used)
    width = 4 / 3 * float(root.attrib.pop("width").removesuffix("pt"))
    root.attrib.pop("height", None)
    root.set("style", f"{_STROKES};--width:{width:.0f}px")
    for key, value in {"role": "img", **attributes}.items():
        root.set(key.replace("_", "-"), value)
    return root


def _used(root: Element) -> set[str]:
    """The ids that something in the drawing refers to."""
    used = set()
    for node in root.iter():
        for key, value in node.attrib.items():
            used |= set(_REFERENCE.findall(value))
            if key == "href":
                used.add(value.removeprefix("#"))
    return used


def _rename(node: Element, name: str, used: set[str]) -> None:
    for key, value in list(node.attrib.items()):
        if key == "id":
            if value in used:
                node.set("id", f"{name}-{value}")
            else:
                del node.attrib["id"]
        elif key == "href":
            node.set("href", f"#{name}-{value.removeprefix('#')}")
        elif "url(#" in value:
            node.set(key, _REFERENCE.sub(rf"url(#{name}-\1)", value))
