"""Executes IR in Python, one op at a time: what the passes, the derivative and code generation are compared with.

It is written from the description of the ops in ``treadle.ir.structure`` and the lowerings in
``treadle.primitives``, and shares with them only ``normalize``, the rounding to a scalar type.
Scalars are Python numbers, aggregates tuples of them, array handles ``Handle``.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import treadle.primitives  # noqa: F401  (fills the table of ops)
from treadle.ir import Block, Function, Op, Value
from treadle.ir.numbers import normalize
from treadle.types import scalars
from treadle.types.scalars import ScalarMeta
from treadle.types.storage import ARRAY_DESCRIPTOR_SIZE, Aggregate, ArrayRef, StorageType


@dataclass(frozen=True)
class Handle:
    """An array in memory. ``owner`` keeps the memory alive."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    owner: Any = field(default=None, repr=False, compare=False)


@dataclass
class Log:
    """What was appended, by position in words of 8 bytes, and where each thread's part starts."""

    words: int = 0
    entries: dict[int, Any] = field(default_factory=dict)
    starts: dict[int, int] = field(default_factory=dict)

    def append(self, value: Any, type_: StorageType) -> None:
        self.entries[self.words] = value
        self.words += (ARRAY_DESCRIPTOR_SIZE if isinstance(type_, ArrayRef) else type_.size + 7) // 8


@dataclass
class Outcome:
    """What a run left besides changes in arrays: results, printed lines, messages of failed assertions."""

    results: list[Any] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    log: Log = field(default_factory=Log)


def handle_of(array: np.ndarray[Any, Any], type_: ArrayRef) -> Handle:
    """A handle of a NumPy array; its first ``ndim`` dimensions are indexed, the others are within an element."""
    inner = array.itemsize * math.prod(array.shape[type_.ndim :])
    assert inner == type_.itemsize, f"elements of {inner} bytes for {type_}"
    address = array.__array_interface__["data"][0]
    return Handle(address, array.shape[: type_.ndim], array.strides[: type_.ndim], array)


def run_kernel(
    function: Function,
    launch_dims: Sequence[int] | int,
    arguments: Sequence[Any],
    fuel: int = 10**7,
    log: Log | None = None,
) -> Outcome:
    """Run all threads of a kernel, one after the other.

    ``arguments``: one a parameter: a number, a sequence for an aggregate, a NumPy array (or ``Handle``,
    or None) for an array. ``fuel``: how many ops may run in all. ``log``: what another launch, whose
    adjoint this is, logged.

    Raises:
        IndexError: an index out of range. RuntimeError: misuse of the stack, or out of fuel.
    """
    dims = (launch_dims,) if isinstance(launch_dims, int) else tuple(launch_dims)
    outcome = Outcome(log=log or Log())
    machine = _Machine(outcome, fuel)
    values = [_argument(a, p.type) for a, p in zip(arguments, function.parameters, strict=True)]
    for flat, index in enumerate(itertools.product(*map(range, dims))):
        machine.thread, machine.own_log = (flat, index), Log()
        try:
            machine.call(function, values)
        except _Stopped:
            machine.frames.clear()
        if machine.frames:
            raise RuntimeError("a thread ended with open frames on its stack")
    return outcome


def run_function(function: Function, arguments: Sequence[Any], fuel: int = 10**7) -> Outcome:
    """Run a function once; ``results`` has what it returned. Raises as ``run_kernel`` does."""
    outcome = Outcome()
    machine = _Machine(outcome, fuel)
    values = [_argument(a, p.type) for a, p in zip(arguments, function.parameters, strict=True)]
    try:
        outcome.results = machine.call(function, values)
    except _Stopped:
        machine.frames.clear()
    if machine.frames:
        raise RuntimeError("a function ended with open frames on its stack")
    return outcome


def _argument(argument: Any, type_: StorageType) -> Any:
    if isinstance(type_, ArrayRef):
        return handle_of(argument, type_) if isinstance(argument, np.ndarray) else argument
    if isinstance(type_, Aggregate):
        return tuple(normalize(type_.scalar, x) for x in argument)
    return normalize(type_, argument)


class _Stopped(Exception):
    """An assertion failed; the thread ends."""


@dataclass
class _Frame:
    count: int | None
    records: dict[int, tuple[Any, ...]] = field(default_factory=dict)

    @property
    def growing(self) -> bool:
        return self.count is None


