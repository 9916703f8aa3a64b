"""PyTorch: tensors and arrays that share memory and gradients, and the names of dtypes and devices.

PyTorch is imported when a function here is called, not before.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from treadle.errors import ArrayError
from treadle.interop.memory import wrap_memory
from treadle.runtime import elements
from treadle.runtime.array import array
from treadle.runtime.device import CPU, Device, DeviceLike, get_device
from treadle.runtime.shapes import contiguous_strides
from treadle.runtime.streams import Stream, get_stream
from treadle.types import SCALARS, bfloat16, from_annotation, is_scalar

if TYPE_CHECKING:
    import torch

    from treadle.interop.torch_op import TorchOp

__all__ = [
    "device_from_torch",
    "device_to_torch",
    "dtype_from_torch",
    "dtype_to_torch",
    "from_torch",
    "stream_from_torch",
    "stream_to_torch",
    "to_torch",
    "torch_op",
]


@cache
def _to_torch() -> dict[Any, torch.dtype]:
    import torch

    return {scalar: getattr(torch, scalar.__name__) for scalar in SCALARS}


@cache
def _from_torch() -> dict[torch.dtype, Any]:
    return {dtype: scalar for scalar, dtype in _to_torch().items()}


def dtype_from_torch(torch_dtype: torch.dtype) -> Any:
    """The scalar type of a PyTorch dtype. Raises TypeError if there is none (complex numbers, quantised types)."""
    scalar = _from_torch().get(torch_dtype)
    if scalar is None:
        raise TypeError(f"no dtype corresponds to PyTorch's {torch_dtype}")
    return scalar


def dtype_to_torch(dtype: Any) -> torch.dtype:
    """The PyTorch dtype of a scalar type. Raises TypeError for other types."""
    scalar = from_annotation(dtype)
    if not is_scalar(scalar):
        raise TypeError(f"{dtype!r} does not correspond to a PyTorch dtype")
    return _to_torch()[scalar]


def device_from_torch(torch_device: torch.device | str) -> Device:
    """The device of a PyTorch device or its name. Raises as ``get_device`` does."""
    return get_device(str(torch_device))


def device_to_torch(device: DeviceLike) -> str:
    """The name that PyTorch has for a device. Raises as ``get_device`` does."""
    return get_device(device).alias


def stream_from_torch(stream_or_device: Any = None) -> Stream:
    """The stream of a PyTorch stream, or of the current one of a device. Raises as ``get_device`` does.

    On the CPU both run in order, so that it is the current stream.
    """
    return get_stream(None if stream_or_device is None else _device_name(stream_or_device))


def stream_to_torch(stream_or_device: Stream | DeviceLike = None) -> torch.cpu.Stream:
    """The PyTorch stream of a stream, or of the current one of a device. Raises as ``get_device`` does."""
    import torch

    get_device(stream_or_device.device if isinstance(stream_or_device, Stream) else stream_or_device)
    return torch.cpu.current_stream()


def _device_name(stream_or_device: Any) -> str:
    if type(stream_or_device).__module__ == "torch.cpu":  # a stream that does not know its device
        return "cpu"
    return str(getattr(stream_or_device, "device", stream_or_device))


def from_torch(
    t: torch.Tensor,
    dtype: Any = None,
    requires_grad: bool | None = None,
    grad: torch.Tensor | array | None = None,
    return_ctype: bool = False,
    retain_grad: bool = False,
) -> array:
    """An array that shares the memory of a tensor, and its gradient.

    A scalar dtype keeps shape and strides; the components of a vector or matrix dtype are the last dimensions of
    the tensor. A tensor without dimensions gives an array of shape ``(1,)``.

    ``requires_grad=None`` means that of the tensor. If the array requires a gradient, it is ``grad``, else that
    of the tensor; if the tensor has none, zeros are attached to it. With ``return_ctype`` the result is for a launch
    that follows at once: it is made a little faster, and keeps the tensor itself alive, its graph included.

    Raises TypeError for a tensor of a dtype that has no counterpart or does not fit ``dtype``, and RuntimeError for a
    tensor that is sparse, on another device, of more than four dimensions, or whose components are not contiguous.
    """
    result = wrap_tensor(t, dtype, t if return_ctype else None)
    if retain_grad:
        result.retain_grad = True
    if grad is not None:
        result.grad = grad if isinstance(grad, array) else wrap_tensor(grad, result.dtype)
    elif t.requires_grad if requires_grad is None else requires_grad:
        result.grad = wrap_tensor(_gradient_of(t), result.dtype)
    return result


def wrap_tensor(t: torch.Tensor, dtype: Any = None, owner: Any = None) -> array:
    """``from_torch`` without gradient. What is kept alive is ``owner``, or the memory; not the tensor and its graph."""
    scalar, size = _KINDS.get((t.dtype, t.layout)) or _kind(t)
    if not t.is_cpu or t.is_neg():
        raise _refusal(t)
    if owner is None:
        owner = t.untyped_storage()
    shape = tuple(t.shape)
    strides = contiguous_strides(shape, size) if t.is_contiguous() else tuple([step * size for step in t.stride()])
    return wrap_memory(t.data_ptr(), scalar, shape, strides, dtype, owner, False, "tensor")


_KINDS: dict[tuple[torch.dtype, torch.layout], tuple[Any, int]] = {}
"""The scalar type and its size for dtypes and layouts of tensors that can be wrapped."""


def _kind(t: torch.Tensor) -> tuple[Any, int]:
    import torch

    scalar = _from_torch().get(t.dtype)
    if scalar is None or t.layout is not torch.strided:
        raise _refusal(t)
    return _KINDS.setdefault((t.dtype, t.layout), (scalar, scalar.size))


def _refusal(t: torch.Tensor) -> Exception:
    if str(t.layout) != "torch.strided":
        return ArrayError(f"a tensor of layout {t.layout} cannot be an array: convert it with to_dense()")
    if t.device.type != "cpu":
        return ArrayError(f"a tensor on {t.device} cannot be an array: this build of Treadle runs on the CPU only")
    if t.is_neg():
        return ArrayError("a tensor with a pending negation cannot be an array: call resolve_neg() on it")
    return TypeError(f"no dtype corresponds to PyTorch's {t.dtype}")


def _gradient_of(t: torch.Tensor) -> torch.Tensor:
    """The gradient of a tensor; zeros, attached to it, if it has none."""
    if t.is_leaf or t.retains_grad:
        gradient = t.grad
    else:
        with warnings.catch_warnings():  # PyTorch warns of a look at the gradient of what is no leaf
            warnings.simplefilter("ignore")
            gradient = t.grad
    if gradient is None:
        import torch

        gradient = torch.zeros_like(t, requires_grad=False)
        t.grad = gradient
    return gradient


def to_torch(a: array, requires_grad: bool | None = None) -> torch.Tensor:
    """A tensor that shares the memory of an array; the array's gradient becomes ``tensor.grad``.

    The components of vectors and matrices are trailing dimensions. ``requires_grad=None`` means that of the array,
    as far as the dtype is one of floats. Raises TypeError for structs, RuntimeError for negative strides,
    which PyTorch does not have.
    """
    scalar = elements.layout(a.dtype).scalar
    if scalar is None:
        raise TypeError(f"an array of {a.dtype!r} cannot be a tensor")
    result = _share(a)
    if requires_grad is None:
        requires_grad = a.requires_grad and scalar.is_float
    if requires_grad:
        result.requires_grad_()
        gradient = a.grad
        if gradient is not None:
            result.grad = _share(gradient)
    return result


def _share(a: array) -> torch.Tensor:
    import torch

    if a.device is not CPU:
        raise ArrayError(f"an array on {a.device} cannot be a tensor on the CPU")
    if min(a.strides) < 0:
        raise ArrayError(
            f"a tensor cannot have negative strides, as the array has: {a.strides}; call contiguous() first"
        )
    host = a.host()
    if elements.layout(a.dtype).scalar is bfloat16:
        return torch.from_numpy(host.view("i2")).view(torch.bfloat16)
    return torch.from_numpy(host)


def torch_op(
    kernel: Any,
    num_outputs: int = 1,
    launch_dims: Any = None,
    output_dims: Any = None,
    in_out_argnames: Sequence[str] | None = None,
    name: str | None = None,
) -> TorchOp:
    """A kernel as an operator of PyTorch: for autograd, ``torch.compile(fullgraph=True)`` and ``torch.func``.

    The first parameters of the kernel are the inputs, the last ``num_outputs`` the outputs; of these, the ones named
    in ``in_out_argnames`` are among the inputs instead, and count. A call takes the inputs, and ``launch_dims`` and
    ``output_dims`` by name. It returns a tensor, or with several outputs a tuple, those of ``in_out_argnames`` first.
    Outputs are new tensors that start as zeros; inputs are never written.

    Args:
        kernel: the kernel. The types of its outputs must be known.
        num_outputs: how many outputs there are, in-outs included.
        launch_dims: the number of threads, or up to four extents. None: the shape of the first array among the inputs,
            else that of the first output.
        output_dims: the shape of the outputs: an int, a tuple, or a dict of these by name; with or without the
            components of vectors and matrices. None: the launch dimensions.
        in_out_argnames: array parameters that the kernel updates. The operator works on a copy of them.
        name: in PyTorch's registry, ``"namespace::name"``. None: one made of the kernel's name.

    Arrays have their components in the trailing dimensions, as everywhere. Scalars, vectors and matrices are passed as
    Python values, without a gradient. ``torch.func.vmap`` batches every array; the dimensions above never include the
    batch. The gradient is the kernel's; there is no second derivative.

    Raises TypeError or ValueError, at construction or at a call, for what does not fit the kernel.
    """
    from treadle.interop.torch_op import TorchOp  # it imports PyTorch

    return TorchOp(kernel, num_outputs, launch_dims, output_dims, in_out_argnames or (), name)
