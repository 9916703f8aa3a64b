"""Declares the built-ins that ``treadle.frontend`` implements: names, how they are called, what Python does.

The implementations are in ``treadle.frontend``, registered under the same names.
"""

from __future__ import annotations

import builtins
import operator
from typing import Any

from treadle.language.builtins import Builtin, intrinsic
from treadle.language.evaluate import evaluate
from treadle.types.composites import divide, remainder
from treadle.types.convert import is_number
from treadle.types.matrices import matrix
from treadle.types.quaternions import quaternion, transformation
from treadle.types.vectors import vector


def _power(x: Any, y: Any) -> Any:
    return evaluate("power", (x, y))


def _divide(a: Any, b: Any) -> Any:
    return _by_rule(divide, a, b) if is_number(a) and is_number(b) else a / b


def _remainder(a: Any, b: Any) -> Any:
    return _by_rule(remainder, a, b) if is_number(a) and is_number(b) else a % b


def _by_rule(rule: Any, a: Any, b: Any) -> Any:
    """A rule that is written for NumPy, on numbers: Python numbers give a Python number."""
    result = rule(a, b)
    plain = type(a) in (int, float, bool) and type(b) in (int, float, bool)
    return result.item() if plain and hasattr(result, "item") else result


def _identity(n: int, dtype: Any = float) -> Any:
    type_ = matrix((n, n), dtype)
    return type_(*(1 if i == j else 0 for i in range(n) for j in range(n)))


def _matrix_from_rows(*rows: Any) -> Any:
    return matrix((len(rows), len(rows[0])), type(rows[0]).dtype)(*rows)


def _matrix_from_cols(*columns: Any) -> Any:
    numbers = [column[k] for k in range(len(columns[0])) for column in columns]
    return matrix((len(columns[0]), len(columns)), type(columns[0]).dtype)(*numbers)


intrinsic("tid", "i = tid(), i, j = tid(), … up to four values")
intrinsic("block_dim", "block_dim() -> int32", lambda: 1)
intrinsic("len", "len(a: vector, matrix, quaternion, transform, array or tuple) -> int32", builtins.len)
intrinsic("print", "print(value, ...)", builtins.print)
intrinsic("printf", "printf(format: str, value, ...)", lambda text, *values: builtins.print(text % values, end=""))
intrinsic("where", "where(condition, value_if_true, value_if_false)", lambda c, a, b: a if c else b)
intrinsic("select", "select(condition, value_if_false, value_if_true)", lambda c, a, b: b if c else a)
intrinsic("cast", "cast(a, dtype)", lambda a, dtype: dtype(a))
intrinsic("bitcast", "bitcast(a, dtype), to a scalar of the same size")
intrinsic("zeros", "zeros(shape: constant int or tuple of two, dtype) -> vector or matrix")
intrinsic("identity", "identity(n: constant int, dtype) -> matrix", _identity)
intrinsic("vector", "vector(x, y, …, length=…, dtype=…)")
intrinsic("matrix", "matrix(x, y, …, shape=(rows, columns), dtype=…)")
intrinsic("matrix_from_rows", "matrix_from_rows(vector, ...)", _matrix_from_rows)
intrinsic("matrix_from_cols", "matrix_from_cols(vector, ...)", _matrix_from_cols)
intrinsic("quaternion", "quaternion(x, y, z, w, dtype=…), quaternion(vec3, w)")
intrinsic("transformation", "transformation(vec3, quaternion, dtype=…)")
intrinsic("pow", "pow(x: Float, y: Float) -> Float", _power)
intrinsic("isinstance", "isinstance(x, type), at compile time", builtins.isinstance)

for _kind in ("add", "sub", "min", "max", "and", "or", "xor", "exch"):
    intrinsic(f"atomic_{_kind}", f"atomic_{_kind}(array, i, [j, k, l,] value) -> the old value")
intrinsic("atomic_cas", "atomic_cas(array, i, [j, k, l,] compare, value) -> the old value")

_BINARY: dict[str, Any] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": _divide, "mod": _remainder,
    "floordiv": operator.floordiv, "bit_and": operator.and_, "bit_or": operator.or_, "bit_xor": operator.xor,
    "lshift": operator.lshift, "rshift": operator.rshift,
}  # fmt: skip
_UNARY: dict[str, Any] = {"neg": operator.neg, "pos": operator.pos, "invert": operator.invert, "unot": operator.not_}
for _name, _python in _BINARY.items():
    intrinsic(_name, f"{_name}(a, b), as the operator", _python)
for _name, _python in _UNARY.items():
    intrinsic(_name, f"{_name}(x), as the operator", _python)

OBJECTS: dict[int, tuple[Any, str]] = {
    id(found): (found, name)
    for found, name in (
        (builtins.abs, "abs"),
        (builtins.min, "min"),
        (builtins.max, "max"),
        (builtins.len, "len"),
        (builtins.round, "round"),
        (builtins.pow, "pow"),
        (builtins.print, "print"),
        (builtins.isinstance, "isinstance"),
        (vector, "vector"),
        (matrix, "matrix"),
        (quaternion, "quaternion"),
        (transformation, "transformation"),
    )
}
"""Python objects, by identity, that mean a built-in when they are called in a kernel."""


def builtin_for(value: Any) -> Builtin | None:
    """The built-in that a Python object means in a kernel, or None.

    A function may name one in its attribute ``kernel_builtin``, for names that mean one thing in
    Python and another in kernels (``zeros``).
    """
    from treadle.language.builtins import BUILTINS

    if isinstance(value, Builtin):
        return value
    found = OBJECTS.get(id(value))
    if found is not None and found[0] is value:
        return BUILTINS[found[1]]
    name = getattr(value, "kernel_builtin", None) if callable(value) else None
    return BUILTINS.get(name) if isinstance(name, str) else None
