"""MathML and SVG as they stand inside an HTML page."""

from xml.etree import ElementTree
from xml.etree.ElementTree import Element


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
