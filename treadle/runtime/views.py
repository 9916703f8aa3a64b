"""Views of a whole array with another shape, element type or order of dimensions. Slices are in ``array``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from treadle.errors import ArrayError
from treadle.runtime import elements, shapes
from treadle.runtime.strided import Strided

if TYPE_CHECKING:
    from typing_extensions import Self


class Views(Strided):
    """The methods of an array that give views. A view shares memory and gradient with its base."""

    __slots__ = ()

    def reshape(self, shape: Any) -> Self:
        """A view with another shape; one extent may be -1. Raises ValueError if the array is not contiguous."""
        extents = shapes.resolve_reshape(shape, self.size)
        if not self.is_contiguous:
            raise ArrayError("an array that is not contiguous cannot be reshaped: call contiguous() first")
        strides = shapes.contiguous_strides(extents, elements.layout(self.dtype).size)
        return self._view(self.ptr, self.dtype, extents, strides, lambda base: base.reshape(extents))

    def flatten(self) -> Self:
        """A one-dimensional view. Raises ValueError if the array is not contiguous."""
        return self if self.ndim == 1 else self.reshape(self.size)

    def view(self, dtype: Any) -> Self:
        """A view of the same memory as elements of another type of the same size. Raises ValueError for another size.

        It has a gradient only if the two types are made of the same scalars.
        """
        dtype = elements.concrete_dtype(dtype)
        old, new = elements.layout(self.dtype), elements.layout(dtype)
        if new.size != old.size:
            raise ArrayError(f"cannot view {self.dtype!r} of {old.size} bytes as {dtype!r} of {new.size} bytes")
        derive = (lambda base: base.view(dtype)) if new.scalar is old.scalar and new.scalar is not None else None
        return self._view(self.ptr, dtype, self.shape, self.strides, derive)

    def components(self) -> Self:
        """A one-dimensional view of the scalars of a contiguous array of vectors or matrices.

        Raises ValueError if the array is not contiguous, TypeError if it is one of structs.
        """
        layout = elements.layout(self.dtype)
        if layout.scalar is None:
            raise ArrayError("the members of structs cannot be viewed as one array of scalars")
        if not self.is_contiguous:
            raise ArrayError("an array that is not contiguous cannot be viewed as scalars: call contiguous() first")
        count = (self.size * math.prod(layout.shape),)
        return self._view(self.ptr, layout.scalar, count, (layout.scalar.size,), lambda base: base.components())

    def view_as_components(self, dtype: Any) -> Self:
        """A view of an array of scalars as vectors or matrices: the last dimensions become components.

        The array itself if it has the dtype already. Raises ArrayError if the dimensions do not fit or are not
        contiguous.
        """
        dtype = elements.concrete_dtype(dtype)
        if self.dtype is dtype:
            return self
        layout = elements.layout(dtype)
        ndim = self.ndim - len(layout.shape)
        if self.dtype is not layout.scalar or ndim < 1 or self.shape[ndim:] != layout.shape:
            raise ArrayError(f"an array of {self.dtype!r} of shape {self.shape} cannot be viewed as one of {dtype!r}")
        if self.size and shapes.canonical_strides(layout.shape, self.strides[ndim:], layout.dtype.itemsize)[1] is False:
            raise ArrayError(f"the components of {dtype!r} are not contiguous in memory: call contiguous() first")
        return self._view(
            self.ptr, dtype, self.shape[:ndim], self.strides[:ndim], lambda base: base.view_as_components(dtype)
        )

    def transpose(self, axes: Any = None) -> Self:
        """A view with dimensions in another order; reversed if ``axes`` is None. Raises ValueError for wrong axes."""
        order = tuple(reversed(range(self.ndim))) if axes is None else tuple(int(axis) % self.ndim for axis in axes)
        if sorted(order) != list(range(self.ndim)):
            raise ArrayError(f"the axes of an array with {self.ndim} dimension(s) cannot be permuted to {axes}")
        shape = tuple(self.shape[axis] for axis in order)
        strides = tuple(self.strides[axis] for axis in order)
        return self._view(self.ptr, self.dtype, shape, strides, lambda base: base.transpose(order))

    @property
    def T(self) -> Self:
        """The view with the dimensions in reversed order."""
        return self.transpose()

    def __copy__(self) -> Self:
        return self._view(self.ptr, self.dtype, self.shape, self.strides, lambda base: base)
