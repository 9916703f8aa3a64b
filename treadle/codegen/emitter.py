"""From the ops of a function body to LLVM text: what all ops share. Each family of ops has a file of its own.

Scalars are registers, array handles bundles of registers (``handles.py``), aggregates live in
memory (``aggregates.py``, ``ownership.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Union

from treadle.codegen import literals
from treadle.codegen.code import Code
from treadle.codegen.handles import Handle, element_address
from treadle.codegen.module import Module
from treadle.codegen.options import Options
from treadle.codegen.ownership import Buffers
from treadle.codegen.small_floats import double_to_float16, narrow_to_bfloat16, widen_bfloat16
from treadle.ir.core import Block, Op, Value
from treadle.ir.definitions import TABLE, IRError
from treadle.types import scalars
from treadle.types.scalars import ScalarMeta
from treadle.types.storage import Aggregate, ArrayRef, StorageType

Emitted = Union[str, Handle]
"""What stands for an IR value: a register or constant, the address of an aggregate, or an array handle."""

Handler = Callable[["FunctionEmitter", Op], None]

# These only move bits about, so they need no arithmetic on the type.
_BITS_ONLY = frozenset(("select", "pick", "place", "bitcast"))


class FunctionEmitter(Code):
    """Writes one function. It is the ``Emitter`` that lowerings of primitives are given.

    ``handlers`` write the ops that are not lowered primitives. ``buffers`` say where each aggregate
    lives. ``thread_index(axis, rank)`` gives an index of the thread as an i32. ``failure_label`` is
    where a failed assertion goes after it was recorded. ``wide_indices`` are the i64 that some i32 were
    cut from. ``decisive()``: the ops whose results must be the same bits in all machine code of a kernel; asked
    for only where there is a mathematical function.
    """

    def __init__(self, module: Module, options: Options, handlers: Mapping[str, Handler], buffers: Buffers) -> None:
        super().__init__()
        self.module = module
        self.target = module.target
        self.handlers = handlers
        self.buffers = buffers
        self.fast = options.float_flags
        self.is_alone = options.is_alone
        self.values: dict[Value, Any] = {}
        self.parallel = ""
        self.thread_index: Callable[[int, int], str] = lambda axis, rank: "0"
        self.thread = "0"
        self.failure_label = "done"
        self.stack: Any = None
        self.logs: Any = None
        self.reductions: dict[Op, Any] = {}
        self.decisive: Callable[[], Collection[Op]] = frozenset
        self._op: Op | None = None
        self._type_names = self.target.types
        self.wide_indices: dict[str, str] = {}
        self._known: dict[Any, str] = {}

    # What lowerings use.

    def type(self, scalar: ScalarMeta) -> str:
        """The LLVM type of a scalar in a register."""
        return self._type_names[scalar]

    def constant(self, scalar: ScalarMeta, value: Any) -> str:
        """A constant as LLVM text."""
        return literals.constant(scalar, value)

    def intrinsic(self, name: str, scalar: ScalarMeta, operands: Sequence[str]) -> str:
        """Call an LLVM intrinsic that is overloaded on ``scalar``; LLVM declares it by itself."""
        if scalar is scalars.float16 and name == "llvm.fma":  # LLVM would go by way of float64 and a library
            return self._half_by_way_of_float(self.intrinsic, name, operands)
        t = self._type_names[scalar]
        flags = self.fast if scalar.is_float else ""
        suffix = scalar.short if scalar.is_float else t
        return self.assign(f"call {flags}{t} @{name}.{suffix}({self._arguments(t, operands)})")

    def math(self, name: str, scalar: ScalarMeta, operands: Sequence[str]) -> str:
        """Call a mathematical function; float16 by way of float32."""
        if scalar is scalars.float16:
            return self._half_by_way_of_float(self.math, name, operands)
        t = self._type_names[scalar]
        function = self.target.math(name, scalar, len(operands))
        self.module.declare_math(function, t, len(operands))
        decides = bool(function.variants) and self._op in self.decisive()
        symbol = self.module.scalar_math(function, t, len(operands)) if decides else function.symbol
        return self.assign(f"call {self.fast}{t} @{symbol}({self._arguments(t, operands)})")

    def _half_by_way_of_float(self, call: Callable[..., str], name: str, operands: Sequence[str]) -> str:
        wide = [self.assign(f"fpext half {x} to float") for x in operands]
        return self.assign(f"fptrunc float {call(name, scalars.float32, wide)} to half")

    @staticmethod
    def _arguments(type_: str, operands: Sequence[str]) -> str:
        return ", ".join([f"{type_} {x}" for x in operands])

    # Blocks and ops.

    def emit_block(self, block: Block) -> None:
        """Write the ops of a block."""
        handlers = self.handlers
        for op in block.ops:
            handler = handlers.get(op.name)
            if handler is None:
                self._emit_primitive(op)
            else:
                handler(self, op)

    def _emit_primitive(self, op: Op) -> None:
        values, types = self.values, [v.type for v in op.operands]
        for type_ in types:
            if type_.__class__ is Aggregate:
                self.handlers["elementwise"](self, op)
                return
        operands = [values[v] for v in op.operands]
        lowered = self.lower(op, types, operands)
        if lowered.__class__ is list:
            values.update(zip(op.results, lowered))
        else:
            values[op.results[0]] = lowered

    def lower(self, op: Op, types: Sequence[Any], operands: Sequence[str]) -> Any:
        """The lowering of a primitive on scalars; also used for the components of aggregates. A list from ``place``."""
        lowering = TABLE[op.name].lower if op.name in TABLE else None
        if lowering is None:
            raise IRError(f"{op.name!r} cannot be turned into machine code here")
        self._op = op
        wide = self.target.wide_floats
        if op.name not in _BITS_ONLY and (types[0] in wide or op.attributes.get("type") in wide):
            return self._lower_widened(lowering, op, types, operands)
        if types[0] is scalars.float64 and op.attributes.get("type") is scalars.float16:
            return double_to_float16(self, operands[0])
        return lowering(self, op.attributes, types, operands)

    def _lower_widened(self, lowering: Any, op: Op, types: Sequence[Any], operands: Sequence[str]) -> str:
        """Compute in float32 and round the result, as the machine has no arithmetic on the type."""
        wide, attributes = self.target.wide_floats, op.attributes
        texts = [self.widen(t, x) if t in wide else x for t, x in zip(types, operands)]
        inner = [scalars.float32 if t in wide else t for t in types]
        target = attributes.get("type")  # of a cast
        narrow = target if target in wide else types[0] if target is None and op.name not in _PREDICATES else None
        if target in wide:
            attributes = {**attributes, "type": scalars.float32}
        result: str = lowering(self, attributes, inner, texts)
        return self.narrow(narrow, result) if narrow is not None else result

    def widen(self, scalar: ScalarMeta, text: str) -> str:
        """A float32 with the value of a ``wide_floats`` scalar."""
        if scalar is scalars.bfloat16:
            return widen_bfloat16(self, text)
        return self.assign(f"fpext {self._type_names[scalar]} {text} to float")

    def narrow(self, scalar: ScalarMeta, text: str) -> str:
        """A float32 rounded to the nearest ``wide_floats`` scalar, ties to even."""
        if scalar is scalars.bfloat16:
            return narrow_to_bfloat16(self, text)
        return self.assign(f"fptrunc float {text} to {self._type_names[scalar]}")

    # Memory.

    def load_scalar(self, scalar: ScalarMeta, address: str, metadata: str = "") -> str:
        """Read a scalar; a bool is one byte in memory."""
        if scalar is scalars.bool_:
            return self.assign(f"icmp ne i8 {self.assign(f'load i8, ptr {address}, align 1{metadata}')}, 0")
        return self.assign(f"load {self._type_names[scalar]}, ptr {address}, align {scalar.size}{metadata}")

    def store_scalar(self, scalar: ScalarMeta, text: str, address: str, metadata: str = "") -> None:
        """Write a scalar."""
        if scalar is scalars.bool_:
            self.line(f"store i8 {self.assign(f'zext i1 {text} to i8')}, ptr {address}, align 1{metadata}")
        else:
            self.line(f"store {self._type_names[scalar]} {text}, ptr {address}, align {scalar.size}{metadata}")

    def copy(self, target: str, source: str, type_: Aggregate) -> None:
        """Copy an aggregate from memory to memory."""
        size = type_.scalar.size
        self.line(
            f"call void @llvm.memcpy.p0.p0.i64(ptr align {size} {target}, ptr align {size} {source}, "
            f"i64 {type_.size}, i1 false)"
        )

    def offset(self, address: str, offset: int | str) -> str:
        """``address`` plus a number of bytes."""
        return address if offset == 0 else self.assign(f"getelementptr inbounds i8, ptr {address}, i64 {offset}")

    def component_address(self, address: str, type_: Aggregate, index: str) -> str:
        """The address of a component of an aggregate; ``index`` is an i64."""
        memory = "i8" if type_.scalar is scalars.bool_ else self._type_names[type_.scalar]
        return self.assign(f"getelementptr inbounds {memory}, ptr {address}, i64 {index}")

    # Integers and indices. What was computed in this basic block is not computed again: the
    # components of a vector in an array share their address.

    def start(self, label: str) -> None:
        """Begin a basic block."""
        super().start(label)
        self._known.clear()

    def index(self, value: Value) -> str:
        """An integer of any type as i64."""
        text = self.values[value]
        scalar = value.type
        if value.constant is not None or scalar.bits == 64:  # type: ignore[union-attr]
            return text  # type: ignore[no-any-return]
        known = self.wide_indices.get(text) or self._known.get(text)
        if known is None:
            extend = "sext" if scalar.kind == "signed" else "zext"  # type: ignore[union-attr]
            known = self._known[text] = self.assign(f"{extend} {self._type_names[scalar]} {text} to i64")  # type: ignore[index]
        return known

    def element(self, array: Value, indices: Sequence[Value], offset: int = 0) -> str:
        """The address of a leaf of an array element."""
        type_, handle = array.type, self.values[array]
        assert isinstance(type_, ArrayRef)
        texts = tuple([self.index(i) for i in indices])
        key = (id(handle), texts)
        address = self._known.get(key)
        if address is None:
            address = self._known[key] = element_address(self, handle, type_, texts)
        return self.offset(address, offset)

    # Values as lists of registers, for phis and for the stack.

    def registers(self, value: Value) -> list[str]:
        """The registers that make up a value; none for an aggregate."""
        emitted = self.values[value]
        if isinstance(emitted, Handle):
            return emitted.registers
        return [] if isinstance(value.type, Aggregate) else [emitted]

    def register_types(self, types: Sequence[StorageType]) -> list[str]:
        """The LLVM types of the registers of values of these types."""
        result: list[str] = []
        for type_ in types:
            if isinstance(type_, ArrayRef):
                result += Handle.register_types(type_)
            elif not isinstance(type_, Aggregate):
                result.append(self._type_names[type_])
        return result

    def bind(self, targets: Sequence[Value], registers: Sequence[str]) -> None:
        """Let registers, as listed by ``registers``, and the buffers of aggregates stand for values."""
        remaining = iter(registers)
        for value in targets:
            if isinstance(value.type, ArrayRef):
                self.values[value] = Handle.from_registers(
                    value.type, [next(remaining) for _ in Handle.register_types(value.type)]
                )
            elif isinstance(value.type, Aggregate):
                self.values[value] = self.buffer(value)
            else:
                self.values[value] = next(remaining)

    def buffer(self, value: Value) -> str:
        """The address of the memory in which an aggregate lives."""
        number = self.buffers.number[value]
        address = self.buffers.address.get(number)
        if address is None:
            assert isinstance(value.type, Aggregate)
            address = self.buffers.address[number] = self.aggregate_slot(value.type)
        return address

    def aggregate_slot(self, type_: Aggregate) -> str:
        """Memory for an aggregate."""
        memory = "i8" if type_.scalar is scalars.bool_ else self._type_names[type_.scalar]
        return self.slot(f"[{type_.count} x {memory}]", 16)


_PREDICATES = frozenset(("lt", "le", "gt", "ge", "eq", "ne", "isnan", "isinf", "isfinite"))
