import re
from xml.etree import ElementTree

import pytest

from dph_theory.theorems import THEOREMS
from figures.report.markup import formula, html, once, picture, plain


def test_namespaces_are_taken_off():
    names = 'xmlns="http://www.w3.org/2000/svg" xmlns:x="http://www.w3.org/1999/xlink"'
    svg = f'<svg {names}><use x:href="#a"/></svg>'
    assert html(plain(ElementTree.fromstring(svg))) == '<svg><use href="#a"/></svg>'


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
 <defs><style type="text/css">*{stroke-linejoin: round}</style>
 <path id="m1" d="M 0 0 L 1 1 " style="stroke: #000000; fill: none"/></defs>
 <g id="axes_1"><use xlink:href="#m1" clip-path="url(#c1)" style="stroke: #000000; fill: none"/>
 <use xlink:href="#m1" transform="translate(1.5 0)"/></g>
 <clipPath id="c1"><rect/></clipPath>
</svg>"""


def test_what_is_used_is_named_by_its_content_and_other_names_are_dropped():
    root = picture(SVG)
    path, clip = [node.get("id") for node in root.iter() if node.get("id")]
    assert [use.get("href") for use in root.iter("use")] == [f"#{path}", f"#{path}"]
    assert next(root.iter("use")).get("clip-path") == f"url(#{clip})"
    assert [node.get("id") for node in picture(SVG.replace(b"m1", b"m2")).iter("path")] == [path]
    assert [node.get("id") for node in picture(SVG.replace(b"M 0 0", b"M 1 0")).iter("path")] != [path]


def test_it_is_drawn_the_same_with_fewer_words():
    path, first, second = [node for node in picture(SVG).iter() if node.tag in ("path", "use")]
    assert (path.get("d"), path.get("style")) == ("M0 0L1 1", "stroke:#000000;fill:none")
    assert first.get("style") is None
    assert (second.get("x"), second.get("y"), second.get("transform")) == ("1.5", None, None)
    assert [node.tag for node in picture(SVG)] == ["defs", "use", "use", "clipPath"]


def test_drawings_of_one_page_share_what_they_have_in_common():
    other = picture(SVG.replace(b"<rect/>", b'<rect x="1"/>'))
    alike = picture(SVG.replace(b"0 0 360 72", b"0 0 360 73"))
    assert once(html(picture(SVG)) + html(alike)).count("<clipPath") == 2  # A clip is each drawing's own.
    page = once(html(picture(SVG)) + html(other))
    assert page.count("<path") == 1
    assert page.count("<clipPath") == 2
    path, clip, other = re.findall(r' id="(d-[012])"', page)
    assert re.findall(r"#(d-[^\")]+)", page) == [clip, path, path, other, path, path]


def test_it_holds_no_style_for_the_whole_page_and_no_date():
    assert {node.tag for node in picture(SVG).iter()} == {"svg", "defs", "path", "use", "clipPath", "rect"}


def test_it_fits_its_box_and_is_an_image_to_a_reader():
    root = picture(SVG, aria_labelledby="title")
    assert root.get("width") is None
    assert root.get("height") is None
    assert "--width:480px" in root.get("style")
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == "title"
    assert root.get("viewBox") == "0 0 360 72"
