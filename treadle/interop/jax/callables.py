"""``jax_callable``: a Python function that launches kernels, as a function of JAX arrays."""

from __future__ import annotations

import ctypes
import hashlib
import itertools
import math
import weakref
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import jax
import numpy as np

from treadle.interop.dims import output_shapes
from treadle.interop.jax.calls import Settings, Shape, call_target
from treadle.interop.jax.graphs import Graphs, Staging
from treadle.interop.jax.host import Addresses, host_handler, prepare_results
from treadle.interop.jax.kernels import checked_method, hashable
from treadle.interop.jax.modes import JaxCallableGraphMode
from treadle.interop.jax.programs import Parameter, Role, array_parameter, value_parameter
from treadle.interop.jax.signature import Argument, Signature
from treadle.interop.jax.targets import register
from treadle.language.bodies import MISSING, Body
from treadle.language.notation import CALLABLE
from treadle.runtime.array import wrap_pointer
from treadle.runtime.elements import from_raw, layout
from treadle.runtime.shapes import contiguous_strides

_created: weakref.WeakSet[JaxCallable] = weakref.WeakSet()
_numbers = itertools.count()


def clear_graphs(callable: JaxCallable | None) -> None:
    """See ``clear_jax_callable_graph_cache``."""
    for one in [callable] if callable is not None else list(_created):
        one.clear_graphs()


class JaxCallable:
    """What ``jax_callable`` returns; see there."""

    def __init__(
        self,
        func: Callable[..., None],
        num_outputs: int,
        graph_mode: JaxCallableGraphMode,
        vmap_method: str,
        output_dims: Any,
        in_out_argnames: Sequence[str],
        stage_in_argnames: Sequence[str] | None,
        stage_out_argnames: Sequence[str] | None,
        graph_cache_max: int | None,
        has_side_effect: bool,
        names: dict[str, Any],
    ) -> None:
        self.func = func
        self.__name__ = getattr(func, "__name__", "callable")
        self.__doc__ = func.__doc__
        where = f"function {self.__name__}"
        self.signature = Signature(where, _parameter_types(func, names, where), num_outputs, in_out_argnames)
        self.graph_mode = JaxCallableGraphMode(graph_mode)
        self.vmap_method = checked_method(vmap_method)
        self.output_dims = output_dims
        self.graph_cache_max = graph_cache_max
        self.has_side_effect = has_side_effect
        self.stage_in = self._names(stage_in_argnames, self.signature.inputs, "stage_in_argnames")
        self.stage_out = self._names(stage_out_argnames, self.signature.outputs, "stage_out_argnames")
        self._prefix = f"treadle.{func.__module__}.{self.__name__}.{next(_numbers)}"
        self._operations: dict[Any, _HostOperation] = {}
        _created.add(self)

    def _names(self, names: Sequence[str] | None, known: Sequence[str], what: str) -> frozenset[str]:
        unknown = sorted(set(names or ()) - set(known))
        if unknown:
            raise ValueError(f"{self.signature.where}: {what} has {', '.join(unknown)}; known are {', '.join(known)}")
        return frozenset(known if names is None else names)

    def __call__(self, *inputs: Any, output_dims: Any = None, vmap_method: str | None = None) -> tuple[Any, ...]:
        """Run the function on these inputs; see ``jax_callable``."""
        arguments = self.signature.bind(inputs)
        output_dims = self.output_dims if output_dims is None else output_dims
        method = checked_method(self.vmap_method if vmap_method is None else vmap_method)
        key = (tuple(a.key for a in arguments), hashable(output_dims), method)
        operation = self._operations.get(key)
        if operation is None:
            name = f"{self._prefix}.{hashlib.sha256(repr(key).encode()).hexdigest()[:24]}"
            operation = self._operations[key] = _HostOperation(self, name, arguments, output_dims, method)
        return tuple(operation.run([a.value for a in arguments if a.value is not None]))

    def clear_graphs(self) -> None:
        """Forget the captured graphs."""
        for operation in list(self._operations.values()):
            operation.graphs.clear()


