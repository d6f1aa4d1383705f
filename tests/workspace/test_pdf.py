"""PDF gives the text of its pages; what is damaged or locked is said, never half read."""

from __future__ import annotations

import io
import random

import pytest
from pypdf import PdfReader, PdfWriter

from evalnb.workspace.ingest.pdf import read_pdf
from evalnb.workspace.ingest.reading import UnreadableError


def make_pdf(pages: list[str], *, title: str = "") -> bytes:
    """Write a PDF by hand: one line of Helvetica on each page."""
    count = len(pages)
    kids = " ".join(f"{5 + 2 * n} 0 R" for n in range(count))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {count} /Kids [{kids}] >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Title ({title}) >>",
    ]
    for n, text in enumerate(pages):
        drawn = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET"
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] "
            f"/Resources << /Font << /F1 3 0 R >> >> /Contents {6 + 2 * n} 0 R >>"
        )
        objects.append(f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream")
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode()
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{place:010} 00000 n \n".encode() for place in places)
    trailer = f"<< /Size {len(objects) + 1} /Root 1 0 R /Info 4 0 R >>"
    return bytes(out) + f"trailer\n{trailer}\nstartxref\n{start}\n%%EOF\n".encode()


def locked(data: bytes, password: str) -> bytes:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(data)))
    writer.encrypt(user_password=password, owner_password="owner", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_pages_and_title() -> None:
    read = read_pdf("report.pdf", make_pdf(["Revenue grew", "Costs fell"], title="Q3  report"))
    assert read.text == "Revenue grew\n\f\nCosts fell"
    assert read.title == "Q3 report"
    assert [read.text[start:][:5] for start in read.pages] == ["Reven", "Costs"]


def test_pages_without_text_keep_their_numbers() -> None:
    read = read_pdf("scan.pdf", make_pdf(["", "second"]))
    assert read.text[read.pages[1] :] == "second"


def test_a_password_is_said() -> None:
    data = make_pdf(["secret"])
    assert read_pdf("a.pdf", locked(data, "")).text == "secret"
    with pytest.raises(UnreadableError, match="password"):
        read_pdf("a.pdf", locked(data, "x"))


DAMAGED = [b"", b"%PDF-1.4\n", b"%PDF-1.7\n%%EOF", b"no pdf at all", b"\x00" * 100]


@pytest.mark.parametrize("data", DAMAGED)
def test_damage_is_said(data: bytes) -> None:
    with pytest.raises(UnreadableError, match="damaged PDF"):
        read_pdf("a.pdf", data)


def test_no_damage_escapes_as_another_error() -> None:
    good = make_pdf(["some text", "more text"])
    chance = random.Random(0)
    outcomes = {"read": 0, "refused": 0}
    for attempt in range(150):
        data = bytearray(good)
        for _ in range(chance.randint(1, 8)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        length = len(data) if attempt % 2 else chance.randrange(len(data))
        try:
            read_pdf("a.pdf", bytes(data[:length]))
            outcomes["read"] += 1
        except UnreadableError:
            outcomes["refused"] += 1
    assert min(outcomes.values()) > 0
