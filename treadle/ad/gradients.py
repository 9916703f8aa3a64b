"""Replaces the op ``gradient``, a derivative asked for within a kernel, by a call of the adjoint.

Since the adjoint is a function like any other, gradients of gradients work.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Optional

from treadle.ad.adjoint import adjoint_function
from treadle.ad.errors import DerivativeError
from treadle.ir.builder import Builder
from treadle.ir.core import Block, CustomDerivative, Function, Op, Value
from treadle.ir.depth import deep
from treadle.passes.clone import Cloner
from treadle.passes.pipeline import prepare
from treadle.primitives.types import scalar_of
from treadle.types.scalars import ScalarMeta
from treadle.types.storage import ArrayRef


@deep
def expand_gradients(function: Function, options: Mapping[str, Any]) -> Function:
    """``function``, and all that it calls, without the op ``gradient``.

    Raises:
        DerivativeError: a function has no derivative that can be given.
    """
    return _Expansion(options).function(function)


class _Expansion:
    """Expands each function once."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.options = options
        self.done: dict[Function, Function] = {}
        self.adjoints: dict[Function, Function] = {}

    def function(self, function: Function) -> Function:
        found = self.done.get(function)
        if found is None:
            found = function
            custom = function.custom and self._custom(function.custom)
            if custom is not function.custom or any(self._changes(op) for op in function.body.walk()):
                body = _Expanding(self).block(function.body)
                found = replace(function, body=body, labels=list(function.labels), custom=custom)
            self.done[function] = found
        return found

    def _custom(self, custom: CustomDerivative) -> CustomDerivative:
        gradient = custom.gradient and self.function(custom.gradient)
        replay = custom.replay and self.function(custom.replay)
        same = gradient is custom.gradient and replay is custom.replay
        return custom if same else CustomDerivative(gradient, replay)

    def _changes(self, op: Op) -> bool:
        if op.name == "gradient":
            return True
        return op.name == "call" and self.function(op.attributes["callee"]) is not op.attributes["callee"]

    def adjoint(self, function: Function) -> Function:
        """The adjoint of a function of one float result."""
        found = self.adjoints.get(function)
        if found is None:
            # A custom derivative of the function itself is honoured by way of a call.
            whole = _calling(function) if function.custom is not None else function
            prepared = prepare(self.function(whole), self.options)
            _check_memory(prepared)
            found = adjoint_function(prepared, with_arrays=False)
            self.adjoints[function] = found
        return found


def _check_memory(function: Function) -> None:
    """Refuse a function that may read what it has written to an array, which counts as constant.

    C++ that gets an array may read and write it; what one piece of C++ does by itself is for its own derivative.

    Raises:
        DerivativeError: it writes and reads scalars of the same type.
    """
    accesses = list(_accesses(function))
    natives = [op for op, scalar in accesses if scalar is None]
    written = {scalar for op, scalar in accesses if op.name != "load"}
    for op, scalar in accesses:
        is_read_by_other = natives and any(native is not op for native in natives)
        if is_read_by_other or (op.name == "load" and scalar in written):
            raise DerivativeError(
                f"the gradient of function {function.name} is asked for within a kernel; it writes to an array and may "
                "read there what it wrote, and a derivative through memory is not supported here",
                op.location,
            )


def _accesses(function: Function) -> Iterator[tuple[Op, Optional[ScalarMeta]]]:
    """The ops that read and write arrays, those of called functions included, each with the type of scalars there.

    None stands for any type: C++ can do what it likes.
    """
    for op in function.body.walk():
        if op.name == "call":
            yield from _accesses(op.attributes["callee"])
        elif op.name in ("load", "store", "atomic"):
            type_ = op.result.type if op.name == "load" else op.operands[-1].type
            if not isinstance(type_, ArrayRef):
                yield op, scalar_of(type_)
        elif op.name == "native" and any(isinstance(v.type, ArrayRef) for v in op.operands):
            yield op, None


def _calling(function: Function) -> Function:
    """A function that does nothing but call another."""
    body = Block([p.type for p in function.parameters])
    call = Builder(body).op("call", body.parameters, [r.type for r in function.results], {"callee": function})
    body.yields = list(call.results)
    return Function(function.name, body)


class _Expanding(Cloner):
    __slots__ = ("expansion",)

    def __init__(self, expansion: _Expansion) -> None:
        super().__init__(Builder(Block()), {})
        self.expansion = expansion

    def op(self, op: Op) -> list[Value]:
        if op.name == "call":
            callee = self.expansion.function(op.attributes["callee"])
            return self._call(op, callee, self.values(op.operands))
        if op.name == "gradient":
            adjoint = self.expansion.adjoint(op.attributes["callee"])
            seed = self.builder.filled(op.attributes["callee"].results[0].type, 1)
            return self._call(op, adjoint, [*self.values(op.operands), seed])
        return super().op(op)

    def _call(self, op: Op, callee: Function, operands: list[Value]) -> list[Value]:
        self.builder.location = op.location
        results = self.builder.op("call", operands, [r.type for r in op.results], {"callee": callee}).results
        self.mapping.update(zip(op.results, results))
        return results
