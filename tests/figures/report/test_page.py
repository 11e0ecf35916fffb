import re
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from support.browser import chromium
from support.firefox import firefox
from support.law_record import law_record, run
from support.small_report import FORM, contents, drawn_figure, read, section, supposed, text, verdict, whole

import figures.report
from dph_theory.references import REFERENCES
from dph_theory.theorems import THEOREMS
from figures.catalogue import NAMES
from figures.records import Laws
from figures.report import page
from figures.report.contents import DrawnFigure, StageEnd
from figures.report.results import Plan

DESKTOP, PHONE = 1280, 375
STYLE = (Path(figures.report.__file__).parent / "templates" / "style.css").read_text()


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


def test_it_is_light_enough_to_send(path):
    # The boxes and derivations of a full run weigh 0.1 MB more, and the whole is to stay below 2.5.
    assert path.stat().st_size < 2_400_000


def test_it_begins_with_a_picture_findings_and_the_verdict_before_any_list(path):
    found = path.read_text()
    places = [
        found.index(f"<{part}") for part in ("svg", 'div class="found"', 'p id="verdict"', "ul>", "table")
    ]
    assert places == sorted(places)


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


@pytest.fixture(scope="module")
def fox(tmp_path_factory):
    with firefox(tmp_path_factory.mktemp("fox")) as opened:
        yield opened


@pytest.mark.parametrize("width", [DESKTOP, PHONE + 100])
def test_firefox_shows_everything(path, fox, width):
    fox.open(path, width)
    shown = fox.run("[...document.querySelectorAll('.verdicts > tbody > tr > th')].map(e => e.textContent)")
    assert set(shown) == set(THEOREMS)
    sizes = fox.run(
        "[...document.querySelectorAll('figure .drawing svg')].map(s => s.getBoundingClientRect().height)"
    )
    assert len(sizes) == len(NAMES)
    assert min(sizes) > 100
    fox.run("[...document.querySelectorAll('details')].forEach(d => d.open = true)")
    assert fox.run("document.documentElement.scrollWidth") <= width
    assert fox.logged == []


def test_firefox_unfolds_what_a_link_leads_to(path, fox):
    fox.open(path, DESKTOP)
    for key in ("C4.filtered", "figure-mu_beta-record"):
        assert not fox.run(f"document.getElementById('{key}').closest('details').open")
        opened = f"document.getElementById('{key}').closest('details').open"
        fox.run(f"location.hash = '{key}'")
        assert fox.run(f"new Promise(done => setTimeout(() => done({opened}), 200))"), key


def test_firefox_sorts_and_zooms(path, fox):
    fox.open(path, DESKTOP)
    cells = "[...document.querySelectorAll('.verdicts tbody > tr > th')].map(e => e.textContent)"
    first = fox.run(cells)[0]
    fox.run("document.querySelector('.verdicts thead th').click()")
    fox.run("document.querySelector('.verdicts thead th').click()")
    assert fox.run(cells)[0] != first
    width = "document.querySelector('figure .drawing svg').getBoundingClientRect().width"
    before = fox.run(width)
    fox.run("document.querySelector('figure .drawing').click()")
    assert fox.run(width) > 1.5 * before


SHOWN = """return [...document.querySelectorAll('.verdicts > tbody > tr')].filter(row => row.offsetParent)
    .map(row => row.querySelector('th').textContent)"""
TOLD = "return document.querySelector('#shown').textContent"


@pytest.fixture
def search(path, browser):
    """The search of a page just opened; what is typed there stands in place of what stood there."""
    browser.open(path, DESKTOP)
    field = browser.driver.find_element("id", "search")

    def typed(words: str) -> list[str]:
        field.clear()
        field.send_keys(words)
        return browser.run(SHOWN)

    return typed


def test_the_entries_are_searched_by_key_verdict_and_words(search, browser):
    assert browser.run(SHOWN) == list(THEOREMS)
    for key in ("A1", "E4", "d3.sh"):
        begins = rf"{re.escape(key)}(?!\d)"
        assert search(key) == [name for name in THEOREMS if re.match(begins, name, re.IGNORECASE)]
    assert search("refuted") == [name for name in THEOREMS if THEOREMS[name].expected == "REFUTED"]
    found = search("a pass rate")
    assert 0 < len(found) < len(THEOREMS)
    assert browser.run(TOLD) == f"{len(found)} of {len(THEOREMS)}"
    # Nothing is left of a part without a find, and Escape shows all again.
    titles = "return [...document.querySelectorAll('.part')].filter(part => part.offsetParent).length"
    assert browser.run(titles) == len({name[0] for name in found})
    assert search("\ue00c") == list(THEOREMS)


