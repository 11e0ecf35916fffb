"""MathML and SVG as they stand inside an HTML page: statements in LaTeX, drawings with names of their own."""

import re
from xml.etree import ElementTree
from xml.etree.ElementTree import Element
from zlib import crc32

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
    return ElementTree.tostring(tree, encoding="unicode", method="html").replace("></use>", "/>")


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


_USED = re.compile(r"(?<=#)[\w-]+")
_DEFINED = re.compile(r'<(path|clipPath)\b[^>]* id="(d-\w+)".*?</\1>', re.DOTALL)
_NAMED = re.compile(r"\bd-[0-9a-f]+\b")
_IDLE = re.compile(r"(?<=[A-Za-z:;,]) | (?=[A-Za-z])| $")
_MOVED = re.compile(r"translate\((\S+) (\S+)\)")
_DROPPED = ("metadata", "style")
_STROKES = "stroke-linejoin:round;stroke-linecap:butt"
"""What matplotlib says of all elements of a drawing in a style sheet, which would hold for the whole page."""


def picture(svg: bytes, **attributes: str) -> Element:
    """An SVG drawing as an element: no style sheet, no fixed size; what is used bears a name of its content.

    Its natural width stays as the custom property --width, in pixels. What drawings of a page have in common,
    such as their letters, has one name in all of them, and `once` keeps the first.
    """
    root = plain(ElementTree.fromstring(svg))
    for parent in list(root.iter()):
        parent.text = parent.tail = None  # Letters are drawn: only metadata has words.
        for child in [c for c in parent if c.tag in _DROPPED]:
            parent.remove(child)
    _rename(root)
    _ungrouped(root)
    width = 4 / 3 * float(root.attrib.pop("width").removesuffix("pt"))
    root.attrib.pop("height", None)
    root.set("style", f"{_STROKES};--width:{width:.0f}px")
    for key, value in {"role": "img", **attributes}.items():
        root.set(key.replace("_", "-"), value)
    return root


def _rename(root: Element) -> None:
    """Name what is used by its content, and drop what is idle: other ids, spaces, zeros, styles twice."""
    used = {name for node in root.iter() for value in node.attrib.values() for name in _USED.findall(value)}
    named = {name: node for node in root.iter() if (name := node.attrib.pop("id", "")) in used}
    # Nothing is left of what a clip of another drawing cuts while that drawing is hidden.
    own = {name: html(node) + (html(root) if node.tag == "clipPath" else "") for name, node in named.items()}
    names = {name: f"d-{crc32(content.encode()):x}" for name, content in own.items()}
    for node in root.iter("use"):
        if moved := _MOVED.fullmatch(node.get("transform", "")):
            del node.attrib["transform"]
            node.attrib |= {
                key: value for key, value in zip("xy", moved.groups(), strict=True) if value != "0"
            }
        if node.get("style") == named[node.attrib["href"][1:]].get("style"):
            node.attrib.pop("style", None)
    for node in root.iter():
        for key, value in node.attrib.items():
            node.set(key, _IDLE.sub("", _USED.sub(lambda found: names.get(found[0], found[0]), value)))
    for name, node in named.items():
        node.set("id", names[name])


def _ungrouped(node: Element) -> list[Element]:
    """The node, or what it groups where the group has no attributes; the same within, in place."""
    node[:] = [found for child in node for found in _ungrouped(child)]
    return [node] if node.attrib or node.tag != "g" else [*node]


def once(document: str) -> str:
    """The page with what its drawings have in common in the first of them alone, under short names."""
    first = {found[2]: found.start() for found in reversed([*_DEFINED.finditer(document)])}
    kept = _DEFINED.sub(lambda found: found[0] if found.start() == first[found[2]] else "", document)
    short = {name: f"d-{number:x}" for number, name in enumerate(first)}
    return _NAMED.sub(lambda found: short.get(found[0], found[0]), kept)
