"""Pictures of hits: shown from files that are what they say, otherwise said."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalnb.show.cases import HitView
from evalnb.show.images import IMAGE_BYTES, image_html

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
HIT = HitView(
    rank=1,
    sign="relevant",
    grade=1,
    name="n",
    key="k",
    url=None,
    score=None,
    channels=(),
    moved="",
    is_code=False,
    excerpt=None,
    asset=("fig <1>", None),
)


def test_a_hit_without_a_picture_shows_none() -> None:
    assert image_html(replace(HIT, asset=None), {}) == ""


def test_a_file_is_shown(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    shown = image_html(HIT, {"fig <1>": tmp_path / "a.png"})
    assert shown.startswith(
        '<img class="chart" alt="Image fig &lt;1&gt;" src="data:image/png;base64,'
    )
    bound = replace(HIT, asset=("fig <1>", hashlib.sha256(PNG).hexdigest()))
    assert image_html(bound, {"fig <1>": str(tmp_path / "a.png")}) == shown


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "no such file or folder"),
        (b"", "empty"),
        (b"<svg onload=alert(1)>", "neither PNG, JPEG nor GIF"),
        (PNG + bytes(IMAGE_BYTES), "4,194,304"),
    ],
)
def test_what_cannot_be_shown_is_said(tmp_path: Path, content: Any, said: str) -> None:
    path = tmp_path / "b.png"
    if content is not None:
        path.write_bytes(content)
    shown = image_html(HIT, {"fig <1>": path})
    assert shown.startswith('<p class="quiet">Image fig &lt;1&gt;: ')
    assert said in shown
    assert "<svg" not in shown


def test_another_file_than_was_searched_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    other = replace(HIT, asset=("fig <1>", "0" * 64))
    assert "not the one that was searched" in image_html(other, {"fig <1>": tmp_path / "a.png"})
    assert "no file is given" in image_html(HIT, {})
