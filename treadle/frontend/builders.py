"""The intrinsics that make vectors, matrices, quaternions and transforms."""

from __future__ import annotations

from typing import Any

from treadle.frontend import components
from treadle.frontend.calls import call_function, intrinsic
from treadle.frontend.constructors import as_type, construct, infer, type_for, zero
from treadle.frontend.context import Context
from treadle.frontend.conversions import constant_type, items_of, settle
from treadle.frontend.expressions import constant_index
from treadle.frontend.values import Constant, Typed, Value
from treadle.language import BUILTINS
from treadle.language.errors import TypeMismatchError
from treadle.types import scalars
from treadle.types.matrices import matrix
from treadle.types.vectors import vector


def _scalar_type(ctx: Context, value: Value, node: Any) -> Any:
    type_ = as_type(value.value) if isinstance(value, Constant) else None
    if not scalars.is_scalar(type_):
        raise ctx.error(node, "dtype must be a scalar type known at compile time", TypeMismatchError)
    return type_


def _extent(ctx: Context, value: Value, node: Any) -> int:
    found = constant_index(value)
    if found is None or found < 1:
        raise ctx.error(node, "the shape must be known at compile time, and positive", TypeMismatchError)
    return found


def _shape(ctx: Context, value: Value, node: Any) -> tuple[int, ...]:
    items = items_of(value)
    return tuple(_extent(ctx, item, node) for item in (items if items is not None else (value,)))


def _is_type(value: Value) -> bool:
    return isinstance(value, Constant) and as_type(value.value) is not None


@intrinsic("zeros")
def zeros(ctx: Context, positional: list[Value], keywords: dict[str, Value], node: Any) -> Value:
    named = dict(zip(("shape", "dtype"), positional)) | keywords
    if "shape" not in named or not set(named) <= {"shape", "dtype"}:
        raise ctx.error(node, "in a kernel, the call must have the form zeros(shape, dtype)", TypeMismatchError)
    shape = _shape(ctx, named["shape"], node)
    dtype = _scalar_type(ctx, named["dtype"], node) if "dtype" in named else scalars.float32
    if len(shape) > 2:
        raise ctx.error(node, "in a kernel, zeros() has at most two dimensions", TypeMismatchError)
    return zero(ctx, vector(shape[0], dtype) if len(shape) == 1 else matrix(shape, dtype))


@intrinsic("identity")
def identity(ctx: Context, positional: list[Value], keywords: dict[str, Value], node: Any) -> Value:
    named = dict(zip(("n", "dtype"), positional)) | keywords
    if "n" not in named or not set(named) <= {"n", "dtype"}:
        raise ctx.error(node, "the call must have the form identity(n, dtype)", TypeMismatchError)
    n = _extent(ctx, named["n"], node)
    dtype = _scalar_type(ctx, named["dtype"], node) if "dtype" in named else scalars.float32
    one, nil = ctx.builder.constant(dtype, 1), ctx.builder.constant(dtype, 0)
    if n * n > 36:
        result = zero(ctx, matrix((n, n), dtype))
        for k in range(n):
            result = components.with_component(ctx, result, k * (n + 1), one)
        return result
    return Typed(matrix((n, n), dtype), tuple(one if k % (n + 1) == 0 else nil for k in range(n * n)))


@intrinsic("vector")
def make_vector(ctx: Context, positional: list[Value], keywords: dict[str, Value], node: Any) -> Value:
    """Components; or a length and a type, for zeros; called with the type alone it is a type."""
    if len(positional) == 2 and _is_type(positional[1]) and not keywords:
        return Constant(vector(_extent(ctx, positional[0], node), _scalar_type(ctx, positional[1], node)))
    if not set(keywords) <= {"length", "dtype"}:
        raise ctx.error(node, "vector() has the keywords length and dtype", TypeMismatchError)
    dtype = _scalar_type(ctx, keywords["dtype"], node) if "dtype" in keywords else infer(ctx, positional, node)
    count = sum(_length(value) for value in positional)
    if "length" in keywords:
        count = _extent(ctx, keywords["length"], node)
    if not count:
        raise ctx.error(node, "vector() needs components, or a length", TypeMismatchError)
    return _of_parts(ctx, vector(count, dtype), positional, keywords, node)


def _length(value: Value) -> int:
    type_ = value.type if isinstance(value, Typed) else constant_type(getattr(value, "value", None))
    return int(getattr(type_, "length", 1) or 1)


def _of_parts(ctx: Context, type_: Any, positional: list[Value], keywords: dict[str, Value], node: Any) -> Value:
    if not positional and _is_called(ctx, node):
        return Constant(type_)
    return construct(ctx, type_, positional, {}, node)


def _is_called(ctx: Context, node: Any) -> bool:
    """Whether the result of a call is itself called: ``vector(length=2, dtype=float)(x, y)``."""
    return node in ctx.source.called_calls


