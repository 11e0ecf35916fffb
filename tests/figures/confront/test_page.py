import re
from html import unescape

from support.small_confrontation import small_confrontation

from figures.confront.page import page


def test_the_page_tells_all_and_asks_nobody():
    found = small_confrontation()
    text = page([found, found], "confront.json")
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    links = set(re.findall(r'href="([^"]+)"', text)) - {"confront.json"}
    assert all(link.removeprefix("#") in ids for link in links if not link.startswith("data:"))
    assert not re.search(r'(src|href)="https?:', text)
    words = unescape(text)
    assert f"run.jsonl against base.jsonl on {found.prompts} prompts" in words
    assert found.base.sha256 in words
    assert all(line.law in words for line in found.laws)
    assert text.count('role="img"') == 2
