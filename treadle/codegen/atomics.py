"""The op ``atomic``: one instruction where the target has it, else a loop of compare-and-exchange.

In a kernel that runs alone, they are plain loads and stores, several times as fast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from treadle.codegen import reductions
from treadle.codegen.aggregates import component_loop
from treadle.ir.core import Op
from treadle.ir.definitions import IRError
from treadle.types import scalars
from treadle.types.scalars import ScalarMeta
from treadle.types.storage import Aggregate

if TYPE_CHECKING:
    from treadle.codegen.emitter import FunctionEmitter

_PLAIN = ("add", "sub", "min", "max", "and", "or", "xor", "exch")
_FLOAT = {"add": "fadd", "sub": "fsub"}
_SIGNED = {k: k for k in ("add", "sub", "min", "max", "and", "or", "xor")} | {"exch": "xchg"}
_UNSIGNED = _SIGNED | {"min": "umin", "max": "umax"}


def _emit_atomic(e: FunctionEmitter, op: Op) -> None:
    kind, type_ = op.attributes["kind"], op.result.type
    count = 2 if kind == "cas" else 1
    array, *indices = op.operands[:-count]
    texts = [e.values[v] for v in op.operands[-count:]]
    address = e.element(array, indices, op.attributes.get("offset", 0))
    reduction = e.reductions.get(op)
    if reduction is not None:
        reductions.add(e, reduction, kind, address, texts[0])
        return
    update = partial(_plain if e.is_alone and kind in _PLAIN and type_ is not scalars.bool_ else _scalar, e, kind)
    if not isinstance(type_, Aggregate):
        e.values[op.result] = update(type_, address, texts)  # type: ignore[arg-type]
        return
    if kind == "cas":
        raise IRError(f"an atomic compare-and-exchange of {type_}, which is not a scalar")
    old = e.values[op.result] = e.buffer(op.result)
    _components(e, update, type_, address, texts[0], old)


def add(e: FunctionEmitter, scalar: ScalarMeta, address: str, value: str) -> None:
    """Add to a scalar in memory, atomically unless the kernel runs alone."""
    (_plain if e.is_alone else _scalar)(e, "add", scalar, address, [value])


def _components(
    e: FunctionEmitter, update: Callable[..., str], type_: Aggregate, address: str, value: str, old: str
) -> None:
    """Component by component: each is atomic, the whole is not."""
    scalar = type_.scalar

    def component(index: str) -> None:
        text = e.load_scalar(scalar, e.component_address(value, type_, index))
        result = update(scalar, e.component_address(address, type_, index), [text])
        e.store_scalar(scalar, result, e.component_address(old, type_, index))

    component_loop(e, type_.count, component)


def _plain(e: FunctionEmitter, kind: str, scalar: ScalarMeta, address: str, operands: Sequence[str]) -> str:
    """Load, compute, store. Without the mark of parallel accesses: several threads may add to one element."""
    old = e.load_scalar(scalar, address)
    new = operands[0] if kind == "exch" else e.lower(Op(kind), [scalar, scalar], [old, *operands])
    e.store_scalar(scalar, new, address)
    return old


def _scalar(e: FunctionEmitter, kind: str, scalar: ScalarMeta, address: str, operands: Sequence[str]) -> str:
    t, ordering = e.type(scalar), e.target.atomic_ordering
    # Minima go through the primitive, since atomicrmw has other rules for NaN and for zeros.
    if scalar.is_float and kind in ("add", "sub", "min", "max"):
        if kind not in _FLOAT or scalar not in e.target.atomic_floats:
            return _loop(e, kind, scalar, address, operands[0])
        return e.assign(f"atomicrmw {_FLOAT[kind]} ptr {address}, {t} {operands[0]} {ordering}, align {scalar.size}")
    if scalar.is_float and kind not in ("exch", "cas"):
        raise IRError(f"atomic {kind!r} on {scalar}")
    bits, words = f"i{8 * scalar.size}", [_to_bits(e, scalar, x) for x in operands]
    if kind == "cas":
        return _from_bits(e, scalar, _exchange(e, bits, address, *words)[0])
    name = (_SIGNED if scalar.kind == "signed" else _UNSIGNED)[kind]
    old = e.assign(f"atomicrmw {name} ptr {address}, {bits} {words[0]} {ordering}, align {scalar.size}")
    return _from_bits(e, scalar, old)


def _exchange(e: FunctionEmitter, bits: str, address: str, expected: str, new: str) -> tuple[str, str]:
    """Compare and exchange integers: the old value, and whether it was the expected one."""
    ordering, size = e.target.atomic_ordering, int(bits[1:]) // 8
    failure = ordering.rsplit(" ", 1)[-1]  # without the scope
    pair = e.assign(f"cmpxchg ptr {address}, {bits} {expected}, {bits} {new} {ordering} {failure}, align {size}")
    return (
        e.assign(f"extractvalue {{ {bits}, i1 }} {pair}, 0"),
        e.assign(f"extractvalue {{ {bits}, i1 }} {pair}, 1"),
    )


def _loop(e: FunctionEmitter, kind: str, scalar: ScalarMeta, address: str, operand: str) -> str:
    """Compute the new value from the old one until no other thread was in between."""
    bits = f"i{8 * scalar.size}"
    again, done = e.labels("atomic", "atomic.done")
    first = e.assign(f"load atomic {bits}, ptr {address} {e.target.atomic_ordering}, align {scalar.size}")
    before = e.label
    e.branch(again)
    e.start(again)
    (expected,), ticket = e.reserve_phis([bits])
    old = _from_bits(e, scalar, expected)
    new = e.lower(Op(kind), [scalar, scalar], [old, operand])
    seen, unchanged = _exchange(e, bits, address, expected, _to_bits(e, scalar, new))
    e.fill_phis(ticket, [expected], [bits], [(before, [first]), (e.label, [seen])])
    e.branch_if(unchanged, done, again)
    e.start(done)
    return old


def _to_bits(e: FunctionEmitter, scalar: ScalarMeta, text: str) -> str:
    if scalar is scalars.bool_:
        return e.assign(f"zext i1 {text} to i8")
    return e.assign(f"bitcast {e.type(scalar)} {text} to i{scalar.bits}") if scalar.is_float else text


def _from_bits(e: FunctionEmitter, scalar: ScalarMeta, text: str) -> str:
    if scalar is scalars.bool_:
        return e.assign(f"icmp ne i8 {text}, 0")
    return e.assign(f"bitcast i{scalar.bits} {text} to {e.type(scalar)}") if scalar.is_float else text


HANDLERS: dict[str, Any] = {"atomic": _emit_atomic}
