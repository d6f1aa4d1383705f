"""Keys and passwords: what looks like one is taken out of whatever is shown or kept."""

from __future__ import annotations

import os
import re

SECRET_LENGTH = 8  # a shorter string stands in too many texts to be taken out of them
SECRET_NAME = re.compile("auth|key|token|secret|cookie|password|credential", re.IGNORECASE)
_NAMED = r"(?:api[-_]?key|key|token|secret|password|passwd|credentials?|authorization)"
_SPOKEN = (
    re.compile(r"(://[^/\s:@]*:)[^/\s@]+(?=@)"),  # the password of a URL
    re.compile(r"((?:bearer|basic)\s+)[\w.~+/=-]{8,}", re.IGNORECASE),
    re.compile(rf"(\b\w*{_NAMED}=)[^\s&\"',;]+", re.IGNORECASE),
    re.compile(rf"(\w*{_NAMED}[\"']\s*:\s*[\"'])[^\"']+", re.IGNORECASE),
)


def without_secrets(text: str) -> str:
    """Take secrets out of a text: the environment's, and what is written as one.

    >>> without_secrets("401 for https://me:pw@host/?api_key=abc&q=boots")
    '401 for https://me:***@host/?api_key=***&q=boots'
    """
    values = {v.strip() for name, v in os.environ.items() if SECRET_NAME.search(name)}
    for value in sorted(values, key=len, reverse=True):
        if len(value) >= SECRET_LENGTH:
            text = text.replace(value, "***")
    for pattern in _SPOKEN:
        text = pattern.sub(r"\1***", text)
    return text