def test_a_search_that_finds_nothing_says_so(search, browser):
    assert search("xyzzy") == []
    assert browser.run(TOLD) == f"None of {len(THEOREMS)} entries has “xyzzy”"
    assert browser.complaints() == []


@pytest.mark.parametrize(
    "follow",
    ["document.querySelector('.evidence a[href=\"#C4.filtered\"]').click()", "location.hash = 'C4.filtered'"],
)
def test_a_link_to_an_entry_that_is_left_out_shows_it(search, browser, follow):
    assert "C4.filtered" not in search("E4")
    browser.run(follow)
    top = "const box = document.getElementById('C4.filtered').getBoundingClientRect();"
    here = f"{top} return box.height > 0 && box.top >= 0 && box.top < innerHeight"
    browser.until(here)
    assert browser.run(TOLD) == f"{len(THEOREMS)} of {len(THEOREMS)}"


def test_on_paper_entries_are_unfolded_and_what_stays_folded_says_so(path, browser):
    browser.open(path, DESKTOP)
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    heights = "[...document.querySelectorAll('.verdicts .detail')].map(e => e.getBoundingClientRect().height)"
    assert min(browser.run(f"return {heights}")) > 10
    says = "return getComputedStyle(document.querySelector('.inner > summary'), '::after').content"
    assert "folded" in browser.run(says)
    assert browser.run("return getComputedStyle(document.querySelector('[role=search]')).display") == "none"


@pytest.mark.slow
def test_firefox_prints_it(path, fox):
    fox.open(path, DESKTOP)
    made = fox.printed()
    assert made.startswith(b"%PDF")
    streams = (
        zlib.decompress(found) for found in re.findall(rb"ObjStm.*?stream\n(.*?)\nendstream", made, re.S)
    )
    assert len(re.findall(rb"/Type\s*/Page\b", b" ".join(streams))) > 10


def test_figures_stay_on_white_in_the_dark(path, browser):
    browser.open(path, DESKTOP, dark=True)
    colour = "return getComputedStyle(document.querySelector('{}')).backgroundColor"
    assert browser.run(colour.format(".drawing")) == "rgb(255, 255, 255)"
    assert browser.run(colour.format("body")) == "rgb(22, 24, 27)"


def test_the_page_says_what_failed_and_what_is_missing():
    failed = StageEnd("styles", "failed", 3.0, "ValueError: <bad>", "Traceback ...")
    text = page(contents("A8.frontier", outcomes=(failed,), reports={}, audit=None))
    assert "1 stage failed" in text
    assert "ValueError: &lt;bad&gt;" in text
    assert "There are no verdicts" in text
    assert "There is no audit" in text
    assert "Traceback ..." in text


def test_a_quick_run_says_so():
    assert "A quick run" in page(contents("A8.frontier", plan=Plan(quick=True)))
    assert "A quick run" not in page(contents("A8.frontier"))


def test_claims_bear_the_verdicts_of_this_run():
    shown = text(section("claims", "A8.frontier", "D3.shared"))
    assert "the contrary: D3.shared REFUTED" in shown
    assert "A4.unique not checked" in shown


def test_a_verdict_that_is_not_as_expected_is_marked():
    assert "not as expected" not in section("claims", "A6.reverse")
    turned = read(verdict("A6.reverse") | {"verdict": "REFUTED"})
    assert "A6.reverse REFUTED not as expected" in text(section("claims", reports=turned))


def test_differences_bear_the_registrys_note():
    shown = text(section("differences", "C2.old"))
    assert re.sub(r"\s", "", THEOREMS["C2.old"].note) in re.sub(r"\s", "", shown)
    assert verdict("C2.old")["verdict"] == "REFUTED"
    assert "C2.old REFUTED" in shown


