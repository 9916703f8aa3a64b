"""The array: typed elements in memory, with a shape, strides and maybe a gradient.

Also what ``array`` means in annotations. How user data is converted is in ``hostdata``, single
elements in ``elements``, copies between arrays in ``copying``; making arrays of zeros and the like
is in ``creation``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from treadle.errors import ArrayError
from treadle.runtime import capturing, copying, dlpack, elements, hostdata, members, memory, shapes
from treadle.runtime.device import CPU, Device, DeviceLike, get_device
from treadle.runtime.elements import Host
from treadle.runtime.memory import Allocation
from treadle.runtime.recording import active
from treadle.runtime.shapes import Extents
from treadle.types import ArrayType, CompositeMeta, StructMeta, bfloat16, bfloat16_values

__all__ = ["array", "array1d", "array2d", "array3d", "array4d"]

# The arguments that make ``array(...)`` an array; without any of them it is an annotation.
_CONTENT = ("data", "shape", "ptr", "length")


class ArrayMeta(type):
    """Makes ``array[T]`` and ``array(dtype=T, ndim=n)`` array types, for annotations."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if (not args or args[0] is None) and len(args) < 3 and all(kwargs.get(name) is None for name in _CONTENT):
            dtype = args[1] if len(args) > 1 else kwargs.get("dtype", Any)
            ndim = kwargs.get("ndim")
            return ArrayType(dtype, 1 if ndim is None else ndim)
        return type.__call__(cls, *args, **kwargs)

    def __getitem__(cls, dtype: Any) -> Any:
        return ArrayType(*dtype) if isinstance(dtype, tuple) else ArrayType(dtype)


