"""The op ``assert``: records the first failure in the worker and leaves the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.codegen.module import Message
from treadle.codegen.worker import MAX_VALUES, OFFSETS
from treadle.ir.core import Op, Value
from treadle.ir.definitions import IRError
from treadle.types import scalars
from treadle.types.scalars import ScalarMeta

if TYPE_CHECKING:
    from treadle.codegen.emitter import FunctionEmitter


def _emit_assert(e: FunctionEmitter, op: Op) -> None:
    condition, *values = op.operands
    values = values[:MAX_VALUES]
    types = [_scalar(v) for v in values]
    message = Message(op.attributes["message"], tuple(t.short for t in types), op.location)
    number = e.module.add_message(message)
    passed, failed = e.labels("passed", "failed")
    e.branch_if(e.values[condition], passed, failed)
    e.start(failed)
    for field, text in (("failed", "1"), ("message", str(number)), ("thread", e.thread)):
        e.line(f"store i64 {text}, ptr {e.offset('%worker', OFFSETS[field])}, align 8")
    for k, (value, type_) in enumerate(zip(values, types)):
        address = e.offset("%worker", OFFSETS["values"] + 8 * k)
        _record(e, type_, e.values[value], address)
    e.branch(e.failure_label)
    e.start(passed)


def _scalar(value: Value) -> ScalarMeta:
    if not isinstance(value.type, ScalarMeta):
        raise IRError(f"an assertion that reports a value of type {value.type}, which is no scalar")
    return value.type


def _record(e: FunctionEmitter, scalar: ScalarMeta, text: str, address: str) -> None:
    """Write a number as 64 bits: an integer extended, a float as double."""
    wide = scalars.float64 if scalar.is_float else scalars.int64 if scalar.kind == "signed" else scalars.uint64
    if scalar is not wide:
        text = e.lower(Op("cast", attributes={"type": wide}), [scalar], [text])
    e.store_scalar(wide, text, address)


HANDLERS = {"assert": _emit_assert}
