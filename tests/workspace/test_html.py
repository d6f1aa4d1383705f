"""HTML gives the text that a browser shows, with its headings where they stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.workspace.ingest.html import read_html
from evalnb.workspace.ingest.reading import UnreadableError

TEXTS = [
    ("<p>one</p><p>two</p>", "one\n\ntwo"),
    ("one <b>bold</b>face", "one boldface"),
    ("one\n   two", "one two"),
    ("one<br>two", "one\ntwo"),
    ("<ul><li>one<li>two</ul>three", "one\ntwo\n\nthree"),
    ("<table><tr><th>a<th>b<tr><td>1<td>2</table>", "a\tb\n1\t2"),
    ("<pre>x = 1\n  y</pre>", "x = 1\n  y"),
    ("a &lt;b&gt; &amp; c&nbsp;d", "a <b> & c\xa0d"),
    ("a<script>alert(1)</script><style>p{}</style><!-- no --><template>t</template>b", "ab"),
    ("<head><title>t</title></head><body>b</body>", "b"),
    ("<div><div></div> <p> </p></div>", ""),
    ("<p>unclosed <b>tags <i>everywhere", "unclosed tags everywhere"),
    ("<a href='x' title='y'>link</a>", "link"),
]


@pytest.mark.parametrize(("page", "text"), TEXTS)
def test_text(page: str, text: str) -> None:
    assert read_html("a.html", page.encode()).text == text


def test_headings_stand_where_they_say() -> None:
    page = "<h1>The <em>top</em>\n level</h1><p>text<h3></h3><h2><a>Sub</a></h2>more"
    read = read_html("a.html", page.encode())
    assert [(h.level, h.title) for h in read.headings] == [(1, "The top level"), (2, "Sub")]
    for heading in read.headings:
        assert read.text[heading.start :].startswith(heading.title)
    assert read.title == "The top level"


def test_the_title_of_the_head_wins() -> None:
    page = "<title>\n Fees\n 2026 </title><h1>Other</h1>"
    assert read_html("a.html", page.encode()).title == "Fees 2026"


ENCODINGS = [
    ("<meta charset='iso-8859-9'>şirket", "iso-8859-9"),
    ("<meta http-equiv='Content-Type' content='text/html; charset=windows-1254'>şirket", "cp1254"),
    ("<?xml version='1.0' encoding='iso-8859-9'?><html>şirket</html>", "iso-8859-9"),
    ("<meta charset='utf-16'>şirket", "utf-8"),
    ("şirket", "utf-8"),
    ("şirket", "utf-8-sig"),
    ("şirket", "utf-16"),
]


@pytest.mark.parametrize(("page", "encoding"), ENCODINGS)
def test_declared_encodings(page: str, encoding: str) -> None:
    assert read_html("a.html", page.encode(encoding)).text == "şirket"


WRONG = [
    "şirket".encode("iso-8859-9"),  # nothing is guessed
    b"<meta charset='utf-8'>\xfe\xff\xfe",
    b"<meta charset='nonsense'>abc\xff",
    b"<meta charset='utf\x008'>abc",
    b"<meta charset='rot13'>abc",
    b"<meta charset='undefined'>abc",
    b"<meta charset='unicode_escape'>\\ud800",
    b"<p>a</p><![\n",
]


@pytest.mark.parametrize("data", WRONG)
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(UnreadableError):
        read_html("a.html", data)


def test_deep_nesting_is_read() -> None:
    assert read_html("a.html", b"<div>" * 5_000 + b"deep").text == "deep"


@given(
    st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
    | st.lists(
        st.sampled_from(
            ["<p>", "</p>", "<h1>", "</h1>", "<pre>", "</pre>", "a", " ", "<!--", "&", "<![", "%"]
        )
    ).map("".join)
)
def test_any_text_is_read(page: str) -> None:
    try:
        read = read_html("a.html", b"\xef\xbb\xbf" + page.encode())
    except UnreadableError:
        assert "<![" in page
        return
    for heading in read.headings:
        assert 0 <= heading.start < len(read.text)
        assert " ".join(read.text[heading.start :].split()).startswith(heading.title)
