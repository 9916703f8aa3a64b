"""The error that says why a gradient cannot be had."""

from __future__ import annotations

from typing import Optional

from treadle.errors import TreadleError
from treadle.ir.core import Location


class DerivativeError(TreadleError):
    """A gradient was asked for that Treadle cannot give; giving a wrong one instead is not an option."""

    def __init__(self, reason: str, location: Optional[Location] = None) -> None:
        super().__init__(f"{location}: {reason}" if location else reason)
        self.reason = reason
        self.location = location