class _Machine:
    """The state of the thread that runs."""

    def __init__(self, outcome: Outcome, fuel: int) -> None:
        self.outcome = outcome
        self.fuel = fuel
        self.thread: tuple[int, tuple[int, ...]] = (0, (0,))
        self.frames: dict[int, _Frame] = {}
        self.numbers = itertools.count(1)
        self.own_log = Log()

    def call(self, function: Function, arguments: Sequence[Any]) -> list[Any]:
        return self.block(function.body, arguments, {})

    def block(self, block: Block, arguments: Sequence[Any], values: dict[Value, Any]) -> list[Any]:
        """Run a block and return what it yields; ``values`` has those of the blocks around it."""
        values.update(zip(block.parameters, arguments, strict=True))
        for op in block.ops:
            self.fuel -= 1
            if self.fuel < 0:
                raise RuntimeError("out of fuel")
            operands = [values[v] for v in op.operands]
            action = _ACTIONS.get(op.name)
            results = action(self, op, operands, values) if action else [_primitive(op, operands)]
            values.update(zip(op.results, results, strict=True))
        return [values[v] for v in block.yields]

    def log(self, op: Op) -> Log:
        return self.outcome.log if op.attributes["log"] == "launch" else self.own_log

    def topmost(self, number: int) -> _Frame:
        if not self.frames or next(reversed(self.frames)) != number:
            raise RuntimeError(f"frame {number} is not the topmost one")
        return self.frames[number]


# Control flow.

Values = dict[Value, Any]


def _if(m: _Machine, op: Op, operands: list[Any], values: Values) -> list[Any]:
    return m.block(op.blocks[0] if operands[0] else op.blocks[1], [], values)


def _for(m: _Machine, op: Op, operands: list[Any], values: Values) -> list[Any]:
    count, *carried = operands
    for k in range(count):
        carried = m.block(op.blocks[0], [k, *carried], values)
    return carried


def _while(m: _Machine, op: Op, operands: list[Any], values: Values) -> list[Any]:
    carried = operands
    while m.block(op.blocks[0], carried, values)[0]:
        carried = m.block(op.blocks[1], carried, values)
    return carried


def _call(m: _Machine, op: Op, operands: list[Any], values: Values) -> list[Any]:
    return m.call(op.attributes["callee"], operands)


# Memory.


def _element(op: Op, handle: Handle | None, indices: Sequence[int]) -> int:
    """The address of an element, or of the part of it at the op's offset."""
    if handle is None:
        raise IndexError(f"{op.location}: an element of an array that refers to nothing")
    address = handle.address
    for index, extent, stride in zip(indices, handle.shape, handle.strides):
        if not 0 <= index < extent:
            raise IndexError(f"{op.location}: index {tuple(indices)} in an array of shape {handle.shape}")
        address += index * stride
    return address + int(op.attributes.get("offset", 0))


def read(address: int, type_: StorageType) -> Any:
    """The value of a type at an address."""
    if isinstance(type_, Aggregate):
        return tuple(read(address + k * type_.scalar.size, type_.scalar) for k in range(type_.count))
    if isinstance(type_, ArrayRef):
        words = struct.unpack("10q", ctypes.string_at(address, ARRAY_DESCRIPTOR_SIZE))
        return Handle(words[0], words[2 : 2 + type_.ndim], words[6 : 6 + type_.ndim])
    number = np.frombuffer(ctypes.string_at(address, type_.size), _dtype(type_))[0].item()
    return scalars.bfloat16_to_float(number) if type_ is scalars.bfloat16 else number


def write(address: int, type_: StorageType, value: Any) -> None:
    """Put a value of a type at an address."""
    if isinstance(type_, Aggregate):
        for k, component in enumerate(value):
            write(address + k * type_.scalar.size, type_.scalar, component)
        return
    if isinstance(type_, ArrayRef):
        words = [value.address, 0, *_four(value.shape), *_four(value.strides)]
        ctypes.memmove(address, struct.pack("10q", *words), ARRAY_DESCRIPTOR_SIZE)
        return
    number = scalars.bfloat16_from_float(value) if type_ is scalars.bfloat16 else value
    ctypes.memmove(address, np.array(number, _dtype(type_)).tobytes(), type_.size)


def _dtype(type_: ScalarMeta) -> np.dtype[Any]:
    """The dtype that holds the bits of a scalar."""
    return np.dtype("u2") if type_ is scalars.bfloat16 else type_.numpy


