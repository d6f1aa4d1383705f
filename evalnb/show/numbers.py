"""How a number is written, once for pages, tables, charts and terminals.

Three decimals; a fourth where three would read as zero; p is never 0; nothing is NaN.
"""

from __future__ import annotations

import math
from numbers import Real

from evalnb.show.text import one_line

NO_GOLD = "N/A (no gold)"
NOTHING = "-"


def present(value: object) -> float | None:
    """Return the number, or None where a frame holds None, NaN or NA in its place.

    >>> present(2), present(float("nan"))
    (2.0, None)
    """
    if not isinstance(value, Real) or math.isnan(value):
        return None
    return float(value)


def format_value(value: object) -> str:
    """Write a score or a mean.

    >>> format_value(0.61249), format_value(0.0004), format_value(0), format_value(1234.5)
    ('0.612', '0.0004', '0.000', '1,234.5')
    """
    number = present(value)
    if number is None:
        return NOTHING
    if abs(number) >= 100:
        return f"{number:,.1f}"
    if 0 < abs(number) < 0.0005:
        return f"{number:.4f}" if abs(number) >= 0.00005 else f"{number:.0e}"
    return f"{number:.3f}"


def format_difference(value: object) -> str:
    """Write a difference, always with its sign.

    >>> format_difference(0.09), format_difference(-0.0004), format_difference(0.0)
    ('+0.090', '-0.0004', '0.000')
    """
    return ("+" if (present(value) or 0) > 0 else "") + format_value(value)


def format_interval(low: object, high: object) -> str:
    """Write a closed interval.

    >>> format_interval(0.5, 0.75), format_interval(-0.1, None)
    ('[0.500, 0.750]', '-')
    """
    if present(low) is None or present(high) is None:
        return NOTHING
    return f"[{format_value(low)}, {format_value(high)}]"


def format_p(value: object) -> str:
    """Write a p-value; a small one is bounded, never 0.

    >>> format_p(0.03125), format_p(0.00001), format_p(1.0)
    ('0.0312', '< 0.0001', '1.0000')
    """
    number = present(value)
    if number is None:
        return NOTHING
    return "< 0.0001" if number < 0.00005 else f"{number:.4f}"


def format_percent(value: object) -> str:
    """Write a share; only all is 100 %, only none is 0 %.

    >>> format_percent(0.5), format_percent(0.9999), format_percent(1)
    ('50 %', '99.9 %', '100 %')
    """
    number = present(value)
    if number is None:
        return NOTHING
    percent = 100 * number
    if percent == round(percent):
        return f"{percent:.0f} %"
    return f"{min(max(percent, 0.1), 99.9):.1f} %"


def format_ms(value: object) -> str:
    """Write milliseconds.

    >>> format_ms(0.042), format_ms(7.25), format_ms(1234.6)
    ('0.042 ms', '7.2 ms', '1,235 ms')
    """
    number = present(value)
    if number is None:
        return NOTHING
    if 0 < abs(number) < 1:
        return f"{number:.3f} ms"
    return f"{number:.1f} ms" if abs(number) < 100 else f"{number:,.0f} ms"


def format_count(value: object) -> str:
    """Write a count."""
    number = present(value)
    return NOTHING if number is None else f"{round(number):,}"


def format_status(status: str, value: object, reason: str | None = None) -> str:
    """Write one score as its status demands.

    >>> format_status("ok", 0.5), format_status("undefined", None)
    ('0.500', 'N/A (no gold)')
    >>> format_status("unavailable", None, "timeout after 2 s")
    'n/a (timeout after 2 s)'
    """
    if status == "undefined":
        return NO_GOLD
    if status == "unavailable":
        return f"n/a ({one_line(reason, 120)})" if reason else "n/a"
    return format_value(value)


def format_mean(mean: object, n: object, n_undefined: object, n_unavailable: object) -> str:
    """Write a mean, or why there is none.

    >>> format_mean(0.5, 2, 0, 0), format_mean(None, 0, 3, 0), format_mean(None, 0, 0, 3)
    ('0.500', 'N/A (no gold)', 'n/a')
    """
    if n:
        return format_value(mean)
    if n_unavailable:
        return "n/a"
    return NO_GOLD if n_undefined else NOTHING
