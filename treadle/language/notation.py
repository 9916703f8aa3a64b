"""Annotations of parameters and results: from what the user wrote to types of the language."""

from __future__ import annotations

import collections.abc
import types as python_types
import typing
from typing import Any

from treadle.types import scalars
from treadle.types.generics import GenericType, Marker, is_generic

CALLABLE: Any = collections.abc.Callable
"""The annotation of a parameter that is a function."""


def normalize(annotation: Any) -> Any:
    """An annotation as the language knows it, or None if it is no type.

    The result is a scalar, composite, struct or array type (perhaps generic), ``Any``,
    ``CALLABLE``, ``type`` or ``str``. Python's ``int``, ``float``, ``bool`` are int32, float32, bool.
    """
    if annotation is Any or isinstance(annotation, typing.TypeVar):
        return Any
    annotation = scalars.from_annotation(annotation)
    if annotation is type or annotation is str or scalars.is_scalar(annotation):
        return annotation
    if isinstance(annotation, (Marker, GenericType)):
        return annotation
    kind: Any = getattr(annotation, "kind", None)
    if kind == "array":
        return annotation
    if isinstance(annotation, type) and isinstance(kind, str) and getattr(annotation, "short", None):
        return getattr(annotation, "_canonical", None) or annotation
    if annotation is CALLABLE or annotation is typing.Callable or annotation is callable:
        return CALLABLE
    if typing.get_origin(annotation) is CALLABLE:
        return CALLABLE
    if typing.get_origin(annotation) is type:
        return type
    return None


def normalize_result(annotation: Any) -> Any:
    """The annotation of a result: a type, a tuple of types, or ``NoneType``; None if it is none of these."""
    if annotation is None or annotation is python_types.NoneType:
        return python_types.NoneType
    if typing.get_origin(annotation) is tuple:
        items = tuple(normalize(a) for a in typing.get_args(annotation))
        return None if None in items else items
    if isinstance(annotation, (tuple, list)):
        items = tuple(normalize(a) for a in annotation)
        return None if None in items else items
    return normalize(annotation)


def is_open(annotation: Any) -> bool:
    """Whether an annotation leaves the type to the argument."""
    return annotation in (CALLABLE, type, str) or is_generic(annotation)


def text(annotation: Any) -> str:
    """An annotation as messages show it."""
    if annotation is Any:
        return "Any"
    if annotation is CALLABLE:
        return "Callable"
    if isinstance(annotation, tuple):
        return f"tuple[{', '.join(map(text, annotation))}]"
    if annotation is python_types.NoneType:
        return "None"
    return annotation.__name__ if annotation in (type, str) else repr(annotation)
