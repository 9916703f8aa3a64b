"""Objects of other frameworks as they are given to ``launch``: arrays without a copy and without a gradient."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from treadle.errors import ArrayError
from treadle.interop import cuda_interface
from treadle.interop.dlpack import from_dlpack
from treadle.interop.torch import wrap_tensor
from treadle.runtime import hostdata
from treadle.runtime.array import array, wrap_host
from treadle.runtime.binding import foreign_converters

__all__ = ["wrap_argument"]


def wrap_argument(value: Any) -> array | None:
    """An array of scalars that shares the memory of ``value``, without gradient; None if it has no memory to share.

    Takes NumPy arrays, PyTorch tensors, and objects with ``__array_interface__`` or ``__dlpack__``. Raises ArrayError
    for memory that no array can be made of: another device, a dtype without counterpart, more than four dimensions.
    """
    if type(value) is np.ndarray:
        return _wrap_host(value)
    if isinstance(value, array):
        return value
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return wrap_tensor(value)
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


foreign_converters.append(wrap_argument)
