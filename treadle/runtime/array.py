"""The array: typed elements in memory, with a shape, strides and maybe a gradient.

Also what ``array`` means in annotations. Where elements lie is in ``strided`` and ``layouts``, other views than
slices in ``views``, the exchange with NumPy and others in ``protocols``. How user data is converted is in
``hostdata``, single elements in ``elements``, copies between arrays in ``copying``; making arrays of zeros and the
like is in ``creation``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from treadle.errors import ArrayError
from treadle.runtime import capturing, copying, elements, hostdata, layouts, members, memory, shapes
from treadle.runtime.device import DeviceLike, get_device
from treadle.runtime.elements import Host
from treadle.runtime.memory import Allocation
from treadle.runtime.protocols import HostProtocols
from treadle.runtime.recording import active
from treadle.runtime.shapes import Extents
from treadle.runtime.strided import fill_slots
from treadle.runtime.views import Views
from treadle.runtime.writes import announce, watch_gradient
from treadle.types import ArrayType, CompositeMeta, StructMeta

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


class array(Views, HostProtocols, metaclass=ArrayMeta):
    """Elements of one type in memory, in one to four dimensions.

    Attributes: ``dtype``; ``shape``; ``strides``, in bytes; ``ndim``; ``size``, the number of elements;
    ``ptr``, the address of element 0; ``device``; ``is_contiguous`` (C order); ``grad``, an array of the
    same shape and dtype, or None; ``requires_grad``; ``retain_grad``. The layout never changes.

    Indexing with ints, slices and an ellipsis gives views that share memory, and so does their gradient;
    an int for every dimension gives the element itself; integer arrays give an ``indexedarray``.

    Arrays compare by identity, so that they can be keys.
    """

    __slots__ = ()

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
            fill_slots(self, *layouts.around_pointer(ptr, dtype, extents, strides, capacity, deleter))
        else:
            fill_slots(self, *layouts.new_layout(dtype, extents))
        if ndim is not None and ndim != self.ndim:
            raise ArrayError(f"the data has {self.ndim} dimension(s), not {ndim}: its shape is {self.shape}")
        if retain_grad:
            self.retain_grad = True
        if grad is not None:
            self.grad = grad
        elif requires_grad:
            self.requires_grad = True

    @staticmethod
    def null(dtype: Any, ndim: int) -> array:
        """The array that None stands for as an argument: no elements, and the address 0."""
        return make(_NOTHING, 0, dtype, (0,) * ndim, (0,) * ndim, True)

    @property
    def is_null(self) -> bool:
        """Whether this stands for None as an argument."""
        return self.allocation is _NOTHING

    # -- Gradient

    @property
    def grad(self) -> array | None:
        """The gradient: an array of the same shape and dtype, or None.

        That of a view is the same view of the base's gradient, also when that is made later.
        """
        own: array | None = self._grad
        if own is not None or self._source is None:
            return own
        base, derive = self._source
        gradient = base.grad
        if gradient is None:
            return None
        if self._derived is None or self._derived[0] is not gradient:
            self._derived = (gradient, derive(gradient))
        derived: array = self._derived[1]
        return derived

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
        watch_gradient(self)

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
            watch_gradient(self)

    @property
    def retain_grad(self) -> bool:
        """Whether the gradient stays readable after a backward pass that consumes it.

        A view whose gradient is that of another array has this in common with it.
        """
        base = self.base
        return self._retain_grad if base is None else base[0].retain_grad

    @retain_grad.setter
    def retain_grad(self, value: bool) -> None:
        self._retain_grad = bool(value)
        if self.base is not None:
            self.base[0].retain_grad = value
        watch_gradient(self)

    # -- Views

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
        announce(self)
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

    # -- Copying and pickling

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
    self: array = object.__new__(array)
    fill_slots(self, allocation, ptr, dtype, shape, strides, contiguous)
    return self


def wrap_host(host: Host, dtype: Any, owner: Any = None) -> array:
    """An array that shares the memory of a NumPy array, which has the memory layout of ``dtype``.

    Trailing dimensions are the components of a composite dtype. ``owner`` is kept alive in place of ``host``.
    Raises ValueError if the components are not contiguous.
    """
    return make(*layouts.around_host(host, dtype, owner))


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
    return make(*layouts.around(ptr, dtype, shape, strides, contiguous, owner, readonly))


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
    copied = copy or not host.flags.aligned or not layouts.components_contiguous(host, layout)
    if copied:
        fill_slots(self, *layouts.new_layout(dtype, shape))
        self.host()[...] = host
    else:
        fill_slots(self, *layouts.around_host(host, dtype))
    _keep_members(self, data)
    if capturing.active.capture is not None and copied:
        capturing.repeat(partial(np.copyto, self.host(), self.host().copy()))


def _keep_members(self: array, data: Any) -> None:
    """Write the descriptors of the array members of structs in ``data``."""
    if not (isinstance(self.dtype, StructMeta) and members.paths(self.dtype)):
        return
    if isinstance(data, array):
        self.allocation.keep_all(data.allocation)
        return
    records = self.host().reshape(-1)
    hostdata.for_each_struct(data, lambda k, value: members.store(self.allocation, self.dtype, records[k], value))


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
    result = make(*layouts.new_layout(src.dtype, src.shape))
    result.requires_grad = src.requires_grad if requires_grad is None else requires_grad
    copying.copy(result, src)
    return result


def _restore(dtype: Any, ndim: int, host: Host, gradient: Host | None, retain_grad: bool) -> array:
    """The array that ``__reduce__`` took apart."""
    result = make(*layouts.new_layout(dtype, host.shape[:ndim]))
    result.host()[...] = host
    result.retain_grad = retain_grad
    if gradient is not None:
        result.grad = _restore(dtype, ndim, gradient, None, False)
    return result
