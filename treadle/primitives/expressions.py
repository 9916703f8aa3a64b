"""Small expressions over IR values, so that a derivative rule reads like its formula.

``Expression`` wraps a value and the builder that new ops go to. Python numbers mix in with the
type of the other operand.
"""

from __future__ import annotations

from typing import Any, Union

from treadle.ir.builder import Builder
from treadle.ir.core import Value
from treadle.types.storage import Aggregate

Operand = Union["Expression", bool, int, float]


class Expression:
    """An IR value with operators; see the module."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: Builder, value: Value) -> None:
        self.builder = builder
        self.value = value

    @property
    def type(self) -> Any:
        return self.value.type

    def lift(self, other: Operand) -> Value:
        """``other`` as a value of the same type."""
        return other.value if isinstance(other, Expression) else self.builder.filled(self.value.type, other)

    def apply(self, name: str, *others: Operand, **attributes: Any) -> Expression:
        operands = (self.value, *(self.lift(o) for o in others))
        return Expression(self.builder, self.builder.emit(name, *operands, **attributes))

    def reverse_apply(self, name: str, other: Operand) -> Expression:
        return Expression(self.builder, self.builder.emit(name, self.lift(other), self.value))

    def __add__(self, other: Operand) -> Expression:
        return self.apply("add", other)

    def __radd__(self, other: Operand) -> Expression:
        return self.reverse_apply("add", other)

    def __sub__(self, other: Operand) -> Expression:
        return self.apply("sub", other)

    def __rsub__(self, other: Operand) -> Expression:
        return self.reverse_apply("sub", other)

    def __mul__(self, other: Operand) -> Expression:
        return self.apply("mul", other)

    def __rmul__(self, other: Operand) -> Expression:
        return self.reverse_apply("mul", other)

    def __truediv__(self, other: Operand) -> Expression:
        return self.apply("div", other)

    def __rtruediv__(self, other: Operand) -> Expression:
        return self.reverse_apply("div", other)

    def __neg__(self) -> Expression:
        return self.apply("neg")

    def __lt__(self, other: Operand) -> Expression:
        return self.apply("lt", other)

    def __le__(self, other: Operand) -> Expression:
        return self.apply("le", other)

    def __gt__(self, other: Operand) -> Expression:
        return self.apply("gt", other)

    def __ge__(self, other: Operand) -> Expression:
        return self.apply("ge", other)

    def equals(self, other: Operand) -> Expression:
        return self.apply("eq", other)

    def choose(self, if_true: Operand, if_false: Operand) -> Expression:
        """``if_true`` where this is true, else ``if_false``; one of them must be an expression."""
        model = if_true if isinstance(if_true, Expression) else if_false
        assert isinstance(model, Expression)
        chosen = self.builder.emit("select", self.value, model.lift(if_true), model.lift(if_false))
        return Expression(self.builder, chosen)

    def constant(self, value: Union[bool, int, float]) -> Expression:
        """A constant of the type of this expression."""
        return Expression(self.builder, self.lift(value))

    def guards(self, product: Expression) -> Expression:
        """``product``, but 0 where this, the adjoint in it, is 0.

        The derivative of a function like sqrt is infinite at the edge of its domain. Where the
        result was discarded (``x if c else y``) its adjoint is 0, and 0·∞ must not become NaN.
        """
        return self.equals(0).choose(0, product)

    def broadcast(self, model: Expression) -> Expression:
        """This scalar in every component, if ``model`` is an aggregate."""
        if isinstance(model.type, Aggregate) and not isinstance(self.type, Aggregate):
            return Expression(self.builder, self.builder.emit("splat", self.value, count=model.type.count))
        return self


def function(name: str) -> Any:
    """The primitive ``name`` as a function of expressions."""

    def call(first: Expression, *others: Operand) -> Expression:
        return first.apply(name, *others)

    return call


sqrt = function("sqrt")
exp = function("exp")
log = function("log")
sin = function("sin")
cos = function("cos")
sinh = function("sinh")
cosh = function("cosh")
power = function("pow")
trunc = function("trunc")
copysign = function("copysign")
