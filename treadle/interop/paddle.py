"""Paddle: tensors and arrays that share memory and gradients, and the names of dtypes and devices.

Paddle is imported when a function here is called, not before.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from treadle.errors import ArrayError
from treadle.interop.dlpack import to_dlpack
from treadle.interop.memory import wrap_memory
from treadle.runtime import elements
from treadle.runtime.array import array
from treadle.runtime.device import CPU, Device, DeviceLike, get_device
from treadle.runtime.streams import Stream, get_stream
from treadle.types import SCALARS, from_annotation, uint16

if TYPE_CHECKING:
    import paddle

__all__ = [
    "device_from_paddle",
    "device_to_paddle",
    "dtype_from_paddle",
    "dtype_to_paddle",
    "from_paddle",
    "stream_from_paddle",
    "to_paddle",
]


@cache
def _to_paddle() -> dict[Any, paddle.dtype]:
    import paddle

    # What Paddle calls uint16 are the bits of bfloat16.
    return {scalar: getattr(paddle, scalar.__name__) for scalar in SCALARS if scalar is not uint16}


@cache
def _from_paddle() -> dict[paddle.dtype, Any]:
    return {dtype: scalar for scalar, dtype in _to_paddle().items()}


def dtype_from_paddle(paddle_dtype: paddle.dtype) -> Any:
    """The scalar type of a Paddle dtype. Raises TypeError if there is none (complex numbers, floats of 8 bits)."""
    scalar = _from_paddle().get(paddle_dtype)
    if scalar is None:
        raise TypeError(f"no dtype corresponds to Paddle's {paddle_dtype}")
    return scalar


def dtype_to_paddle(dtype: Any) -> paddle.dtype:
    """The Paddle dtype of a scalar type. Raises TypeError for other types, and for uint16, which Paddle lacks."""
    try:
        return _to_paddle()[from_annotation(dtype)]
    except (KeyError, TypeError):
        raise TypeError(f"{dtype!r} does not correspond to a Paddle dtype") from None


def device_from_paddle(paddle_device: Any) -> Device:
    """The device of a Paddle place or its name. Raises as ``get_device`` does."""
    name = str(paddle_device).removeprefix("Place(").removesuffix(")")
    if name == "gpu_pinned":  # memory of the host
        return CPU
    return get_device(name.replace("gpu", "cuda", 1))


def device_to_paddle(device: DeviceLike) -> str:
    """The name that Paddle has for a device. Raises as ``get_device`` does."""
    return get_device(device).alias.replace("cuda", "gpu", 1)


def stream_from_paddle(stream_or_device: Any = None) -> Stream:
    """The stream of a Paddle stream, or of the current one of a place. Raises as ``get_device`` does."""
    if stream_or_device is None:
        return get_stream()
    for attribute in ("place", "device"):  # of a tensor, of a stream
        stream_or_device = getattr(stream_or_device, attribute, stream_or_device)
    return get_stream(device_from_paddle(stream_or_device))


def from_paddle(
    t: paddle.Tensor,
    dtype: Any = None,
    requires_grad: bool | None = None,
    grad: paddle.Tensor | array | None = None,
    return_ctype: bool = False,
) -> array:
    """An array that shares the memory of a tensor, and its gradient.

    A scalar dtype keeps shape and strides; the components of a vector or matrix dtype are the last dimensions of
    the tensor. A tensor without dimensions gives an array of shape ``(1,)``.

    ``requires_grad=None`` means that of the tensor, whose ``stop_gradient`` is the contrary. If the array requires a
    gradient, it is ``grad``, else that of the tensor; if the tensor has none, zeros are attached to it. With
    ``return_ctype`` the result is for a launch that follows at once: it is made a little faster, and keeps the tensor
    itself alive, its graph included.

    Raises TypeError for a tensor of a dtype that has no counterpart or does not fit ``dtype``, and RuntimeError for a
    tensor that is sparse, on another device, of more than four dimensions, whose components are not contiguous, or
    that would need a gradient attached and is no leaf.
    """
    result = wrap_tensor(t, dtype, t if return_ctype else None)
    if grad is not None:
        result.grad = grad if isinstance(grad, array) else wrap_tensor(grad, result.dtype)
    elif not t.stop_gradient if requires_grad is None else requires_grad:
        result.grad = wrap_tensor(_gradient_of(t), result.dtype)
    return result


def wrap_tensor(t: paddle.Tensor, dtype: Any = None, owner: Any = None) -> array:
    """``from_paddle`` without gradient. What is kept alive is ``owner``, or the memory; not the graph of the tensor."""
    scalar = _from_paddle().get(t.dtype)
    if scalar is None or not t.is_dense() or not (_has_only_cpu() or t.place.is_cpu_place()):
        raise _refusal(t)
    size = scalar.size
    if owner is None:
        owner = t if t.stop_gradient else t.detach()
    strides = tuple([stride * size for stride in t.strides])
    return wrap_memory(t.data_ptr(), scalar, tuple(t.shape), strides, dtype, owner, False, "tensor")


@cache
def _has_only_cpu() -> bool:
    """Whether this build of Paddle knows no other devices."""
    from paddle import device

    others = (device.is_compiled_with_cuda(), device.is_compiled_with_rocm(), device.is_compiled_with_xpu())
    return not any(others) and not device.get_all_custom_device_type()


def _refusal(t: paddle.Tensor) -> Exception:
    if not t.is_dense():
        return ArrayError("a sparse tensor cannot be an array: convert it with to_dense()")
    if not t.place.is_cpu_place():
        return ArrayError(f"a tensor on {t.place} cannot be an array: this build of Treadle runs on the CPU only")
    return TypeError(f"no dtype corresponds to Paddle's {t.dtype}")


def _gradient_of(t: paddle.Tensor) -> paddle.Tensor:
    """The gradient of a tensor; zeros, attached to it, if it has none."""
    gradient = t.grad
    if gradient is None:
        import paddle

        if not t.is_leaf:
            raise ArrayError(
                "Paddle attaches gradients to leaf tensors only: give the array grad=, or requires_grad=False"
            )
        t.grad = paddle.zeros_like(t)
        gradient = t.grad
    return gradient


def to_paddle(a: array, requires_grad: bool | None = None) -> paddle.Tensor:
    """A tensor that shares the memory of an array; the array's gradient becomes ``tensor.grad``.

    The components of vectors and matrices are trailing dimensions. ``requires_grad=None`` means that of the array,
    as far as the dtype is one of floats. Raises TypeError for structs and uint16, RuntimeError for negative strides,
    which Paddle does not have, for read-only memory, and for a gradient that is not contiguous.
    """
    scalar = elements.layout(a.dtype).scalar
    if scalar not in _to_paddle():
        raise TypeError(f"an array of {a.dtype!r} cannot be a Paddle tensor")
    result = _share(a)
    if requires_grad is None:
        requires_grad = a.requires_grad and scalar.is_float
    result.stop_gradient = not requires_grad
    gradient = a.grad if requires_grad else None
    if gradient is not None:
        if not gradient.is_contiguous:
            raise ArrayError(
                "Paddle replaces a gradient that is not contiguous, so that it cannot be shared: "
                "call contiguous() first, or pass requires_grad=False"
            )
        shared = _share(gradient)
        result.grad = shared  # this copies
        result.grad.get_tensor()._share_data_with(shared.get_tensor())
    return result


def _share(a: array) -> paddle.Tensor:
    from paddle.utils import dlpack

    if min(a.strides) < 0:
        raise ArrayError(
            f"a tensor cannot have negative strides, as the array has: {a.strides}; call contiguous() first"
        )
    if a.readonly:
        raise ArrayError("a read-only array cannot be a Paddle tensor, which could be written: copy it first")
    return dlpack.from_dlpack(to_dlpack(a))
