"""The page of a reproduction: what it holds, what it leaves out, and that it asks nobody for anything."""

import re

import pytest

from dph_theory.theorems import THEOREMS
from figures.catalogue import NAMES
from figures.frames import Records
from figures.report import DrawnFigure, StageEnd, drawn_figures, page


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


@pytest.mark.parametrize(
    "words",
    [
        "2 of 3 statements are as\nexpected: 3 PROVED",
        "<svg><g/></svg>",
        "It fell.",
        "seed: 4",
        '<div class="failed" role="alert">',
        "It could not be drawn.",
        "<pre>Traceback</pre>",
        "all &lt;well&gt;",
        "A title &amp; more",
    ],
)
def test_it_says_what_was_checked_found_drawn_and_what_failed(whole, words):
    assert words in whole


def test_links_lead_somewhere_and_it_asks_nobody_for_anything(whole):
    ids, links = (re.findall(found, whole) for found in (r'<[^>]* id="([^"]+)"', r'<a [^>]*href="([^"]+)"'))
    assert len(ids) == len(set(ids))
    assert links
    assert {link.removeprefix("#") for link in links} <= set(ids)
    assert not re.search(r"""(?:src|href)=["'](?!#|data:)""", whole)


def test_without_verdicts_and_drawings_it_has_every_figure_in_order_and_no_count():
    found = drawn_figures(Records(), {})
    assert [one.name for one in found] == list(NAMES)
    assert {one.svg for one in found} == {None}
    assert "statements are as" not in page(None, found, {}, [], {})
