"""Generic annotations: ``Any``, ``Int``, ``Float``, ``Scalar``, composites with open parameters, and matching.

A function with a generic annotation is compiled once per set of concrete argument types;
``matches`` says whether a concrete type fits an annotation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from treadle.types import scalars


@dataclass(frozen=True)
class Marker:
    """A generic scalar: stands for any of a set of scalar types. See ``Int``, ``Float``, ``AnyScalar``."""

    name: str
    members: frozenset[Any]

    def match(self, concrete: Any) -> bool:
        """Whether the concrete type is one of the set."""
        return isinstance(concrete, type) and concrete in self.members

    @property
    def short(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str:
        return "AnyScalar" if self.name == "Scalar" else self.name


_INTEGERS = frozenset(scalars.SIGNED + scalars.UNSIGNED)
_FLOATS = frozenset(scalars.FLOATS)

Int = Marker("Int", _INTEGERS)
"""Any integer type."""
Float = Marker("Float", _FLOATS)
"""Any floating-point type."""
AnyScalar = Marker("Scalar", _INTEGERS | _FLOATS)
"""Any numeric type: integer or floating point, not bool. Public as ``Scalar``."""


@dataclass(frozen=True)
class GenericType:
    """A vector, matrix, quaternion or transform type of which a parameter is open.

    Each entry of ``shape`` is an int or ``Any``; ``dtype`` is a scalar type, a marker or ``Any``.
    """

    kind: str
    shape: tuple[Any, ...]
    dtype: Any

    def match(self, concrete: Any) -> bool:
        """Whether a concrete type has this kind, and a shape and scalar type that fit."""
        return (
            getattr(concrete, "kind", None) == self.kind
            and len(concrete.shape) == len(self.shape)
            and all(want is Any or want == have for want, have in zip(self.shape, concrete.shape))
            and matches(self.dtype, concrete.dtype)
        )

    @property
    def length(self) -> Any:
        """The number of scalars, or ``Any`` when it is open."""
        count = 1
        for extent in self.shape:
            if extent is Any:
                return Any
            count *= extent
        return count

    @property
    def short(self) -> str:
        return short_name(self.kind, self.shape, self.dtype)

    def __repr__(self) -> str:
        return self.short


def short_name(kind: str, shape: tuple[Any, ...], dtype: Any) -> str:
    """The printed form of a composite: ``vec<3, f32>``, ``mat<3x3, f32>``, ``quat<f32>``."""
    scalar = "Any" if dtype is Any else dtype.short
    if kind in ("quat", "transform"):
        return f"{kind}<{scalar}>"
    extents = "x".join("Any" if extent is Any else str(extent) for extent in shape)
    return f"{kind}<{extents}, {scalar}>"


def is_generic(annotation: Any) -> bool:
    """Whether an annotation leaves something open: ``Any``, a marker, or a type with one inside."""
    if annotation is Any or isinstance(annotation, (Marker, GenericType)):
        return True
    if getattr(annotation, "kind", None) == "array":
        return annotation.ndim is Any or is_generic(annotation.dtype)
    return False


def matches(annotation: Any, concrete: Any) -> bool:
    """Whether the concrete type fits the annotation, which may be generic or concrete."""
    if annotation is Any:
        return True
    if isinstance(annotation, (Marker, GenericType)):
        return annotation.match(concrete)
    annotation = scalars.from_annotation(annotation)
    concrete = scalars.from_annotation(concrete)
    if annotation is concrete:
        return True
    if not is_generic(annotation):
        return bool(annotation == concrete)
    return (  # an array with an open dtype or dimension
        getattr(concrete, "kind", None) == "array"
        and annotation.ndim in (Any, concrete.ndim)
        and matches(annotation.dtype, concrete.dtype)
    )
