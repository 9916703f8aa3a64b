"""Binds the arguments of a launch to the parameters of a kernel: checks them and takes them apart.

Every complaint names the kernel and the parameter, what was expected and what came. Nothing has
run by then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np

from treadle.errors import LaunchError
from treadle.runtime.array import array
from treadle.runtime.compiler import CompiledKernel, Variant
from treadle.types import bool_, generics
from treadle.types.arrays import ArrayType, array_type
from treadle.types.layout import leaf_values, leaves
from treadle.types.storage import ArrayRef
from treadle.types.values import type_of

MAX_LAUNCH_NDIM = 4
# A thread index is an int32 in a kernel.
MAX_EXTENT = 2**31 - 1

foreign_converters: list[Callable[[Any], Optional[array]]] = []
"""Functions that make an array of an object of another framework without a copy, or return None."""


@dataclass
class Binding:
    """Arguments bound to a variant of a kernel.

    ``compiled``: the CompiledKernel. ``values``: what the packer takes after the extents. ``arrays``: every array among the
    arguments, members of structs included, by its label; ``positions`` says where in ``values`` its
    descriptor starts and how long it is.
    """

    compiled: Any
    values: list[Any]
    arrays: dict[str, array]
    positions: dict[str, tuple[int, int]]


def launch_extents(dim: Any) -> tuple[int, ...]:
    """``dim`` of a launch as one to four extents.

    Raises:
        LaunchError: more than four, negative, or too large for a thread index.
    """
    try:
        extents = (int(dim.__index__()),) if hasattr(dim, "__index__") else tuple(int(d.__index__()) for d in dim)
    except (AttributeError, TypeError):
        raise LaunchError(f"launch: dim must be an int or a sequence of up to four ints, not {dim!r}") from None
    if not 1 <= len(extents) <= MAX_LAUNCH_NDIM:
        raise LaunchError(f"launch: dim has {len(extents)} extents; one to four are possible")
    for extent in extents:
        if extent < 0:
            raise LaunchError(f"launch: dim {dim!r} has a negative extent")
        if extent > MAX_EXTENT:
            raise LaunchError(f"launch: extent {extent} in dim {dim!r} is too large for a thread index (int32)")
    return extents


def bind(kernel: Any, arguments: Sequence[Any], launch_ndim: int) -> Binding:
    """Check ``arguments`` and bind them to the variant of ``kernel`` that fits them, compiling it if need be.

    Raises:
        LaunchError: a wrong number, type, dimension or device of arguments.
    """
    parameters = kernel.parameter_types
    if len(arguments) != len(parameters):
        names = ", ".join(parameters)
        raise LaunchError(
            f"kernel {kernel.key} takes {len(parameters)} arguments ({names}), but {len(arguments)} were given"
        )
    binding = Binding(None, [], {}, {})
    values, arrays, positions = binding.values, binding.arrays, binding.positions
    contiguous: list[bool] = []
    types: list[Any] = []
    for (name, annotation), argument in zip(parameters.items(), arguments):
        if annotation.__class__ is ArrayType:
            argument = as_array(kernel, name, annotation, argument)
            arrays[name] = argument
            descriptor = argument._descriptor
            positions[name] = (len(values), len(descriptor))
            values += descriptor
            contiguous.append(argument.is_contiguous)
            types.append(annotation if annotation.dtype is argument.dtype else array_type(argument.dtype, argument.ndim))
        else:
            type_ = concrete_type(kernel, name, annotation, argument)
            bind_value(kernel, name, type_, argument, binding)
            contiguous.append(False)
            types.append(type_)
    key = (tuple(types), tuple(contiguous), launch_ndim)
    compiled = kernel.instances.get(key)
    if compiled is None:
        compiled = kernel.instances[key] = CompiledKernel(kernel, Variant(*key))
    refuse_read_only(compiled, arrays)
    binding.compiled = compiled
    return binding


def as_array(kernel: Any, name: str, annotation: Any, argument: Any) -> array:
    """``argument`` as an array of the annotated dtype and dimension, without a copy."""
    if argument is None:
        if generics.is_generic(annotation):
            raise LaunchError(f"kernel {kernel.key}, parameter {name}: None does not tell the type of a generic array")
        return array.null(annotation.dtype, annotation.ndim)
    given = argument
    if not isinstance(argument, array):
        argument = _convert(argument, annotation)
        if argument is None:
            raise LaunchError(
                f"kernel {kernel.key}, parameter {name}: expected {annotation.short}, got {type(given).__name__}"
            )
    if argument.dtype is annotation.dtype and argument.ndim == annotation.ndim:
        return argument
    if generics.matches(annotation, array_type(argument.dtype, argument.ndim)):
        return argument
    raise LaunchError(
        f"kernel {kernel.key}, parameter {name}: expected an array of {_name(annotation.dtype)} with "
        f"{annotation.ndim} dimension{'s' if annotation.ndim != 1 else ''}, got one of {_name(argument.dtype)} with "
        f"{argument.ndim} (shape {argument.shape})"
    )


def _convert(argument: Any, annotation: ArrayType) -> Optional[array]:
    for converter in foreign_converters:
        converted = converter(argument)
        if converted is not None:
            return converted.view_as_components(annotation.dtype) if _has_components(annotation.dtype) else converted
    return None


def _has_components(dtype: Any) -> bool:
    return getattr(dtype, "kind", "") in ("vec", "mat", "quat", "transform")


def _name(dtype: Any) -> str:
    return getattr(dtype, "__name__", str(dtype))


def concrete_type(kernel: Any, name: str, annotation: Any, argument: Any) -> Any:
    """The type of a parameter that is no array: the annotation, or for a generic one that of the argument."""
    if not generics.is_generic(annotation):
        return annotation
    try:
        type_ = type_of(argument)
    except TypeError:
        type_ = None
    if type_ is None or not generics.matches(annotation, type_):
        raise LaunchError(
            f"kernel {kernel.key}, parameter {name}: expected {_name(annotation)}, got {argument!r} "
            f"({type(argument).__name__})"
        )
    return type_


def bind_value(kernel: Any, name: str, type_: Any, argument: Any, binding: Binding) -> None:
    """Append the leaves of a scalar, composite or struct, and the arrays in it, to ``binding``."""
    try:
        pieces = leaf_values(type_, argument)
    except (TypeError, ValueError, OverflowError) as error:
        raise LaunchError(f"kernel {kernel.key}, parameter {name}: {error}") from None
    if type_.kind != "struct":
        binding.values += [_packed(piece) for piece in pieces]
        return
    for leaf, piece in zip(leaves(type_), pieces):
        if not isinstance(leaf.type, ArrayRef):
            binding.values.append(_packed(piece))
            continue
        member = piece if piece is not None else array.null(bool_, leaf.type.ndim)
        label = leaf_label(name, leaf.path)
        binding.positions[label] = (len(binding.values), len(member._descriptor))
        binding.values += member._descriptor
        binding.arrays[label] = member


def _packed(piece: Any) -> Any:
    """A leaf as the packer takes it: a large aggregate as bytes."""
    return piece.tobytes() if isinstance(piece, np.ndarray) else piece


def leaf_label(name: str, path: tuple[Any, ...]) -> str:
    """The label of an array inside a struct parameter: ``state.positions``."""
    return ".".join((name, *(str(step) for step in path)))


def refuse_read_only(compiled: CompiledKernel, arrays: dict[str, array]) -> None:
    """Complain about memory that must not be written where the kernel writes."""
    for label in compiled.written:
        argument = arrays.get(label)
        if argument is not None and argument.readonly:
            raise LaunchError(
                f"kernel {compiled.kernel.key}, parameter {label}: the kernel writes to it, but its memory is read-only"
            )
