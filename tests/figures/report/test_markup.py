from xml.etree import ElementTree

import pytest

from dph_theory.theorems import THEOREMS
from figures.report.markup import formula, html, picture, plain


def test_namespaces_are_taken_off():
    names = 'xmlns="http://www.w3.org/2000/svg" xmlns:x="http://www.w3.org/1999/xlink"'
    svg = f'<svg {names}><use x:href="#a"/></svg>'
    assert html(plain(ElementTree.fromstring(svg))) == '<svg><use href="#a"></use></svg>'


@pytest.mark.parametrize("name", THEOREMS)
def test_every_statement_has_its_mathml(name):
    tree = formula(THEOREMS[name].statement)
    assert tree.tag == "math"
    assert tree.get("display") == "block"


def test_upright_words_are_one_identifier():
    assert [mi.text for mi in formula(r"\mathrm{KL}(q\|a)").iter("mi")] == ["KL", "q", "a"]


def test_arg_min_takes_its_limits_as_one_operator():
    tree = formula(r"\arg\min_{q} f")
    limits = next(node for node in tree.iter() if node.tag.startswith(("msub", "munder")))
    assert "".join(limits[0].itertext()) == "argmin"


def test_a_command_without_mathml_is_refused():
    with pytest.raises(ValueError, match="nonsense"):
        formula(r"a \nonsense b")


SVG = b"""<?xml version="1.0"?>
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
     width="360pt" height="72pt" viewBox="0 0 360 72">
 <metadata>when</metadata>
 <defs><style type="text/css">*{stroke-linejoin: round}</style><path id="m1" d="M0 0"/></defs>
 <g id="axes_1"><use xlink:href="#m1" clip-path="url(#c1)"/></g>
 <clipPath id="c1"><rect/></clipPath>
</svg>"""


def test_names_are_the_figures_own_and_those_of_no_use_are_dropped():
    root = picture(SVG, "fig", aria_label="words")
    assert [node.get("id") for node in root.iter() if node.get("id")] == ["fig-m1", "fig-c1"]
    use = next(root.iter("use"))
    assert use.get("href") == "#fig-m1"
    assert use.get("clip-path") == "url(#fig-c1)"


def test_it_holds_no_style_for_the_whole_page_and_no_date():
    root = picture(SVG, "fig")
    assert {node.tag for node in root.iter()} == {"svg", "defs", "path", "g", "use", "clipPath", "rect"}


def test_it_fits_its_box_and_is_an_image_to_a_reader():
    root = picture(SVG, "fig", aria_labelledby="title")
    assert root.get("width") is None
    assert root.get("height") is None
    assert "--width:480px" in root.get("style")
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == "title"
    assert root.get("viewBox") == "0 0 360 72"