class _HostOperation:
    """A callable with shapes and static values, registered with XLA."""

    def __init__(
        self, owner: JaxCallable, name: str, arguments: Sequence[Argument], output_dims: Any, vmap_method: str
    ) -> None:
        signature = owner.signature
        given = dict(zip(signature.inputs, arguments))
        self.func = owner.func
        self.types = {n: given[n].type if n in given else type_ for n, type_ in signature.types.items()}
        self.statics = {n: a.static for n, a in given.items() if a.value is None}
        self.shapes: dict[str, Shape] = {n: tuple(a.value.shape) for n, a in given.items() if a.value is not None}
        self._add_outputs(signature, output_dims)
        self.parameters = tuple(self._parameter(n, signature) for n in signature.types if n not in self.statics)
        self.sizes = {p.label: math.prod(self.shapes[p.label]) * p.dtype.itemsize for p in self.parameters}
        self.settings = Settings((), vmap_method, owner.has_side_effect)
        self.name = name
        self.graphs = self._graphs(owner)
        self.run = jax.jit(self._call, inline=True)
        self.handler = host_handler(self.parameters, self.sizes, self._action(owner.graph_mode), signature.where)
        register(name, ctypes.cast(self.handler, ctypes.c_void_p).value or 0)
        _kept.append(self.handler)

    def _add_outputs(self, signature: Signature, output_dims: Any) -> None:
        arrays = [n for n in signature.inputs if self.types[n].kind == "array"]
        default = self.shapes[arrays[0]][: self.types[arrays[0]].ndim] if arrays else None
        new = [n for n in signature.outputs if n not in signature.inputs]
        wanted = [(n, self.types[n].ndim, layout(self.types[n].dtype).shape) for n in new]
        found = output_shapes(output_dims, wanted, default, signature.where)
        self.shapes |= {n: shape + layout(self.types[n].dtype).shape for n, shape in found.items()}

    def _parameter(self, name: str, signature: Signature) -> Parameter:
        type_ = self.types[name]
        if type_.kind != "array":
            return value_parameter(name, Role.TRACED, type_)
        if name not in signature.inputs:
            return array_parameter(name, Role.OUTPUT, type_)
        return array_parameter(name, Role.UPDATED if name in signature.in_out else Role.INPUT, type_)

    def _graphs(self, owner: JaxCallable) -> Graphs | Staging:
        if owner.graph_mode in (JaxCallableGraphMode.WARP_STAGED, JaxCallableGraphMode.WARP_STAGED_EX):
            arrays = [p for p in self.parameters if self.types[p.label].kind == "array"]
            return Staging(arrays, self.sizes, owner.stage_in, owner.stage_out, self.launch)
        return Graphs(self.launch, owner.graph_cache_max)

    def _call(self, operands: Sequence[Any]) -> list[Any]:
        return call_target(self.name, self.parameters, self.shapes, self.settings, operands)

    def _action(self, mode: JaxCallableGraphMode) -> Callable[[Addresses], None]:
        if mode in (JaxCallableGraphMode.NONE, JaxCallableGraphMode.JAX):

            def run_now(addresses: Addresses) -> None:
                prepare_results(self.parameters, self.sizes, addresses)
                self.launch(self._addresses(addresses), self._traced(addresses))

            return run_now

        def replay(addresses: Addresses) -> None:
            prepare_results(self.parameters, self.sizes, addresses)
            self.graphs.run(self._addresses(addresses), self._traced(addresses))

        return replay

    @staticmethod
    def _addresses(addresses: Addresses) -> dict[str, int]:
        """The memory that the function gets: that of the result, if there is one."""
        return {label: result or operand for label, (operand, result) in addresses.items()}

    def _traced(self, addresses: Addresses) -> dict[str, bytes]:
        """The present values of traced scalars and composites."""
        return {
            p.label: ctypes.string_at(addresses[p.label][0], self.sizes[p.label])
            for p in self.parameters
            if p.role is Role.TRACED
        }

    def launch(self, addresses: dict[str, int], traced: dict[str, bytes]) -> None:
        """Call the function on arrays at these addresses."""
        values = []
        for name, type_ in self.types.items():
            if name in self.statics:
                values.append(self.statics[name])
            elif name in traced:
                element = layout(type_)
                values.append(from_raw(type_, np.frombuffer(traced[name], element.dtype).reshape(element.shape)))
            else:
                values.append(self._array(name, type_, addresses[name]))
        self.func(*values)

    def _array(self, name: str, type_: Any, address: int) -> Any:
        shape = self.shapes[name][: type_.ndim]
        strides = contiguous_strides(shape, layout(type_.dtype).size)
        readonly = next(p.role is Role.INPUT for p in self.parameters if p.label == name)
        return wrap_pointer(address, type_.dtype, shape, strides, True, None, readonly)


_kept: list[Any] = []
"""Handlers, which XLA may call as long as the process lives."""


def _parameter_types(func: Callable[..., None], names: dict[str, Any], where: str) -> dict[str, Any]:
    """The annotation of each parameter. ``names``: what stands around the function, for annotations that are text."""
    if not isinstance(func, FunctionType):
        raise TypeError(f"jax_callable: expected a Python function, got {func!r}")
    body = Body(func, locals_=names)
    for name, written in zip(body.parameter_names, body.raw_annotations):
        if written is MISSING or body.annotations[name] in (CALLABLE, type, str):
            raise TypeError(f"{where}: parameter {name} needs the type of an array or a value, as in a kernel")
    return body.annotations
