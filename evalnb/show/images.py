"""Pictures that hits speak of, from files that the reader has; what cannot be shown is said."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path

from evalnb.errors import EvalnbError
from evalnb.files import checked_path, read_bounded
from evalnb.show.cases import HitView
from evalnb.show.markup import quiet_html, text_html
from evalnb.show.text import one_line

IMAGE_BYTES = 4 << 20  # a picture travels inside the page
# No SVG: it is a document that may ask for others.
FORMATS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
}


def image_html(hit: HitView, images: Mapping[str, str | Path]) -> str:
    """Write the picture of a hit, or why it cannot be shown; nothing for a hit without one.

    Parameters
    ----------
    images
        The file of each asset, by its id.
    """
    if hit.asset is None:
        return ""
    key, digest = hit.asset
    name = one_line(key, 80)
    if key not in images:
        return quiet_html(f"Image {name}: no file is given for it.")
    try:
        content = read_bounded(checked_path(images[key]), bound=IMAGE_BYTES, what="an image")
    except EvalnbError as error:
        return quiet_html(f"Image {name}: {one_line(str(error), 300)}")
    if digest is not None and hashlib.sha256(content).hexdigest() != digest:
        return quiet_html(f"Image {name}: the file is not the one that was searched (SHA-256).")
    found = (kind for mark, kind in FORMATS.items() if content.startswith(mark))
    if (kind := next(found, None)) is None:
        return quiet_html(f"Image {name}: the file is neither PNG, JPEG nor GIF.")
    data = base64.b64encode(content).decode()
    alt = f'alt="Image {text_html(name)}"'
    return f'<img class="chart" {alt} src="data:{kind};base64,{data}">'
