"""The op ``thread_index`` and ``constant``: values that need no memory and no arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.codegen import literals
from treadle.ir.core import Op

if TYPE_CHECKING:
    from treadle.codegen.emitter import FunctionEmitter


def _emit_constant(e: FunctionEmitter, op: Op) -> None:
    e.values[op.result] = literals.constant(op.result.type, op.attributes["value"])  # type: ignore[arg-type]


def _emit_thread_index(e: FunctionEmitter, op: Op) -> None:
    e.values[op.result] = e.thread_index(op.attributes["axis"], op.attributes["rank"])


HANDLERS = {"constant": _emit_constant, "thread_index": _emit_thread_index}
