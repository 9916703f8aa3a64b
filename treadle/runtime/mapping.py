"""``map``: a function of the kernel language, a built-in or a lambda, applied to the elements of arrays.

For every function, types and shapes to be broadcast, a kernel is written and launched like a user's own, so that
a tape records it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treadle import frontend
from treadle.errors import LaunchError
from treadle.frontend.values import TupleValue, Typed
from treadle.language.bodies import Body
from treadle.language.builtins import BUILTINS, Builtin
from treadle.language.functions import Function, Kernel
from treadle.language.intrinsics import builtin_for
from treadle.language.overloads import Argument, NoMatch, choose
from treadle.runtime import binding, lambdas
from treadle.runtime.array import array
from treadle.runtime.creation import empty
from treadle.runtime.device import get_device
from treadle.runtime.indexed import indexedarray
from treadle.runtime.launch import launch
from treadle.types import scalars
from treadle.types.arrays import array_type
from treadle.types.indexed import indexed_type
from treadle.types.values import type_of

_KERNELS: dict[Any, tuple[Any, Kernel, tuple[Any, ...]]] = {}
_LAMBDAS: dict[Any, tuple[Any, Function]] = {}
_MOST = 512  # kernels and lambdas that are remembered


@dataclass(frozen=True)
class _Input:
    """An argument: an array to go over, or (``ndim`` 0) a value that all calls get.

    ``type``: that of the parameter of the kernel; ``element``: what the function gets. ``whole``: for each
    dimension whether the array has the extent of the result there, or 1.
    """

    type: Any
    element: Any
    ndim: int = 0
    whole: tuple[bool, ...] = ()


def map_(
    func: Any,
    *inputs: Any,
    out: Any = None,
    return_kernel: bool = False,
    block_dim: int = 256,
    device: Any = None,
) -> Any:
    """Call ``func`` on every element of arrays: ``map(func, a, b)``.

    ``inputs`` are arrays, whose shapes are broadcast as NumPy does, and numbers, vectors, matrices or structs that all
    calls get; at least one is an array. Returns a new array, or a tuple of several where ``func`` returns several
    values; ``out`` is what to write to instead (one array, or a sequence), and is returned. New arrays require a
    gradient if an input does. ``return_kernel``: return the kernel instead, whose parameters are the inputs,
    then the outputs; nothing runs. ``block_dim`` and ``device`` are as for ``launch``.

    Raises:
        TypeError: ``func`` is none of the kernel language, or no argument is an array.
        LaunchError: the shapes do not go together, or ``out`` does not fit.
        CompileError: ``func`` cannot be called with these types, or returns nothing.
    """
    get_device(device)
    function = _function_of(func)
    arguments = [_as_array(value) for value in inputs]
    shape = _broadcast(arguments)
    described = _describe(function, arguments, shape)
    key = (id(function), len(shape), *described)
    known = _KERNELS.get(key)
    if known is None:
        _limit(_KERNELS)
        known = _KERNELS[key] = (function, *_kernel(function, described, len(shape)))
    _, kernel, results = known
    if return_kernel:
        return kernel
    outputs = _outputs(out, results, shape, any(getattr(a, "requires_grad", False) for a in arguments))
    launch(kernel, shape, arguments, outputs, block_dim=block_dim)
    if out is not None:
        return out
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


map_.__name__ = map_.__qualname__ = "map"


def _limit(memory: dict[Any, Any]) -> None:
    while len(memory) >= _MOST:
        del memory[next(iter(memory))]


def _function_of(func: Any) -> Function | Builtin:
    if isinstance(func, Function):
        return func
    builtin = builtin_for(func)
    if builtin is not None:
        return builtin
    code = getattr(func, "__code__", None)
    if code is None or code.co_name != "<lambda>":
        raise TypeError(f"map() takes a function of the kernel language (decorated with @func), not {func!r}")
    key = (id(code), *map(id, func.__closure__ or ()))
    known = _LAMBDAS.get(key)
    if known is None:
        _limit(_LAMBDAS)
        known = _LAMBDAS[key] = (func, lambdas.from_lambda(func))
    return known[1]


def _as_array(value: Any) -> Any:
    """An array of another framework as one of ours; anything else unchanged."""
    if isinstance(value, (array, indexedarray)) or np.isscalar(value):
        return value
    for converter in binding.foreign_converters:
        converted = converter(value)
        if converted is not None:
            return converted
    return value


def _broadcast(arguments: Sequence[Any]) -> tuple[int, ...]:
    shapes = [a.shape for a in arguments if isinstance(a, (array, indexedarray))]
    if not shapes:
        raise TypeError("map() needs at least one array among the arguments")
    try:
        return tuple(np.broadcast_shapes(*shapes))
    except ValueError:
        raise LaunchError(f"map: arrays of the shapes {', '.join(map(str, shapes))} do not go together") from None


def _describe(function: Function | Builtin, arguments: Sequence[Any], shape: tuple[int, ...]) -> tuple[_Input, ...]:
    """What is to be known of each argument. A Python number takes the type that the function wants."""
    found: list[_Input | None] = []
    for argument in arguments:
        if isinstance(argument, (array, indexedarray)):
            make = array_type if isinstance(argument, array) else indexed_type
            whole = tuple(a == b for a, b in zip(argument.shape, shape[len(shape) - argument.ndim :]))
            found.append(_Input(make(argument.dtype, argument.ndim), argument.dtype, argument.ndim, whole))
        elif type(argument) in (bool, int, float, tuple, list):
            found.append(None)
        else:
            type_ = type_of(argument)
            found.append(_Input(type_, type_))
    wanted = _wanted(function, arguments, found)
    return tuple(known or _Input(type_, type_) for known, type_ in zip(found, wanted))


def _wanted(function: Function | Builtin, arguments: Sequence[Any], found: Sequence[_Input | None]) -> list[Any]:
    """The type that each argument without a type of its own is to have; None for the others."""
    scalar = next((getattr(i.element, "dtype", i.element) for i in found if i is not None), scalars.float32)
    wanted: list[Any] = [
        None if known is not None or isinstance(value, (tuple, list)) else _default(value, scalar)
        for known, value in zip(found, arguments)
    ]

    def describe(position: int) -> Argument:
        known = found[position]
        if known is not None:
            return Argument(known.element)
        type_ = wanted[position]
        return Argument(type_, flexible=True) if type_ is not None else Argument(None, object=arguments[position])

    candidates = _candidates(function)
    if len(candidates) == 1 and len(candidates[0].annotations) >= len(arguments):
        for position, annotation in enumerate(list(candidates[0].annotations.values())[: len(arguments)]):
            if isinstance(annotation, type) and hasattr(annotation, "kind"):
                wanted[position] = annotation
    elif candidates:
        try:
            chosen = choose(candidates, range(len(arguments)), {}, describe).types
            wanted = [own if own is not None else type_ for own, type_ in zip(chosen, wanted)]
        except NoMatch:
            pass  # the compiler will tell, with the signatures
    for type_, known, value in zip(wanted, found, arguments):
        if type_ is None and known is None:
            raise TypeError(f"map: the type of {value!r} is not clear; give a vector or a matrix")
    return wanted


def _default(value: Any, scalar: Any) -> Any:
    """The type of a number that meets ``Any``: that of the first argument's scalars, if it can hold the number."""
    fits = scalars.is_scalar(scalar) and (scalar.is_float or (scalar.is_integer and type(value) is int))
    return scalar if fits and type(value) is not bool else type_of(value)


