"""The adjoint's stack: the ops ``frame``, ``save``, ``restore``, ``seal``, ``release``.

The stack is a block of memory that belongs to the worker. Since it moves when it grows, a frame is
an offset in it. Its address, its capacity and its top are local variables of the kernel, which LLVM
keeps in registers; only growing goes through the worker.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from treadle.codegen.handles import Handle, load_registers, store_registers
from treadle.codegen.worker import OFFSETS, OUT_OF_MEMORY
from treadle.ir.core import Block, Op, Value
from treadle.ir.definitions import IRError
from treadle.types.storage import Aggregate, ArrayRef, StorageType

if TYPE_CHECKING:
    from treadle.codegen.emitter import FunctionEmitter

_FIRST_CAPACITY = 65536
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


class Stack:
    """The stack as one kernel sees it: local variables, and the record size of each frame."""

    def __init__(self, e: FunctionEmitter, body: Block) -> None:
        self.e = e
        self.base = e.slot("ptr", 8)
        self.capacity = e.slot("i64", 8)
        self.top = e.slot("i64", 8)
        self.sizes: dict[Value, int] = {}
        for op in body.walk():
            if op.name == "save":
                size = record_layout([v.type for v in op.operands[2:]])[1]
                if self.sizes.setdefault(op.operands[0], size) != size:
                    raise IRError("records of different sizes in one frame")
        self.reload()

    def reload(self) -> None:
        """Read address and capacity from the worker."""
        e = self.e
        base = e.assign(f"load ptr, ptr {e.offset('%worker', OFFSETS['stack'])}, align 8")
        capacity = e.assign(f"load i64, ptr {e.offset('%worker', OFFSETS['capacity'])}, align 8")
        e.line(f"store ptr {base}, ptr {self.base}, align 8")
        e.line(f"store i64 {capacity}, ptr {self.capacity}, align 8")

    def set_top(self, offset: str) -> None:
        self.e.line(f"store i64 {offset}, ptr {self.top}, align 8")

    def ensure(self, needed: str) -> None:
        """Let the capacity be at least ``needed``."""
        e = self.e
        if e.target.reallocate is None:
            raise IRError("the adjoint's stack cannot grow on this target")
        enough, grow, grown = e.labels("enough", "grow", "grown")
        fits = e.assign(f"icmp sle i64 {needed}, {e.assign(f'load i64, ptr {self.capacity}, align 8')}")
        e.branch_if(fits, enough, grow)
        e.start(grow)
        _declare_growth(e)
        failed = e.assign(f"call i1 @stack.grow(ptr %worker, i64 {needed}, i64 {e.thread})")
        e.branch_if(failed, e.failure_label, grown)
        e.start(grown)
        self.reload()
        e.branch(enough)
        e.start(enough)

    def record(self, frame: str, number: str, size: int) -> tuple[str, str]:
        """The offset of a record and its address."""
        e = self.e
        offset = e.assign(f"add nsw i64 {frame}, {e.assign(f'mul nsw i64 {number}, {size}')}")
        return offset, e.offset(e.assign(f"load ptr, ptr {self.base}, align 8"), offset)


def _declare_growth(e: FunctionEmitter) -> None:
    """The function that reallocates the stack; true, with the failure recorded, if there is no memory."""
    reallocate, fields = e.target.reallocate, OFFSETS
    e.module.declare(f"{reallocate}", f"declare ptr @{reallocate}(ptr, i64)")
    e.module.definitions["stack.grow"] = f"""\
define internal i1 @stack.grow(ptr %worker, i64 %needed, i64 %thread) noinline cold nounwind {{
  %capacity.at = getelementptr i8, ptr %worker, i64 {fields["capacity"]}
  %base.at = getelementptr i8, ptr %worker, i64 {fields["stack"]}
  %capacity = load i64, ptr %capacity.at
  %half = lshr i64 %capacity, 1
  %larger = add i64 %capacity, %half
  %enough = call i64 @llvm.smax.i64(i64 %larger, i64 %needed)
  %size = call i64 @llvm.smax.i64(i64 %enough, i64 {_FIRST_CAPACITY})
  %old = load ptr, ptr %base.at
  %new = call ptr @{reallocate}(ptr %old, i64 %size)
  %none = icmp eq ptr %new, null
  br i1 %none, label %failed, label %done
done:
  store ptr %new, ptr %base.at
  store i64 %size, ptr %capacity.at
  ret i1 false
failed:
  %failed.at = getelementptr i8, ptr %worker, i64 {fields["failed"]}
  %message.at = getelementptr i8, ptr %worker, i64 {fields["message"]}
  %thread.at = getelementptr i8, ptr %worker, i64 {fields["thread"]}
  store i64 1, ptr %failed.at
  store i64 {OUT_OF_MEMORY}, ptr %message.at
  store i64 %thread, ptr %thread.at
  ret i1 true
}}"""


def _extent(e: FunctionEmitter, stack: Stack, frame: Value, count: Value) -> str:
    """The bytes that ``count`` records of a frame take; none if it is negative."""
    number = e.assign(f"call i64 @llvm.smax.i64(i64 {e.index(count)}, i64 0)")
    number = e.assign(f"call i64 @llvm.umin.i64(i64 {number}, i64 {_MOST_RECORDS})")
    return e.assign(f"mul nsw i64 {number}, {stack.sizes.get(frame, 0)}")


def _emit_frame(e: FunctionEmitter, op: Op) -> None:
    stack: Stack = e.stack
    top = e.values[op.result] = e.assign(f"load i64, ptr {stack.top}, align 8")
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
