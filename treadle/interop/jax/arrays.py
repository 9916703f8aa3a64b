"""Arrays, devices and dtypes of JAX and those of Treadle."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.errors import ArrayError
from treadle.runtime import elements
from treadle.runtime.array import array, wrap_host, wrap_pointer
from treadle.runtime.device import CPU, Device, DeviceLike, get_device
from treadle.types import bfloat16, from_annotation, is_scalar
from treadle.types.scalars import SCALARS

if TYPE_CHECKING:
    import jax

__all__ = ["device_from_jax", "device_to_jax", "dtype_from_jax", "dtype_to_jax", "from_jax", "to_jax"]


@cache
def numpy_dtype(scalar: Any) -> np.dtype[Any]:
    """The NumPy dtype that JAX has for a scalar type."""
    if scalar is bfloat16:
        import ml_dtypes  # comes with JAX

        brain: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return brain
    plain: np.dtype[Any] = np.dtype(scalar.numpy)
    return plain


@cache
def _scalars() -> dict[np.dtype[Any], Any]:
    return {numpy_dtype(scalar): scalar for scalar in SCALARS}


def dtype_from_jax(jax_dtype: Any) -> Any:
    """The scalar type of a JAX dtype. Raises TypeError for dtypes without counterpart: complex, 4-bit, …"""
    try:
        return _scalars()[np.dtype(jax_dtype)]
    except (KeyError, TypeError):
        raise TypeError(f"no dtype corresponds to JAX's {jax_dtype}") from None


def dtype_to_jax(dtype: Any) -> np.dtype[Any]:
    """The JAX dtype of a scalar type. Raises TypeError for other types."""
    scalar = from_annotation(dtype)
    if not is_scalar(scalar):
        raise TypeError(f"{dtype!r} does not correspond to a JAX dtype")
    return numpy_dtype(scalar)


def device_from_jax(jax_device: jax.Device) -> Device:
    """The device of a JAX device; all CPU devices of JAX are one. Raises as ``get_device`` does."""
    name = jax_device.platform
    return get_device(name if name == "cpu" else f"cuda:{jax_device.local_hardware_id}")


def device_to_jax(device: DeviceLike) -> jax.Device:
    """The first JAX device of a device. Raises as ``get_device`` does."""
    import jax

    get_device(device)
    return jax.local_devices(backend="cpu")[0]


def from_jax(a: jax.Array, dtype: Any = None) -> array:
    """An array that shares the memory of a JAX array, read-only since JAX arrays never change.

    Waits until the values are there. The components of a vector or matrix dtype are the last dimensions. An array
    without dimensions gives one of shape ``(1,)``. Raises TypeError for a dtype that does not fit, RuntimeError for
    an array that is on several devices or not on the CPU.
    """
    import jax

    if isinstance(a, jax.core.Tracer):
        raise TypeError("a JAX array that is being traced has no memory yet: use jax_kernel or jax_callable")
    scalar = dtype_from_jax(a.dtype)
    shards = a.addressable_shards
    if len(shards) != 1 and not a.is_fully_replicated:
        raise ArrayError(
            f"a JAX array that is spread over {len(shards)} devices cannot be an array: take a shard of it"
        )
    data = shards[0].data
    if device_from_jax(next(iter(data.devices()))) is not CPU:
        raise ArrayError(f"a JAX array on {data.devices()} cannot be an array on the CPU")
    host = np.asarray(data)
    if scalar is bfloat16:
        host = host.view(np.uint16)
    result = wrap_host(host if host.ndim else host.reshape(1), scalar)
    if dtype is None:
        return result
    wanted = elements.concrete_dtype(dtype)
    if wanted is scalar:
        return result
    if elements.layout(wanted).scalar is not scalar:
        raise TypeError(f"a JAX array of {a.dtype} cannot be an array of {wanted!r}")
    return result.view_as_components(wanted)


def to_jax(a: array) -> jax.Array:
    """A JAX array that shares the memory of an array; the components of its dtype are trailing dimensions.

    JAX takes the values as fixed: do not write to the array while the result is in use. What JAX cannot share
    (gaps between elements, memory that is not aligned to 64 bytes) is copied. Raises TypeError for structs.
    """
    import jax

    scalar = elements.layout(a.dtype).scalar
    if scalar is None:
        raise TypeError(f"an array of {a.dtype!r} cannot be a JAX array")
    if a.device is not CPU:
        raise ArrayError(f"an array on {a.device} cannot be a JAX array on the CPU")
    if not a.is_contiguous:
        return jax.numpy.array(a.host().view(numpy_dtype(scalar)))
    if a.readonly:  # DLPack knows no such memory in the version that JAX asks for, and JAX does not write
        a = wrap_pointer(a.ptr, a.dtype, a.shape, a.strides, True, a)
    shared: jax.Array = jax.dlpack.from_dlpack(a)
    return shared
