"""Where the elements of an array lie in memory: the part of an array that views, protocols and launches build on.

Whole arrays, with indexing and gradients, are in ``array``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from treadle.runtime import elements, shapes
from treadle.runtime.device import CPU, Device
from treadle.runtime.elements import Host
from treadle.runtime.memory import Allocation
from treadle.runtime.shapes import Extents

if TYPE_CHECKING:
    from typing_extensions import Self


class Strided:
    """Elements of one type in an allocation, at regular distances. The layout never changes."""

    __slots__ = (
        "__weakref__",
        "_derived",
        "_extent",
        "_grad",
        "_requires_grad",
        "_retain_grad",
        "_source",
        "_words",
        "allocation",
        "device",
        "dtype",
        "is_contiguous",
        "ndim",
        "ptr",
        "shape",
        "size",
        "strides",
    )

    dtype: Any
    shape: Extents
    strides: Extents
    ndim: int
    size: int
    ptr: int
    device: Device
    _extent: tuple[int, int] | None
    is_contiguous: bool
    allocation: Allocation
    _grad: Any  # its own gradient: an array or None
    _requires_grad: bool
    _retain_grad: bool
    _source: tuple[Any, Callable[[Any], Any]] | None  # of a view: its base, and the same view of another array
    _derived: tuple[Any, Any] | None  # of a view: the base's gradient and the view of it
    _words: tuple[int, ...] | None  # the descriptor, when it was asked for

    @property
    def capacity(self) -> int:
        """The bytes of memory from the first element to the end of the allocation."""
        return self.allocation.nbytes - (self.ptr - self.allocation.address)

    @property
    def nbytes(self) -> int:
        """The bytes that all elements take together."""
        return self.size * elements.layout(self.dtype).size

    @property
    def extent(self) -> tuple[int, int]:
        """The addresses ``(first, one past last)`` of the bytes that the array can touch."""
        known: tuple[int, int] | None = self._extent
        if known is None:
            known = shapes.byte_range(self.ptr, self.shape, self.strides, elements.layout(self.dtype).size)
            self._extent = known
        return known

    @property
    def readonly(self) -> bool:
        """Whether the memory must not be written."""
        return self.allocation.readonly

    @property
    def pinned(self) -> bool:
        """Whether the memory is page-locked for a CUDA device."""
        return False

    @property
    def _descriptor(self) -> tuple[int, ...]:
        """What a launch passes: ``(ptr, *shape, *strides)``."""
        known = self._words
        if known is None:
            known = self._words = (self.ptr, *self.shape, *self.strides)
        return known

    def host(self) -> Host:
        """A NumPy view of the memory. Like ``numpy()``, but bfloat16 is always its bits."""
        layout = elements.layout(self.dtype)
        return self.allocation.view(self.ptr, self.shape + layout.shape, self.strides + layout.strides, layout.dtype)

    def _view(
        self,
        ptr: int,
        dtype: Any,
        shape: Extents,
        strides: Extents,
        derive: Callable[[Any], Any] | None,
    ) -> Self:
        """A view of this array; ``derive`` makes the same view of the gradient (None: without gradient)."""
        strides, contiguous = shapes.canonical_strides(shape, strides, elements.layout(dtype).size)
        result = object.__new__(self.__class__)
        fill_slots(result, self.allocation, ptr, dtype, shape, strides, contiguous)
        if derive is not None:
            result._source = (self, derive)
        result._retain_grad = self._retain_grad
        return result


def fill_slots(
    self: Strided, allocation: Allocation, ptr: int, dtype: Any, shape: Extents, strides: Extents, contiguous: bool
) -> None:
    """Give a new array its layout; it has no gradient."""
    self.allocation = allocation
    self.ptr = ptr
    self.dtype = dtype
    self.shape = shape
    self.strides = strides
    self.ndim = len(shape)
    self.size = shape[0] if len(shape) == 1 else math.prod(shape)
    self.is_contiguous = contiguous
    self.device = CPU
    self._retain_grad = False
    self._requires_grad = False
    self._grad = None
    self._source = None
    self._derived = None
    self._words = None
    self._extent = None