def test_a_figure_has_its_drawing_caption_numbers_and_origin():
    drawn = drawn_figure("mu_beta")
    found = section("figures", figures=[drawn])
    assert "random policies least excess KL median excess KL 400 0.03532" in text(found)
    assert "Computed with seed 0" in found
    assert re.search(r'<caption>[^<]*<a href="#figure-mu_beta-record">', found)
    assert '<a class="value" href="#figure-mu_beta-record">0.03532</a>' in found
    # Inside what folds, so that a link to it unfolds it.
    assert re.search(r'<details class="inner"><summary>[^/]*</?code>', found)
    assert '<div id="figure-mu_beta-record">' in found
    named = re.search(r'<svg[^>]* aria-labelledby="([\w-]+)" aria-describedby="([\w-]+)"', found)
    title, caption = (text(re.search(rf'<\w+ id="{key}">(.*?)</', found, re.S)[1]) for key in named.groups())
    assert title == f"1. {drawn.figure.title}"
    assert caption.startswith(drawn.figure.caption[:40])


def test_a_figure_that_is_not_there_says_why():
    outcomes = (StageEnd("figure.mu_beta", "failed", 1.0, "ValueError: no"),)
    missing = replace(drawn_figure("mu_beta"), svg=None)
    assert "could not be drawn: ValueError: no" in section("figures", figures=[missing], outcomes=outcomes)
    unknown = DrawnFigure("mu_beta", None, None, None)
    assert "1. mu_beta" in section("figures", figures=[unknown], outcomes=outcomes)


def test_experiments_say_what_they_found():
    shown = section("experiments")
    assert 'DAPO forgets 3 of 4. <a href="#record-strategies">record</a>' in shown
    assert '<div id="record-strategies"><pre><code>{"config": {"of": "strategies"}' in shown
    assert shown.count("There is no result: it was not run") == 3


def test_the_runs_held_to_the_laws_stand_with_their_verdicts():
    shown = section("experiments", laws=Laws.read(law_record([run("k3"), run("k2", verdict="missed: law")])))
    assert "1 of 1 runs held." in shown
    assert "0.9000 0.9100" in text(shown)
    assert '<a class="value" href="#record-laws">0.9100</a>' in shown
    assert "<td>missed: law</td>" in shown


def test_the_audit_has_a_row_a_form():
    keys = ("form", "samples", "value", "gradient", "minimiser", "variance", "dead_zones")
    row = re.search(r"<tbody>(.*?)</tbody>", section("audit"), re.S)[1]
    assert text(row) == " ".join(FORM[key] for key in keys)
    assert '<td><a class="value" href="#record-audit">2.3</a></td>' in row


def test_the_run_tells_its_stages_and_the_machine():
    shown = text(section("run", outcomes=(StageEnd("audit", "failed", 2.25, "no", "line 7"),)))
    assert all(words in shown for words in ("2.2", "How audit failed", "line 7", "cores"))


def test_sources_are_those_of_the_registry():
    shown = text(section("sources"))
    assert all(paper.title in shown for key, paper in REFERENCES.items() if key != "ours")


def test_a_theorem_unfolds_into_all_that_is_known():
    found = section("theorems", "A8.frontier")
    row = found[found.index("<details>") :]
    assert THEOREMS["A8.frontier"].title in text(row)
    assert all(false.name in text(row) for false in THEOREMS["A8.frontier"].false_neighbours)
    assert "decided in ball arithmetic at" in text(row)
    assert "<math" in row
    # The anchor is inside what unfolds, so that a link to it opens the row.
    assert re.findall(r'id="([^"]+)"', row) == ["A8.frontier"]


def test_the_verdict_says_what_was_proved_and_what_was_only_checked():
    made = page(contents(reports=read(*map(supposed, ("A4.unique", "A5.slope", "A1.dimension")))))
    shown = text(re.search(r'<p id="verdict".*?</p>', made, re.S)[0])
    assert "3 of 3 statements are as expected" in shown
    assert "2 proved : a theorem of the proof kernel" in shown
    assert "1 checked : two independent computations" in shown
    assert "refuted :" not in shown


def test_a_refuted_statement_shows_its_witness():
    shown = text(section("theorems", "C2.old"))
    assert "In the proof kernel, that it is false: stated_bound_fails" in shown
    assert "Witness" in shown
    assert '"pi_pef"' in shown


def test_every_colour_that_is_used_is_set_in_light_and_dark():
    used = set(re.findall(r"var\(--(\w+)\)", STYLE)) - {"width"}
    for part in re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL):
        assert used <= set(re.findall(r"--(\w+):", part))


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2."""

    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_all_text_is_readable_on_its_ground():
    for part in re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL):
        colours = dict(re.findall(r"--(\w+): (#\w{6})", part))
        for name in ("ink", "soft", "link", "proved", "checked", "refuted", "bad"):
            assert min(contrast(colours[name], colours[ground]) for ground in ("paper", "card")) >= 4.5, name
