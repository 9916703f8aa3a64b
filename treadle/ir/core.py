"""The data structures of the IR: values, ops, blocks and functions. Nothing here knows what an op means.

The IR is structured and in SSA form. A block is a list of ops and the values that it yields;
control flow is ops with nested blocks (``if``, ``for``, ``while``). Values are scalars, large
aggregates and array handles (see ``treadle.types.storage``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional, Union

from treadle.types.storage import StorageType


@dataclass(frozen=True)
class Location:
    """A place in the user's source: file and line (from 1)."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Value:
    """A value in SSA form: result ``index`` of an op, or parameter ``index`` of a block.

    ``constant`` is the Python number if a ``constant`` op defines this value, else None. ``name``
    is a hint for the printer and means nothing.
    """

    __slots__ = ("constant", "index", "name", "owner", "type")

    def __init__(self, type_: StorageType, owner: Union[Op, Block], index: int, name: str = "") -> None:
        self.type = type_
        self.owner = owner
        self.index = index
        self.name = name
        self.constant: Any = None


class Op:
    """An operation: a name, operands, results, attributes and, for control flow, nested blocks."""

    __slots__ = ("name", "operands", "results", "attributes", "blocks", "location")

    def __init__(
        self,
        name: str,
        operands: Sequence[Value] = (),
        result_types: Sequence[StorageType] = (),
        attributes: Optional[dict[str, Any]] = None,
        blocks: Sequence[Block] = (),
        location: Optional[Location] = None,
    ) -> None:
        self.name = name
        self.operands = list(operands)
        self.results = [Value(t, self, k) for k, t in enumerate(result_types)]
        self.attributes = attributes if attributes is not None else {}
        self.blocks = list(blocks)
        self.location = location
        if name == "constant":
            self.results[0].constant = self.attributes.get("value")

    @property
    def result(self) -> Value:
        """The only result."""
        (result,) = self.results
        return result

    def add_result(self, type_: StorageType) -> Value:
        value = Value(type_, self, len(self.results))
        self.results.append(value)
        return value


class Block:
    """Parameters, a list of ops, and the values that the block yields to the op around it."""

    __slots__ = ("parameters", "ops", "yields")

    def __init__(self, parameter_types: Sequence[StorageType] = ()) -> None:
        self.parameters = [Value(t, self, k) for k, t in enumerate(parameter_types)]
        self.ops: list[Op] = []
        self.yields: list[Value] = []

    def add_parameter(self, type_: StorageType, name: str = "") -> Value:
        value = Value(type_, self, len(self.parameters), name)
        self.parameters.append(value)
        return value

    def walk(self) -> Iterator[Op]:
        """All ops in program order, those of nested blocks after the op that holds them."""
        for op in self.ops:
            yield op
            for block in op.blocks:
                yield from block.walk()


@dataclass(eq=False)
class CustomDerivative:
    """What the user wrote in place of the derivative of a function.

    ``gradient``: its parameters are those of the function, then the companion (array of
    gradients) of each array parameter, then the adjoint of each float result; its results are the
    contributions to the float parameters. All in order, all in leaves.
    ``replay``: runs instead of the function in the primal sweep of the adjoint; same signature.
    """

    gradient: Optional[Function] = None
    replay: Optional[Function] = None


@dataclass(eq=False)
class Function:
    """A function or, with ``is_kernel``, the work of one thread of a kernel.

    The parameters are those of ``body``, the results are what ``body`` yields. A kernel has no
    results. ``labels`` name the parameters for messages and for the access analysis: parameter
    ``a`` of the user is one label, also when it was taken apart into several IR parameters.
    """

    name: str
    body: Block = field(default_factory=Block)
    is_kernel: bool = False
    labels: list[str] = field(default_factory=list)
    custom: Optional[CustomDerivative] = None
    """The user's own derivative of this function, if there is one."""

    @property
    def parameters(self) -> list[Value]:
        return self.body.parameters

    @property
    def results(self) -> list[Value]:
        return self.body.yields

    def used_values(self) -> set[Value]:
        """The values that an op, a block or the function itself makes use of."""
        used = set(self.results)
        for op in self.body.walk():
            used.update(op.operands)
            for block in op.blocks:
                used.update(block.yields)
        return used
