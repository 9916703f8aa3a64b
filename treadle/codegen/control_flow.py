"""The ops ``if``, ``for`` and ``while``: basic blocks, and phis for what they yield or carry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.codegen.aggregates import move
from treadle.ir.core import Block, Op, Value
from treadle.ir.definitions import IRError

if TYPE_CHECKING:
    from treadle.codegen.emitter import FunctionEmitter


def _registers(e: FunctionEmitter, values: list[Value]) -> list[str]:
    return [text for v in values for text in e.registers(v)]


def _emit_if(e: FunctionEmitter, op: Op) -> None:
    labels = e.labels("then", "else", "end")
    end = labels[-1]
    e.branch_if(e.values[op.operands[0]], *labels[:2])
    incoming = []
    for label, block in zip(labels, op.blocks):
        e.start(label)
        e.emit_block(block)
        move(e, op.results, block.yields)
        incoming.append((e.label, _registers(e, block.yields)))
        e.branch(end)
    e.start(end)
    types = e.register_types([v.type for v in op.results])
    e.bind(op.results, e.phis(types, incoming) if types else [])


def _emit_for(e: FunctionEmitter, op: Op) -> None:
    count, *initial = op.operands
    (body,) = op.blocks
    index, *carried = body.parameters
    t = e.type(count.type)  # type: ignore[arg-type]
    header, inside, done = e.labels("for", "for.body", "for.done")
    move(e, carried, initial)
    types = [t, *e.register_types([v.type for v in carried])]
    entry = (e.label, ["0", *_registers(e, initial)])
    e.branch(header)
    e.start(header)
    names, ticket = e.reserve_phis(types)
    e.bind([index, *carried], names)
    e.branch_if(e.assign(f"icmp slt {t} {names[0]}, {e.values[count]}"), inside, done)
    e.start(inside)
    e.emit_block(body)
    move(e, carried, body.yields)
    following = e.assign(f"add nuw nsw {t} {names[0]}, 1")
    e.fill_phis(ticket, names, types, [entry, (e.label, [following, *_registers(e, body.yields)])])
    e.branch(header)
    e.start(done)
    e.bind(op.results, names[1:])


def _emit_while(e: FunctionEmitter, op: Op) -> None:
    condition, body = op.blocks
    header, inside, done = e.labels("while", "while.body", "while.done")
    move(e, condition.parameters, op.operands)
    types = e.register_types([v.type for v in op.operands])
    entry = (e.label, _registers(e, op.operands))
    e.branch(header)
    e.start(header)
    names, ticket = e.reserve_phis(types)
    e.bind(condition.parameters, names)
    e.emit_block(condition)
    e.branch_if(_only(e, condition), inside, done)
    e.start(inside)
    e.bind(body.parameters, names)
    e.emit_block(body)
    move(e, body.parameters, body.yields)
    e.fill_phis(ticket, names, types, [entry, (e.label, _registers(e, body.yields))])
    e.branch(header)
    e.start(done)
    e.bind(op.results, names)


def _only(e: FunctionEmitter, condition: Block) -> str:
    (value,) = condition.yields
    text: str = e.values[value]
    return text


def _emit_call(e: FunctionEmitter, op: Op) -> None:
    callee: Any = op.attributes.get("callee")
    raise IRError(f"the call of {getattr(callee, 'name', callee)!r} must be inlined before code generation")


HANDLERS = {"if": _emit_if, "for": _emit_for, "while": _emit_while, "call": _emit_call}
