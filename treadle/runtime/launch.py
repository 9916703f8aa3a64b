"""``launch`` and recorded commands.

Binding of arguments is in ``binding``, compilation in ``compiler``, running in ``execution``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Optional

from treadle.errors import LaunchError, OverwriteError
from treadle.language.functions import Kernel
from treadle.runtime import capturing
from treadle.runtime.array import array
from treadle.runtime.binding import MAX_EXTENT, Binding, as_array, bind, launch_extents, leaf_label
from treadle.runtime.compiler import Executable, Request
from treadle.runtime.device import get_device
from treadle.runtime.execution import padded, run, run_packed
from treadle.runtime.recording import active
from treadle.types.layout import leaves
from treadle.types.storage import ArrayRef


def launch(
    kernel: Any,
    dim: Any,
    inputs: Sequence[Any] = (),
    outputs: Sequence[Any] = (),
    adj_inputs: Sequence[Any] = (),
    adj_outputs: Sequence[Any] = (),
    device: Any = None,
    stream: Any = None,
    adjoint: bool = False,
    record_tape: bool = True,
    record_cmd: bool = False,
    max_blocks: int = 0,
    block_dim: int = 256,
) -> Optional[Command]:
    """Run a kernel on ``dim`` threads.

    Args:
        kernel: a function decorated with ``@kernel``.
        dim: the number of threads, or up to four extents.
        inputs, outputs: the arguments; which of the two is of interest to readers alone.
        adj_inputs, adj_outputs: with ``adjoint``: the gradient arrays of the arguments. None, or
            missing at the end: the array's own ``grad``.
        device: where to run; None is the current device.
        stream: accepted for programs written for CUDA; the CPU runs in order.
        adjoint: run the adjoint of the kernel instead.
        record_tape: whether an active tape records the launch.
        record_cmd: do not run, but return a command that can be run many times.
        max_blocks, block_dim: accepted for programs written for CUDA.

    Raises:
        LaunchError: arguments that do not fit the kernel; nothing has run.
        KernelError: an assertion failed in the kernel.
    """
    if not isinstance(kernel, Kernel):
        raise LaunchError(f"launch: expected a kernel, got {kernel!r}; is the decorator @kernel missing?")
    get_device(device)
    extents = launch_extents(dim)
    binding = bind(kernel, [*inputs, *outputs], len(extents))
    if len(extents) > 1 and binding.compiled.asks_flat_index and math.prod(extents) > MAX_EXTENT:
        raise LaunchError(
            f"kernel {kernel.key} asks for the flat index of its threads, which does not fit an int32 in a launch of {extents}"
        )
    if adjoint:
        gradients = given_gradients(kernel, binding, [*adj_inputs], [*adj_outputs], len(inputs))
        request = adjoint_request(binding, gradients)
        refuse_lost(binding, request)
        executable, values = adjoint_call(binding, request, gradients)
    else:
        gradients = None
        executable, values = binding.compiled.forward, binding.values
    if record_cmd:
        return Command(kernel, extents, [*inputs, *outputs], executable, values, binding, gradients)
    recorder = active.recorder
    if recorder is not None and record_tape and not adjoint:
        recorder.record_binding(binding, extents, inputs, outputs).run_forward()
    else:
        run(executable, kernel, extents, values, None, (binding, gradients))
    return None


def own_gradients(arrays: Mapping[str, array]) -> dict[str, array]:
    """The ``grad`` of each array that has one, by label."""
    return {label: gradient for label, a in arrays.items() if (gradient := a.grad) is not None}


def given_gradients(
    kernel: Any, binding: Binding, adj_inputs: list[Any], adj_outputs: list[Any], input_count: int
) -> dict[str, array]:
    """The gradient arrays of an adjoint launch: those given, else each array's own.

    Raises:
        LaunchError: a gradient whose shape or dtype is not that of its array.
    """
    adj_inputs += [None] * (input_count - len(adj_inputs))
    given = adj_inputs + adj_outputs
    gradients = own_gradients(binding.arrays)
    for (name, annotation), type_, gradient in zip(kernel.parameter_types.items(), binding.compiled.variant.types, given):
        if gradient is None:
            continue
        if type_.kind == "array":
            gradient = as_array(kernel, f"{name} (its gradient)", type_, gradient)
            if gradient.shape != binding.arrays[name].shape:
                raise LaunchError(
                    f"kernel {kernel.key}, parameter {name}: its gradient has shape {gradient.shape}, "
                    f"the array {binding.arrays[name].shape}"
                )
            gradients[name] = gradient
        elif type_.kind == "struct":
            gradients.update(_struct_gradients(name, type_, gradient))
    return gradients


def _struct_gradients(name: str, type_: Any, gradient: Any) -> dict[str, array]:
    """The arrays in a struct of gradients, by label."""
    found = {}
    for leaf in leaves(type_):
        if isinstance(leaf.type, ArrayRef):
            member = gradient
            for step in leaf.path:
                member = getattr(member, step)
            if member is not None:
                found[leaf_label(name, leaf.path)] = member
    return found


def adjoint_request(binding: Binding, gradients: Mapping[str, array]) -> Request:
    """The request for the adjoint of a bound launch with these gradients, by label."""
    contiguous = True
    for label, gradient in gradients.items():
        if not gradient.is_contiguous and binding.arrays[label].is_contiguous:
            contiguous = False
    request: Request = binding.compiled.request(gradients, contiguous)
    return request


def refuse_lost(binding: Binding, request: Request) -> None:
    """Refuse an adjoint launch without a tape that needs what the forward launch has overwritten.

    Raises:
        OverwriteError: the kernel writes to memory whose former contents the adjoint needs.
    """
    compiled, arrays = binding.compiled, binding.arrays
    adjoint = compiled.adjoint(request)
    if adjoint.reads_log:
        raise OverwriteError(
            f"kernel {compiled.kernel.key}: the gradient needs the values that its atomics returned, "
            "which only a launch recorded by a Tape keeps"
        )
    for read in sorted(adjoint.needed):
        for written in compiled.written:
            if overlaps(arrays[read], arrays[written]):
                raise OverwriteError(
                    f"kernel {compiled.kernel.key} overwrites array {read}, whose former contents the gradient needs: "
                    "record the launch with a Tape, which keeps them, or write to another array"
                )


def overlaps(first: array, second: array) -> bool:
    """Whether two arrays may share memory, judged by the addresses of their first and last bytes."""
    first_start, first_end = first.extent
    second_start, second_end = second.extent
    return first_start < second_end and second_start < first_end


def adjoint_call(
    binding: Binding, request: Request, gradients: Mapping[str, array], retained: Mapping[str, array] = {}
) -> tuple[Executable, list[Any]]:
    """The adjoint of a bound launch, with the values to pack.

    ``retained``: for the labels in ``request.retained``, where consumed gradients are kept.

    Raises:
        DerivativeError: the kernel has no adjoint for these gradients.
    """
    compiled = binding.compiled
    executable = compiled.adjoint_executable(request)
    values = list(binding.values)
    for label in compiled.array_labels:
        if label in request.active:
            values += gradients[label]._descriptor
    for label in compiled.array_labels if request.retained else ():
        if label in request.retained:
            values += retained[label]._descriptor
    return executable, values


class Command:
    """A launch with its arguments checked and packed, to be run many times by ``launch()``."""

    def __init__(
        self,
        kernel: Any,
        extents: tuple[int, ...],
        arguments: list[Any],
        executable: Executable,
        values: list[Any],
        binding: Binding,
        gradients: Any = None,
    ) -> None:
        self.kernel = kernel
        self._extents = extents
        self._arguments = arguments
        self._executable = executable
        self._binding = binding
        self._gradients = gradients  # the packed arguments refer to their memory
        self._pack(values)

    def _pack(self, values: list[Any]) -> None:
        self._packed = self._executable.pack(*padded(self._extents), *values)
        self._total = 1
        for extent in self._extents:
            self._total *= extent

    def _rebind(self) -> None:
        self._binding = bind(self.kernel, self._arguments, len(self._extents))
        self._executable = self._binding.compiled.forward
        self._pack(self._binding.values)

    def set_dim(self, dim: Any) -> None:
        """Change the number of threads."""
        self._extents = launch_extents(dim)
        self._rebind()

    def set_param_at_index(self, index: int, value: Any) -> None:
        """Change one argument, by position."""
        self._arguments[index] = value
        self._rebind()

    def set_param_by_name(self, name: str, value: Any) -> None:
        """Change one argument, by name.

        Raises:
            LaunchError: the kernel has no such parameter.
        """
        names = list(self.kernel.parameter_names)
        if name not in names:
            raise LaunchError(f"kernel {self.kernel.key} has no parameter {name}; it has {', '.join(names)}")
        self.set_param_at_index(names.index(name), value)

    def set_params(self, values: Sequence[Any]) -> None:
        """Change the arguments from the first on."""
        self._arguments[: len(values)] = values
        self._rebind()

    def launch(self, stream: Any = None) -> None:
        """Run the command."""
        if not self._total:
            return
        if capturing.active.capture is None:
            run_packed(self._executable, self.kernel, self._packed, self._total)
        else:
            step = partial(run_packed, self._executable, self.kernel, self._packed, self._total)
            capturing.perform(step, (self._binding, self._gradients))
