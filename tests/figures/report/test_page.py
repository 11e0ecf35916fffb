import re
from html.parser import HTMLParser

import pytest
from support.browser import chromium
from support.small_report import contents, whole

from dph_theory.theorems import THEOREMS
from figures.catalogue import NAMES
from figures.report import page
from figures.report.contents import Outcome
from figures.report.results import Plan

DESKTOP, PHONE = 1280, 375


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "index.html"
    path.write_text(page(whole()), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


class Ids(HTMLParser):
    def __init__(self):
        super().__init__()
        self.ids, self.links = [], []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found["href"]] if "href" in found else []


def test_ids_are_unique_and_every_link_stays_inside(path):
    read = Ids()
    read.feed(path.read_text())
    assert len(read.ids) == len(set(read.ids))
    assert {link for link in read.links if not link.startswith("data:")} <= {f"#{key}" for key in read.ids}
    assert {*THEOREMS, *(f"figure-{name}" for name in NAMES)} <= set(read.ids)


def test_nothing_is_taken_from_elsewhere(path):
    assert not re.search(r'(?:src|href)\s*=\s*"?(?:https?:)?//|@import|url\(\s*["\']?http', path.read_text())


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_a_browser_shows_everything_and_asks_nobody(path, browser, width):
    browser.requests(), browser.complaints()
    browser.open(path, width)
    shown = browser.run(
        "return [...document.querySelectorAll('.verdicts > tbody > tr > th')].map(e => e.textContent)"
    )
    assert set(shown) == set(THEOREMS)
    for name in NAMES:
        box = browser.run(
            f"const s = document.querySelector('#figure-{name} svg');"
            "return s ? [s.getBoundingClientRect().width, s.getBoundingClientRect().height]"
            f" : document.querySelector('#figure-{name} .missing').textContent"
        )
        assert isinstance(box, str) or min(box) > 100, name
    assert browser.complaints() == []
    assert browser.requests() == [path.as_uri()]


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_nothing_sticks_out_sideways_even_when_all_is_unfolded(path, browser, width):
    browser.open(path, width)
    browser.run("for (const d of document.querySelectorAll('details')) d.open = true")
    assert browser.run("return document.documentElement.scrollWidth") <= width
    # Formulas are set as formulas, each inside a box that scrolls by itself.
    heights = browser.run(
        "return [...document.querySelectorAll('.formula math')].map(m => m.getBoundingClientRect().height)"
    )
    assert len(heights) == len(THEOREMS)
    assert min(heights) > 10


def test_a_link_to_a_theorem_unfolds_it(path, browser):
    browser.open(path, DESKTOP)
    browser.run("document.querySelector('.evidence a[href=\"#C4.filtered\"]').click()")
    opened = "return document.getElementById('C4.filtered').closest('details').open"
    assert browser.run(opened)


def test_figures_stay_on_white_in_the_dark(path, browser):
    browser.open(path, DESKTOP, dark=True)
    colour = "return getComputedStyle(document.querySelector('{}')).backgroundColor"
    assert browser.run(colour.format(".plate")) == "rgb(255, 255, 255)"
    assert browser.run(colour.format("body")) == "rgb(22, 24, 27)"


def test_the_page_says_what_failed_and_what_is_missing():
    failed = Outcome("styles", "failed", 3.0, "ValueError: <bad>", "Traceback ...")
    text = page(contents("A8.frontier", outcomes=(failed,), verdicts=None, audit=None))
    assert "1 stage failed" in text
    assert "ValueError: &lt;bad&gt;" in text
    assert "There are no verdicts" in text
    assert "There is no audit" in text
    assert "Traceback ..." in text


def test_a_quick_run_says_so():
    assert "A quick run" in page(contents("A8.frontier", plan=Plan(quick=True)))
    assert "A quick run" not in page(contents("A8.frontier"))
