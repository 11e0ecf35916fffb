import re
from html import unescape

from support.browser import chromium
from support.small_confrontation import small_confrontation

from dph_theory.counts import tables
from figures.confront.page import page
from figures.report.words import is_numeric


def test_the_page_tells_all_and_asks_nobody():
    found = small_confrontation()
    text = page([found, found], "confront.json")
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    links = set(re.findall(r'href="([^"]+)"', text)) - {"confront.json"}
    assert all(link.removeprefix("#") in ids for link in links if not link.startswith("data:"))
    assert not re.search(r'(src|href)="https?:', text)
    words = unescape(text)
    assert f"run.jsonl against base.jsonl: {found.prompts} prompts" in words
    assert found.base.sha256 in words
    assert all(line.law in words for line in found.laws)
    assert text.count('role="img"') == 2
    # Every sentence and every table links to the record of its run.
    assert len(re.findall(r'<caption>[^<]*<a href="#run-1-record">', text)) == len(tables(found))
    assert text.count('<a href="#run-2-record">record</a>') == 5 + len(tables(found))
    numeric = sum(is_numeric(cell) for shown in tables(found) for row in shown.words() for cell in row)
    assert text.count('<a class="value" href="#run-2-record">') == numeric


def test_tables_sort_and_the_sheet_zooms_without_a_network(tmp_path):
    path = tmp_path / "index.html"
    path.write_text(page([small_confrontation()], "confront.json"))
    head = "document.querySelector('table thead th:nth-child(2)')"
    column = "return [...document.querySelector('table').tBodies[0].rows].map(r => +r.cells[1].textContent)"
    width = "return document.querySelector('.drawing svg').getBoundingClientRect().width"
    with chromium(tmp_path / "profile") as browser:
        browser.open(path, 1000)
        rising = browser.run(column)
        browser.run(f"{head}.click(); {head}.click()")
        assert browser.run(column) == sorted(rising, reverse=True) != rising
        before = browser.run(width)
        browser.run("document.querySelector('.drawing').click()")
        assert browser.run(width) > 1.5 * before
        assert browser.complaints() == []
        assert browser.requests() == [path.as_uri()]
