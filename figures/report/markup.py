"""HTML as a tree of elements: text is escaped by construction, a page is one tree."""

from collections.abc import Iterable
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

Child = Element | str | None | Iterable["Child"]
"""What an element may hold: text, elements, nothing, or several of these."""


def tag(name: str, *children: Child, **attributes: str | None) -> Element:
    """An element with its children and attributes (class_="note"); one that is None is left out."""
    written = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()}
    made = Element(name, {key: value for key, value in written.items() if value is not None})
    _fill(made, children)
    return made


def _fill(parent: Element, children: Iterable[Child]) -> None:
    for child in children:
        if isinstance(child, Element):
            parent.append(child)
        elif isinstance(child, str):
            _write(parent, child)
        elif child is not None:
            _fill(parent, child)


def _write(parent: Element, text: str) -> None:
    """Text after what the parent holds already."""
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text


def table(head: Iterable[Child], rows: Iterable[Iterable[Child]], caption: str, class_: str = "") -> Element:
    """A table with column heads and a row head, in a box of its own that scrolls where it is too wide."""
    body = [
        tag(
            "tr",
            [
                tag("th" if i == 0 else "td", cell, scope="row" if i == 0 else None)
                for i, cell in enumerate(row)
            ],
        )
        for row in rows
    ]
    made = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", [tag("th", name, scope="col") for name in head])),
        tag("tbody", body),
        class_=class_ or None,
    )
    return scrolling(caption, made)


def scrolling(name: str, *children: Child, class_: str = "scroll") -> Element:
    """A box that scrolls sideways by itself, reached by the keyboard too."""
    return tag("div", children, class_=class_, role="region", tabindex="0", aria_label=name)


def plain(tree: Element) -> Element:
    """The tree with the namespaces taken off its names, as HTML writes MathML and SVG; changed in place."""
    for node in tree.iter():
        node.tag = node.tag.rpartition("}")[2]
        for key in [key for key in node.attrib if key.startswith("{")]:
            node.set(key.rpartition("}")[2], node.attrib.pop(key))
    return tree


def written(tree: Element) -> str:
    """The tree as an HTML document."""
    return "<!doctype html>\n" + ElementTree.tostring(tree, encoding="unicode", method="html") + "\n"
