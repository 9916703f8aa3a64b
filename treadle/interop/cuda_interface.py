"""``__cuda_array_interface__``, by which CuPy, Numba and others describe arrays in the memory of CUDA devices.

Arrays export it themselves. This build has no CUDA devices, so that every import ends in an error that tells what was
there and what to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from treadle.errors import ArrayError
from treadle.runtime import hostdata, shapes
from treadle.runtime.array import array

__all__ = ["CudaMemory", "describe", "wrap"]


@dataclass(frozen=True)
class CudaMemory:
    """What a ``__cuda_array_interface__`` says: address, scalar type, shape, strides in bytes, may it be written."""

    address: int
    scalar: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    readonly: bool


def describe(source: Any) -> CudaMemory:
    """The memory that ``source.__cuda_array_interface__`` describes.

    Raises ArrayError for a description that is incomplete, has a mask, or is of numbers without counterpart.
    """
    interface = source.__cuda_array_interface__
    name = type(source).__name__
    try:
        address, readonly = interface["data"]
        shape = tuple(int(extent) for extent in interface["shape"])
        typestr = interface["typestr"]
        given = interface.get("strides")
    except (KeyError, TypeError, ValueError) as error:
        raise ArrayError(f"the __cuda_array_interface__ of a {name} is incomplete: {error!r}") from None
    if interface.get("mask") is not None:
        raise ArrayError(f"a {name} with a mask cannot be an array")
    scalar = hostdata.SCALAR_OF.get(np.dtype(typestr))
    if scalar is None:
        raise ArrayError(f"a {name} of {typestr} cannot be an array: no dtype corresponds to it")
    strides = shapes.contiguous_strides(shape, scalar.size) if given is None else tuple(int(step) for step in given)
    if len(strides) != len(shape):
        raise ArrayError(f"the shape {shape} and the strides {strides} of a {name} have different lengths")
    return CudaMemory(address or 0, scalar, shape, strides, bool(readonly))


def wrap(source: Any) -> array:
    """Refuse the memory of a CUDA device, as this build runs on the CPU only. Raises ArrayError."""
    memory = describe(source)
    raise ArrayError(
        f"a {type(source).__name__} of {memory.scalar!r} of shape {memory.shape} lies in the memory of a CUDA device "
        f"(address {memory.address:#x}), which the CPU cannot use: copy it to the host first"
    )
