"""Where the reverse sweep finds the values of the primal sweep.

A scope is one primal sweep: of the whole function, or of a loop body that is run again for one
iteration. It knows what each value of the original function became. A value that was made inside
a branch is not visible outside it; when the reverse sweep asks for such a value, the ``if`` gets
an extra result that carries it out. Asking is what makes the result: nothing is carried out that
no rule needs. A comparison of visible values is made again instead: in long chains of branches the
conditions would be most of what is carried out.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Optional

from treadle.ir.builder import Builder
from treadle.ir.core import Op, Value
from treadle.passes.clone import Cloner


class Branch:
    """One block of an ``if`` of the primal sweep, and the branch around it if there is one."""

    __slots__ = ("op", "index", "parent", "escaped")

    def __init__(self, op: Op, index: int, parent: Optional[Branch]) -> None:
        self.op = op
        self.index = index
        self.parent = parent
        self.escaped: dict[Value, Value] = {}

    def escape(self, value: Value) -> Value:
        """``value``, made inside this branch, as a result of the ``if``."""
        result = self.escaped.get(value)
        if result is None:
            this, other = self.op.blocks[self.index], self.op.blocks[1 - self.index]
            this.yields.append(value)
            other.yields.append(Builder(other).zero(value.type))
            result = self.escaped[value] = self.op.add_result(value.type)
        return result


# What gives the same bits again, whatever LLVM does to it; with fast_math, a sum need not.
_COMPARISONS = frozenset(("lt", "le", "gt", "ge", "eq", "ne"))


class Scope:
    """One primal sweep; ``builder`` stands where values are asked for.

    ``parent`` is the scope around the loop whose body this one runs again.

    Keys are values of the original function, and whatever else the transform wants to find
    again in the reverse sweep, such as the frame of a loop.
    """

    __slots__ = ("builder", "parent", "values", "homes", "groups", "branch")

    def __init__(self, builder: Builder, parent: Optional[Scope] = None) -> None:
        self.builder = builder
        self.parent = parent
        self.values: dict[Hashable, Value] = {}
        self.homes: dict[Hashable, Branch] = {}
        self.groups: dict[Op, int] = {}
        self.branch: Optional[Branch] = None

    def group_of(self, op: Op) -> int:
        """The number of the frame of a loop that this scope swept."""
        return self.groups[op]

    def define(self, key: Hashable, value: Value) -> None:
        """Record what ``key`` became, in the branch that is being swept."""
        self.values[key] = value
        if self.branch is not None:
            self.homes[key] = self.branch

    def here(self, key: Hashable) -> Value:
        """What ``key`` became, for use by the primal sweep itself."""
        value = self.values.get(key)
        if value is not None:
            return value
        assert self.parent is not None, f"unknown value {key}"
        return self.parent.recall(key)

    def recall(self, key: Hashable) -> Value:
        """What ``key`` became, for use by the reverse sweep."""
        scope: Optional[Scope] = self
        while scope is not None:
            value = scope.values.get(key)
            if value is not None:
                home = scope.homes.get(key)
                comparison = None if home is None else scope._comparison(key)
                if comparison is not None:
                    return scope._compared_again(comparison)
                while home is not None:
                    value = home.escape(value)
                    home = home.parent
                return value
            scope = scope.parent
        raise AssertionError(f"unknown value {key}")

    def _comparison(self, key: Hashable) -> Optional[Op]:
        """The op, if a value is a comparison of constants and of what is visible outside of branches."""
        op = key.owner if isinstance(key, Value) else None
        if not isinstance(op, Op) or op.name not in _COMPARISONS:
            return None
        is_visible = all(v.constant is not None or self._home(v) is None for v in op.operands)
        return op if is_visible else None

    def _home(self, key: Hashable) -> Optional[Branch]:
        scope: Optional[Scope] = self
        while scope is not None and key not in scope.values:
            scope = scope.parent
        return None if scope is None else scope.homes.get(key)

    def _compared_again(self, op: Op) -> Value:
        operands = [
            self.recall(v) if v.constant is None else self.builder.constant(v.type, v.constant)  # type: ignore[arg-type]
            for v in op.operands
        ]
        return self.builder.emit(op.name, *operands, **op.attributes)


class SweepCloner(Cloner):
    """A cloner whose operands come from a scope, and whose results go there."""

    __slots__ = ("scope",)

    def __init__(self, builder: Builder, scope: Scope) -> None:
        super().__init__(builder, _Definitions(scope))
        self.scope = scope

    def value(self, value: Value) -> Value:
        return self.scope.here(value)

    def values(self, values: Sequence[Value]) -> list[Value]:
        here = self.scope.here
        return [here(v) for v in values]


class _Definitions(dict[Value, Value]):
    """The write side of a cloner's mapping, directed to a scope."""

    __slots__ = ("scope",)

    def __init__(self, scope: Scope) -> None:
        super().__init__()
        self.scope = scope

    def __setitem__(self, key: Value, value: Value) -> None:
        self.scope.define(key, value)
