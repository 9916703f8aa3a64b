"""Making arrays: zeros, ones, full, empty, their ``_like`` forms, ``from_numpy`` and ``clone``."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from treadle.errors import ArrayError
from treadle.runtime import capturing, elements, hostdata
from treadle.runtime.array import array, clone, make, wrap_host
from treadle.runtime.device import DeviceLike, get_device
from treadle.runtime.layouts import new_layout
from treadle.runtime.shapes import normalize_shape
from treadle.types import float32, matrix, type_of, vector

__all__ = [
    "clone",
    "empty",
    "empty_like",
    "from_numpy",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]


def _new(
    shape: Any, dtype: Any, device: DeviceLike, requires_grad: bool, retain_grad: bool, zero: bool = False
) -> array:
    get_device(device)
    result = make(*new_layout(elements.concrete_dtype(dtype), normalize_shape(shape), zero))
    if requires_grad:
        result.requires_grad = True
    if retain_grad:
        result.retain_grad = True
    return result


def empty(
    shape: Any = 0,
    dtype: Any = float32,
    device: DeviceLike = None,
    requires_grad: bool = False,
    pinned: bool = False,
    retain_grad: bool = False,
) -> array:
    """A new array with undefined values.

    ``shape`` is an int or a sequence of up to four; ``pinned`` concerns CUDA devices only. Raises ValueError for a
    wrong shape, TypeError for what is no dtype, MemoryError if there is not enough memory.
    """
    return _new(shape, dtype, device, requires_grad, retain_grad)


def zeros(
    shape: Any = 0,
    dtype: Any = float32,
    device: DeviceLike = None,
    requires_grad: bool = False,
    pinned: bool = False,
    retain_grad: bool = False,
) -> array:
    """A new array of zeros. The parameters and errors are those of ``empty``."""
    return _new(shape, dtype, device, requires_grad, retain_grad, zero=True)


zeros.kernel_builtin = "zeros"  # type: ignore[attr-defined]  # in a kernel, the name means a local vector or matrix


def ones(
    shape: Any = 0,
    dtype: Any = float32,
    device: DeviceLike = None,
    requires_grad: bool = False,
    pinned: bool = False,
    retain_grad: bool = False,
) -> array:
    """A new array whose scalars are all one. The parameters and errors are those of ``empty``."""
    return full(shape, 1, dtype, device, requires_grad, pinned, retain_grad)


def full(
    shape: Any = 0,
    value: Any = 0,
    dtype: Any = Any,
    device: DeviceLike = None,
    requires_grad: bool = False,
    pinned: bool = False,
    retain_grad: bool = False,
) -> array:
    """A new array whose elements are all ``value``; without a ``dtype`` it is that of the value.

    A sequence of numbers is a vector, one of rows a matrix. Otherwise as ``empty``.
    """
    result = _new(shape, _dtype_of(value) if dtype is Any else dtype, device, requires_grad, retain_grad)
    _fill_new(result, value)
    return result


def _fill_new(result: array, value: Any) -> None:
    raw = elements.to_raw(result.dtype, value)
    result.host()[...] = raw
    if capturing.active.capture is not None:
        capturing.repeat(partial(result.host().__setitem__, ..., raw))


def _dtype_of(value: Any) -> Any:
    if not isinstance(value, (list, tuple, np.ndarray)):
        return type_of(value)
    host, scalar = hostdata.convert(value)
    if host.ndim > 2:
        raise ArrayError(f"a value of shape {host.shape} is neither a vector nor a matrix")
    return vector(host.shape[0], scalar) if host.ndim == 1 else matrix(host.shape, scalar)


def empty_like(
    src: Any,
    device: DeviceLike = None,
    requires_grad: bool | None = None,
    pinned: bool | None = None,
    retain_grad: bool | None = None,
) -> array:
    """A new contiguous array with undefined values, of the shape and dtype of ``src``.

    It requires a gradient if ``src`` does, or as ``requires_grad`` says; likewise ``retain_grad``.
    """
    return _new_like(src, device, requires_grad, retain_grad, zero=False)


def _new_like(src: Any, device: DeviceLike, requires_grad: bool | None, retain_grad: bool | None, zero: bool) -> array:
    get_device(device)
    result = make(*new_layout(src.dtype, src.shape, zero))
    result.requires_grad = src.requires_grad if requires_grad is None else requires_grad
    result.retain_grad = getattr(src, "retain_grad", False) if retain_grad is None else retain_grad
    return result


def zeros_like(
    src: Any,
    device: DeviceLike = None,
    requires_grad: bool | None = None,
    pinned: bool | None = None,
    retain_grad: bool | None = None,
) -> array:
    """A new array of zeros, otherwise as ``empty_like``."""
    return _new_like(src, device, requires_grad, retain_grad, zero=True)


def ones_like(
    src: Any,
    device: DeviceLike = None,
    requires_grad: bool | None = None,
    pinned: bool | None = None,
    retain_grad: bool | None = None,
) -> array:
    """A new array whose scalars are all one, otherwise as ``empty_like``."""
    return full_like(src, 1, device, requires_grad, pinned, retain_grad)


def full_like(
    src: Any,
    value: Any,
    device: DeviceLike = None,
    requires_grad: bool | None = None,
    pinned: bool | None = None,
    retain_grad: bool | None = None,
) -> array:
    """A new array whose elements are all ``value``, otherwise as ``empty_like``."""
    result = _new_like(src, device, requires_grad, retain_grad, zero=False)
    _fill_new(result, value)
    return result


def from_numpy(
    arr: np.ndarray[Any, Any],
    dtype: Any = None,
    shape: Any = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
    retain_grad: bool = False,
) -> array:
    """An array that shares the memory of a NumPy array, where its dtype and layout allow it; else a copy.

    Without a ``dtype``, a two-dimensional NumPy array gives vectors and a three-dimensional one matrices. With a vector
    or matrix dtype the trailing dimensions of ``arr`` are the components. Writing to an array over
    read-only memory is an error. Raises TypeError for a NumPy dtype that has no counterpart.
    """
    if type(arr) is np.ndarray and shape is None and (device is None or get_device(device)):
        scalar = hostdata.SCALAR_OF.get(arr.dtype)
        if scalar is not None and arr.flags.aligned and arr.ndim == 1 and dtype in (None, scalar):
            return _with_gradient(wrap_host(arr, scalar), requires_grad, retain_grad)
    if dtype is None:
        dtype = _inferred(np.asarray(arr))
    return array(
        np.asarray(arr), dtype, shape, device=device, copy=False, requires_grad=requires_grad, retain_grad=retain_grad
    )


def _inferred(host: np.ndarray[Any, Any]) -> Any:
    scalar = hostdata.scalar_of(host.dtype)
    if scalar is None:
        raise ArrayError(f"no dtype corresponds to NumPy's {host.dtype}")
    if host.ndim == 2:
        return vector(host.shape[1], scalar)
    return matrix(host.shape[1:], scalar) if host.ndim == 3 else scalar


def _with_gradient(result: array, requires_grad: bool, retain_grad: bool) -> array:
    result.retain_grad = retain_grad
    if requires_grad:
        result.requires_grad = True
    return result