def _four(numbers: tuple[int, ...]) -> tuple[int, ...]:
    return numbers + (0,) * (4 - len(numbers))


def _load(m: _Machine, op: Op, operands: list[Any], values: Values) -> list[Any]:
    return [read(_element(op, operands[0], operands[1:]), op.attributes["type"])]


def _store(m: _Machine, op: Op, operands: list[Any], values: Values) -> list[Any]:
    write(_element(op, operands[0], operands[1:-1]), op.operands[-1].type, operands[-1])
    return []


def _atomic(m: _Machine, op: Op, operands: list[Any], values: Values) -> list[Any]:
    kind, type_ = op.attributes["kind"], op.operands[-1].type
    ndim = op.operands[0].type.ndim  # type: ignore[union-attr]
    address, operand = _element(op, operands[0], operands[1 : 1 + ndim]), operands[-1]
    old = read(address, type_)
    if kind == "cas":
        new = operand if old == operands[-2] else old
    elif kind == "exch":
        new = operand
    else:
        new = _elementwise(kind, type_, [old, operand])
    write(address, type_, new)
    return [old]


def _shape(m: _Machine, op: Op, operands: list[Any], values: Values) -> list[Any]:
    return [operands[0].shape[op.attributes["axis"]]]


def _view(m: _Machine, op: Op, operands: list[Any], values: Values) -> list[Any]:
    handle, *indices = operands
    start = op.attributes.get("axis", 0)
    stop = start + len(indices)
    address = _element(op, handle, [0] * start + indices) if all(handle.shape[:start]) else handle.address
    shape, strides = (t[:start] + t[stop:] for t in (handle.shape, handle.strides))
    return [Handle(address, shape, strides, handle.owner)]


def _slice(m: _Machine, op: Op, operands: list[Any], values: Values) -> list[Any]:
    handle, start, step, length = operands
    axis = op.attributes["axis"]
    shape, strides = list(handle.shape), list(handle.strides)
    if length and not (0 <= start < shape[axis] and 0 <= start + (length - 1) * step < shape[axis]):
        raise IndexError(f"{op.location}: slice {start}, {step}, {length} of {shape[axis]} elements")
    address = handle.address + start * strides[axis]
    shape[axis], strides[axis] = length, strides[axis] * step
    return [replace(handle, address=address, shape=tuple(shape), strides=tuple(strides))]


def _thread_index(m: _Machine, op: Op, operands: list[Any], values: Values) -> list[Any]:
    (flat, index), axis, rank = m.thread, op.attributes["axis"], op.attributes["rank"]
    if rank == 1:
        return [flat]
    assert rank >= len(index), "a kernel asks for fewer indices than the launch has dimensions"
    return [index[axis] if axis < len(index) else 0]


# The stack of the adjoint.


def _frame(m: _Machine, op: Op, operands: list[Any], values: Values) -> list[Any]:
    if m.frames and next(reversed(m.frames.values())).growing:
        raise RuntimeError("a frame is opened on top of one that still grows")
    number = next(m.numbers)
    m.frames[number] = _Frame(max(operands[0], 0) if operands else None)
    return [number]


def _save(m: _Machine, op: Op, operands: list[Any], values: Values) -> list[Any]:
    number, k, *record = operands
    frame = m.frames[number]
    if frame.growing:
        m.topmost(number)
        if k != len(frame.records):
            raise RuntimeError(f"record {k} is saved when {len(frame.records)} were")
    elif not 0 <= k < frame.count:
        raise RuntimeError(f"record {k} of {frame.count}")
    frame.records[k] = tuple(record)
    return []


def _restore(m: _Machine, op: Op, operands: list[Any], values: Values) -> list[Any]:
    number, k = operands
    if m.frames[number].growing:
        raise RuntimeError("a record is restored from a frame that still grows")
    return list(m.frames[number].records[k])


def _seal(m: _Machine, op: Op, operands: list[Any], values: Values) -> list[Any]:
    number, count = operands
    frame = m.topmost(number)
    if not frame.growing or count != len(frame.records):
        raise RuntimeError(f"a frame of {len(frame.records)} records is sealed with {count}")
    frame.count = count
    return []


def _release(m: _Machine, op: Op, operands: list[Any], values: Values) -> list[Any]:
    m.topmost(operands[0])
    del m.frames[operands[0]]
    return []


# Logs.


def _log_append(m: _Machine, op: Op, operands: list[Any], values: Values) -> list[Any]:
    m.log(op).append(operands[0], op.operands[0].type)
    return []


