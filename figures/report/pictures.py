"""Drawings inside the page: SVG whose names collide with nobody else's."""

import re
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from .markup import plain

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
