"""``torch_op``: a kernel as an operator of PyTorch that can be differentiated, compiled and batched.

The operator has two parts in PyTorch's registry: the kernel, and its adjoint. The shapes of outputs are worked out
before either is called, so that PyTorch can trace both without running them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from treadle.ad import DerivativeError
from treadle.errors import ArrayError
from treadle.interop.dims import Shape, as_shape, output_shapes
from treadle.interop.torch import dtype_to_torch, wrap_tensor
from treadle.interop.torch_parameters import Parameter, parameters_of
from treadle.language.functions import Kernel
from treadle.runtime.array import array
from treadle.runtime.binding import bind
from treadle.runtime.elements import layout
from treadle.runtime.execution import run
from treadle.runtime.launch import adjoint_call, adjoint_request, launch
from treadle.runtime.recording import activate
from treadle.tape import Tape

__all__ = ["TorchOp"]

Tensor = torch.Tensor
_numbers = itertools.count(2)


class TorchOp:
    """What ``torch_op`` returns; see there."""

    def __init__(
        self,
        kernel: Any,
        num_outputs: int,
        launch_dims: Any,
        output_dims: Any,
        in_out_argnames: Sequence[str],
        name: str | None,
    ) -> None:
        if not isinstance(kernel, Kernel):
            raise TypeError(f"torch_op: expected a kernel, got {kernel!r}; is the decorator @kernel missing?")
        self.kernel = kernel
        self.where = f"kernel {kernel.key}"
        self.parameters = parameters_of(kernel, num_outputs, in_out_argnames)
        self.inputs = [p for p in self.parameters if p.role != "out"]
        self.new = [p for p in self.parameters if p.role == "out"]
        self.launch_dims = launch_dims
        self.output_dims = output_dims
        self._wanted = [(p.name, p.ndim, p.components) for p in self.new]
        self._dtypes = [dtype_to_torch(layout(p.type.dtype).scalar) for p in self.new]
        self._changed = frozenset(p.name for p in self.parameters if p.role != "in")
        self._count = sum(p.role != "in" for p in self.parameters)
        self.name = _unused_name(kernel) if name is None else name
        self.__name__ = kernel.name
        self.__doc__ = kernel.__doc__
        self._op = self._register()

    def __call__(self, *inputs: Any, launch_dims: Any = None, output_dims: Any = None) -> Any:
        """Run the kernel on these inputs; see ``torch_op``."""
        if len(inputs) != len(self.inputs):
            names = ", ".join([p.name for p in self.inputs])
            raise TypeError(f"{self.where} takes {len(self.inputs)} inputs ({names}), not {len(inputs)}")
        extents = self._extents(inputs, self.launch_dims if launch_dims is None else launch_dims)
        given = self.output_dims if output_dims is None else output_dims
        shapes = output_shapes(given, self._wanted, extents, self.where)
        if extents is None:
            extents = shapes[self.new[0].name]
        sizes = [size for p in self.new for size in (*shapes[p.name], *p.components)]
        arguments = [v if p.is_array or not p.components else _flat(v) for p, v in zip(self.inputs, inputs)]
        if _is_transforming():
            apply: Any = _Transformable.apply
            return apply(self, *arguments, list(extents), sizes, 0)
        return self._op(*arguments, list(extents), sizes, 0)

    def _extents(self, inputs: Sequence[Any], launch_dims: Any) -> Shape | None:
        """The extents of the launch; None if they are to be those of the first output."""
        if launch_dims is not None:
            return as_shape(launch_dims, f"{self.where}: launch_dims")
        for p, value in zip(self.inputs, inputs):
            if p.is_array:
                if not isinstance(value, Tensor):
                    raise TypeError(f"{self.where}, parameter {p.name}: expected a tensor, got {type(value).__name__}")
                if value.ndim != p.ndim + len(p.components):
                    raise TypeError(
                        f"{self.where}, parameter {p.name}: expected a tensor with {p.ndim} dimension(s)"
                        + (f" and the components {p.components}" if p.components else "")
                        + f", got one of shape {tuple(value.shape)}"
                    )
                return tuple(value.shape[: p.ndim])
        return None

    # -- Registration

    def _register(self) -> Any:
        arguments = ", ".join(f"{p.schema} {p.name}" for p in self.inputs)
        dims = "SymInt[] launch_dims_, SymInt[] sizes_, int batch_"
        results = ", ".join(["Tensor"] * self._count)
        schema = f"({arguments}, {dims}) -> " + (f"({results})" if self._count > 1 else results)
        schema = schema.replace("(, ", "(")
        op = torch.library.custom_op(self.name, self._forward, mutates_args=(), schema=schema)
        op.register_fake(self._fake)
        op.register_vmap(self._vmap)
        backward = torch.library.custom_op(
            f"{self.name}_backward",
            self._backward,
            mutates_args=(),
            schema=f"({arguments}, {dims}, Tensor[] gradients_, bool[] wanted_) -> Tensor[]".replace("(, ", "("),
        )
        backward.register_fake(self._fake_backward)
        backward.register_vmap(self._vmap_backward)
        backward.register_autograd(self._refuse_second)
        self._backward_op = backward
        op.register_autograd(
            lambda ctx, *gradients: self._pass_back(ctx, ctx.needs_input_grad, gradients), setup_context=self._set_up
        )
        return op

    def _new_tensors(self, sizes: Sequence[int], batch: Sequence[int], make: Any) -> list[Tensor]:
        """One tensor for each new output; ``sizes`` are their shapes in a row."""
        made, start = [], 0
        for p, dtype in zip(self.new, self._dtypes):
            rank = p.ndim + len(p.components)
            made.append(make((*batch, *sizes[start : start + rank]), dtype=dtype))
            start += rank
        return made

    def _batch(self, arguments: Sequence[Any], batch: int) -> tuple[int, ...]:
        """The extents of the batch dimensions, which all arrays have."""
        if not batch:
            return ()
        return tuple(next(v for p, v in zip(self.inputs, arguments) if p.is_array).shape[:batch])

    def _packed(self, results: list[Tensor]) -> Any:
        return results[0] if len(results) == 1 else tuple(results)

    # -- The kernel

    def _forward(self, *arguments: Any) -> Any:
        *values, extents, sizes, batch = arguments
        shape = self._batch(values, batch)
        updated = [v.clone(memory_format=torch.contiguous_format) for v in self._updated(values)]
        new = self._new_tensors(sizes, shape, torch.zeros)
        for index in np.ndindex(shape):
            self._launch(values, [t[index] for t in (*updated, *new)], extents, index)
        return self._packed(updated + new)

    def _launch(self, values: Sequence[Any], outputs: Sequence[Tensor], extents: Shape, index: Any) -> None:
        """One launch, for one element of the batch."""
        given = iter(outputs)
        arguments = [
            self._array(p, v[index])
            if p.role == "in" and p.is_array
            else self._array(p, next(given))
            if p.is_array
            else _value(p, v)
            for p, v in self._slots(values)
        ]
        binding = bind(self.kernel, arguments, tuple(extents))
        wrong = binding.compiled.written - self._changed
        if wrong:
            raise ValueError(
                f"{self.where}, parameter {min(wrong)}: the kernel writes to it, but it is an input of an operator; "
                "name it in in_out_argnames, or put it at the end as an output"
            )
        run(binding.compiled.forward, self.kernel, tuple(extents), binding.values, None, binding)

    def _slots(self, values: Sequence[Any]) -> list[tuple[Parameter, Any]]:
        """Every parameter with the value given for it; None for new outputs."""
        return [*zip(self.inputs, values), *((p, None) for p in self.new)]

    def _updated(self, values: Sequence[Any]) -> list[Tensor]:
        return [v for p, v in zip(self.inputs, values) if p.role == "updated"]

    def _array(self, p: Parameter, tensor: Tensor) -> array:
        """A tensor as an argument; the components of a tensor are made contiguous."""
        if p.components and not _ends_contiguous(tensor, len(p.components)):
            tensor = tensor.contiguous()
        try:
            return wrap_tensor(tensor, p.type.dtype if p.components else None)
        except TypeError as error:
            raise ArrayError(f"{self.where}, parameter {p.name}: {error}") from None

    def _fake(self, *arguments: Any) -> Any:
        *values, _, sizes, batch = arguments
        updated = [torch.empty_like(v, memory_format=torch.contiguous_format) for v in self._updated(values)]
        return self._packed(updated + self._new_tensors(sizes, self._batch(values, batch), torch.empty))

    # -- The adjoint

    def _set_up(self, ctx: Any, inputs: Sequence[Any], output: Any) -> None:
        ctx.save_for_backward(*[v for v in inputs if isinstance(v, Tensor)])
        ctx.others = [None if isinstance(v, Tensor) else v for v in inputs]

    def _pass_back(self, ctx: Any, needs: Sequence[bool], gradients: Sequence[Tensor]) -> tuple[Any, ...]:
        saved = iter(ctx.saved_tensors)
        arguments = [next(saved) if p.is_array else v for p, v in zip(self.inputs, ctx.others)]
        wanted = [need for p, need in zip(self.inputs, needs) if p.is_array]
        arguments += [*ctx.others[len(self.inputs) :], list(gradients), wanted]
        if _is_transforming():
            apply: Any = _TransformableBackward.apply
            found = iter(apply(self, len(gradients), *arguments[:-2], *gradients, wanted))
        else:
            found = iter(self._backward_op(*arguments))
        results: list[Tensor | None] = []
        for p, need in zip(self.inputs, needs):
            gradient = next(found) if p.is_array else None
            results.append(gradient if need else None)
        return (*results, None, None, None)

    def _refuse_second(self, ctx: Any, *gradients: Any) -> Any:
        raise DerivativeError(f"{self.where}: an operator made by torch_op has no second derivative")

    def _backward(self, *arguments: Any) -> list[Tensor]:
        *values, extents, sizes, batch, gradients, wanted = arguments
        shape = self._batch(values, batch)
        incoming = [g.clone(memory_format=torch.contiguous_format) for g in gradients]  # the adjoint consumes them
        results = self._gradient_tensors(values, wanted, incoming)
        for index in np.ndindex(shape):
            self._launch_adjoint(values, sizes, extents, index, [t[index] for t in incoming], results)
        return results

    def _gradient_tensors(self, values: Sequence[Any], wanted: Sequence[bool], incoming: list[Tensor]) -> list[Tensor]:
        """Where the gradients of the arrays among the inputs go; that of an updated one is where its own comes from."""
        flags, own = iter(wanted), iter(incoming)
        found = []
        for p, v in zip(self.inputs, values):
            if p.is_array:
                need = next(flags)
                if p.role == "updated":
                    found.append(next(own))
                else:
                    found.append(torch.zeros(v.shape, dtype=v.dtype) if need else torch.empty(0, dtype=v.dtype))
        return found

    def _launch_adjoint(
        self,
        values: Sequence[Any],
        sizes: Sequence[int],
        extents: Shape,
        index: Any,
        incoming: Sequence[Tensor],
        results: Sequence[Tensor],
    ) -> None:
        new = iter(self._new_tensors(sizes, (), torch.zeros))
        outputs, places = iter(incoming), iter(results)
        arguments, seeds = [], {}
        for p, v in self._slots(values):
            if not p.is_array:
                arguments.append(_value(p, v))
                continue
            argument = self._array(p, next(new) if p.role == "out" else v[index])
            place = None if p.role == "out" else next(places)
            if p.role != "in":
                seeds[p.name] = self._array(p, next(outputs))
            elif place is not None and place.shape == v.shape:
                argument.grad = self._array(p, place[index])
            arguments.append(argument)
        self._play_back(arguments, extents, seeds)

    def _play_back(self, arguments: list[Any], extents: Shape, seeds: dict[str, array]) -> None:
        """Run the adjoint on gradients that are given: those of outputs in ``seeds``, those of inputs as ``grad``."""
        binding = bind(self.kernel, arguments, tuple(extents))
        gradients = {label: a.grad for label, a in binding.arrays.items() if a.grad is not None} | seeds
        request = adjoint_request(binding, gradients)
        adjoint = binding.compiled.adjoint(request)
        lost = (adjoint.needed | adjoint.needed_after) & self._changed
        if adjoint.error is None and (adjoint.reads_log or lost):
            self._play_tape(arguments, extents, seeds)
            return
        executable, words = adjoint_call(binding, request, gradients)
        run(executable, self.kernel, tuple(extents), words, None, (binding, gradients))

    def _play_tape(self, arguments: list[Any], extents: Shape, seeds: dict[str, array]) -> None:
        """The adjoint needs what the launch overwrites, or what its atomics return: run it again, on a tape."""
        for k, p in enumerate(self.parameters):
            if p.role == "updated":
                arguments[k] = wrap_tensor(torch.from_numpy(arguments[k].host().copy()), p.type.dtype)
            if p.role != "in":
                arguments[k].grad = seeds[p.name]
        before = activate(None)
        try:
            with Tape() as tape:
                launch(self.kernel, extents, arguments)
            tape.backward()
        finally:
            activate(before)

    def _fake_backward(self, *arguments: Any) -> list[Tensor]:
        *values, _, _, _, gradients, wanted = arguments
        return self._gradient_tensors(values, wanted, [torch.empty_like(g) for g in gradients])

    # -- Batching

    def _vmap(self, info: Any, in_dims: Sequence[Any], *arguments: Any) -> tuple[Any, Any]:
        *values, extents, sizes, batch = arguments
        results = self._op(*_in_front(values, in_dims, info.batch_size), extents, sizes, batch + 1)
        return results, self._batched_results()

    def _batched_results(self) -> Any:
        """Where the batch dimension of the results is."""
        return 0 if self._count == 1 else (0,) * self._count

    def _vmap_backward(self, info: Any, in_dims: Sequence[Any], *arguments: Any) -> tuple[Any, Any]:
        *values, extents, sizes, batch, gradients, wanted = arguments
        places = in_dims[-2] if in_dims[-2] is not None else [None] * len(gradients)
        gradients = _in_front(gradients, places, info.batch_size)
        values = _in_front(values, in_dims, info.batch_size)
        results = self._backward_op(*values, extents, sizes, batch + 1, gradients, wanted)
        return results, list(self._batched_gradients(wanted))

    def _batched_gradients(self, wanted: Sequence[bool]) -> tuple[int | None, ...]:
        """Where the batch dimension of the gradients is; there is none where no gradient is wanted."""
        arrays = [p for p in self.inputs if p.is_array]
        return tuple(0 if need or p.role == "updated" else None for p, need in zip(arrays, wanted))


def _is_transforming() -> bool:
    """Whether a function of ``torch.func`` is at work, outside of a compiler, which has its own ways."""
    return not torch.compiler.is_compiling() and torch._C._are_functorch_transforms_active()


class _Transformable(torch.autograd.Function):
    """The same operator for ``torch.func``, whose ``grad`` and the like do not know what the registry knows."""

    @staticmethod
    def forward(op: TorchOp, *arguments: Any) -> Any:
        return op._op(*arguments)

    @staticmethod
    def setup_context(ctx: Any, inputs: Sequence[Any], output: Any) -> None:
        ctx.op = inputs[0]
        ctx.op._set_up(ctx, inputs[1:], output)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        return (None, *ctx.op._pass_back(ctx, ctx.needs_input_grad[1:], gradients))

    @staticmethod
    def vmap(info: Any, in_dims: Sequence[Any], op: TorchOp, *arguments: Any) -> tuple[Any, Any]:
        *values, extents, sizes, batch = arguments
        apply: Any = _Transformable.apply
        results = apply(op, *_in_front(values, in_dims[1:], info.batch_size), extents, sizes, batch + 1)
        return results, op._batched_results()


class _TransformableBackward(torch.autograd.Function):
    """The adjoint for ``torch.func``. ``count``: how many gradients of outputs there are, before the last argument."""

    @staticmethod
    def forward(op: TorchOp, count: int, *arguments: Any) -> tuple[Tensor, ...]:
        first = len(arguments) - 1 - count
        return tuple(op._backward_op(*arguments[:first], list(arguments[first:-1]), arguments[-1]))

    @staticmethod
    def setup_context(ctx: Any, inputs: Sequence[Any], output: Any) -> None:
        ctx.op = inputs[0]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        return ctx.op._refuse_second(ctx)  # type: ignore[no-any-return]

    @staticmethod
    def vmap(info: Any, in_dims: Sequence[Any], op: TorchOp, count: int, *arguments: Any) -> tuple[Any, Any]:
        wanted = arguments[-1]
        moved = _in_front(arguments, in_dims[2:], info.batch_size)
        moved[len(op.inputs) + 2] += 1  # how many dimensions the batch has
        apply: Any = _TransformableBackward.apply
        return apply(op, count, *moved), op._batched_gradients(wanted)


def _unused_name(kernel: Kernel) -> str:
    name = f"treadle::{re.sub(r'[^A-Za-z0-9_]', '_', kernel.key)}"
    if hasattr(torch.ops.treadle, name.split("::")[1]):
        name += f"_{next(_numbers)}"
    return name


def _flat(value: Any) -> list[Any]:
    """The components of a vector or matrix in a row."""
    return [x for part in value for x in _flat(part)] if hasattr(value, "__iter__") else [value]


def _value(p: Parameter, value: Any) -> Any:
    return p.type(*value) if p.components else value


def _ends_contiguous(tensor: Tensor, count: int) -> bool:
    """Whether the last ``count`` dimensions are contiguous."""
    expected = 1
    for size, stride in zip(reversed(tensor.shape[-count:]), reversed(tensor.stride()[-count:])):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def _in_front(values: Sequence[Any], in_dims: Sequence[Any], size: int) -> list[Any]:
    """The batch dimension first, in all tensors; those that have none repeat without a copy."""
    moved = []
    for value, dim in zip(values, in_dims):
        if isinstance(value, Tensor):
            value = value.unsqueeze(0).expand(size, *value.shape) if dim is None else value.movedim(dim, 0)
        moved.append(value)
    return moved
