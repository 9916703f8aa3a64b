"""The format texts of ``printf``: taken apart into conversions and the text between them."""

from __future__ import annotations

import re

_CONVERSION = re.compile(r"%(?:%|([-+ #0]*\d*(?:\.\d+)?)(?:hh|h|ll|l|z|j|t|L)?([diouxXeEfFgGaAc])|(.?))")


def split(text: str) -> tuple[list[str], list[str]]:
    """The pieces of text around the conversions, and the conversions as Python's ``%`` takes them.

    Length modifiers (``%lld``) are dropped, since the value knows its size.

    Raises:
        ValueError: the text has a conversion that there is not.
    """
    pieces, formats = [""], []
    position = 0
    for match in _CONVERSION.finditer(text):
        pieces[-1] += text[position : match.start()]
        position = match.end()
        if match.group(3) is not None:
            raise ValueError(
                f"there is no conversion {match.group()}: values are numbers, as for %d, %u, %x, %f, %e "
                "and %g, and a percent sign is %%"
            )
        if match.group(2) is None:
            pieces[-1] += "%"
            continue
        kind = match.group(2).replace("i", "d").replace("u", "d")
        formats.append(f"%{match.group(1)}{kind}")
        pieces.append("")
    pieces[-1] += text[position:]
    return pieces, formats
