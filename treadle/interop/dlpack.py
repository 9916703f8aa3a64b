"""DLPack: arrays from the memory of any framework that has the protocol, and capsules for others.

The C structures and the export of arrays are in ``runtime.dlpack``.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from functools import cache
from typing import Any

from treadle.codegen.locks import held_across_forks
from treadle.errors import ArrayError
from treadle.interop.memory import wrap_memory
from treadle.runtime import dlpack, shapes
from treadle.runtime.array import array

__all__ = ["from_dlpack", "to_dlpack"]

_USED_NAMES = (b"used_dltensor", b"used_dltensor_versioned")
_capsule_name = dlpack.python.PyCapsule_GetName
_capsule_name.argtypes = [ctypes.py_object]
_capsule_name.restype = ctypes.c_char_p
_rename = dlpack.python.PyCapsule_SetName
_rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
# A capsule refers to its name without owning it: these must outlive every capsule.
for _name in _USED_NAMES:
    dlpack.python.Py_IncRef(ctypes.py_object(_name))

# Called with the GIL, as consumers written in C do it; a deleter that takes the GIL itself may do so again.
_DELETER = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)

_consuming = held_across_forks(threading.Lock())


@cache
def _deleter(address: int) -> Any:
    return _DELETER(address)


class _Owner:
    """A consumed tensor: frees it when nothing uses its memory any more."""

    __slots__ = ("_address", "_delete")

    def __init__(self) -> None:
        self._delete: Any = None

    def take(self, address: int, deleter: int | None) -> None:
        """Become responsible for the structure at ``address``."""
        self._address = address
        self._delete = _deleter(deleter) if deleter else None

    def __del__(self) -> None:
        if self._delete is not None:
            self._delete(self._address)


def from_dlpack(source: Any, dtype: Any = None) -> array:
    """An array that shares the memory of ``source``: an object with ``__dlpack__``, or a capsule, which is consumed.

    A scalar dtype keeps shape and strides; the components of a vector or matrix dtype are the last dimensions of the
    source. Without dimensions the shape is ``(1,)``. Memory that is flagged read-only gives a read-only array.

    Raises ArrayError for memory on another device, numbers that have no dtype here, a ``dtype`` that does not
    fit, and a capsule that was consumed before.
    """
    if type(source).__name__ == "PyCapsule":
        return _consume(source, dtype)
    if not hasattr(source, "__dlpack__"):
        raise ArrayError(f"from_dlpack: expected an object with __dlpack__ or a capsule, not {type(source).__name__}")
    device = source.__dlpack_device__()
    if device[0] not in dlpack.CPU_DEVICES:
        raise _foreign_device(int(device[0]), device[1])
    try:
        capsule = source.__dlpack__(max_version=(1, 0))
    except TypeError:  # a source from before version 1
        capsule = source.__dlpack__()
    return _consume(capsule, dtype)


def _foreign_device(kind: int, number: int) -> ArrayError:
    name = "a CUDA device" if kind == 2 else f"the DLPack device ({kind}, {number})"
    return ArrayError(f"memory on {name} cannot be an array: this build of Treadle runs on the CPU only")


def _consume(capsule: Any, dtype: Any) -> array:
    with _consuming:
        name = _capsule_name(capsule)
        if name not in dlpack.NAMES:
            if name in _USED_NAMES:
                raise ArrayError("from_dlpack: the capsule was consumed before; a capsule can be used once")
            raise ArrayError(f"from_dlpack: a capsule named {name!r} is no DLPack capsule")
        address = dlpack.pointer(capsule, name)
        versioned = name == dlpack.NAMES[1]
        if versioned:
            managed: Any = dlpack.ManagedVersioned.from_address(address)
            if managed.major != 1:
                raise ArrayError(f"from_dlpack: version {managed.major}.{managed.minor} of DLPack is not known, only 1")
            readonly = bool(managed.flags & dlpack.READ_ONLY)
            tensor = address + dlpack.ManagedVersioned.tensor.offset
        else:
            managed, readonly, tensor = dlpack.Managed.from_address(address), False, address
        owner = _Owner()
        # Whatever does not fit is found here, while the capsule still belongs to its maker.
        result = _wrap(tensor, dtype, owner, readonly)
        _rename(capsule, _USED_NAMES[versioned])
        owner.take(address, managed.deleter)
    return result


def _wrap(tensor: int, dtype: Any, owner: Any, readonly: bool) -> array:
    """An array over what the ``dlpack.Tensor`` at an address describes."""
    fields = dlpack.TENSOR.unpack(ctypes.string_at(tensor, dlpack.TENSOR.size))
    data, device, number, ndim, code, bits, lanes, extents, steps, offset = fields
    if device not in dlpack.CPU_DEVICES:
        raise _foreign_device(device, number)
    scalar = dlpack.SCALAR_OF.get((code, bits))
    if scalar is None or lanes != 1:
        raise ArrayError(f"numbers of DLPack code {code}, {bits} bits and {lanes} lane(s) cannot be in an array")
    size = scalar.size
    shape = _words(extents, ndim)
    if steps:
        strides = tuple([step * size for step in _words(steps, ndim)])
    else:
        strides = shapes.contiguous_strides(shape, size)
    return wrap_memory(data + offset, scalar, shape, strides, dtype, owner, readonly, "tensor")


def _words(address: int, count: int) -> tuple[int, ...]:
    """64-bit integers in memory."""
    return _format(count).unpack(ctypes.string_at(address, 8 * count))


@cache
def _format(count: int) -> struct.Struct:
    return struct.Struct(f"{count}q")


def to_dlpack(a: array) -> Any:
    """A capsule that shares the memory of an array, for the function ``from_dlpack`` of another framework.

    It has a version only if the memory is read-only, which cannot be expressed without one. Raises ExportError for
    structs.
    """
    return dlpack.export(a, max_version=(1, 0) if a.readonly else None)