@intrinsic("matrix")
def make_matrix(ctx: Context, positional: list[Value], keywords: dict[str, Value], node: Any) -> Value:
    """Components or rows, with a shape unless it is clear; or a shape and a type, for zeros."""
    if len(positional) == 2 and _is_type(positional[1]) and not keywords:
        return Constant(matrix(_shape(ctx, positional[0], node), _scalar_type(ctx, positional[1], node)))
    if _is_pose(positional, keywords):
        return call_function(ctx, "matrix", BUILTINS["matrix"].candidates, positional, keywords, node)
    if not set(keywords) <= {"shape", "dtype"}:
        raise ctx.error(node, "matrix() has the keywords shape and dtype", TypeMismatchError)
    dtype = _scalar_type(ctx, keywords["dtype"], node) if "dtype" in keywords else infer(ctx, positional, node)
    if "shape" in keywords:
        shape = _shape(ctx, keywords["shape"], node)
        if len(shape) != 2:
            raise ctx.error(node, "the shape of a matrix is (rows, columns)", TypeMismatchError)
    else:
        shape = _square(ctx, positional, node)
    return _of_parts(ctx, matrix(shape, dtype), positional, keywords, node)


@intrinsic("matrix_from_rows")
def matrix_from_rows(ctx: Context, positional: list[Value], keywords: dict[str, Value], node: Any) -> Value:
    """The matrix whose rows are the given vectors."""
    return _of_vectors(ctx, positional, keywords, node)


@intrinsic("matrix_from_cols")
def matrix_from_cols(ctx: Context, positional: list[Value], keywords: dict[str, Value], node: Any) -> Value:
    """The matrix whose columns are the given vectors."""
    rows = _of_vectors(ctx, positional, keywords, node)
    return call_function(ctx, "transpose", BUILTINS["transpose"].candidates, [rows], {}, node)


def _of_vectors(ctx: Context, vectors: list[Value], keywords: dict[str, Value], node: Any) -> Value:
    typed = [settle(ctx, value, node) for value in vectors]
    if not typed or keywords or any(getattr(v.type, "kind", "") != "vec" or v.type is not typed[0].type for v in typed):
        raise ctx.error(node, "the arguments must be vectors of one type", TypeMismatchError)
    return construct(ctx, matrix((len(typed), typed[0].type.length), typed[0].type.dtype), list(typed), {}, node)


def _is_pose(positional: list[Value], keywords: dict[str, Value]) -> bool:
    """Whether a matrix is to be made of position, rotation and scale, which the standard library does."""
    kinds = [getattr(v.type, "kind", "") if isinstance(v, Typed) else "" for v in positional]
    return "rot" in keywords or kinds[:2] == ["vec", "quat"]


def _square(ctx: Context, positional: list[Value], node: Any) -> tuple[int, int]:
    if positional and all(_length(v) > 1 for v in positional):
        return len(positional), _length(positional[0])
    side = next((n for n in range(1, 65) if n * n == len(positional)), None)
    if side is None:
        raise ctx.error(node, "the shape of the matrix is not clear; give shape=(rows, columns)", TypeMismatchError)
    return side, side


@intrinsic("quaternion")
def make_quaternion(ctx: Context, positional: list[Value], keywords: dict[str, Value], node: Any) -> Value:
    """Four numbers, a vector and a number, or another quaternion; with a type alone it is zero."""
    return _of_kind(ctx, "quat", (4,), ("x", "y", "z", "w"), positional, keywords, node)


@intrinsic("transformation")
def make_transformation(ctx: Context, positional: list[Value], keywords: dict[str, Value], node: Any) -> Value:
    """A translation and a rotation, or seven numbers."""
    return _of_kind(ctx, "transform", (7,), ("p", "q"), positional, keywords, node)


def _of_kind(
    ctx: Context,
    kind: str,
    shape: tuple[int, ...],
    names: tuple[str, ...],
    positional: list[Value],
    keywords: dict[str, Value],
    node: Any,
) -> Value:
    if len(positional) == 1 and _is_type(positional[0]) and not keywords:
        return Constant(type_for(kind, shape, _scalar_type(ctx, positional[0], node)))
    given = dict(keywords)
    dtype = given.pop("dtype", None)
    if kind == "quat":
        parts = [*positional, *(given.pop(n) for n in ("ijk", "real", "quat", *names) if n in given)]
    else:
        parts = [*positional, *(given.pop(n) for n in names if n in given)]
    if given:
        raise ctx.error(node, f"there is no parameter {next(iter(given))!r}", TypeMismatchError)
    scalar = _scalar_type(ctx, dtype, node) if dtype is not None else infer(ctx, parts, node)
    if not scalar.is_float:
        scalar = scalars.float32
    return _of_parts(ctx, type_for(kind, shape, scalar), parts, keywords, node)
