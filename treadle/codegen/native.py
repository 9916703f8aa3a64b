"""The op ``native``: calls a function of a C++ library with a block of memory that holds its operands.

The block has the leaves of the operands and then room for the results, each at the next multiple of 8
bytes; array handles are data pointer, extents, strides in bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.codegen.handles import strides
from treadle.ir.core import Op, Value
from treadle.types.storage import Aggregate, ArrayRef

if TYPE_CHECKING:
    from treadle.codegen.emitter import FunctionEmitter


def _size(value: Value) -> int:
    type_ = value.type
    return 8 * (1 + 2 * type_.ndim) if isinstance(type_, ArrayRef) else -(-type_.size // 8) * 8


def _emit_native(e: FunctionEmitter, op: Op) -> None:
    values = [*op.operands, *op.results]
    block = e.slot(f"[{max(sum(map(_size, values)), 8)} x i8]", 8)
    position = 0
    for value in op.operands:
        _write(e, value, e.offset(block, position))
        position += _size(value)
    symbol = op.attributes["symbol"]
    e.module.declare(symbol, f"declare void @{symbol}(ptr)")
    e.line(f"call void @{symbol}(ptr {block})")
    for value in op.results:
        e.values[value] = _read(e, value, e.offset(block, position))
        position += _size(value)


def _write(e: FunctionEmitter, value: Value, address: str) -> None:
    type_, emitted = value.type, e.values[value]
    if isinstance(type_, ArrayRef):
        words = [emitted.data, *emitted.extents, *strides(e, emitted, type_)]
        for k, word in enumerate(words):
            e.line(f"store {'i64' if k else 'ptr'} {word}, ptr {e.offset(address, 8 * k)}, align 8")
    elif isinstance(type_, Aggregate):
        e.copy(address, emitted, type_)
    else:
        e.store_scalar(type_, emitted, address)


def _read(e: FunctionEmitter, value: Value, address: str) -> Any:
    if isinstance(value.type, Aggregate):
        e.copy(e.buffer(value), address, value.type)
        return e.buffer(value)
    return e.load_scalar(value.type, address)  # type: ignore[arg-type]


HANDLERS = {"native": _emit_native, "native_again": _emit_native}
