from xml.etree import ElementTree

from figures.report.markup import html, plain


def test_namespaces_are_taken_off():
    names = 'xmlns="http://www.w3.org/2000/svg" xmlns:x="http://www.w3.org/1999/xlink"'
    svg = f'<svg {names}><use x:href="#a"/></svg>'
    assert html(plain(ElementTree.fromstring(svg))) == '<svg><use href="#a"></use></svg>'