def _candidates(function: Function | Builtin) -> Sequence[Any]:
    """The overloads that a call chooses among; none for an intrinsic."""
    if isinstance(function, Function):
        return function.bodies
    return () if function.is_intrinsic else function.candidates


def _kernel(function: Function | Builtin, inputs: tuple[_Input, ...], ndim: int) -> tuple[Kernel, tuple[Any, ...]]:
    """The kernel for inputs of a kind, and the types of the results."""
    names: dict[str, Any] = {"function": function, "__name__": getattr(function, "__module__", None) or __name__}
    names["tid"] = BUILTINS["tid"]
    names.update({f"t{k}": item.type for k, item in enumerate(inputs)})
    names.update({f"e{k}": item.element for k, item in enumerate(inputs)})
    parameters = [f"a{k}" for k in range(len(inputs))]
    call = f"function({', '.join(parameters)})"
    probe = f"def {function.name}({', '.join(f'a{k}: e{k}' for k in range(len(inputs)))}):\n    return {call}\n"
    instance = frontend.build_function(Body(lambdas.from_text(probe, names)), [item.element for item in inputs])
    results = _results(instance.result)
    if not results:
        raise LaunchError(f"map: {function.name} returns nothing")
    names.update({f"r{k}": array_type(type_, ndim) for k, type_ in enumerate(results)})
    index = [f"i{axis}" for axis in range(ndim)]
    elements = [_element(k, item, index) for k, item in enumerate(inputs)]
    targets = [f"out{k}[{', '.join(index)}]" for k in range(len(results))]
    declared = [*(f"a{k}: t{k}" for k in range(len(inputs))), *(f"out{k}: r{k}" for k in range(len(results)))]
    text = (
        f"def map_{function.name}({', '.join(declared)}):\n"
        f"    {', '.join(index)} = tid()\n"
        f"    {', '.join(targets)} = function({', '.join(elements)})\n"
    )
    return Kernel(lambdas.from_text(text, names)), results


def _element(k: int, item: _Input, index: Sequence[str]) -> str:
    if not item.ndim:
        return f"a{k}"
    used = [name if whole else "0" for name, whole in zip(index[len(index) - item.ndim :], item.whole)]
    return f"a{k}[{', '.join(used)}]"


def _results(result: Any) -> tuple[Any, ...]:
    """The types of what a function returns."""
    if isinstance(result, TupleValue):
        return tuple(type_ for item in result.items for type_ in _results(item))
    return (result.type,) if isinstance(result, Typed) else ()


def _outputs(out: Any, results: tuple[Any, ...], shape: tuple[int, ...], requires_grad: bool) -> list[Any]:
    if out is None:
        return [empty(shape, dtype=type_, requires_grad=requires_grad and _differentiable(type_)) for type_ in results]
    outputs = list(out) if isinstance(out, (tuple, list)) else [out]
    if len(outputs) != len(results):
        raise LaunchError(f"map: the function returns {len(results)} value(s), but out has {len(outputs)} array(s)")
    for output, type_ in zip(outputs, results):
        if not isinstance(output, array) or output.dtype is not type_ or output.shape != shape:
            is_array = isinstance(output, array)
            what = f"one of {output.dtype!r} of shape {output.shape}" if is_array else repr(output)
            raise LaunchError(f"map: out must be an array of {type_!r} of shape {shape}, not {what}")
    return outputs


def _differentiable(type_: Any) -> bool:
    scalar = getattr(type_, "dtype", type_)
    return not scalars.is_scalar(scalar) or bool(scalar.is_float)
