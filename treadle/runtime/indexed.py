"""Indexed arrays: selected rows, columns, … of an array, in any order, without a copy."""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Any

import numpy as np

from treadle.errors import ArrayError
from treadle.runtime import capturing, copying, elements
from treadle.runtime.array import array, is_data, is_index_array, make
from treadle.runtime.device import Device
from treadle.runtime.elements import Host
from treadle.runtime.layouts import new_layout
from treadle.runtime.memory import Allocation
from treadle.runtime.recording import active
from treadle.runtime.shapes import Extents, expand_index
from treadle.runtime.writes import announce
from treadle.types import indexed_type, int32

__all__ = ["indexedarray"]


class _IndexedMeta(type):
    """Makes ``indexedarray(dtype=T, ndim=n)`` and ``indexedarray[T]`` types, for annotations."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if (not args or args[0] is None) and kwargs.get("data") is None and not kwargs.get("indices"):
            ndim = kwargs.get("ndim")
            return indexed_type(kwargs.get("dtype", Any), 1 if ndim is None else ndim)
        return type.__call__(cls, *args, **kwargs)

    def __getitem__(cls, dtype: Any) -> Any:
        return indexed_type(*dtype) if isinstance(dtype, tuple) else indexed_type(dtype)


class indexedarray(metaclass=_IndexedMeta):
    """Elements of ``data`` selected by an array of int32 for each dimension, or None for a dimension taken whole.

    ``a[i, j]`` is ``data[indices[0][i], indices[1][j]]``. ``shape``, ``ndim``, ``size``, ``dtype`` and ``device`` are
    as for arrays. Reading gathers, writing scatters to ``data``.
    """

    def __init__(self, data: array, indices: Any = None, dtype: Any = None, ndim: int | None = None) -> None:
        """Raises IndexError for an index out of range, ValueError for a wrong number of dimensions or of indices."""
        if not isinstance(data, array):
            raise ArrayError(f"the data of an indexed array is an array, not {type(data).__name__}")
        if dtype is not None and elements.concrete_dtype(dtype) is not data.dtype:
            raise ArrayError(f"the data is an array of {data.dtype!r}, not of {dtype!r}")
        if ndim is not None and ndim != data.ndim:
            raise ArrayError(f"the data has {data.ndim} dimension(s), not {ndim}")
        given = [] if indices is None else list(indices) if isinstance(indices, (list, tuple)) else [indices]
        if len(given) > data.ndim:
            raise ArrayError(f"{len(given)} arrays of indices for {data.ndim} dimension(s)")
        given += [None] * (data.ndim - len(given))
        self.data = data
        self.indices: tuple[array | None, ...] = tuple(
            None if index is None else _checked(index, axis, data.shape[axis]) for axis, index in enumerate(given)
        )
        self.shape: Extents = tuple(
            extent if index is None else index.size for extent, index in zip(data.shape, self.indices)
        )
        self.dtype = data.dtype
        self.ndim = data.ndim
        self.size = math.prod(self.shape)
        self.is_contiguous = False
        self._struct: Any = None

    def as_struct(self) -> Any:
        """The struct that the indexed array is in a kernel: a dimension taken whole has indices, too."""
        if self._struct is None:
            arrays = {
                f"indices{axis}": _all_of(extent) if index is None else index
                for axis, (index, extent) in enumerate(zip(self.indices, self.shape))
            }
            self._struct = indexed_type(self.dtype, self.ndim)(data=self.data, **arrays)
        return self._struct

    @classmethod
    def from_parts(cls, base: array, parts: tuple[Any, ...]) -> indexedarray:
        """What ``base[parts]`` is, for an int, a slice or an integer array for each dimension."""
        others = tuple(slice(None) if is_index_array(part) else part for part in parts)
        data = base if all(part == slice(None) for part in others) else base[others]
        kept = [
            part if is_index_array(part) else None for part in parts if isinstance(part, slice) or is_index_array(part)
        ]
        return cls(data, kept)

    @property
    def device(self) -> Device:
        """The device of the data."""
        return self.data.device

    @property
    def requires_grad(self) -> bool:
        """Whether the data takes part in differentiation."""
        return self.data.requires_grad

    @property
    def grad(self) -> indexedarray | None:
        """The same selection of the data's gradient, or None."""
        gradient = self.data.grad
        return None if gradient is None else indexedarray(gradient, self.indices)

    def _selector(self) -> tuple[Any, ...]:
        """The NumPy index that makes the selection."""
        axes = [
            np.arange(extent) if index is None else index.host() for extent, index in zip(self.data.shape, self.indices)
        ]
        return np.ix_(*axes)

    def host(self) -> Host:
        """A copy of the elements in NumPy; bfloat16 as its bits."""
        result: Host = self.data.host()[self._selector()]
        return result

    def write_host(self, values: Any) -> None:
        """Write NumPy values to the selected elements, unrecorded."""
        self.data.host()[self._selector()] = values

    @property
    def allocation(self) -> Allocation:
        """The memory of the data."""
        return self.data.allocation

    def check_writable(self) -> None:
        """Raise ValueError if the memory must not be written."""
        self.data.check_writable()

    def numpy(self) -> Host:
        """A copy of the elements as a NumPy array."""
        return self._gather().numpy()

    def list(self) -> list[Any]:
        """All elements in C order."""
        return self._gather().list()

    def _gather(self) -> array:
        """A contiguous copy without gradient, unrecorded."""
        result = make(*new_layout(self.dtype, self.shape))
        result.host()[...] = self.host()
        result.allocation.keep_all(self.allocation)
        return result

    def contiguous(self) -> array:
        """A contiguous array with a copy of the elements. Raises RuntimeError where a tape would need its gradient."""
        result = make(*new_layout(self.dtype, self.shape))
        result.requires_grad = self.requires_grad
        copying.copy(result, self)
        return result

    def fill_(self, value: Any) -> None:
        """Set the selected elements to ``value``. Raises RuntimeError where a tape would need the gradient."""
        raw = elements.to_raw(self.dtype, value)
        self.check_writable()
        if active.recorder is not None:
            copying.refuse_gradient(self)
            active.recorder.record_write(self.data, "a fill of an indexed array")
        announce(self.data)
        capturing.perform(partial(self.write_host, raw))

    def zero_(self) -> None:
        """Set the selected elements to zero."""
        self.fill_(0)

    def assign(self, src: Any) -> None:
        """Copy ``src``, an array of the same shape or data that one can be made of, to the selected elements."""
        if not isinstance(src, (array, indexedarray)):
            src = array(src, dtype=self.dtype, copy=False)
        copying.copy(self, src)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        return self.data[self._compose(index)]

    def _compose(self, index: Any) -> tuple[Any, ...]:
        """An index expression in terms of the data."""
        parts = zip(expand_index(index, self.ndim), self.indices)
        return tuple(
            part if mine is None else mine.host()[np.asarray(part)] if is_index_array(part) else mine[part]
            for part, mine in parts
        )

    def __setitem__(self, index: Any, value: Any) -> None:
        if index is not Ellipsis:
            self.data[self._compose(index)] = value
        elif isinstance(value, indexedarray) or is_data(value, self.dtype):
            self.assign(value)
        else:
            self.fill_(value)

    def __str__(self) -> str:
        return str(self.host())

    def __repr__(self) -> str:
        return f"indexedarray({self.host()}, shape={self.shape}, dtype={self.dtype!r})"


@lru_cache(maxsize=16)
def _all_of(extent: int) -> array:
    """The indices of a dimension taken whole."""
    result: array = array(np.arange(extent, dtype=np.int32), dtype=int32, copy=False)
    return result


def _checked(index: Any, axis: int, extent: int) -> array:
    """An array of indices as int32, in range."""
    if not isinstance(index, array) or index.dtype is not int32:
        given = np.asarray(index)
        if given.ndim != 1 or (given.dtype.kind not in "iu" and given.size):
            raise ArrayError(f"indices are one-dimensional arrays of ints, not {given.dtype} of shape {given.shape}")
        index = array(given, dtype=int32)
    checked: array = index
    if checked.ndim != 1:
        raise ArrayError(f"indices are one-dimensional, not of shape {checked.shape}")
    host = checked.host()
    if host.size and not (0 <= host.min() and host.max() < extent):
        raise IndexError(
            f"the indices of dimension {axis} reach from {host.min()} to {host.max()}; its extent is {extent}"
        )
    return checked
