"""DLPack: the C structures of the protocol, and arrays as capsules. Import is in ``interop.dlpack``.

NumPy makes the capsules: its deleters are native code, which takes the GIL when it must and does
nothing once the interpreter is gone. What NumPy has no dtype for is corrected in the structure.
"""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import numpy as np

from treadle.errors import ExportError
from treadle.runtime import elements
from treadle.types import SCALARS, bfloat16, bool_

__all__ = [
    "CPU_DEVICE",
    "CPU_DEVICES",
    "NAMES",
    "READ_ONLY",
    "SCALAR_OF",
    "TENSOR",
    "Managed",
    "ManagedVersioned",
    "Tensor",
    "export",
    "pointer",
]

CPU_DEVICE = (1, 0)
"""``(device type, device id)`` of the CPU."""
CPU_DEVICES = (1, 3, 11)
"""Device types whose memory the CPU can use: its own, and that of CUDA and ROCm that is pinned to pages."""
TENSOR = struct.Struct("@PiiiBBHPPQ")
"""A ``Tensor`` as numbers, for reading: data, device type and id, ndim, dtype (three), shape, strides, byte offset."""
READ_ONLY = 1
"""The flag of memory that must not be written."""
NAMES = (b"dltensor", b"dltensor_versioned")
"""The names of capsules that nobody has consumed, without and with a version."""

_UNSIGNED = {1: np.dtype("u1"), 2: np.dtype("u2")}
# Without versions a consumer gets the older form, which every consumer must take.
_NUMPY_HAS_VERSIONS = np.lib.NumpyVersion(np.__version__) >= "2.1.0"


class DataType(ctypes.Structure):
    """``DLDataType``: kind of number, bits, and how many numbers make an element."""

    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    """``DLTensor``: memory, device, dtype, shape, and strides in elements."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype", DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    """``DLManagedTensor``: a tensor with what frees it."""

    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class ManagedVersioned(ctypes.Structure):
    """``DLManagedTensorVersioned``: the same from version 1 of the protocol on, with flags."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


CODES = {"signed": 0, "unsigned": 1, "float": 2, "bool": 6}
BFLOAT = 4


def code_of(scalar: Any) -> tuple[int, int]:
    """``(code, bits)`` of a scalar type."""
    return BFLOAT if scalar is bfloat16 else CODES[scalar.kind], 8 * scalar.size


SCALAR_OF = {code_of(scalar): scalar for scalar in SCALARS}
"""Scalar types by ``(code, bits)``."""

python = ctypes.PyDLL("", handle=ctypes.pythonapi._handle)
"""Python's C functions. Those of ``ctypes.pythonapi`` are shared: other packages declare them in their own ways."""

pointer = python.PyCapsule_GetPointer
pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
pointer.restype = ctypes.c_void_p


def export(
    a: Any, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
) -> Any:
    """A capsule that shares the memory of an array and keeps it alive: ``array.__dlpack__``.

    Of version 1 if ``max_version`` allows it and NumPy can make it. Raises ExportError (a BufferError) for structs,
    for read-only memory without a version, which cannot express it, and for a stream or device that is not the CPU's.
    """
    if stream is not None:
        raise ExportError(f"the CPU has no streams in DLPack: stream must be None, not {stream!r}")
    if dl_device is not None and tuple(dl_device) != CPU_DEVICE:
        raise ExportError(f"an array on the CPU cannot be shared with the DLPack device {tuple(dl_device)}")
    scalar = elements.layout(a.dtype).scalar
    if scalar is None:
        raise ExportError(f"an array of {a.dtype!r} cannot be shared through DLPack, which has no structs")
    host = a.host().copy() if copy else a.host()
    return _capsule(host, scalar, max_version is not None and max_version[0] >= 1)


def _capsule(host: elements.Host, scalar: Any, versioned: bool) -> Any:
    patched = scalar is bool_ or scalar is bfloat16
    if patched:
        host = host.view(_UNSIGNED[scalar.size])
    try:
        if versioned and _NUMPY_HAS_VERSIONS:
            made = host.__dlpack__(max_version=(1, 0))
        else:
            made, versioned = host.__dlpack__(), False
    except BufferError as error:
        raise ExportError(f"the array cannot be shared through DLPack: {error}") from None
    if patched:
        structure = (ManagedVersioned if versioned else Managed).from_address(pointer(made, NAMES[versioned]))
        structure.tensor.dtype.code = code_of(scalar)[0]
    return made
