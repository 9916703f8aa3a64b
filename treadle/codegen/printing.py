"""The op ``print``: machine code collects the values in a record, Python turns the record into text.

A record is the address and the length of a description, which is part of the module's constants,
followed by the values, each at the next multiple of 8 bytes. Formatting in Python needs no C
library and gives exactly what Python prints; a print is one callback, so lines stay whole.
"""

from __future__ import annotations

import ctypes
import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.ir.core import Op
from treadle.ir.definitions import IRError
from treadle.types import scalars
from treadle.types.storage import Aggregate, ArrayRef, StorageType

if TYPE_CHECKING:
    from treadle.codegen.emitter import FunctionEmitter

_HEADER = 16


def _emit_print(e: FunctionEmitter, op: Op) -> None:
    from treadle.codegen.worker import OFFSETS

    offsets, size = _layout([v.type for v in op.operands])
    description = json.dumps(
        {
            "pieces": op.attributes["pieces"],
            "formats": op.attributes.get("formats"),
            "values": [_describe(v.type, offset) for v, offset in zip(op.operands, offsets)],
        }
    ).encode()
    record = e.slot(f"[{size} x i8]", 8)
    e.line(f"store ptr {e.module.add_text(description)}, ptr {record}, align 8")
    e.line(f"store i64 {len(description)}, ptr {e.offset(record, 8)}, align 8")
    for value, offset in zip(op.operands, offsets):
        address, text = e.offset(record, offset), e.values[value]
        if isinstance(value.type, Aggregate):
            e.copy(address, text, value.type)
        else:
            e.store_scalar(value.type, text, address)  # type: ignore[arg-type]
    callback = e.assign(f"load ptr, ptr {e.offset('%worker', OFFSETS['print'])}, align 8")
    e.line(f"call void {callback}(ptr {record}, i64 {size})")


def _layout(types: list[StorageType]) -> tuple[list[int], int]:
    offsets, position = [], _HEADER
    for type_ in types:
        if isinstance(type_, ArrayRef):
            raise IRError("an array handle cannot be printed")
        offsets.append(position)
        position += -(-type_.size // 8) * 8
    return offsets, position


def _describe(type_: Any, offset: int) -> tuple[str, int, int]:
    """Short name, number of components (0: a scalar), offset."""
    return (type_.scalar.short, type_.count, offset) if isinstance(type_, Aggregate) else (type_.short, 0, offset)


@lru_cache(maxsize=256)
def _parse(description: bytes) -> Any:
    return json.loads(description)


def format_record(address: int) -> str:
    """The text of the record at an address."""
    description_at, length = (ctypes.c_uint64 * 2).from_address(address)
    description = _parse(ctypes.string_at(description_at, length))
    pieces, formats = description["pieces"], description["formats"]
    text = [pieces[0]]
    for k, (short, count, offset) in enumerate(description["values"]):
        value = _read(address + offset, short, count)
        text.append(_formatted(value, formats[k]) if formats and formats[k] else _text(value))
        text.append(pieces[k + 1])
    return "".join(text)


def _read(address: int, short: str, count: int) -> Any:
    """A scalar as a NumPy or Python number, an aggregate as a list of them."""
    scalar = scalars.BY_SHORT_NAME[short]
    memory = np.frombuffer(ctypes.string_at(address, scalar.size * max(count, 1)), scalar.numpy)
    numbers = [np.float32(scalars.bfloat16_to_float(v)) for v in memory.tolist()] if short == "bf16" else list(memory)
    return numbers if count else numbers[0]


def _formatted(value: Any, how: str) -> str:
    """A number by a conversion of C (``%5d``) or a format of Python (``:5d``)."""
    number = value.item()
    return format(number, how[1:]) if how.startswith(":") else how % number


def _text(value: Any) -> str:
    return f"[{', '.join(str(v) for v in value)}]" if isinstance(value, list) else str(value)


HANDLERS = {"print": _emit_print}
