"""A page as a browser would read it: what the tests of reports share."""

from __future__ import annotations

import re
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """Tags must nest; texts, links and tables are collected."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.stack, self.links, self.texts, self.tags = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [value for name, value in attributes if name in ("href", "src", "xlink:href", "action", "data")]
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [value for name, value in attributes if name in ("href", "src", "xlink:href")]

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def assert_stands_alone(text: str) -> None:
    """The page asks nothing of the network and has no script."""
    page = Page(text)
    assert all(link.startswith("#") for link in page.links)
    assert "script" not in page.tags
    assert "link" not in page.tags
    style = text[text.index("<style>") : text.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    outside = set(re.findall(r"""(\S+)=["']https?://""", text))
    assert outside <= {"xmlns", "xmlns:xlink"}
