"""Retained gradients on show: what backward passes put into ``.grad`` for users to read.

They add up from pass to pass, and are not incoming gradients: a pass takes them out of the arrays that it works on, and
puts them back at its end. What a user writes over them is an incoming gradient again.
"""

from __future__ import annotations

import threading
from typing import Optional
from weakref import WeakKeyDictionary

import numpy as np

from treadle.ad.memory import NOT_KEPT
from treadle.codegen.locks import held_across_forks
from treadle.errors import TreadleError
from treadle.runtime import elements, memory
from treadle.runtime.array import array, make
from treadle.runtime.elements import Host
from treadle.runtime.launch import overlaps
from treadle.runtime.writes import watch
from treadle.tape.accumulation import add
from treadle.types import scalars


class Shown:
    """The retained gradient of an array; ``gradient``, where it is given, is that of the array.

    ``retained``: the sum of what passes have retained, or NOT_KEPT for elements of which none has. While ``is_shown``,
    the gradient holds ``total`` in these elements, the sum of that and of ``pending``: what takes part in the next
    pass, which another tape has added, say.
    """

    def __init__(self, gradient: array) -> None:
        self.is_shown = False
        self.retained = like(gradient)
        self._pending, self._total = like(gradient), like(gradient)
        self._ptr, self.extent = gradient.ptr, gradient.extent
        bits, marker = bits_of(self.retained)
        bits.fill(marker)

    def hide(self, gradient: array) -> None:
        """Put back what the gradient held beneath. All that it holds is taken for incoming if it was changed."""
        held, retained, total, pending = (bits_of(a)[0] for a in (gradient, self.retained, self._total, self._pending))
        marker = bits_of(self.retained)[1]
        kept = retained != marker
        if np.array_equal(held[kept], total[kept]):
            np.copyto(held, pending, where=kept)
        else:
            retained.fill(marker)
        self.is_shown = False

    def add(self, fresh: array) -> None:
        """Add what one more pass has retained, an array like ``retained``."""
        retained, marker = bits_of(self.retained)
        new, total = bits_of(fresh)[0], bits_of(self._total)[0]
        total[...] = retained
        _add(self._total, fresh)
        both = (retained != marker) & (new != marker)
        np.copyto(retained, new, where=retained == marker)
        np.copyto(retained, total, where=both)

    def show(self, gradient: array, fresh: Optional[array] = None) -> None:
        """Let the gradient hold what is retained. ``fresh``: what the pass that ends has retained, and added here.

        What that leaves beneath its own is the gradient of earlier contents of the array, and is dropped.
        """
        retained, marker = bits_of(self.retained)
        held, pending, total = (bits_of(a)[0] for a in (gradient, self._pending, self._total))
        pending[...] = held
        if fresh is not None:
            pending[bits_of(fresh)[0] != marker] = 0
        total[...] = retained
        _add(self._total, self._pending)
        kept = retained != marker
        np.copyto(held, total, where=kept)
        self.is_shown = bool(kept.any())

    def give_up(self, a: array) -> None:
        """Elements of an array that shares memory with the gradient are about to be written: they are the user's."""
        retained, marker = bits_of(self.retained)
        layout, (start, end) = elements.layout(a.dtype), a.extent
        if layout.dtype.itemsize == retained.itemsize and self.extent[0] <= start and end <= self.extent[1]:
            shape, strides = a.shape + layout.shape, a.strides + layout.strides
            ptr = a.ptr - self._ptr + self.retained.ptr
            retained = self.retained.allocation.view(ptr, shape, strides, retained.dtype)
        retained.fill(marker)

    def has_layout(self, gradient: array) -> bool:
        """Whether an array of gradients is the same memory, seen in the same way."""
        mine = self.retained
        return (gradient.ptr, gradient.dtype, gradient.shape, gradient.strides) == (
            self._ptr, mine.dtype, mine.shape, mine.strides,
        )  # fmt: skip

    def part(self, a: array, gradient: array) -> array:
        """The part of an array like ``retained`` that corresponds to a view of the gradient."""
        ptr = gradient.ptr - self._ptr + a.ptr
        return make(a.allocation, ptr, gradient.dtype, gradient.shape, gradient.strides, gradient.is_contiguous)


_all: WeakKeyDictionary[array, Shown] = WeakKeyDictionary()
_lock = held_across_forks(threading.Lock())


def all_shown() -> list[tuple[array, Shown]]:
    """All retained gradients, with the arrays of gradients that they belong to."""
    with _lock:
        return list(_all.items())


def shown_of(gradient: array) -> Shown:
    """The retained gradient of an array that has this gradient.

    Raises:
        TreadleError: there is one of other memory that overlaps it.
    """
    with _lock:
        found = _all.get(gradient)
        if found is None:
            near = [known for g, known in _all.items() if overlaps(g, gradient)]
            if not all(known.has_layout(gradient) for known in near):
                raise TreadleError(
                    "the gradients of two arrays with retain_grad=True share part of their memory: use views of one "
                    "array instead"
                )
            found = _all[gradient] = near[0] if near else Shown(gradient)
        return found


def is_on_show(a: array) -> bool:
    """Whether an array shares memory with a gradient that holds, or may hold, what is retained."""
    return any(overlaps(gradient, a) for gradient, _ in all_shown())


def like(a: array) -> array:
    """An array of the same layout, the gaps between elements included, of undefined contents."""
    first, end = a.extent
    block = memory.allocate(end - first)
    return make(block, block.address + a.ptr - first, a.dtype, a.shape, a.strides, a.is_contiguous)


def bits_of(a: array) -> tuple[Host, int]:
    """The components of an array as unsigned integers, and NOT_KEPT among them."""
    scalar = a.dtype if scalars.is_scalar(a.dtype) else a.dtype.dtype
    host: Host = a.host().view(f"u{scalar.size}")
    return host, NOT_KEPT[scalar]


def _add(target: array, other: array) -> None:
    with np.errstate(all="ignore"):
        add(target.dtype, target.numpy(), other.numpy())


def _give_up(a: array) -> None:
    for gradient, shown in all_shown():
        if shown.is_shown and overlaps(gradient, a):
            shown.give_up(a)


watch.written = _give_up
