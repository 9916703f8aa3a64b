"""``jax_kernel``: a kernel as a function of JAX arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treadle.interop.dims import as_shape, output_shapes
from treadle.interop.jax.calls import Settings, Shape
from treadle.interop.jax.modes import VMAP_METHODS
from treadle.interop.jax.operations import Operation
from treadle.interop.jax.programs import Parameter, Program, Role, array_parameter, kernel_program, value_parameter
from treadle.interop.jax.signature import Argument, Signature
from treadle.interop.jax.varying import aligned
from treadle.language.functions import Kernel
from treadle.runtime.binding import launch_extents
from treadle.runtime.compiler import CompiledKernel, Variant
from treadle.runtime.elements import layout


class JaxKernel:
    """What ``jax_kernel`` returns; see there."""

    def __init__(
        self,
        kernel: Any,
        num_outputs: int,
        vmap_method: str,
        launch_dims: Any,
        output_dims: Any,
        in_out_argnames: Sequence[str],
        enable_backward: bool,
        has_side_effect: bool,
    ) -> None:
        if not isinstance(kernel, Kernel):
            raise TypeError(f"jax_kernel: expected a kernel, got {kernel!r}; is the decorator @kernel missing?")
        self.kernel = kernel
        self.signature = Signature(f"kernel {kernel.key}", kernel.parameter_types, num_outputs, in_out_argnames)
        self.vmap_method = checked_method(vmap_method)
        self.launch_dims = launch_dims
        self.output_dims = output_dims
        self.enable_backward = enable_backward
        self.has_side_effect = has_side_effect
        self.__name__ = kernel.name
        self.__doc__ = kernel.__doc__
        self._operations: dict[Any, Operation] = {}
        self._programs: dict[Any, Program] = {}

    def __call__(
        self, *inputs: Any, launch_dims: Any = None, output_dims: Any = None, vmap_method: str | None = None
    ) -> tuple[Any, ...]:
        """Run the kernel on these inputs; see ``jax_kernel``."""
        arguments = self.signature.bind(inputs)
        launch_dims = self.launch_dims if launch_dims is None else launch_dims
        output_dims = self.output_dims if output_dims is None else output_dims
        method = checked_method(self.vmap_method if vmap_method is None else vmap_method)
        operands, varying = aligned([a.value for a in arguments if a.value is not None])
        key = (tuple(a.key for a in arguments), hashable(launch_dims), hashable(output_dims), method, varying)
        operation = self._operations.get(key)
        if operation is None:
            operation = self._operations[key] = self._operation(arguments, launch_dims, output_dims, method)
        results = operation.apply(*operands) if self.enable_backward else operation.run(*operands)
        return tuple(results)

    def _operation(self, arguments: Sequence[Argument], launch_dims: Any, output_dims: Any, method: str) -> Operation:
        signature = self.signature
        given = dict(zip(signature.inputs, arguments))
        types = {name: given[name].type if name in given else type_ for name, type_ in signature.types.items()}
        shapes: dict[str, Shape] = {name: tuple(a.value.shape) for name, a in given.items() if a.value is not None}
        new = [name for name in signature.outputs if name not in given]
        extents = self._extents(given, types, launch_dims)
        wanted = [(name, types[name].ndim, layout(types[name].dtype).shape) for name in new]
        found = output_shapes(output_dims, wanted, extents, signature.where)
        shapes |= {name: shape + layout(types[name].dtype).shape for name, shape in found.items()}
        extents = launch_extents(extents if extents is not None else found[new[0]])
        program = self._program(given, types, len(extents))
        values = {name: a.leaves for name, a in given.items() if a.value is None}
        return Operation(program, shapes, values, Settings(extents, method, self.has_side_effect))

    def _extents(self, given: dict[str, Argument], types: dict[str, Any], launch_dims: Any) -> Shape | None:
        """The extents of the launch; None if they are to be those of the first output."""
        if launch_dims is not None:
            return as_shape(launch_dims, f"{self.signature.where}: launch_dims")
        for name, argument in given.items():
            if types[name].kind == "array":
                shape: Shape = tuple(argument.value.shape[: types[name].ndim])
                return shape
        return None

    def _program(self, given: dict[str, Argument], types: dict[str, Any], launch_ndim: int) -> Program:
        traced = frozenset(name for name, a in given.items() if a.value is not None)
        key = (tuple(types.values()), traced, launch_ndim)
        program = self._programs.get(key)
        if program is None:
            contiguous = tuple(t.kind == "array" for t in types.values())
            compiled = CompiledKernel(self.kernel, Variant(tuple(types.values()), contiguous, launch_ndim))
            self._refuse_changed_inputs(compiled)
            parameters = [self._parameter(name, type_, traced) for name, type_ in types.items()]
            program = self._programs[key] = kernel_program(compiled, parameters)
        return program

    def _refuse_changed_inputs(self, compiled: CompiledKernel) -> None:
        for label in sorted(compiled.written):
            if label not in self.signature.outputs:
                raise ValueError(
                    f"{self.signature.where}, parameter {label}: the kernel writes to it, but it is an input, which "
                    "JAX never changes; name it in in_out_argnames, or put it at the end as an output"
                )

    def _parameter(self, name: str, type_: Any, traced: frozenset[str]) -> Parameter:
        if type_.kind != "array":
            return value_parameter(name, Role.TRACED if name in traced else Role.STATIC, type_)
        if name not in self.signature.inputs:
            return array_parameter(name, Role.OUTPUT, type_)
        return array_parameter(name, Role.UPDATED if name in self.signature.in_out else Role.INPUT, type_)


def checked_method(method: str) -> str:
    """Raises ValueError for what is no way to batch."""
    if method not in VMAP_METHODS:
        raise ValueError(f"vmap_method must be one of {', '.join(VMAP_METHODS)}, not {method!r}")
    return method


def hashable(dims: Any) -> Any:
    """Dimensions as part of a key."""
    if isinstance(dims, dict):
        return tuple((name, hashable(d)) for name, d in dims.items())
    return tuple(dims) if isinstance(dims, list) else dims
