"""The ops ``load`` and ``store``.

Accesses to arrays carry the mark that lets LLVM vectorise over threads; accesses to aggregates in
the function's own memory must not, since all threads of a range share that memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.codegen.handles import load_descriptor, store_descriptor
from treadle.ir.core import Op
from treadle.types.storage import Aggregate, ArrayRef

if TYPE_CHECKING:
    from treadle.codegen.emitter import FunctionEmitter


def _emit_load(e: FunctionEmitter, op: Op) -> None:
    array, *indices = op.operands
    result, type_ = op.result, op.result.type
    address = e.element(array, indices, op.attributes.get("offset", 0))
    if isinstance(type_, Aggregate):
        e.values[result] = e.buffer(result)
        e.copy(e.values[result], address, type_)
    elif isinstance(type_, ArrayRef):
        e.values[result] = load_descriptor(e, address, type_, e.parallel)
    else:
        e.values[result] = e.load_scalar(type_, address, e.parallel)


def _emit_store(e: FunctionEmitter, op: Op) -> None:
    array, *indices, value = op.operands
    address = e.element(array, indices, op.attributes.get("offset", 0))
    type_, text = value.type, e.values[value]
    if isinstance(type_, Aggregate):
        e.copy(address, text, type_)
    elif isinstance(type_, ArrayRef):
        store_descriptor(e, text, address, type_, e.parallel)
    else:
        e.store_scalar(type_, text, address, e.parallel)


HANDLERS = {"load": _emit_load, "store": _emit_store}
