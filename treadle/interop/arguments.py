"""Objects of other frameworks as they are given to ``launch``: arrays without a copy and without a gradient."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Optional

import numpy as np

from treadle.errors import ArrayError
from treadle.interop import cuda_interface
from treadle.interop.dlpack import from_dlpack
from treadle.interop.jax.arrays import from_jax
from treadle.interop.paddle import wrap_tensor as wrap_paddle
from treadle.interop.torch import wrap_tensor
from treadle.runtime import hostdata
from treadle.runtime.array import array, wrap_host
from treadle.runtime.binding import foreign_converters

__all__ = ["wrap_argument"]


def wrap_argument(value: Any) -> array | None:
    """An array of scalars that shares the memory of ``value``, without gradient; None if it has no memory to share.

    Takes NumPy arrays, tensors of PyTorch and Paddle, JAX arrays (which must not be written), and objects with
    ``__array_interface__`` or ``__dlpack__``. Raises ArrayError for memory that no array can be made of: another
    device, a dtype without counterpart, more than four dimensions.
    """
    return (_KNOWN.get(type(value)) or _way(value))(value)


Way = Callable[[Any], Optional[array]]


_FRAMEWORKS: list[tuple[str, str, Way]] = [
    ("torch", "Tensor", wrap_tensor),
    ("jax", "Array", from_jax),
    ("paddle", "Tensor", wrap_paddle),
]


def _way(value: Any) -> Way:
    """How to wrap an object. Frameworks that have not been imported cannot have made it."""
    for framework, name, way in _FRAMEWORKS:
        kind = getattr(sys.modules.get(framework), name, None)
        if kind is not None and isinstance(value, kind):
            return _KNOWN.setdefault(type(value), way)
    return _wrap_by_protocol


def _wrap_by_protocol(value: Any) -> array | None:
    if isinstance(value, array):
        return value
    if isinstance(value, np.generic):
        return None
    if hasattr(value, "__array_interface__"):
        return _wrap_host(np.asarray(value))
    if hasattr(value, "__cuda_array_interface__"):
        return cuda_interface.wrap(value)
    if hasattr(value, "__dlpack__"):
        return from_dlpack(value)
    return None


def _wrap_host(host: np.ndarray[Any, Any]) -> array:
    scalar = hostdata.SCALAR_OF.get(host.dtype)
    if scalar is None:
        raise ArrayError(f"a NumPy array of {host.dtype} cannot be used in place: convert it first")
    if not host.flags.aligned:
        raise ArrayError("a NumPy array whose elements are not aligned cannot be used in place: copy it first")
    return wrap_host(host if host.ndim else host.reshape(1), scalar)


_KNOWN: dict[type, Way] = {np.ndarray: _wrap_host}
"""Types whose objects are wrapped without a further look at them."""

foreign_converters.append(wrap_argument)
