"""Gradients of arrays made with ``retain_grad=True``: kept aside when an operation consumes them.

The adjoint of a write takes the gradient of what was written and leaves zero. A user who wants
to look at the gradient of an intermediate result asks for it to be retained; then what the last
write to each element consumed is shown at the end of the backward pass, see ``shown``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import partial
from types import TracebackType
from typing import Any, Optional

import numpy as np

from treadle.runtime import capturing
from treadle.runtime.alone import one_at_a_time
from treadle.runtime.array import array
from treadle.runtime.elements import Host
from treadle.tape.shown import Shown, all_shown, bits_of, like, shown_of
from treadle.tape.versions import merged_extents
from treadle.types import scalars


class _Running(threading.local):
    """The backward pass of this thread, which another may be nested in."""

    current: Optional[Retained] = None


_running = _Running()


class Retained:
    """The retained gradients of one backward pass, which runs inside its ``with`` block.

    For each array there is another of the same layout that holds, element by element, the gradient
    that was consumed first in the backward pass, which is that of the last write, or a marker.
    """

    def __init__(self, gradients: Callable[[], Iterable[array]]) -> None:
        """``gradients``: of all arrays that the pass may touch."""
        self._gradients = gradients
        self._outer: Optional[Retained] = None
        self._fresh: dict[Shown, tuple[array, array]] = {}
        """Of each array: its gradient, and what this pass retains."""
        self._keepers: dict[int, tuple[array, array]] = {}
        self._hidden: dict[Shown, array] = {}
        self._handed: dict[Shown, array] = {}
        """What passes within this one have retained."""

    def __enter__(self) -> Retained:
        self._outer, _running.current = _running.current, self
        if capturing.active.capture is not None or any(shown.is_shown for _, shown in all_shown()):
            capturing.perform(partial(_alone, self._hide, merged_extents(self._gradients())))
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        _running.current = self._outer
        if capturing.active.capture is not None or self._fresh or self._hidden or self._handed:
            capturing.perform(partial(_alone, self._show))
        if self._outer is not None:
            self._outer._handed.update((shown, gradient) for shown, (gradient, _) in self._fresh.items())

    def of(self, a: array) -> Optional[array]:
        """Where the consumed gradients of an array, or view, are kept; None if they are not to be retained."""
        if not a.retain_grad or a.grad is None or not _is_plain(a.dtype):
            return None
        if id(a) not in self._keepers:
            whole = a
            while whole.base is not None:
                whole = whole.base[0]
            assert whole.grad is not None
            shown = shown_of(whole.grad)
            if shown not in self._fresh:
                fresh = like(shown.retained)
                bits, marker = bits_of(fresh)
                capturing.perform(partial(bits.fill, marker))
                self._fresh[shown] = (whole.grad, fresh)
            self._keepers[id(a)] = (a, shown.part(self._fresh[shown][1], a.grad))
        return self._keepers[id(a)][1]

    def keep(self, a: array) -> None:
        """Keep the whole gradient of an array, which a copy or fill is about to consume."""
        kept = self.of(a)
        if kept is not None:
            assert a.grad is not None
            bits, marker = bits_of(kept)
            capturing.perform(partial(_copy_marked, bits, bits_of(a.grad)[0], marker))

    def _hide(self, extents: list[tuple[int, int]]) -> None:
        """Take what earlier passes have retained out of the gradients that this one may touch."""
        self._hidden = {}
        for gradient, shown in all_shown():
            start, end = shown.extent
            if shown.is_shown and any(first < end and start < last for first, last in extents):
                shown.hide(gradient)
                self._hidden[shown] = gradient

    def _show(self) -> None:
        """Put it back, with what this pass has retained."""
        for shown, (_, fresh) in self._fresh.items():
            shown.add(fresh)
        showing = dict(self._hidden)
        if self._outer is None:  # else the pass around this one may be at work on the gradient
            showing |= self._handed | {shown: gradient for shown, (gradient, _) in self._fresh.items()}
        for shown, gradient in showing.items():
            if not shown.is_shown:
                shown.show(gradient, self._fresh[shown][1] if shown in self._fresh else None)


_alone = one_at_a_time(lambda step, *arguments: step(*arguments))


def _copy_marked(bits: Host, gradient: Host, marker: int) -> None:
    np.copyto(bits, gradient, where=bits == marker)


def _is_plain(dtype: Any) -> bool:
    return bool((dtype if scalars.is_scalar(dtype) else getattr(dtype, "dtype", scalars.int32)).is_float)