class array(metaclass=ArrayMeta):
    """Elements of one type in memory, in one to four dimensions.

    Attributes: ``dtype``; ``shape``; ``strides``, in bytes; ``ndim``; ``size``, the number of elements;
    ``ptr``, the address of element 0; ``device``; ``is_contiguous`` (C order); ``grad``, an array of the
    same shape and dtype, or None; ``requires_grad``; ``retain_grad``. The layout never changes.

    Indexing with ints, slices and an ellipsis gives views that share memory, and so does their gradient;
    an int for every dimension gives the element itself; integer arrays give an ``indexedarray``.

    Arrays compare by identity, so that they can be keys.
    """

    __slots__ = (
        "__weakref__",
        "_derived",
        "_extent",
        "_grad",
        "_requires_grad",
        "_source",
        "_words",
        "allocation",
        "device",
        "dtype",
        "is_contiguous",
        "ndim",
        "ptr",
        "retain_grad",
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
    retain_grad: bool
    allocation: Allocation
    _grad: array | None  # its own gradient
    _requires_grad: bool
    _source: tuple[array, Callable[[array], array]] | None  # of a view: its base, and the same view of another array
    _derived: tuple[array, array] | None  # of a view: the base's gradient and the view of it
    _words: tuple[int, ...] | None  # the descriptor, when it was asked for

    def __init__(
        self,
        data: Any = None,
        dtype: Any = Any,
        shape: Any = None,
        strides: Any = None,
        length: int | None = None,
        ptr: int | None = None,
        capacity: int | None = None,
        device: DeviceLike = None,
        pinned: bool = False,
        copy: bool = True,
        deleter: Callable[[int, int], Any] | None = None,
        ndim: int | None = None,
        grad: array | None = None,
        requires_grad: bool = False,
        retain_grad: bool = False,
    ) -> None:
        """An array from ``data``, around memory at ``ptr``, or (with only a ``shape``) with undefined values.

        ``data``: numbers, vectors or structs in nested sequences, or anything that NumPy takes. A NumPy array is
        shared, not copied, with ``copy=False`` if its dtype and layout allow it. ``length`` is a one-dimensional
        ``shape``. ``capacity`` is in bytes; ``deleter(ptr, capacity)`` is called when the memory at ``ptr`` is no
        longer used. ``pinned`` memory exists on CUDA devices only and is ignored.
        Raises TypeError, ValueError or OverflowError for what does not fit together.
        """
        device = get_device(device)
        if dtype is not Any:
            dtype = elements.concrete_dtype(dtype)
        extents = (
            None if shape is None and length is None else shapes.normalize_shape(length if shape is None else shape)
        )
        if data is not None:
            if ptr is not None:
                raise ArrayError("an array is made of data or of ptr, not of both")
            _from_data(self, data, dtype, extents, copy)
        elif extents is None:
            raise ArrayError("an array around memory (ptr) needs a shape")
        elif dtype is Any:
            raise ArrayError("an array without data needs a dtype")
        elif ptr is not None:
            _from_pointer(self, ptr, dtype, extents, strides, capacity, deleter)
        else:
            _fill_slots(self, *new_layout(dtype, extents))
        if ndim is not None and ndim != self.ndim:
            raise ArrayError(f"the data has {self.ndim} dimension(s), not {ndim}: its shape is {self.shape}")
        self.retain_grad = retain_grad
        if grad is not None:
            self.grad = grad
        elif requires_grad:
            self.requires_grad = True

    @staticmethod
    def null(dtype: Any, ndim: int) -> array:
        """The array that None stands for as an argument: no elements, and the address 0."""
        return make(_NOTHING, 0, dtype, (0,) * ndim, (0,) * ndim, True)

    # -- Layout

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

    # -- Gradient

    @property
    def grad(self) -> array | None:
        """The gradient: an array of the same shape and dtype, or None.

        That of a view is the same view of the base's gradient, also when that is made later.
        """
        own = self._grad
        if own is not None or self._source is None:
            return own
        base, derive = self._source
        gradient = base.grad
        if gradient is None:
            return None
        if self._derived is None or self._derived[0] is not gradient:
            self._derived = (gradient, derive(gradient))
        return self._derived[1]

    @grad.setter
    def grad(self, gradient: array | None) -> None:
        if gradient is None:
            self.requires_grad = False
            return
        if not isinstance(gradient, array):
            raise ArrayError(f"a gradient is an array, not {type(gradient).__name__}")
        if gradient.shape != self.shape or gradient.dtype is not self.dtype:
            raise ArrayError(
                f"the gradient of an array of {self.dtype!r} of shape {self.shape} cannot be "
                f"an array of {gradient.dtype!r} of shape {gradient.shape}"
            )
        if gradient.readonly:
            raise ArrayError("a gradient is written to; this one is read-only")
        self._grad = gradient
        self._requires_grad = True

    @property
    def base(self) -> tuple[array, Callable[[array], array]] | None:
        """For a view whose gradient is that of another array: the array, and what makes such a view of its gradient."""
        return self._source if self._grad is None else None

    @property
    def requires_grad(self) -> bool:
        """Whether the array takes part in differentiation.

        Setting it to True makes a gradient of zeros if there is none; setting it to False drops the gradient.
        """
        return self._requires_grad or (self._source is not None and self._source[0].requires_grad)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not value:
            self._grad = self._source = self._derived = None
            self._requires_grad = False
        elif not self.requires_grad:
            # The same strides as the data: a struct's descriptor has one set of strides for both.
            first, end = self.extent
            block = memory.allocate(end - first, zero=True)
            address = block.address + self.ptr - first
            self._grad = make(block, address, self.dtype, self.shape, self.strides, self.is_contiguous)
            self._requires_grad = True

    # -- Views

    def _view(
        self,
        ptr: int,
        dtype: Any,
        shape: Extents,
        strides: Extents,
        derive: Callable[[array], array] | None,
    ) -> array:
        """A view of this array; ``derive`` makes the same view of the gradient (None: without gradient)."""
        strides, contiguous = shapes.canonical_strides(shape, strides, elements.layout(dtype).size)
        result = make(self.allocation, ptr, dtype, shape, strides, contiguous)
        if derive is not None:
            result._source = (self, derive)
        result.retain_grad = self.retain_grad
        return result

    def __getitem__(self, index: Any) -> Any:
        parts = shapes.expand_index(index, self.ndim)
        if any(is_index_array(part) for part in parts):
            return _indexed(self, parts)
        offset, shape, strides = shapes.select(parts, self.shape, self.strides)
        if shape:
            return self._view(self.ptr + offset, self.dtype, shape, strides, lambda base: base[index])
        layout = elements.layout(self.dtype)
        raw = self.allocation.view(self.ptr + offset, layout.shape, layout.strides, layout.dtype)
        value = elements.from_raw(self.dtype, raw)
        return members.load(self.allocation, self.dtype, raw, value) if layout.scalar is None else value

    def __setitem__(self, index: Any, value: Any) -> None:
        parts = shapes.expand_index(index, self.ndim)
        if any(is_index_array(part) for part in parts):
            _indexed(self, parts)[...] = value
            return
        if not any(isinstance(part, slice) for part in parts):
            self._element(parts).fill_(value)
            return
        target = self[parts]
        if not is_data(value, self.dtype):
            target.fill_(value)
            return
        source = value if isinstance(value, array) else array(value, dtype=self.dtype, copy=False)
        if source.shape != target.shape:
            raise ArrayError(f"cannot assign an array of shape {source.shape} to a part of shape {target.shape}")
        copying.copy(target, source)

    def _element(self, parts: tuple[Any, ...]) -> array:
        """One element, selected by an int for every dimension, as a view of shape (1,)."""
        offset = shapes.select(parts, self.shape, self.strides)[0]
        strides = (elements.layout(self.dtype).size,)
        return self._view(self.ptr + offset, self.dtype, (1,), strides, lambda base: base._element(parts))

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(self.shape[0]))

    def reshape(self, shape: Any) -> array:
        """A view with another shape; one extent may be -1. Raises ValueError if the array is not contiguous."""
        extents = shapes.resolve_reshape(shape, self.size)
        if not self.is_contiguous:
            raise ArrayError("an array that is not contiguous cannot be reshaped: call contiguous() first")
        strides = shapes.contiguous_strides(extents, elements.layout(self.dtype).size)
        return self._view(self.ptr, self.dtype, extents, strides, lambda base: base.reshape(extents))

    def flatten(self) -> array:
        """A one-dimensional view. Raises ValueError if the array is not contiguous."""
        return self if self.ndim == 1 else self.reshape(self.size)

    def view(self, dtype: Any) -> array:
        """A view of the same memory as elements of another type of the same size. Raises ValueError for another size.

        It has a gradient only if the two types are made of the same scalars.
        """
        dtype = elements.concrete_dtype(dtype)
        old, new = elements.layout(self.dtype), elements.layout(dtype)
        if new.size != old.size:
            raise ArrayError(f"cannot view {self.dtype!r} of {old.size} bytes as {dtype!r} of {new.size} bytes")
        derive = (lambda base: base.view(dtype)) if new.scalar is old.scalar and new.scalar is not None else None
        return self._view(self.ptr, dtype, self.shape, self.strides, derive)

    def components(self) -> array:
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

    def view_as_components(self, dtype: Any) -> array:
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

    def transpose(self, axes: Any = None) -> array:
        """A view with dimensions in another order; reversed if ``axes`` is None. Raises ValueError for wrong axes."""
        order = tuple(reversed(range(self.ndim))) if axes is None else tuple(int(axis) % self.ndim for axis in axes)
        if sorted(order) != list(range(self.ndim)):
            raise ArrayError(f"the axes of an array with {self.ndim} dimension(s) cannot be permuted to {axes}")
        shape = tuple(self.shape[axis] for axis in order)
        strides = tuple(self.strides[axis] for axis in order)
        return self._view(self.ptr, self.dtype, shape, strides, lambda base: base.transpose(order))

    @property
    def T(self) -> array:
        """The view with the dimensions in reversed order."""
        return self.transpose()

    def contiguous(self) -> array:
        """The array itself if it is contiguous, else a contiguous copy, which is recorded on a tape."""
        return self if self.is_contiguous else clone(self)

    def to(self, device: DeviceLike, requires_grad: bool | None = None) -> array:
        """The array itself if it is on ``device``, else a copy there."""
        target = get_device(device)
        return self if target is self.device else clone(self, target, requires_grad)

    # -- Writing

    def check_writable(self) -> None:
        """Raise ValueError if the memory must not be written."""
        if self.allocation.readonly:
            raise ArrayError("the array is read-only: its memory belongs to an object that does not allow writing")

    def fill_(self, value: Any) -> None:
        """Set all elements to ``value``; a number stands for all components of a vector or matrix."""
        raw = elements.to_raw(self.dtype, value)
        self.check_writable()
        if active.recorder is not None:
            active.recorder.record_fill(self)
        if capturing.active.capture is None:
            self._fill(raw, value)
        else:
            capturing.perform(partial(self._fill, raw, value))

    def _fill(self, raw: Any, value: Any) -> None:
        """Write ``raw``, which ``value`` is in memory, to all elements."""
        host = self.host()
        host[...] = raw
        if isinstance(self.dtype, StructMeta) and members.paths(self.dtype) and isinstance(value, self.dtype):
            for place in np.ndindex(host.shape):
                members.store(self.allocation, self.dtype, host[place], value)

    def zero_(self) -> None:
        """Set all elements to zero."""
        self.fill_(0)

    def assign(self, src: Any) -> None:
        """Copy the elements of ``src``, an array or any data that one can be made of, to the start of this one.

        Recorded on a tape. Raises ValueError if ``src`` has more elements, or if it has another shape and one of the
        two is not contiguous.
        """
        if not isinstance(src, array) and not hasattr(src, "indices"):
            src = array(src, dtype=self.dtype, copy=False)
        copying.copy(self, src)

    # -- Marks for the overwrite tracking of a tape

    def mark_read(self) -> None:
        """Tell the active tape, if any, that a step of the user's own has read the array."""
        if active.recorder is not None:
            active.recorder.mark_read(self)

    def mark_write(self, **details: Any) -> None:
        """Tell the active tape, if any, that a step of the user's own writes the array."""
        if active.recorder is not None:
            active.recorder.mark_write(self)

    def mark_init(self) -> None:
        """Tell the active tape, if any, that earlier reads of the array do not matter any more."""
        if active.recorder is not None:
            active.recorder.mark_init(self)

    # -- NumPy and Python

    def host(self) -> Host:
        """A NumPy view of the memory. Like ``numpy()``, but bfloat16 is always its bits."""
        layout = elements.layout(self.dtype)
        return self.allocation.view(self.ptr, self.shape + layout.shape, self.strides + layout.strides, layout.dtype)

    def numpy(self) -> Host:
        """A NumPy array that shares the memory, and keeps it alive.

        The components of vectors and matrices are trailing dimensions; structs are records. bfloat16 is that of
        the package ml_dtypes, or, if that is not installed, the bits as uint16.
        """
        host = self.host()
        if elements.layout(self.dtype).scalar is bfloat16 and elements.ml_bfloat16() is not None:
            return host.view(elements.ml_bfloat16())
        return host

    def list(self) -> list[Any]:
        """All elements in C order, as numbers, vectors, structs, …"""
        host = self.host()
        values = elements.list_from_raw(self.dtype, host, self.ndim)
        if isinstance(self.dtype, StructMeta) and members.paths(self.dtype):
            for record, value in zip(host.ravel(), values):
                members.load(self.allocation, self.dtype, record, value)
        return values

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """NumPy's array protocol. It cannot express structs and bfloat16: for them NumPy uses ``__array__``."""
        return self._interface("__array_interface__")

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The same protocol for the memory of CUDA devices; arrays on the CPU do not have it."""
        if not self.device.is_cuda:
            raise AttributeError("an array on the CPU has no __cuda_array_interface__; use __array_interface__")
        return self._interface("__cuda_array_interface__")

    def _interface(self, name: str) -> dict[str, Any]:
        layout = elements.layout(self.dtype)
        if layout.typestr is None:
            raise AttributeError(f"arrays of {self.dtype!r} have no {name}")
        return {
            "data": (self.ptr, self.readonly),
            "shape": self.shape + layout.shape,
            "strides": None if self.is_contiguous else self.strides + layout.strides,
            "typestr": layout.typestr,
            "version": 3,
        }

    def __dlpack__(
        self, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        """The DLPack protocol: a capsule. Raises ExportError (a BufferError) for what cannot be shared as asked."""
        return dlpack.export(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack.CPU_DEVICE

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Host:
        host = self.numpy()
        if dtype is not None and host.dtype != dtype:
            if copy is False:
                raise ArrayError(f"cannot convert an array of {self.dtype!r} to {np.dtype(dtype)} without a copy")
            return host.astype(dtype)
        return host.copy() if copy else host

    def __str__(self) -> str:
        return str(self._printable())

    def __repr__(self) -> str:
        text = np.array2string(self._printable(), separator=", ", prefix="array(")
        return f"array({text}, shape={self.shape}, dtype={self.dtype!r})"

    def _printable(self) -> Host:
        brain = elements.layout(self.dtype).scalar is bfloat16
        return bfloat16_values(self.host()) if brain else self.host()

    # -- Copying and pickling

    def __copy__(self) -> array:
        return self._view(self.ptr, self.dtype, self.shape, self.strides, lambda base: base)

    def __deepcopy__(self, memo: Any) -> array:
        result = clone(self)
        result.retain_grad = self.retain_grad
        if self.grad is not None and result.grad is not None:
            copying.transfer(result.grad, self.grad)
        memo[id(self)] = result
        return result

    def __reduce__(self) -> tuple[Any, ...]:
        if isinstance(self.dtype, StructMeta) and members.paths(self.dtype):
            raise TypeError(f"arrays of {self.dtype!r} cannot be pickled: it has arrays as members")
        gradient = None if self.grad is None else self.grad.host().copy()
        return (_restore, (self.dtype, self.ndim, self.host().copy(), gradient, self.retain_grad))


_NOTHING = Allocation(0, 0)


def make(allocation: Allocation, ptr: int, dtype: Any, shape: Extents, strides: Extents, contiguous: bool) -> array:
    """An array of known layout, without checks and without gradient: the fast way.

    ``dtype`` is a language type; ``strides`` come from ``shapes.canonical_strides``, as does ``contiguous``.
    """
    self: array = _new(array)
    _fill_slots(self, allocation, ptr, dtype, shape, strides, contiguous)
    return self


_new = object.__new__


def _fill_slots(
    self: array, allocation: Allocation, ptr: int, dtype: Any, shape: Extents, strides: Extents, contiguous: bool
) -> None:
    self.allocation = allocation
    self.ptr = ptr
    self.dtype = dtype
    self.shape = shape
    self.strides = strides
    self.ndim = len(shape)
    self.size = shape[0] if len(shape) == 1 else math.prod(shape)
    self.is_contiguous = contiguous
    self.device = CPU
    self.retain_grad = False
    self._requires_grad = False
    self._grad = None
    self._source = None
    self._derived = None
    self._words = None
    self._extent = None


def new_layout(dtype: Any, shape: Extents, zero: bool = False) -> tuple[Allocation, int, Any, Extents, Extents, bool]:
    """The arguments of ``make`` for a contiguous array in new memory."""
    size = elements.layout(dtype).size
    allocation = memory.allocate(size * math.prod(shape), zero)
    return allocation, allocation.address, dtype, shape, shapes.contiguous_strides(shape, size), True


def wrap_host(host: Host, dtype: Any, owner: Any = None) -> array:
    """An array that shares the memory of a NumPy array, which has the memory layout of ``dtype``.

    Trailing dimensions are the components of a composite dtype. ``owner`` is kept alive in place of ``host``.
    Raises ValueError if the components are not contiguous.
    """
    layout = elements.layout(dtype)
    ndim = host.ndim - len(layout.shape)
    shape, strides = host.shape[:ndim], host.strides[:ndim]
    if not _components_contiguous(host, layout):
        raise ArrayError(f"the components of {dtype!r} are not contiguous in memory")
    if not 1 <= ndim <= shapes.MAX_NDIM:
        raise ArrayError(f"arrays have 1 to {shapes.MAX_NDIM} dimensions, not {ndim}: shape {shape}")
    strides, contiguous = shapes.canonical_strides(shape, strides, layout.size)
    address, readonly = host.__array_interface__["data"]
    return wrap_pointer(address, dtype, shape, strides, contiguous, host if owner is None else owner, readonly)


def wrap_pointer(
    ptr: int,
    dtype: Any,
    shape: Extents,
    strides: Extents,
    contiguous: bool,
    owner: Any,
    readonly: bool = False,
) -> array:
    """An array of known layout in memory that ``owner`` keeps alive; as ``make``, without checks."""
    size = elements.layout(dtype).size
    if contiguous:
        allocation = Allocation(ptr, size * math.prod(shape), owner, readonly)
    else:
        first, end = shapes.byte_range(ptr, shape, strides, size)
        allocation = Allocation(first, end - first, owner, readonly)
    return make(allocation, ptr, dtype, shape, strides, contiguous)


def _from_data(self: array, data: Any, dtype: Any, extents: Extents | None, copy: bool) -> None:
    host, dtype = hostdata.convert(data, dtype)
    layout = elements.layout(dtype)
    if extents is not None:
        try:
            host = host.reshape(extents + layout.shape)
        except ValueError:
            count = host.size // math.prod(layout.shape)
            raise ArrayError(f"data of {count} elements cannot be an array of shape {extents}") from None
    shape = shapes.normalize_shape(host.shape[: host.ndim - len(layout.shape)])
    copied = copy or not host.flags.aligned or not _components_contiguous(host, layout)
    if copied:
        _fill_slots(self, *new_layout(dtype, shape))
        self.host()[...] = host
    else:
        shared = wrap_host(host, dtype)
        _fill_slots(self, shared.allocation, shared.ptr, dtype, shape, shared.strides, shared.is_contiguous)
    _keep_members(self, data)
    if capturing.active.capture is not None and copied:
        capturing.repeat(partial(np.copyto, self.host(), self.host().copy()))


def _components_contiguous(host: Host, layout: elements.ElementLayout) -> bool:
    """Whether the trailing dimensions lie in memory as the components of one element do."""
    count = len(layout.shape)
    return (
        host.size == 0
        or count == 0
        or all(
            extent == 1 or have == want
            for extent, have, want in zip(layout.shape, host.strides[-count:], layout.strides)
        )
    )


def _keep_members(self: array, data: Any) -> None:
    """Write the descriptors of the array members of structs in ``data``."""
    if not (isinstance(self.dtype, StructMeta) and members.paths(self.dtype)):
        return
    if isinstance(data, array):
        self.allocation.keep_all(data.allocation)
        return
    records = self.host().reshape(-1)
    hostdata.for_each_struct(data, lambda k, value: members.store(self.allocation, self.dtype, records[k], value))


def _from_pointer(
    self: array,
    ptr: int,
    dtype: Any,
    extents: Extents,
    strides: Any,
    capacity: int | None,
    deleter: Callable[[int, int], Any] | None,
) -> None:
    size = elements.layout(dtype).size
    steps = shapes.contiguous_strides(extents, size) if strides is None else tuple(int(step) for step in strides)
    if len(steps) != len(extents):
        raise ArrayError(f"the shape {extents} and the strides {steps} have different lengths")
    steps, contiguous = shapes.canonical_strides(extents, steps, size)
    first, end = shapes.byte_range(ptr, extents, steps, size)
    if capacity is not None and end - ptr > capacity:
        raise ArrayError(f"the shape {extents} needs {end - ptr} bytes, more than the capacity of {capacity}")
    allocation = memory.foreign(first, max(end - first, capacity or 0), None, deleter)
    _fill_slots(self, allocation, ptr, dtype, extents, steps, contiguous)


def is_index_array(part: Any) -> bool:
    """Whether a part of an index expression is an array of indices."""
    return isinstance(part, (array, list, np.ndarray)) and not (isinstance(part, np.ndarray) and part.ndim == 0)


def _indexed(base: array, parts: tuple[Any, ...]) -> Any:
    from treadle.runtime.indexed import indexedarray  # it is made of arrays, so it comes after them

    return indexedarray.from_parts(base, parts)


def is_data(value: Any, dtype: Any) -> bool:
    """Whether ``value`` stands for several elements of ``dtype``, not for one."""
    depth = len(elements.layout(dtype).shape)
    if isinstance(value, (array, np.ndarray)):
        return isinstance(value, array) or value.ndim > depth
    nesting = 0
    while isinstance(value, (list, tuple)):
        nesting += 1
        value = value[0] if value else None
    return nesting > (0 if isinstance(type(value), CompositeMeta) else depth)


def clone(src: array, device: DeviceLike = None, requires_grad: bool | None = None) -> array:
    """A contiguous copy of ``src``, recorded on a tape.

    It requires a gradient if ``src`` does, or as ``requires_grad`` says; without one it is detached.
    """
    get_device(device)
    result = make(*new_layout(src.dtype, src.shape))
    result.requires_grad = src.requires_grad if requires_grad is None else requires_grad
    copying.copy(result, src)
    return result


def _restore(dtype: Any, ndim: int, host: Host, gradient: Host | None, retain_grad: bool) -> array:
    """The array that ``__reduce__`` took apart."""
    result = make(*new_layout(dtype, host.shape[:ndim]))
    result.host()[...] = host
    result.retain_grad = retain_grad
    if gradient is not None:
        result.grad = _restore(dtype, ndim, gradient, None, False)
    return result


class _DimensionMeta(type):
    """Makes a class stand for arrays of a certain number of dimensions."""

    ndim: int

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return array(*args, **{**kwargs, "ndim": cls.ndim})

    def __getitem__(cls, dtype: Any) -> Any:
        return ArrayType(dtype, cls.ndim)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, array) and instance.ndim == cls.ndim


class array1d(metaclass=_DimensionMeta):
    """``array`` with ``ndim=1``."""

    ndim = 1


class array2d(metaclass=_DimensionMeta):
    """``array`` with ``ndim=2``."""

    ndim = 2


class array3d(metaclass=_DimensionMeta):
    """``array`` with ``ndim=3``."""

    ndim = 3


class array4d(metaclass=_DimensionMeta):
    """``array`` with ``ndim=4``."""

    ndim = 4
