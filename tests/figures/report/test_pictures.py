from figures.report.pictures import picture

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
