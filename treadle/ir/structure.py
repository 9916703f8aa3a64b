"""Declares the ops that are not arithmetic: control flow, calls, memory, thread indices, the stack of the adjoint.

| op | operands → results, attributes | meaning |
| --- | --- | --- |
| ``constant`` | → T, ``value`` | a scalar constant |
| ``null_array`` | → array; ``reason`` or none | a handle that refers to nothing: it has zeros, and what is written to it is lost; with a reason, an error if it is still there at the end |
| ``if`` | bool → what both blocks yield | blocks: then, else; neither has parameters |
| ``for`` | count, initial… → final… | block body(k, carried…) yields carried…; k = 0 … count−1 has the type of count (int32 or int64); a negative count is 0 |
| ``while`` | initial… → final… | blocks condition(carried…) yields one bool; body(carried…) yields carried… |
| ``call`` | arguments… → results…, ``callee`` (Function) | |
| ``gradient`` | arguments… → partial derivatives for the float arguments, ``callee`` (Function with one float result) | |
| ``load`` | array, index… → T, ``type`` (scalar, aggregate, or array handle), ``offset`` (bytes) | a leaf of an element; as many indices as the array has dimensions |
| ``store`` | array, index…, value; ``offset`` | |
| ``atomic`` | array, index…, value(s) → old value; ``kind``, ``offset`` | kinds: add, sub, min, max, and, or, xor, exch; cas takes compare, value |
| ``shape`` | array → int32, ``axis`` | an extent |
| ``view`` | array, index… → array; ``axis`` or none | fixes indices from ``axis`` (0) on; fewer than the array has dimensions |
| ``slice`` | array, start, step, length → array, ``axis`` | elements start + k·step, k < length; int32 or int64 operands |
| ``thread_index`` | → int32, ``axis``, ``rank`` | the index of this thread; ``rank`` is how many indices the kernel asks for |
| ``frame`` | [count] → int64 | opens a frame on the adjoint's stack; with a count, room for so many records |
| ``save`` | frame, k, value… | writes record k; without a count the frame grows, and k rises by one each time |
| ``restore`` | frame, k → value…, ``types`` | reads record k |
| ``seal`` | frame, count | a frame without count is complete; others may be opened on top |
| ``release`` | frame | gives the frame, the topmost one, back |
| ``native`` | value… → T…; ``symbol``, ``source`` | calls a function of a C++ library; ``native_again`` the same for its results alone, in a primal sweep |
| ``log_append`` | value; ``log`` | appends to the log of this thread; ``log`` is "thread" (gone when the thread ends) or "launch" (kept with the launch) |
| ``log_mark`` | ``log`` | the log of this thread starts here; in a function that appends to a "launch" log |
| ``log_start`` | → int64, ``log`` | where the log of this thread starts, in words of 8 bytes |
| ``log_read`` | position → T, ``type``, ``log`` | what was appended at a position; a value takes as many words as it has bytes / 8, rounded up |
| ``unavailable`` | → T, ``type``, ``reason`` | a value that the adjoint cannot have; an error if it is still there at the end |
| ``print`` | value… ; ``pieces`` (list of str), ``formats`` (list of str) or none | prints pieces[0], value, pieces[1], value, … |
| ``assert`` | bool, value… ; ``message`` | if false: records the failure, stops this thread; ``{0}`` in the message stands for a value |

Indices are of any integer type. A block yields through its ``yields`` list; there is no
terminator op.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treadle.ir.core import Op, Value
from treadle.ir.definitions import Definition, IRError, declare
from treadle.types import scalars
from treadle.types.scalars import ScalarMeta
from treadle.types.storage import ArrayRef, StorageType

ATOMIC_KINDS = ("add", "sub", "min", "max", "and", "or", "xor", "exch", "cas")

Types = Sequence[StorageType]
Attributes = dict[str, Any]


def _array(types: Types) -> ArrayRef:
    if not types or not isinstance(types[0], ArrayRef):
        raise IRError(f"the first operand must be an array handle, not {types[0] if types else 'missing'}")
    return types[0]


def _indices(types: Types) -> None:
    for t in types:
        if not (isinstance(t, ScalarMeta) and t.is_integer):
            raise IRError(f"an index must be an integer, not {t}")


def _load(types: Types, attributes: Attributes) -> tuple[StorageType, ...]:
    array = _array(types)
    if len(types) != 1 + array.ndim:
        raise IRError(f"{len(types) - 1} indices for an array with {array.ndim} dimensions")
    _indices(types[1:])
    return (attributes["type"],)


def _store(types: Types, attributes: Attributes) -> tuple[StorageType, ...]:
    array = _array(types)
    if len(types) != 2 + array.ndim:
        raise IRError(f"{len(types) - 2} indices for an array with {array.ndim} dimensions")
    _indices(types[1:-1])
    return ()


def _atomic(types: Types, attributes: Attributes) -> tuple[StorageType, ...]:
    array = _array(types)
    values = 2 if attributes["kind"] == "cas" else 1
    if attributes["kind"] not in ATOMIC_KINDS:
        raise IRError(f"no atomic operation {attributes['kind']!r}")
    if len(types) != 1 + array.ndim + values:
        raise IRError(f"wrong number of operands for an array with {array.ndim} dimensions")
    _indices(types[1 : 1 + array.ndim])
    return (types[-1],)


def _view(types: Types, attributes: Attributes) -> tuple[StorageType, ...]:
    array = _array(types)
    fixed = len(types) - 1
    if not 0 < fixed < array.ndim:
        raise IRError(f"a view that fixes {fixed} of {array.ndim} indices")
    _indices(types[1:])
    axis = attributes.get("axis", 0)
    if axis + fixed > array.ndim:
        raise IRError(f"a view that fixes {fixed} indices from axis {axis} on, of {array.ndim}")
    return (ArrayRef(array.ndim - fixed, array.itemsize, array.contiguous and axis == 0),)


def _slice(types: Types, attributes: Attributes) -> tuple[StorageType, ...]:
    array = _array(types)
    if len(types) != 4 or not 0 <= attributes["axis"] < array.ndim:
        raise IRError("a slice takes array, start, step, length and an axis of the array")
    _indices(types[1:])
    return (ArrayRef(array.ndim, array.itemsize),)


def _is_null(array: Value) -> bool:
    return isinstance(array.owner, Op) and array.owner.name == "null_array"


def _fold_load(b: Any, operands: Sequence[Value], attributes: Attributes) -> Any:
    """A handle that refers to nothing has zeros; what is written to it is lost."""
    return b.zero(attributes["type"]) if _is_null(operands[0]) else None


def _fold_store(b: Any, operands: Sequence[Value], attributes: Attributes) -> Any:
    return () if _is_null(operands[0]) else None


def _fold_atomic(b: Any, operands: Sequence[Value], attributes: Attributes) -> Any:
    return b.zero(operands[-1].type) if _is_null(operands[0]) else None


def _fold_part(rule: Any) -> Any:
    """A part of nothing is nothing, for the same reason."""

    def fold(b: Any, operands: Sequence[Value], attributes: Attributes) -> Any:
        if not _is_null(operands[0]):
            return None
        (type_,) = rule([v.type for v in operands], attributes)
        return b.op("null_array", (), (type_,), dict(operands[0].owner.attributes)).result  # type: ignore[union-attr]

    return fold


def _fold_shape(b: Any, operands: Sequence[Value], attributes: Attributes) -> Any:
    return b.index(0) if _is_null(operands[0]) else None


def _results(*result: StorageType) -> Any:
    return lambda types, attributes: result


for _definition in (
    Definition("constant", None),
    Definition("null_array", None),
    Definition("if", None),
    Definition("for", None),
    Definition("while", None),
    Definition("call", None, effect="write"),
    Definition("gradient", None),
    Definition("load", _load, effect="read", fold=_fold_load),
    Definition("store", _store, effect="write", fold=_fold_store),
    Definition("atomic", _atomic, effect="write", fold=_fold_atomic),
    Definition("shape", _results(scalars.int32), fold=_fold_shape),
    Definition("view", _view, fold=_fold_part(_view)),
    Definition("slice", _slice, fold=_fold_part(_slice)),
    Definition("thread_index", _results(scalars.int32)),
    Definition("frame", _results(scalars.int64), effect="write"),
    Definition("save", _results(), effect="write"),
    Definition("restore", lambda types, attributes: tuple(attributes["types"]), effect="read"),
    Definition("seal", _results(), effect="write"),
    Definition("release", _results(), effect="write"),
    Definition("log_append", _results(), effect="write"),
    Definition("log_mark", _results(), effect="write"),
    Definition("log_start", _results(scalars.int64)),
    Definition("log_read", lambda types, attributes: (attributes["type"],), effect="read"),
    Definition("native", None, effect="write"),
    Definition("native_again", None, effect="read"),
    Definition("unavailable", lambda types, attributes: (attributes["type"],)),
    Definition("print", _results(), effect="write"),
    Definition("assert", _results(), effect="write"),
):
    declare(_definition)

CONTROL_FLOW = ("if", "for", "while")
LOGS = ("thread", "launch")
STACK = ("frame", "save", "restore", "seal", "release")
