"""Array handles: the registers that stand for an array, and the address of an element.

Also the ops ``null_array``, ``shape``, ``view`` and ``slice``, and handles that lie in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from treadle.ir.core import Op
from treadle.types.storage import ArrayRef

if TYPE_CHECKING:
    from treadle.codegen.emitter import FunctionEmitter

# Offsets in the descriptor of an array in memory; see treadle.types.storage.
_GRADIENT, _EXTENTS, _STRIDES = 8, 16, 48


@dataclass(frozen=True)
class Handle:
    """An array in registers: data pointer, extents, and strides in bytes (None: contiguous), all 64 bits."""

    data: str
    extents: tuple[str, ...]
    strides: tuple[str, ...] | None

    @property
    def registers(self) -> list[str]:
        """All registers."""
        return [self.data, *self.extents, *(self.strides or ())]

    @staticmethod
    def register_types(type_: ArrayRef) -> list[str]:
        """The LLVM types of the registers."""
        return ["ptr"] + ["i64"] * (type_.ndim * (1 if type_.contiguous else 2))

    @staticmethod
    def from_registers(type_: ArrayRef, registers: Sequence[str]) -> Handle:
        """The handle with these registers."""
        data, *rest = registers
        strides = None if type_.contiguous else tuple(rest[type_.ndim :])
        return Handle(data, tuple(rest[: type_.ndim]), strides)


def element_address(e: FunctionEmitter, handle: Handle, type_: ArrayRef, indices: Sequence[str]) -> str:
    """The address of the element, or of the sub-array if there are fewer indices than dimensions."""
    if handle.strides is not None:
        offset = ""
        for index, stride in zip(indices, handle.strides):
            step = e.assign(f"mul nsw i64 {index}, {stride}")
            offset = e.assign(f"add nsw i64 {offset}, {step}") if offset else step
        return e.offset(handle.data, offset)
    linear = indices[0]
    for index, extent in zip(indices[1:], handle.extents[1:]):
        linear = e.assign(f"add nsw i64 {e.assign(f'mul nsw i64 {linear}, {extent}')}, {index}")
    for extent in handle.extents[len(indices) :]:
        linear = e.assign(f"mul nsw i64 {linear}, {extent}")
    return e.offset(handle.data, e.assign(f"mul nsw i64 {linear}, {type_.itemsize}"))


def strides(e: FunctionEmitter, handle: Handle, type_: ArrayRef) -> list[str]:
    """The strides in bytes, computed if the array is contiguous."""
    if handle.strides is not None:
        return list(handle.strides)
    result = [str(type_.itemsize)]
    for extent in reversed(handle.extents[1:]):
        result.append(e.assign(f"mul nsw i64 {result[-1]}, {extent}"))
    return result[::-1]


def load_registers(e: FunctionEmitter, address: str, type_: ArrayRef, metadata: str = "") -> Handle:
    """Read a handle that was written register by register, as in the argument buffer."""
    texts = [
        e.assign(f"load {t}, ptr {e.offset(address, 8 * k)}, align 8{metadata}")
        for k, t in enumerate(Handle.register_types(type_))
    ]
    return Handle.from_registers(type_, texts)


def store_registers(e: FunctionEmitter, handle: Handle, address: str, type_: ArrayRef) -> None:
    """Write a handle register by register."""
    for k, (t, text) in enumerate(zip(Handle.register_types(type_), handle.registers)):
        e.line(f"store {t} {text}, ptr {e.offset(address, 8 * k)}, align 8")


def load_descriptor(e: FunctionEmitter, address: str, type_: ArrayRef, metadata: str) -> Handle:
    """Read the descriptor of an array that is a member of a struct."""

    def read(t: str, offset: int) -> str:
        return e.assign(f"load {t}, ptr {e.offset(address, offset)}, align 8{metadata}")

    data = read("ptr", 0)
    extents = tuple(read("i64", _EXTENTS + 8 * k) for k in range(type_.ndim))
    if type_.contiguous:
        return Handle(data, extents, None)
    return Handle(data, extents, tuple(read("i64", _STRIDES + 8 * k) for k in range(type_.ndim)))


def store_descriptor(e: FunctionEmitter, handle: Handle, address: str, type_: ArrayRef, metadata: str) -> None:
    """Write a descriptor; a handle in registers knows of no gradient, so there is none."""

    def write(t: str, text: str, offset: int) -> None:
        e.line(f"store {t} {text}, ptr {e.offset(address, offset)}, align 8{metadata}")

    write("ptr", handle.data, 0)
    write("ptr", "null", _GRADIENT)
    for k, (extent, stride) in enumerate(zip(handle.extents, strides(e, handle, type_))):
        write("i64", extent, _EXTENTS + 8 * k)
        write("i64", stride, _STRIDES + 8 * k)


def _emit_null_array(e: FunctionEmitter, op: Op) -> None:
    type_: Any = op.result.type
    zeros = ("0",) * type_.ndim
    e.values[op.result] = Handle("null", zeros, None if type_.contiguous else zeros)


def _emit_shape(e: FunctionEmitter, op: Op) -> None:
    handle: Handle = e.values[op.operands[0]]
    e.values[op.result] = e.assign(f"trunc i64 {handle.extents[op.attributes['axis']]} to i32")


def _emit_view(e: FunctionEmitter, op: Op) -> None:
    array, *indices = op.operands
    handle: Handle = e.values[array]
    axis = op.attributes.get("axis", 0)
    if axis:
        _emit_inner_view(e, op, handle, axis)
        return
    data, fixed = e.element(array, indices), len(indices)
    rest = None if handle.strides is None else handle.strides[fixed:]
    e.values[op.result] = Handle(data, handle.extents[fixed:], rest)


def _emit_inner_view(e: FunctionEmitter, op: Op, handle: Handle, axis: int) -> None:
    """A view that keeps axes before those that it fixes."""
    array, *indices = op.operands
    steps, data = strides(e, handle, array.type), handle.data  # type: ignore[arg-type]
    for k, index in enumerate(indices):
        data = e.offset(data, e.assign(f"mul nsw i64 {e.index(index)}, {steps[axis + k]}"))
    kept = [k for k in range(len(steps)) if not axis <= k < axis + len(indices)]
    e.values[op.result] = Handle(data, tuple(handle.extents[k] for k in kept), tuple(steps[k] for k in kept))


def _emit_slice(e: FunctionEmitter, op: Op) -> None:
    array, axis = op.operands[0], op.attributes["axis"]
    handle: Handle = e.values[array]
    start, step, length = (e.index(v) for v in op.operands[1:])
    steps, extents = strides(e, handle, array.type), list(handle.extents)  # type: ignore[arg-type]
    data = e.offset(handle.data, e.assign(f"mul nsw i64 {start}, {steps[axis]}"))
    steps[axis] = e.assign(f"mul nsw i64 {step}, {steps[axis]}")
    extents[axis] = e.assign(f"call i64 @llvm.smax.i64(i64 {length}, i64 0)")
    e.values[op.result] = Handle(data, tuple(extents), tuple(steps))


HANDLERS = {"null_array": _emit_null_array, "shape": _emit_shape, "view": _emit_view, "slice": _emit_slice}
