"""Places: what can stand on the left of an assignment. Reading one is put off until its value is needed,
so that ``a[i].x`` loads, and ``a[i].x = v`` stores, one component.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from treadle.frontend import components
from treadle.frontend.components import Index
from treadle.frontend.context import Context, expression
from treadle.frontend.conversions import coerce, settle
from treadle.frontend.values import Typed, Value
from treadle.ir.core import Block
from treadle.ir.core import Value as IRValue
from treadle.language import notation
from treadle.language.errors import TypeMismatchError
from treadle.types import scalars
from treadle.types.arrays import array_type
from treadle.types.layout import leaves
from treadle.types.storage import Aggregate, ArrayRef


class Place(ABC):
    """``node`` is the expression that denotes it. ``in_array``: whether it is an array element or part of one."""

    in_array = False

    def __init__(self, ctx: Context, node: ast.expr) -> None:
        self.ctx = ctx
        self.node = node

    @property
    def text(self) -> str:
        """The expression, for messages."""
        return self.ctx.source.segment(self.node)

    @property
    def type(self) -> Any:
        """The language type, without reading; None for a compile-time object."""
        value = self.get()
        return value.type if isinstance(value, Typed) else None

    @abstractmethod
    def get(self) -> Value:
        """Read it."""

    @abstractmethod
    def set(self, value: Value) -> None:
        """Assign to it."""

    def typed(self) -> Typed:
        """Read it as a value at run time."""
        return settle(self.ctx, self.get(), self.node)

    def atomic(self, kind: str, value: Value) -> Value:
        """Combine it with ``value`` atomically; the old value."""
        raise self.ctx.error(self.node, f"{self.text} is no array element", TypeMismatchError)

    # Parts of it.

    def member(self, name: str, node: ast.expr) -> Place:
        return MemberPlace(self, name, node)

    def component(self, index: Index, node: ast.expr) -> Place:
        return ComponentPlace(self, index, node)

    def part(self, first: int, type_: Any, node: ast.expr) -> Place:
        """Adjacent components, at a place known now."""
        if scalars.is_scalar(type_):
            return self.component(first, node)
        return PartPlace(self, [first + k for k in range(type_.length)], type_, node)


class ValuePlace(Place):
    """The result of an expression: it can be read, and parts of it, but not assigned to."""

    def __init__(self, ctx: Context, value: Value, node: ast.expr) -> None:
        super().__init__(ctx, node)
        self.value = value

    def get(self) -> Value:
        return self.value

    def set(self, value: Value) -> None:
        raise self.ctx.error(self.node, f"{self.text} cannot be assigned to", TypeMismatchError)


class NamePlace(Place):
    """A variable."""

    def __init__(self, ctx: Context, name: str, node: ast.expr) -> None:
        super().__init__(ctx, node)
        self.name = name

    def get(self) -> Value:
        found = self.ctx.environment.get(self.name)
        return found if found is not None and self.name.startswith("%") else self.ctx.value(self.node)

    def set(self, value: Value) -> None:
        if isinstance(value, Typed) and self.name:
            for leaf in value.leaves:
                if not leaf.name:
                    leaf.name = self.name
        self.ctx.environment[self.name] = value


class MemberPlace(Place):
    """A member of a struct that is a variable."""

    def __init__(self, parent: Place, name: str, node: ast.expr) -> None:
        super().__init__(parent.ctx, node)
        self.parent = parent
        self.name = name

    @property
    def type(self) -> Any:
        return self.parent.type.fields[self.name]

    def get(self) -> Value:
        whole = self.parent.typed()
        start, stop, _ = components.member_leaves(whole.type, self.name)
        return Typed(whole.type.fields[self.name], whole.leaves[start:stop])

    def set(self, value: Value) -> None:
        whole = self.parent.typed()
        start, stop, _ = components.member_leaves(whole.type, self.name)
        new = coerce(self.ctx, value, whole.type.fields[self.name], self.node, self.text)
        self.parent.set(Typed(whole.type, (*whole.leaves[:start], *new.leaves, *whole.leaves[stop:])))


class ComponentPlace(Place):
    """One component of a composite that is a variable."""

    def __init__(self, parent: Place, index: Index, node: ast.expr) -> None:
        super().__init__(parent.ctx, node)
        self.parent = parent
        self.index = index

    def get(self) -> Value:
        whole = self.parent.typed()
        return Typed(whole.type.dtype, (components.component(self.ctx, whole, self.index),))

    def set(self, value: Value) -> None:
        whole = self.parent.typed()
        new = coerce(self.ctx, value, whole.type.dtype, self.node, self.text)
        self.parent.set(components.with_component(self.ctx, whole, self.index, new.leaf))


class PartPlace(Place):
    """Several components of a composite: a row, a column, a slice, the halves of a transform.

    ``indices``: which components, row by row. ``stride``: of a vector, how far they are apart.
    """

    def __init__(self, parent: Place, indices: Sequence[Index], type_: Any, node: ast.expr, stride: int = 1) -> None:
        super().__init__(parent.ctx, node)
        self.parent = parent
        self.indices = list(indices)
        self.part_type = type_
        self.stride = stride
        self.in_array = parent.in_array

    @property
    def type(self) -> Any:
        return self.part_type

    def get(self) -> Value:
        whole = self.parent.typed()
        return components.compose(
            self.ctx, self.part_type, [components.component(self.ctx, whole, k) for k in self.indices]
        )

    def _parts(self, value: Value) -> list[IRValue]:
        if isinstance(value, Typed) and components.is_composite_type(value.type):
            new = coerce(self.ctx, value, self.part_type, self.node, self.text)
            return components.components(self.ctx, new)
        if components.is_composite_type(getattr(getattr(value, "value", None), "__class__", None)):
            return components.components(self.ctx, coerce(self.ctx, value, self.part_type, self.node, self.text))
        return [coerce(self.ctx, value, self.part_type.dtype, self.node, self.text).leaf] * len(self.indices)

    def set(self, value: Value) -> None:
        parts = self._parts(value)
        if self.in_array:
            for index, part in zip(self.indices, parts):
                self.parent.component(index, self.node).set(Typed(self.part_type.dtype, (part,)))
            return
        whole = self.parent.typed()
        for index, part in zip(self.indices, parts):
            whole = components.with_component(self.ctx, whole, index, part)
        self.parent.set(whole)

    def atomic(self, kind: str, value: Value) -> Value:
        if not self.in_array:
            return super().atomic(kind, value)
        dtype = self.part_type.dtype
        old = []
        for index, part in zip(self.indices, self._parts(value)):
            before = self.parent.component(index, self.node).atomic(kind, Typed(dtype, (part,)))
            old.append(settle(self.ctx, before, self.node).leaf)
        return components.compose(self.ctx, self.part_type, old)

    def component(self, index: Index, node: ast.expr) -> Place:
        if isinstance(index, int):
            return self.parent.component(self.indices[index], node)
        if len(self.part_type.shape) == 1:
            return self.parent.component(components.offset_index(self.ctx, index, self.stride, self.indices[0]), node)
        return super().component(index, node)


class ArrayPlace(Place):
    """An array, with none or the first of its indices given."""

    def __init__(self, ctx: Context, array: Typed, indices: Sequence[IRValue], node: ast.expr) -> None:
        super().__init__(ctx, node)
        self.array = array
        self.indices = list(indices)

    @property
    def type(self) -> Any:
        return array_type(self.array.type.dtype, self.array.type.ndim - len(self.indices))

    def get(self) -> Value:
        if not self.indices:
            return self.array
        return Typed(self.type, (self.ctx.emit("view", self.array.leaf, *self.indices),))

    def set(self, value: Value) -> None:
        raise self.ctx.error(
            self.node,
            f"{self.text} is an array of {self.type.ndim} dimension(s), not an element; give all indices",
            TypeMismatchError,
        )


class ElementPlace(Place):
    """An array element, or a part of one at an offset known now."""

    in_array = True

    def __init__(
        self, ctx: Context, array: IRValue, indices: Sequence[IRValue], offset: int, type_: Any, node: ast.expr
    ) -> None:
        super().__init__(ctx, node)
        self.array = array
        self.indices = list(indices)
        self.offset = offset
        self.element_type = type_

    @property
    def type(self) -> Any:
        return self.element_type

    def get(self) -> Value:
        made = [
            self.ctx.emit("load", self.array, *self.indices, type=leaf.type, offset=self.offset + leaf.offset)
            for leaf in leaves(self.element_type)
        ]
        return Typed(self.element_type, tuple(made))

    def set(self, value: Value) -> None:
        new = coerce(self.ctx, value, self.element_type, self.node, f"what is assigned to {self.text}")
        for leaf, part in zip(leaves(self.element_type), new.leaves):
            offset = self.offset + leaf.offset
            self.ctx.builder.op("store", [self.array, *self.indices, part], [], {"offset": offset})

    def atomic(self, kind: str, value: Value) -> Value:
        new = coerce(self.ctx, value, self.element_type, self.node, f"the value for {self.text}")
        return self._atomic(kind, [new])

    def compare_and_swap(self, expected: Value, value: Value) -> Value:
        """Set it to ``value`` if it is ``expected``, atomically; the old value."""
        if not scalars.is_scalar(self.element_type):
            raise self.ctx.error(self.node, "atomic_cas is for arrays of scalars", TypeMismatchError)
        operands = [
            coerce(self.ctx, v, self.element_type, self.node, f"the value for {self.text}") for v in (expected, value)
        ]
        return self._atomic("cas", operands)

    def _atomic(self, kind: str, operands: list[Typed]) -> Value:
        _check_atomic(self, kind)
        old = []
        for k, leaf in enumerate(leaves(self.element_type)):
            parts = [operand.leaves[k] for operand in operands]
            attributes = {"kind": kind, "offset": self.offset + leaf.offset}
            op = self.ctx.builder.op("atomic", [self.array, *self.indices, *parts], [leaf.type], attributes)
            old.append(op.result)
        return Typed(self.element_type, tuple(old))

    def member(self, name: str, node: ast.expr) -> Place:
        _, _, offset = components.member_leaves(self.element_type, name)
        return self._at(offset, self.element_type.fields[name], node)

    def component(self, index: Index, node: ast.expr) -> Place:
        dtype = self.element_type.dtype
        return self._at(index * dtype.size, dtype, node) if isinstance(index, int) else MovingPlace(self, index, node)

    def part(self, first: int, type_: Any, node: ast.expr) -> Place:
        return self._at(first * self.element_type.dtype.size, type_, node)

    def _at(self, offset: int, type_: Any, node: ast.expr) -> Place:
        return ElementPlace(self.ctx, self.array, self.indices, self.offset + offset, type_, node)


class MovingPlace(Place):
    """A component of an array element at an index known only at run time."""

    in_array = True

    def __init__(self, parent: ElementPlace, index: IRValue, node: ast.expr) -> None:
        super().__init__(parent.ctx, node)
        self.parent = parent
        self.index = index

    @property
    def type(self) -> Any:
        return self.parent.element_type.dtype

    def get(self) -> Value:
        return Typed(self.type, (components.component(self.ctx, self.parent.typed(), self.index),))

    def set(self, value: Value) -> None:
        new = coerce(self.ctx, value, self.type, self.node, f"what is assigned to {self.text}")
        if self._is_large():
            self.parent.set(components.with_component(self.ctx, self.parent.typed(), self.index, new.leaf))
        else:
            self._at_index(lambda place: place.set(new))

    def atomic(self, kind: str, value: Value) -> Value:
        """The old value is not given: the component may lie anywhere."""
        new = coerce(self.ctx, value, self.type, self.node, f"the value for {self.text}")
        if self._is_large():
            if kind not in ("add", "sub"):
                raise self.ctx.error(self.node, f"atomic {kind} of a component at a run-time index", TypeMismatchError)
            zero = Typed(
                self.parent.element_type,
                components.broadcast(self.ctx, self.ctx.builder.zero(self.type), self.parent.element_type),
            )
            self.parent.atomic(kind, components.with_component(self.ctx, zero, self.index, new.leaf))
        else:
            self._at_index(lambda place: place.atomic(kind, new))
        return Typed(self.type, (self.ctx.builder.zero(self.type),))

    def _is_large(self) -> bool:
        return isinstance(leaves(self.parent.element_type)[0].type, Aggregate)

    def _at_index(self, act: Any) -> None:
        """Do something to the component, which is one of those at a known offset."""
        for k in range(self.parent.element_type.length):
            block = Block()
            here = self.ctx.emit("eq", self.index, self.ctx.builder.constant(self.index.type, k))  # type: ignore[arg-type]
            with self.ctx.inside(block, self.ctx.environment):
                act(self.parent.component(k, self.node))
            self.ctx.builder.op("if", [here], [], {}, [block, Block()])


def _check_atomic(place: ElementPlace, kind: str) -> None:
    """Whether an atomic operation exists for the scalars of an element.

    Raises:
        TypeMismatchError: it does not.
    """
    for leaf in leaves(place.element_type):
        scalar = leaf.type.scalar if isinstance(leaf.type, Aggregate) else leaf.type
        if (
            isinstance(scalar, ArrayRef)
            or scalar is scalars.bool_
            or (kind in ("and", "or", "xor") and scalar.is_float)
        ):
            what = notation.text(place.element_type)
            raise place.ctx.error(place.node, f"there is no atomic {kind} for {what}", TypeMismatchError)


def place(ctx: Context, node: ast.expr) -> Place:
    """The place that an expression denotes."""
    from treadle.frontend import attributes, indexing

    ctx.locate(node)
    if isinstance(node, ast.Name):
        return NamePlace(ctx, node.id, node)
    if isinstance(node, ast.Attribute):
        return attributes.attribute(ctx, node)
    if isinstance(node, ast.Subscript):
        return indexing.subscript(ctx, node)
    return ValuePlace(ctx, ctx.value(node), node)


@expression(ast.Attribute, ast.Subscript)
def read(ctx: Context, node: ast.expr) -> Value:
    """An attribute or a subscript, read."""
    return place(ctx, node).get()
