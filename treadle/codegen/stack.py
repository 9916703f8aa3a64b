"""The adjoint's stack: the ops ``frame``, ``save``, ``restore``, ``seal``, ``release``.

The stack is an arena of the worker; a frame is an offset in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from treadle.codegen.arena import Arena
from treadle.codegen.handles import Handle, load_registers, store_registers
from treadle.ir.core import Block, Op, Value
from treadle.ir.definitions import IRError
from treadle.types.storage import Aggregate, ArrayRef, StorageType

if TYPE_CHECKING:
    from treadle.codegen.emitter import FunctionEmitter

# More records than this cannot exist; the product with the size of a record stays far from 2^63.
_MOST_RECORDS = 1 << 40


def record_layout(types: Sequence[StorageType]) -> tuple[list[int], int]:
    """The offset of each value in a record, and the size of the record, a multiple of 8 bytes."""
    offsets, position = [], 0
    for type_ in types:
        size = 8 * len(Handle.register_types(type_)) if isinstance(type_, ArrayRef) else type_.size
        alignment = min(size, 8) if not isinstance(type_, Aggregate) else 8
        position = -(-position // alignment) * alignment
        offsets.append(position)
        position += size
    return offsets, -(-position // 8) * 8


class Stack(Arena):
    """The stack as one kernel sees it: an arena, and the record size of each frame."""

    def __init__(self, e: FunctionEmitter, body: Block) -> None:
        super().__init__(e, "stack", "capacity")
        self.sizes: dict[Value, int] = {}
        for op in body.walk():
            if op.name == "save":
                size = record_layout([v.type for v in op.operands[2:]])[1]
                if self.sizes.setdefault(op.operands[0], size) != size:
                    raise IRError("records of different sizes in one frame")

    def record(self, frame: str, number: str, size: int) -> tuple[str, str]:
        """The offset of a record and its address."""
        e = self.e
        offset = e.assign(f"add nsw i64 {frame}, {e.assign(f'mul nsw i64 {number}, {size}')}")
        return offset, self.address(offset)


def _extent(e: FunctionEmitter, stack: Stack, frame: Value, count: Value) -> str:
    """The bytes that ``count`` records of a frame take; none if it is negative."""
    number = e.assign(f"call i64 @llvm.smax.i64(i64 {e.index(count)}, i64 0)")
    number = e.assign(f"call i64 @llvm.umin.i64(i64 {number}, i64 {_MOST_RECORDS})")
    return e.assign(f"mul nsw i64 {number}, {stack.sizes.get(frame, 0)}")


def _emit_frame(e: FunctionEmitter, op: Op) -> None:
    stack: Stack = e.stack
    top = e.values[op.result] = stack.get_top()
    if op.operands:
        end = e.assign(f"add nsw i64 {top}, {_extent(e, stack, op.result, op.operands[0])}")
        stack.ensure(end)
        stack.set_top(end)


def _has_room(frame: Value) -> bool:
    owner = frame.owner
    return isinstance(owner, Op) and owner.name == "frame" and bool(owner.operands)


def _emit_save(e: FunctionEmitter, op: Op) -> None:
    frame, number, *values = op.operands
    stack: Stack = e.stack
    offsets, size = record_layout([v.type for v in values])
    k = e.index(number)
    if not _has_room(frame):
        start = e.assign(f"add nsw i64 {e.values[frame]}, {e.assign(f'mul nsw i64 {k}, {size}')}")
        stack.ensure(e.assign(f"add nsw i64 {start}, {size}"))
    _, record = stack.record(e.values[frame], k, size)
    for value, offset in zip(values, offsets):
        _write(e, value, e.offset(record, offset))


def _write(e: FunctionEmitter, value: Value, address: str) -> None:
    type_, emitted = value.type, e.values[value]
    if isinstance(type_, Aggregate):
        e.copy(address, emitted, type_)
    elif isinstance(type_, ArrayRef):
        store_registers(e, emitted, address, type_)
    else:
        e.store_scalar(type_, emitted, address)


def _emit_restore(e: FunctionEmitter, op: Op) -> None:
    frame, number = op.operands
    offsets, size = record_layout([v.type for v in op.results])
    _, record = e.stack.record(e.values[frame], e.index(number), size)
    for result, offset in zip(op.results, offsets):
        e.values[result] = _read(e, result, e.offset(record, offset))


def _read(e: FunctionEmitter, result: Value, address: str) -> Any:
    type_ = result.type
    if isinstance(type_, Aggregate):
        e.copy(e.buffer(result), address, type_)
        return e.buffer(result)
    if isinstance(type_, ArrayRef):
        return load_registers(e, address, type_)
    return e.load_scalar(type_, address)


def _emit_seal(e: FunctionEmitter, op: Op) -> None:
    frame, count = op.operands
    stack: Stack = e.stack
    stack.set_top(e.assign(f"add nsw i64 {e.values[frame]}, {_extent(e, stack, frame, count)}"))


def _emit_release(e: FunctionEmitter, op: Op) -> None:
    e.stack.set_top(e.values[op.operands[0]])


HANDLERS = {
    "frame": _emit_frame,
    "save": _emit_save,
    "restore": _emit_restore,
    "seal": _emit_seal,
    "release": _emit_release,
}
