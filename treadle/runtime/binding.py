"""Binds the arguments of a launch to the parameters of a kernel: checks them and takes them apart.

Every complaint names the kernel and the parameter, what was expected and what came. Nothing has
run by then.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

import numpy as np

from treadle.codegen.locks import compiling
from treadle.errors import ArrayError, LaunchError
from treadle.language.errors import CompileError
from treadle.runtime.array import array
from treadle.runtime.compiler import CompiledKernel, Variant
from treadle.types import bool_, generics
from treadle.types.arrays import ArrayType, array_type
from treadle.types.convert import converter
from treadle.types.layout import leaf_values, leaves, taker
from treadle.types.scalars import is_scalar
from treadle.types.storage import Aggregate, ArrayRef
from treadle.types.values import type_of

MAX_LAUNCH_NDIM = 4
# A thread index is an int32 in a kernel; threads are counted in an int64.
MAX_EXTENT = 2**31 - 1
MAX_THREADS = 2**63 - 1

foreign_converters: list[Callable[[Any], Optional[array]]] = []
"""Functions that make an array of an object of another framework without a copy, or return None."""


@dataclass(slots=True)
class Binding:
    """Arguments bound to a variant of a kernel.

    ``compiled``: the CompiledKernel. ``values``: a list (a tuple once a tape holds it) of what the
    packer takes after the extents. ``arrays``: every array among the
    arguments, members of structs included, by its label; ``positions`` says where in ``values`` its
    descriptor starts and how long it is.
    """

    compiled: Any
    values: Any
    arrays: dict[str, array]
    positions: dict[str, tuple[int, int]]


def launch_extents(dim: Any) -> tuple[int, ...]:
    """``dim`` of a launch as one to four extents.

    Raises:
        LaunchError: more than four, negative, too large for a thread index, or too many threads to count.
    """
    if dim.__class__ is int and 0 <= dim <= MAX_EXTENT:
        return (dim,)
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
    if math.prod(extents) > MAX_THREADS:
        raise LaunchError(f"launch: dim {dim!r} is too many threads, {math.prod(extents)}; {MAX_THREADS} are possible")
    return extents


_Parameter = tuple[str, Any, Any, int, Optional[Callable[[Any], Any]], Optional[Callable[[Any], list[Any]]]]
"""What ``bind`` must know of a parameter, worked out once: a plain tuple, which Python takes apart fastest.

