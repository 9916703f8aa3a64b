"""A Python function as a target of XLA: takes XLA's call frame apart and calls it for each batch element."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from typing import Any

from treadle.interop.jax import frame
from treadle.interop.jax.programs import Parameter, Role

Addresses = dict[str, tuple[int, int]]
"""For each parameter that has memory, by label: the address of its operand and that of its result, 0 for none."""

HANDLER = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
_CREATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


def host_handler(
    parameters: Sequence[Parameter], sizes: dict[str, int], action: Callable[[Addresses], None], where: str
) -> Any:
    """The handler that calls ``action``. Keep it as long as XLA may call it.

    ``sizes``: the bytes of one batch element, by label. What ``action`` raises becomes an error of XLA, which begins
    with ``where``.
    """
    operands = [p for p in parameters if p.is_operand]
    results = [p for p in parameters if p.is_result]

    def handle(call: int) -> int:
        extension = _pointer(call + frame.FRAME_EXTENSION)
        if extension:
            _answer(extension)
            return 0
        if _int32(call + frame.FRAME_STAGE) != frame.STAGE_EXECUTE:
            return 0
        try:
            given = _buffers(call + frame.FRAME_OPERANDS, len(operands))
            made = _buffers(call + frame.FRAME_RESULTS, len(results))
            batch = made[0][1][: len(made[0][1]) - results[0].rank]
            for element in range(math.prod(batch)):
                addresses = {p.label: (0, data + element * sizes[p.label]) for p, (data, _) in zip(results, made)}
                for p, (data, dims) in zip(operands, given):
                    address = data + _position(dims, batch, element) * sizes[p.label]
                    addresses[p.label] = (address, addresses.get(p.label, (0, 0))[1])
                action(addresses)
        except Exception as error:  # nothing may pass into XLA
            return _error(call, f"{where}: {type(error).__name__}: {error}")
        return 0

    return HANDLER(handle)


def prepare_results(parameters: Sequence[Parameter], sizes: dict[str, int], addresses: Addresses) -> None:
    """Set outputs to zero, and give in-outs the contents of their operands."""
    for p in parameters:
        if p.role is Role.OUTPUT:
            ctypes.memset(addresses[p.label][1], 0, sizes[p.label])
        elif p.role is Role.UPDATED:
            source, to = addresses[p.label]
            if source != to:
                ctypes.memmove(to, source, sizes[p.label])


def _pointer(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


def _int32(address: int) -> int:
    return ctypes.c_int32.from_address(address).value


def _buffers(at: int, count: int) -> list[tuple[int, tuple[int, ...]]]:
    """Address and extents of each buffer."""
    found = []
    table = _pointer(at)
    for k in range(count):
        buffer = _pointer(table + 8 * k)
        rank, dims = _pointer(buffer + frame.BUFFER_RANK), _pointer(buffer + frame.BUFFER_DIMS)
        shape = tuple((ctypes.c_int64 * rank).from_address(dims)) if rank else ()
        found.append((_pointer(buffer + frame.BUFFER_DATA), shape))
    return found


def _position(dims: Sequence[int], batch: Sequence[int], element: int) -> int:
    """The position of a batch element in an operand, some of whose batch dimensions may be 1."""
    position, stride = 0, 1
    for extent, whole in zip(reversed(dims[: len(batch)]), reversed(batch)):
        element, coordinate = divmod(element, whole)
        position += stride * (0 if extent == 1 else coordinate)
        stride *= extent
    return position


def _answer(extension: int) -> None:
    """Tell XLA the version of the interface."""
    if _int32(extension + frame.EXTENSION_TYPE) == frame.EXTENSION_METADATA:
        metadata = _pointer(extension + frame.METADATA_EXTENSION_METADATA)
        major, minor = frame.interface_version()
        ctypes.c_int32.from_address(metadata + frame.METADATA_MAJOR).value = major
        ctypes.c_int32.from_address(metadata + frame.METADATA_MINOR).value = minor


class _ErrorArguments(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("extension", ctypes.c_void_p),
        ("message", ctypes.c_char_p),
        ("code", ctypes.c_int),
    ]


def _error(call: int, text: str) -> int:
    arguments = _ErrorArguments(frame.ERROR_SIZE, None, text.encode(), frame.INVALID_ARGUMENT)
    create = _CREATE(_pointer(_pointer(call + frame.FRAME_API) + frame.API_ERROR_CREATE))
    return int(create(ctypes.addressof(arguments)) or 0)
