"""Gradients of arrays made with ``retain_grad=True``: kept aside when an operation consumes them.

The adjoint of a write takes the gradient of what was written and leaves zero. A user who wants
to look at the gradient of an intermediate result asks for it to be retained; then what the last
write to each element consumed is put back at the end of the backward pass.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from treadle.ad.memory import NOT_KEPT
from treadle.runtime import capturing
from treadle.runtime.array import array
from treadle.runtime.creation import empty_like
from treadle.runtime.elements import Host
from treadle.types import scalars


class Retained:
    """The retained gradients of one backward pass.

    For each array there is another of the same layout that holds, element by element, the gradient
    that was consumed first in the backward pass, which is that of the last write, or a marker.
    """

    def __init__(self) -> None:
        self._kept: dict[int, tuple[array, array]] = {}

    def of(self, a: array) -> array | None:
        """Where the consumed gradients of an array, or view, are kept; None if they are not to be retained."""
        if not a.retain_grad or a.grad is None or not _is_plain(a.dtype):
            return None
        if a.base is not None:
            base, derive = a.base
            kept = self.of(base)
            return None if kept is None else derive(kept)
        if id(a) not in self._kept:
            kept = empty_like(a.grad)
            bits, marker = _bits(kept)
            capturing.perform(partial(bits.fill, marker))
            self._kept[id(a)] = (a, kept)
        return self._kept[id(a)][1]

    def keep(self, a: array) -> None:
        """Keep the whole gradient of an array, which a copy or fill is about to consume."""
        kept = self.of(a)
        if kept is not None:
            assert a.grad is not None
            bits, marker = _bits(kept)
            gradient, _ = _bits(a.grad)
            capturing.perform(partial(_copy_marked, bits, gradient, marker))

    def restore(self) -> None:
        """Put the kept gradients back, once all records have run."""
        for a, kept in self._kept.values():
            assert a.grad is not None
            bits, marker = _bits(kept)
            gradient, _ = _bits(a.grad)
            capturing.perform(partial(_copy_unmarked, gradient, bits, marker))


def _copy_marked(bits: Host, gradient: Host, marker: int) -> None:
    np.copyto(bits, gradient, where=bits == marker)


def _copy_unmarked(gradient: Host, bits: Host, marker: int) -> None:
    np.copyto(gradient, bits, where=bits != marker)


def _is_plain(dtype: Any) -> bool:
    return bool((dtype if scalars.is_scalar(dtype) else getattr(dtype, "dtype", scalars.int32)).is_float)


def _bits(a: array) -> tuple[np.ndarray[Any, Any], int]:
    """The components of an array as unsigned integers, and the marker among them."""
    scalar = a.dtype if scalars.is_scalar(a.dtype) else a.dtype.dtype
    host = a.host()
    return host.view(f"u{scalar.size}"), NOT_KEPT[scalar]
