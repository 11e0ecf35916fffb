from html.parser import HTMLParser
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from figures.report.markup import plain, scrolling, table, tag, written


def html(element):
    return written(element).removeprefix("<!doctype html>\n").strip()


def test_children_may_be_text_elements_nothing_and_lists_of_them():
    made = tag("p", "a", tag("b", "c"), None, ["d", tag("i"), [tag("br"), "e"]], class_="x", aria_label="y")
    assert html(made) == '<p class="x" aria-label="y">a<b>c</b>d<i></i><br>e</p>'


def test_an_attribute_that_is_none_is_left_out():
    assert html(tag("p", id=None)) == "<p></p>"


class Read(HTMLParser):
    def handle_starttag(self, tag, attrs):
        self.attrs, self.text = dict(attrs), ""

    def handle_data(self, data):
        self.text += data


@given(st.text(alphabet="a<>&\"'", min_size=1))
def test_text_stays_text(text):
    read = Read()
    read.feed(html(tag("p", text, title=text)))
    read.close()
    assert read.text == text
    assert read.attrs == {"title": text}


def test_a_table_has_heads_for_columns_and_rows_and_a_box_that_scrolls():
    made = table(("a", "b"), [("1", "2")], "numbers")
    assert made.get("role") == "region"
    assert made.get("aria-label") == "numbers"
    assert [th.get("scope") for th in made.iter("th")] == ["col", "col", "row"]
    assert [td.text for td in made.iter("td")] == ["2"]


def test_a_scrolling_box_is_reached_by_the_keyboard():
    assert scrolling("x", "y").get("tabindex") == "0"


def test_namespaces_are_taken_off():
    names = 'xmlns="http://www.w3.org/2000/svg" xmlns:x="http://www.w3.org/1999/xlink"'
    svg = f'<svg {names}><use x:href="#a"/></svg>'
    assert html(plain(ElementTree.fromstring(svg))) == '<svg><use href="#a"></use></svg>'