def _log_mark(m: _Machine, op: Op, operands: list[Any], values: Values) -> list[Any]:
    m.log(op).starts[m.thread[0]] = m.log(op).words
    return []


def _log_start(m: _Machine, op: Op, operands: list[Any], values: Values) -> list[Any]:
    return [m.log(op).starts.get(m.thread[0], 0)]


def _log_read(m: _Machine, op: Op, operands: list[Any], values: Values) -> list[Any]:
    return [m.log(op).entries[operands[0]]]


# The outside world, constants, composites.


def _print(m: _Machine, op: Op, operands: list[Any], values: Values) -> list[Any]:
    pieces = op.attributes["pieces"]
    m.outcome.printed.append("".join(p + str(v) for p, v in zip(pieces, operands)) + pieces[-1])
    return []


def _assert(m: _Machine, op: Op, operands: list[Any], values: Values) -> list[Any]:
    condition, *shown = operands
    if not condition:
        m.outcome.failures.append(op.attributes["message"].format(*shown))
        raise _Stopped
    return []


def _unavailable(m: _Machine, op: Op, operands: list[Any], values: Values) -> list[Any]:
    raise RuntimeError(f"{op.location}: {op.attributes['reason']}")


def _pick(m: _Machine, op: Op, operands: list[Any], values: Values) -> list[Any]:
    index, *components = operands
    return [components[index] if 0 <= index < len(components) else components[-1]]


def _place(m: _Machine, op: Op, operands: list[Any], values: Values) -> list[Any]:
    index, new, *components = operands
    return [new if k == index else component for k, component in enumerate(components)]


def _extract(m: _Machine, op: Op, operands: list[Any], values: Values) -> list[Any]:
    aggregate, index = operands
    if not 0 <= index < len(aggregate):
        raise IndexError(f"{op.location}: component {index} of {len(aggregate)}")
    return [aggregate[index]]


def _insert(m: _Machine, op: Op, operands: list[Any], values: Values) -> list[Any]:
    aggregate, index, new = operands
    if not 0 <= index < len(aggregate):
        raise IndexError(f"{op.location}: component {index} of {len(aggregate)}")
    return [aggregate[:index] + (new,) + aggregate[index + 1 :]]


def _reduce_add(m: _Machine, op: Op, operands: list[Any], values: Values) -> list[Any]:
    type_, total = op.result.type, 0
    for component in operands[0]:
        total = normalize(type_, total + component)  # type: ignore[arg-type, assignment]
    return [normalize(type_, total)]  # type: ignore[arg-type]


_ACTIONS: dict[str, Callable[[_Machine, Op, list[Any], Values], list[Any]]] = {
    "constant": lambda m, op, operands, values: [op.attributes["value"]],
    "null_array": lambda m, op, operands, values: [None],
    "if": _if,
    "for": _for,
    "while": _while,
    "call": _call,
    "load": _load,
    "store": _store,
    "atomic": _atomic,
    "shape": _shape,
    "view": _view,
    "slice": _slice,
    "thread_index": _thread_index,
    "frame": _frame,
    "save": _save,
    "restore": _restore,
    "seal": _seal,
    "release": _release,
    "log_append": _log_append,
    "log_mark": _log_mark,
    "log_start": _log_start,
    "log_read": _log_read,
    "print": _print,
    "assert": _assert,
    "unavailable": _unavailable,
    "pick": _pick,
    "place": _place,
    "extract": _extract,
    "insert": _insert,
    "splat": lambda m, op, operands, values: [(operands[0],) * op.attributes["count"]],
    "reduce_add": _reduce_add,
}

# Primitives on scalars.


def _primitive(op: Op, operands: list[Any]) -> Any:
    if op.name in ("cast", "bitcast"):
        return _converted(op, operands[0])
    if op.name == "select" and not isinstance(operands[0], tuple):
        return operands[1] if operands[0] else operands[2]
    return _elementwise(op.name, op.operands[0].type, operands, op.result.type)


def _elementwise(name: str, type_: Any, operands: list[Any], result: Any = None) -> Any:
    """Apply a primitive to numbers or to tuples of numbers of one length."""
    source = type_.scalar if isinstance(type_, Aggregate) else type_
    result = type_ if result is None else result
    target = result.scalar if isinstance(result, Aggregate) else result
    compute = _COMPUTE[name]
    if not isinstance(operands[0], tuple):
        return normalize(target, compute(source, *operands))
    return tuple(normalize(target, compute(source, *components)) for components in zip(*operands, strict=True))


