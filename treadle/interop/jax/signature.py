"""Parameters of a kernel or callable in JAX, and the values given for them at a call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from treadle.interop.jax.arrays import dtype_from_jax, numpy_dtype
from treadle.runtime.elements import layout
from treadle.types import bfloat16, generics, is_scalar
from treadle.types.arrays import array_type
from treadle.types.layout import leaf_values, leaves
from treadle.types.storage import ArrayRef
from treadle.types.values import type_of

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Argument:
    """What was given for an input.

    ``type``: the concrete type. ``value``: an array of JAX, or of something that JAX takes; None for a static value,
    which is then ``static``, and whose ``leaves`` are known, as the packer of a launch takes them.
    """

    type: Any
    value: Any = None
    leaves: tuple[Any, ...] = ()
    static: Any = None

    @property
    def key(self) -> tuple[Any, ...]:
        """What the compiled call depends on."""
        return (self.type, self.leaves if self.value is None else self.value.shape)


class Signature:
    """Which parameters are inputs and which outputs.

    ``inputs``: names in order; ``outputs``: those of ``in_out``, then the others. ``where`` begins messages.
    """

    def __init__(self, where: str, types: dict[str, Any], num_outputs: int, in_out: Sequence[str]) -> None:
        self.where = where
        self.types = types
        self.in_out = self._checked(in_out)
        names = list(types)
        if not max(1, len(self.in_out)) <= num_outputs <= len(names):
            raise ValueError(
                f"{where}: num_outputs is {num_outputs}; there are {len(names)} parameters, {len(self.in_out)} of them "
                "in-out, and at least one output is needed"
            )
        count = len(names) - num_outputs + len(self.in_out)
        self.inputs = tuple(names[:count])
        for name in self.in_out:
            if name not in self.inputs:
                raise ValueError(f"{where}: in-out parameter {name} must come before the outputs")
        self.outputs = (*(n for n in names if n in self.in_out), *names[count:])
        for name in self.outputs:
            self._check_output(name)

    def _checked(self, in_out: Sequence[str]) -> tuple[str, ...]:
        names = (in_out,) if isinstance(in_out, str) else tuple(in_out)
        for name in names:
            if name not in self.types:
                raise ValueError(f"{self.where}: in_out_argnames has {name!r}; parameters are {', '.join(self.types)}")
        return names

    def _check_output(self, name: str) -> None:
        type_ = self.types[name]
        if getattr(type_, "kind", "") != "array":
            raise TypeError(f"{self.where}: output {name} must be an array, not {_text(type_)}")
        if generics.is_generic(type_) and name not in self.in_out:
            raise TypeError(f"{self.where}: the type of output {name} is open; fix it with overload")

    def bind(self, values: Sequence[Any]) -> list[Argument]:
        """What was given for each input.

        Raises:
            TypeError: a wrong number of values, or one that does not fit.
        """
        if len(values) != len(self.inputs):
            names = ", ".join(self.inputs)
            raise TypeError(f"{self.where} takes {len(self.inputs)} inputs ({names}), not {len(values)}")
        return [self._argument(name, value) for name, value in zip(self.inputs, values)]

    def _argument(self, name: str, value: Any) -> Argument:
        annotation = self.types[name]
        if getattr(annotation, "kind", "") == "array" or (annotation is Any and getattr(value, "ndim", 0)):
            return self._array(name, annotation, value)
        if isinstance(value, jax.Array):
            return self._traced(name, annotation, value)
        return self._static(name, annotation, value)

    def _array(self, name: str, annotation: Any, value: Any) -> Argument:
        what = f"{self.where}, parameter {name}"
        if not hasattr(value, "shape") or not hasattr(value, "dtype"):
            raise TypeError(f"{what}: expected an array ({_text(annotation)}), got {type(value).__name__}")
        if isinstance(value, np.ndarray):
            value = jax.numpy.asarray(value)
        try:
            scalar = dtype_from_jax(value.dtype)
        except TypeError as error:
            raise TypeError(f"{what}: {error}") from None
        type_ = annotation
        if annotation is Any or generics.is_generic(annotation):
            type_ = self._settled(what, annotation, scalar, value)
        element = layout(type_.dtype)
        if element.scalar is None:
            raise TypeError(f"{what}: JAX has no arrays of structs")
        split = value.ndim - len(element.shape)
        if element.scalar is not scalar or split != type_.ndim or value.shape[split:] != element.shape:
            expected = f"{numpy_dtype(element.scalar)} with {type_.ndim} dimension{'s' if type_.ndim != 1 else ''}"
            if element.shape:
                expected += f" and the components {element.shape}"
            raise TypeError(f"{what}: expected an array of {expected}, got {value.dtype} of shape {value.shape}")
        return Argument(type_, value)

    def _settled(self, what: str, annotation: Any, scalar: Any, value: Any) -> Any:
        """The concrete type for a generic array: of scalars, or of the composite that the annotation has."""
        dtype = Any if annotation is Any else annotation.dtype
        if isinstance(dtype, generics.GenericType) or not (generics.is_generic(dtype) or is_scalar(dtype)):
            raise TypeError(f"{what}: the type {_text(annotation)} is open; fix it with overload")
        type_ = array_type(scalar, value.ndim)
        if not generics.matches(annotation, type_):
            raise TypeError(f"{what}: expected {_text(annotation)}, got {value.dtype} of shape {value.shape}")
        return type_

    def _traced(self, name: str, annotation: Any, value: Any) -> Argument:
        what = f"{self.where}, parameter {name}"
        type_ = dtype_from_jax(value.dtype) if generics.is_generic(annotation) else annotation
        if type_.kind == "struct" or not generics.matches(annotation, type_):
            raise TypeError(f"{what}: expected {_text(annotation)}, got a JAX array of {value.dtype}")
        element = layout(type_)
        if value.shape != element.shape:
            raise TypeError(f"{what}: expected {_text(annotation)}, got a JAX array of shape {value.shape}")
        target = numpy_dtype(element.scalar)
        if value.dtype != target:
            if not _converts(value, target):
                raise TypeError(f"{what}: expected {_text(annotation)}, got a JAX array of {value.dtype}: cast it")
            value = value.astype(target)
        return Argument(type_, value)

    def _static(self, name: str, annotation: Any, value: Any) -> Argument:
        try:
            type_ = type_of(value) if generics.is_generic(annotation) else annotation
            if not generics.matches(annotation, type_):
                raise TypeError(f"expected {_text(annotation)}, got {value!r}")
            pieces = leaf_values(type_, value)
        except (TypeError, ValueError, OverflowError) as error:
            raise TypeError(f"{self.where}, parameter {name}: {error}") from None
        if any(isinstance(leaf.type, ArrayRef) for leaf in leaves(type_)):
            raise TypeError(f"{self.where}, parameter {name}: a struct with arrays in it cannot be passed through JAX")
        packed = tuple(p.tobytes() if isinstance(p, np.ndarray) else p for p in pieces)
        return Argument(type_, None, packed, value)


def _converts(value: Any, target: np.dtype[Any]) -> bool:
    """Whether a traced number may be converted unasked: as at a launch, never from floats to integers.

    Since its value is not known, an integer must be of a type that fits, or a plain Python number in origin.
    """
    is_float = target.kind == "f" or target == numpy_dtype(bfloat16)
    source = value.dtype
    if jax.numpy.issubdtype(source, jax.numpy.floating):
        return is_float
    return is_float or bool(value.weak_type) or bool(np.can_cast(source, target, "safe"))


def _text(annotation: Any) -> str:
    return str(getattr(annotation, "short", None) or annotation)
