"""Gradients of arrays made with ``retain_grad=True``: kept aside when an operation consumes them.

The adjoint of a write takes the gradient of what was written and leaves zero. A user who wants
to look at the gradient of an intermediate result asks for it to be retained; then what the last
write to each element consumed is put back at the end of the backward pass.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treadle.runtime.array import array
from treadle.tape.records import Record


class Retained:
    """The retained gradients of one backward pass."""

    def __init__(self) -> None:
        self._arrays: dict[int, array] = {}
        self._before: dict[int, np.ndarray[Any, Any]] = {}
        self._kept: dict[int, np.ndarray[Any, Any]] = {}
        self._known: dict[int, np.ndarray[Any, Any]] = {}

    def before(self, record: Record) -> None:
        """Look at the gradients that ``record`` is about to consume."""
        for a in record.written:
            if a.retain_grad and a.grad is not None:
                self._arrays[id(a)] = a
                self._before[id(a)] = a.grad.numpy().copy()

    def after(self, record: Record) -> None:
        """Keep those that it changed, unless a later write to the element has been kept already."""
        for key, before in self._before.items():
            gradient = self._arrays[key].grad
            assert gradient is not None
            known = self._known.setdefault(key, np.zeros(before.shape, bool))
            kept = self._kept.setdefault(key, np.zeros_like(before))
            consumed = (gradient.numpy() != before) & ~known
            kept[consumed] = before[consumed]
            known |= consumed
        self._before.clear()

    def restore(self) -> None:
        """Put the kept gradients back, once all records have run."""
        for key, known in self._known.items():
            gradient = self._arrays[key].grad
            assert gradient is not None
            gradient.numpy()[known] = self._kept[key][known]