def _converted(op: Op, value: Any) -> Any:
    source, target = op.operands[0].type, op.attributes["type"]
    convert = _cast if op.name == "cast" else _bitcast
    if isinstance(source, Aggregate):
        return tuple(convert(source.scalar, target, x) for x in value)
    return convert(source, target, value)


def _cast(source: Any, target: ScalarMeta, value: Any) -> Any:
    if source.is_float and target.is_integer:
        if math.isnan(value):
            return 0
        low = -(1 << (target.bits - 1)) if target.kind == "signed" else 0
        high = (1 << (target.bits - (target.kind == "signed"))) - 1
        return low if value < low else high if value > high else int(value)
    return normalize(target, value)


def _bitcast(source: Any, target: ScalarMeta, value: Any) -> Any:
    buffer = ctypes.create_string_buffer(source.size)
    write(ctypes.addressof(buffer), source, value)
    return read(ctypes.addressof(buffer), target)


def _divide(t: ScalarMeta, a: Any, b: Any) -> Any:
    if t.is_float:
        return _numpy(np.divide)(t, a, b)
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(t: ScalarMeta, a: Any, b: Any) -> Any:
    if t.is_float:
        return _numpy(np.fmod)(t, a, b)
    return 0 if b == 0 else a - b * _divide(t, a, b)


def _floor_divide(t: ScalarMeta, a: Any, b: Any) -> Any:
    if t.is_float:
        return _numpy(np.floor)(t, normalize(t, _divide(t, a, b)))
    return 0 if b == 0 else a // b


def _numpy(function: Any) -> Callable[..., Any]:
    """A NumPy function on doubles, silent where it overflows or is not defined."""

    def compute(t: ScalarMeta, *operands: float) -> float:
        with np.errstate(all="ignore"):
            return float(function(*map(np.float64, operands)))

    return compute


def _round(t: ScalarMeta, x: float) -> float:
    whole: float = _numpy(np.trunc)(t, x)
    return whole + math.copysign(1.0, x) if abs(x - whole) >= 0.5 else whole


_COMPUTE: dict[str, Callable[..., Any]] = {
    "add": lambda t, a, b: a + b,
    "sub": lambda t, a, b: a - b,
    "mul": lambda t, a, b: a * b,
    "div": _divide,
    "mod": _remainder,
    "floordiv": _floor_divide,
    "neg": lambda t, a: -a,
    "abs": lambda t, a: abs(a),
    "min": lambda t, a, b: a if a < b else b,
    "max": lambda t, a, b: a if a > b else b,
    "copysign": lambda t, a, b: math.copysign(a, b),
    "fma": lambda t, a, b, c: a * b + c,
    "select": lambda t, c, a, b: a if c else b,
    "and": lambda t, a, b: a & b,
    "or": lambda t, a, b: a | b,
    "xor": lambda t, a, b: a ^ b,
    "not": lambda t, a: not a if t.kind == "bool" else ~a,
    "shl": lambda t, a, b: a << (b & (t.bits - 1)),
    "shr": lambda t, a, b: a >> (b & (t.bits - 1)),
    "bit_count": lambda t, a: (a & ((1 << t.bits) - 1)).bit_count(),
    "lt": lambda t, a, b: a < b,
    "le": lambda t, a, b: a <= b,
    "gt": lambda t, a, b: a > b,
    "ge": lambda t, a, b: a >= b,
    "eq": lambda t, a, b: a == b,
    "ne": lambda t, a, b: a != b,
    "isnan": lambda t, a: math.isnan(a),
    "isinf": lambda t, a: math.isinf(a),
    "isfinite": lambda t, a: math.isfinite(a),
    "pow": _numpy(np.power),
    "atan2": _numpy(np.arctan2),
    "asin": _numpy(np.arcsin),
    "acos": _numpy(np.arccos),
    "atan": _numpy(np.arctan),
    "erf": lambda t, a: math.erf(a),
    "erfc": lambda t, a: math.erfc(a),
    "round": _round,
    "rint": _numpy(np.rint),
    **{
        name: _numpy(getattr(np, name))
        for name in (
            "sqrt", "cbrt", "exp", "log", "log2", "log10", "sin", "cos", "tan", "sinh", "cosh", "tanh",
            "floor", "ceil", "trunc",
        )
    },
}  # fmt: skip