Its name and annotation; the dtype and the number of dimensions, for an array of a known type; a function that
converts a scalar of a known type; one that takes a composite of a known type apart. None where it is something else.
"""


@dataclass(slots=True)
class Plan:
    """How the arguments of a kernel are bound, and what has been compiled for them.

    ``positions``: as in ``Binding``, if they are the same at every launch, else None.
    """

    parameters: list[_Parameter]
    positions: Optional[dict[str, tuple[int, int]]]
    variants: dict[Any, CompiledKernel] = field(default_factory=dict)


def plan_of(kernel: Any) -> Plan:
    """The plan of a kernel, made at its first launch."""
    with compiling:
        plan: Optional[Plan] = kernel.runtime
        if plan is None:
            plan = kernel.runtime = _make_plan(kernel)
        return plan


def _make_plan(kernel: Any) -> Plan:
    parameters: list[_Parameter] = []
    positions: dict[str, tuple[int, int]] = {}
    width, fixed = 0, True
    for name, annotation in kernel.parameter_types.items():
        if generics.is_generic(annotation) or annotation.kind == "struct":
            fixed = False
            parameters.append((name, annotation, None, 0, None, None))
        elif annotation.kind == "array":
            parameters.append((name, annotation, annotation.dtype, annotation.ndim, None, None))
            positions[name] = (width, 1 + 2 * annotation.ndim)
            width += 1 + 2 * annotation.ndim
        elif is_scalar(annotation):
            parameters.append((name, annotation, None, 0, converter(annotation), None))
            width += 1
        else:
            parameters.append((name, annotation, None, 0, None, _taker_of(annotation)))
            width += len(leaves(annotation))
    return Plan(parameters, positions if fixed else None)


def _taker_of(annotation: Any) -> Callable[[Any], list[Any]]:
    """The function that takes a composite apart, into what the packer takes."""
    take = taker(annotation)
    if isinstance(leaves(annotation)[0].type, Aggregate):
        return lambda argument: [_packed(piece) for piece in take(argument)]
    return take


def bind(kernel: Any, arguments: Sequence[Any], extents: tuple[int, ...]) -> Binding:
    """Check ``arguments`` and bind them to the variant of ``kernel`` that fits them, compiling it if need be.

    ``extents``: those of the launch.

    Raises:
        LaunchError: a wrong number, type, dimension or device of arguments, or more threads than the kernel can count.
    """
    return Binding(*bound(kernel, arguments, extents))


Bound = tuple[CompiledKernel, list[Any], dict[str, array], dict[str, tuple[int, int]]]
"""The fields of a ``Binding``, which a launch that nothing keeps need not make."""


def bound(kernel: Any, arguments: Sequence[Any], extents: tuple[int, ...]) -> Bound:
    """As ``bind``, but the fields alone."""
    plan: Plan = kernel.runtime or plan_of(kernel)
    if len(arguments) != len(plan.parameters):
        names = ", ".join(kernel.parameter_names)
        raise LaunchError(
            f"kernel {kernel.name} takes {len(plan.parameters)} arguments ({names}), but {len(arguments)} were given"
        )
    if plan.positions is None:
        return _bound_general(kernel, plan, arguments, extents)
    values: list[Any] = []
    arrays: dict[str, array] = {}
    has_none = False
    launch_ndim = len(extents)
    key: Any = launch_ndim
    for (name, annotation, dtype, ndim, convert, take), argument in zip(plan.parameters, arguments):
        if dtype is not None:
            if argument.__class__ is not array or argument.dtype is not dtype or argument.ndim != ndim:
                has_none |= argument is None
                argument = as_array(kernel, name, annotation, argument)
            arrays[name] = argument
            values += argument._words or argument._descriptor
            if not argument.is_contiguous:
                key = (key, name)
            continue
        try:
            if convert is not None:
                values.append(convert(argument))
            else:
                values += take(argument)  # type: ignore[misc]
        except (TypeError, ValueError, OverflowError) as error:
            raise _misfit(kernel, name, error) from None
    compiled = plan.variants.get(key)
    if compiled is None or compiled.is_stale():
        types = kernel.parameter_types
        contiguous = tuple(name in arrays and arrays[name].is_contiguous for name in types)
        compiled = plan.variants[key] = _compiled(kernel, Variant(tuple(types.values()), contiguous, launch_ndim))
    for label in compiled.written:
        if arrays[label].allocation.readonly:
            raise _read_only(kernel, label)
    if has_none or launch_ndim > 1:
        _check_use(compiled, arrays, extents)
    return compiled, values, arrays, plan.positions


def _misfit(kernel: Any, name: str, error: Exception) -> LaunchError:
    return LaunchError(f"kernel {kernel.name}, parameter {name}: {error}")


def _read_only(kernel: Any, label: str) -> LaunchError:
    return LaunchError(f"kernel {kernel.name}, parameter {label}: the kernel writes to it, but its memory is read-only")


def _check_use(compiled: CompiledKernel, arrays: dict[str, array], extents: tuple[int, ...]) -> None:
    """Refuse None for an array that all threads use, and more threads than the kernel can count."""
    total, name = math.prod(extents), compiled.kernel.name
    if total > MAX_EXTENT and compiled.asks_flat_index:
        raise LaunchError(
            f"kernel {name} asks for the flat index of its threads, which does not fit an int32 in a launch of "
            f"{extents}"
        )
    for label in compiled.required if total else ():
        if arrays[label].is_null:
            raise LaunchError(
                f"kernel {name}, parameter {label}: got None, but the kernel uses the array without asking whether it "
                f"is there; give an array (of a gradient: set requires_grad), or ask `if {label}:` in the kernel"
            )


def _compiled(kernel: Any, variant: Variant) -> CompiledKernel:
    """A variant of a kernel, compiled.

    Raises:
        CompileError: it cannot be. Its text has the user's line, which the frames of the compiler would push out of
            sight, so they are kept in Python's development mode (``python -X dev``) only.
    """
    try:
        with compiling:
            return CompiledKernel(kernel, variant)
    except CompileError as error:
        if not sys.flags.dev_mode:
            error = error.with_traceback(None)
        raise error from None


def _bound_general(kernel: Any, plan: Plan, arguments: Sequence[Any], extents: tuple[int, ...]) -> Bound:
    """As ``bound``, for kernels with generic parameters or structs."""
    binding = Binding(None, [], {}, {})
    launch_ndim = len(extents)
    types: list[Any] = []
    contiguous: list[bool] = []
    for (name, annotation, *_), argument in zip(plan.parameters, arguments):
        if annotation.__class__ is ArrayType or (annotation is Any and _is_array(argument)):
            given = as_array(kernel, name, annotation, argument)
            _bind_array(binding, name, given)
            contiguous.append(given.is_contiguous)
            types.append(array_type(given.dtype, given.ndim))
        else:
            type_ = concrete_type(kernel, name, annotation, argument)
            bind_value(kernel, name, type_, argument, binding)
            contiguous.append(False)
            types.append(type_)
    key = (launch_ndim, *contiguous, *types)
    compiled = plan.variants.get(key)
    if compiled is None or compiled.is_stale():
        variant = Variant(tuple(types), tuple(contiguous), launch_ndim)
        compiled = plan.variants[key] = _compiled(kernel, variant)
    for label in compiled.written:
        if binding.arrays[label].allocation.readonly:
            raise _read_only(kernel, label)
    _check_use(compiled, binding.arrays, extents)
    return compiled, binding.values, binding.arrays, binding.positions


def _is_array(argument: Any) -> bool:
    return isinstance(argument, array) or any(converter(argument) is not None for converter in foreign_converters)


def _bind_array(binding: Binding, label: str, argument: array) -> None:
    descriptor = argument._descriptor
    binding.positions[label] = (len(binding.values), len(descriptor))
    binding.values += descriptor
    binding.arrays[label] = argument


def as_array(kernel: Any, name: str, annotation: Any, argument: Any) -> array:
    """``argument`` as an array of the annotated dtype and dimension, without a copy."""
    if argument is None:
        if generics.is_generic(annotation):
            raise LaunchError(f"kernel {kernel.name}, parameter {name}: None does not tell the type of a generic array")
        return array.null(annotation.dtype, annotation.ndim)
    given = argument
    if not isinstance(argument, array):
        argument = _convert(kernel, name, argument, annotation)
        if argument is None:
            raise LaunchError(
                f"kernel {kernel.name}, parameter {name}: expected an array ({annotation.short}), "
                f"got {type(given).__name__}"
            )
        if argument.dtype is getattr(annotation, "dtype", None) and argument.ndim == annotation.ndim:
            return argument  # type: ignore[no-any-return]
    if annotation is Any or generics.matches(annotation, array_type(argument.dtype, argument.ndim)):
        return argument  # type: ignore[no-any-return]
    raise LaunchError(
        f"kernel {kernel.name}, parameter {name}: expected an array of {_name(annotation.dtype)} with "
        f"{annotation.ndim} dimension{'s' if annotation.ndim != 1 else ''}, got one of {_name(argument.dtype)} with "
        f"{argument.ndim} (shape {argument.shape})"
    )


def _convert(kernel: Any, name: str, argument: Any, annotation: Any) -> Optional[array]:
    dtype = getattr(annotation, "dtype", None)
    try:
        for converter in foreign_converters:
            converted = converter(argument)
            if converted is not None:
                if converted.dtype is dtype or not _has_components(dtype):
                    return converted
                return converted.view_as_components(dtype)
    except ArrayError as error:
        raise LaunchError(f"kernel {kernel.name}, parameter {name}: {error}") from None
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
            f"kernel {kernel.name}, parameter {name}: expected {_name(annotation)}, got {argument!r} "
            f"({type(argument).__name__})"
        )
    return type_


def bind_value(kernel: Any, name: str, type_: Any, argument: Any, binding: Binding) -> None:
    """Append the leaves of a scalar, composite or struct, and the arrays in it, to ``binding``."""
    try:
        pieces = leaf_values(type_, argument)
    except (TypeError, ValueError, OverflowError) as error:
        raise _misfit(kernel, name, error) from None
    if type_.kind != "struct":
        binding.values += [_packed(piece) for piece in pieces]
        return
    for leaf, piece in zip(leaves(type_), pieces):
        if not isinstance(leaf.type, ArrayRef):
            binding.values.append(_packed(piece))
            continue
        member = piece if piece is not None else array.null(bool_, leaf.type.ndim)
        _bind_array(binding, leaf_label(name, leaf.path), member)


def _packed(piece: Any) -> Any:
    """A leaf as the packer takes it: a large aggregate as bytes."""
    return piece.tobytes() if isinstance(piece, np.ndarray) else piece


def leaf_label(name: str, path: tuple[Any, ...]) -> str:
    """The label of an array inside a struct parameter: ``state.positions``."""
    return ".".join((name, *(str(step) for step in path)))
