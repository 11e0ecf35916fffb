"""The page of a reproduction: what it holds, what it leaves out, and that it asks nobody for anything."""

import re
from html.parser import HTMLParser

import pytest

from dph_theory.theorems import THEOREMS
from figures.catalogue import NAMES
from figures.frames import Records
from figures.report import DrawnFigure, StageEnd, drawn_figures, page


class Ids(HTMLParser):
    """The ids, and the places that links go to."""

    def __init__(self):
        super().__init__()
        self.ids, self.links = [], []

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found["href"]] if tag == "a" else []


@pytest.fixture(scope="module")
def whole():
    names = list(THEOREMS)[:3]
    reports = [{"theorem": name, "verdict": "PROVED", "unexpected": []} for name in names]
    reports[2] = reports[2] | {"unexpected": ["<odd>"]}
    drawn = [
        DrawnFigure("laws", "A title & more", "A caption.", None, None),
        drawn_figures(Records(), {"mu_beta": b"<?xml?><svg><g/></svg>"})[NAMES.index("mu_beta")],
    ]
    outcomes = [
        StageEnd("verify", "done", 1.25, "all <well>"),
        StageEnd("toy.styles", "failed", 2.0, "no luck", "Traceback"),
    ]
    return page({"results": {"reports": reports}}, drawn, {"styles": ["It fell."]}, outcomes, {"seed": 4})


def test_it_says_what_was_checked_found_and_drawn(whole):
    assert "2 of 3 statements are as\nexpected: 3 PROVED" in whole
    assert "<svg><g/></svg>" in whole
    assert "It fell." in whole
    assert "seed: 4" in whole


def test_what_failed_is_named_and_the_rest_does_without(whole):
    assert '<div class="failed" role="alert">' in whole
    assert "It could not be drawn." in whole
    assert "<pre>Traceback</pre>" in whole


def test_words_are_escaped_and_links_lead_somewhere(whole):
    assert "all &lt;well&gt;" in whole
    assert "A title &amp; more" in whole
    found = Ids()
    found.feed(whole)
    assert len(found.ids) == len(set(found.ids))
    assert {link.removeprefix("#") for link in found.links} <= set(found.ids)


def test_it_asks_nobody_for_anything(whole):
    assert not re.search(r"""(?:src|href)=["'](?!#|data:)""", whole)


def test_a_run_whose_verification_failed_has_a_page():
    assert "statements are as" not in page(None, [], {}, [], {})


def test_figures_are_in_order_and_those_without_a_drawing_are_told():
    found = drawn_figures(Records(), {})
    assert [one.name for one in found] == list(NAMES)
    assert {one.svg for one in found} == {None}
