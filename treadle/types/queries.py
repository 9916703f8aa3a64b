"""Questions about types that programs ask in Python: ``types.type_is_vector(t)``, ``types.type_size_in_bytes(t)``, …"""

from __future__ import annotations

from typing import Any

from treadle.types import scalars
from treadle.types.arrays import ArrayType
from treadle.types.composites import Composite, CompositeMeta
from treadle.types.structs import Struct, StructMeta


def _kind(type_: Any) -> str:
    """``vec``, ``mat``, ``quat``, ``transform``, ``struct``, ``array``, or empty for anything else."""
    if isinstance(type_, (CompositeMeta, StructMeta, ArrayType)):
        return str(getattr(type_, "kind", ""))
    return ""


def type_is_int(type_: Any) -> bool:
    """Whether it is a type of integers; Python's ``int`` is one."""
    type_ = scalars.from_annotation(type_)
    return scalars.is_scalar(type_) and bool(type_.is_integer)


def type_is_float(type_: Any) -> bool:
    """Whether it is a type of floating-point numbers; Python's ``float`` is one."""
    type_ = scalars.from_annotation(type_)
    return scalars.is_scalar(type_) and bool(type_.is_float)


def type_is_scalar(type_: Any) -> bool:
    """Whether it is a type of numbers; bool is none."""
    return type_is_int(type_) or type_is_float(type_)


def type_is_vector(type_: Any) -> bool:
    return _kind(type_) == "vec"


def type_is_matrix(type_: Any) -> bool:
    return _kind(type_) == "mat"


def type_is_quaternion(type_: Any) -> bool:
    return _kind(type_) == "quat"


def type_is_transformation(type_: Any) -> bool:
    return _kind(type_) == "transform"


def type_is_composite(type_: Any) -> bool:
    """Whether it is a type of vectors, matrices, quaternions or transforms."""
    return _kind(type_) in ("vec", "mat", "quat", "transform")


def type_is_struct(type_: Any) -> bool:
    return _kind(type_) == "struct"


def type_is_array(type_: Any) -> bool:
    """Whether it is the type of an array, as in an annotation."""
    return _kind(type_) == "array"


def type_is_value(type_: Any) -> bool:
    """Whether values of the type can be elements of arrays and constants: a scalar or a composite."""
    return scalars.is_scalar(scalars.from_annotation(type_)) or type_is_composite(type_)


def type_size_in_bytes(type_: Any) -> int:
    """The bytes that a value takes in an array. Raises TypeError for what is no type."""
    type_ = scalars.from_annotation(type_)
    size = getattr(type_, "size", None)
    if not isinstance(size, int):
        raise TypeError(f"{type_!r} is no type of the kernel language")
    return size


def type_size(type_: Any) -> int:
    """The number of scalars that a scalar or composite is made of. Raises TypeError for anything else."""
    if not type_is_value(type_):
        raise TypeError(f"{type_!r} is no scalar or composite type")
    return int(getattr(type_, "length", 1) or 1)


type_length = type_size


def type_scalar_type(type_: Any) -> Any:
    """The type of the components of a composite type; of a scalar type, itself."""
    return type_.dtype if type_is_composite(type_) else scalars.from_annotation(type_)


def type_repr(type_: Any) -> str:
    """The name of a type as messages show it."""
    return repr(scalars.from_annotation(type_))


def types_equal(a: Any, b: Any) -> bool:
    """Whether two annotations mean one type; of two sequences, whether all their items do."""
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(types_equal(x, y) for x, y in zip(a, b))
    return bool(scalars.from_annotation(a) == scalars.from_annotation(b))


def is_int(value: Any) -> bool:
    """Whether a value, or a type, is one of integers."""
    return type_is_int(value if isinstance(value, type) else type(value))


def is_float(value: Any) -> bool:
    """Whether a value, or a type, is one of floating-point numbers."""
    return type_is_float(value if isinstance(value, type) else type(value))


def is_vector(value: Any) -> bool:
    return type_is_vector(type(value))


def is_matrix(value: Any) -> bool:
    return type_is_matrix(type(value))


def is_quaternion(value: Any) -> bool:
    return type_is_quaternion(type(value))


def is_transformation(value: Any) -> bool:
    return type_is_transformation(type(value))


def is_composite(value: Any) -> bool:
    return isinstance(value, Composite)


def is_struct(value: Any) -> bool:
    return isinstance(value, Struct)


def is_array(value: Any) -> bool:
    """Whether a value is an array, indexed ones included."""
    return hasattr(value, "allocation") and hasattr(value, "requires_grad")


def is_value(value: Any) -> bool:
    """Whether a value is a number or a composite."""
    return type_is_value(type(value))
