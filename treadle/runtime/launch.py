"""``launch`` and recorded commands.

Binding of arguments is in ``binding``, compilation in ``compiler``, running in ``execution``.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any, Optional

from treadle.ad import DerivativeError
from treadle.errors import LaunchError, OverwriteError
from treadle.language.functions import Kernel
from treadle.runtime import capturing, members
from treadle.runtime.array import array, make
from treadle.runtime.binding import Binding, as_array, bind, bound, launch_extents, leaf_label
from treadle.runtime.compiler import Adjoint, CompiledKernel, Executable, Request
from treadle.runtime.copying import transfer
from treadle.runtime.device import get_device
from treadle.runtime.execution import run, run_packed
from treadle.runtime.layouts import new_layout
from treadle.runtime.recording import active
from treadle.runtime.writes import announce, watch
from treadle.types.arrays import array_type
from treadle.types.indexed import indexed_elements
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
            missing at the end: the array's own ``grad``, which is consumed where the kernel writes. Those in
            ``adj_outputs`` are only read; an array that the kernel updates has its gradient in ``adj_inputs``.
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
    if device is not None:
        get_device(device)
    extents = launch_extents(dim)
    given = _Given.of(adj_inputs or (), adj_outputs or (), len(inputs)) if adjoint else None
    if record_cmd:
        return Command(kernel, extents, [*inputs, *outputs], given, record_tape)
    parts = bound(kernel, [*inputs, *outputs], extents)
    recorder = active.recorder
    if given is not None:
        binding = Binding(*parts)
        call = _adjoint_of(binding, given)
        call.prepare()
        run(call.executable, kernel, extents, call.values, None, (binding, call))
    elif recorder is not None and record_tape:
        recorder.record_binding(Binding(*parts), extents, inputs, outputs).run_forward()
    else:
        compiled, values, arrays, _ = parts
        if watch.is_wanted:
            announce_writes(compiled, arrays)
        run(compiled.forward, kernel, extents, values, None, parts)
    return None


def announce_writes(compiled: CompiledKernel, arrays: Mapping[str, array]) -> None:
    """Say that a kernel is about to write to arrays, given by label."""
    for label in compiled.written:
        announce(arrays[label])


@dataclass(frozen=True, slots=True)
class _Given:
    """The gradients given for an adjoint launch, in the order of the parameters, None for those that are not given.

    Those after the first ``input_count`` must not be written.
    """

    gradients: list[Any]
    input_count: int

    @classmethod
    def of(cls, adj_inputs: Sequence[Any], adj_outputs: Sequence[Any], input_count: int) -> _Given:
        return cls([*adj_inputs, *[None] * (input_count - len(adj_inputs)), *adj_outputs], input_count)


@dataclass(frozen=True, slots=True)
class _AdjointCall:
    """The adjoint of a bound launch, the values to pack, and the gradients that they refer to.

    ``copies``: pairs of an array that the adjoint uses in place of a gradient that it must not write, and that.
    """

    executable: Executable
    values: list[Any]
    gradients: dict[str, array]
    copies: list[tuple[array, array]]

    def prepare(self) -> None:
        """Make the copies, which every run consumes."""
        for copy, original in self.copies:
            transfer(copy, original)


def _adjoint_of(binding: Binding, given: _Given) -> _AdjointCall:
    gradients, copies = given_gradients(binding, given)
    request = adjoint_request(binding, gradients)
    refuse_lost(binding, request)
    return _AdjointCall(*adjoint_call(binding, request, gradients), gradients, copies)


def own_gradients(arrays: Mapping[str, array]) -> dict[str, array]:
    """The ``grad`` of each array that has one, by label."""
    return {label: gradient for label, a in arrays.items() if (gradient := a.grad) is not None}


def given_gradients(binding: Binding, given: _Given) -> tuple[dict[str, array], list[tuple[array, array]]]:
    """The gradient arrays of an adjoint launch: those given, else each array's own; and the copies among them.

    Raises:
        LaunchError: too many, or a gradient that cannot be that of its argument, or whose memory is read-only.
    """
    compiled = binding.compiled
    kernel, types = compiled.kernel, compiled.variant.types
    if len(given.gradients) > len(types):
        raise LaunchError(
            f"kernel {kernel.name} has {len(types)} parameters, but {len(given.gradients)} gradients were given"
        )
    found = own_gradients(binding.arrays)
    copies = []
    for position, (name, type_, gradient) in enumerate(zip(kernel.parameter_types, types, given.gradients)):
        if gradient is None:
            continue
        for label, member in _by_label(binding, name, type_, gradient):
            access = compiled.access[label]
            if position >= given.input_count and (access.written or access.atomic):
                copies.append((make(*new_layout(member.dtype, member.shape)), member))
                member = copies[-1][0]
            elif position < given.input_count and member.readonly:
                raise LaunchError(f"kernel {kernel.name}, parameter {label}: the memory of its gradient is read-only")
            found[label] = member
    return found, copies


def _by_label(binding: Binding, name: str, type_: Any, gradient: Any) -> list[tuple[str, array]]:
    """The arrays in what was given as the gradient of one parameter, checked."""
    if type_.kind == "array":
        return [(name, _given_gradient(binding, name, type_, gradient))]
    return _struct_gradients(binding, name, type_, gradient) if type_.kind == "struct" else []


def _given_gradient(binding: Binding, label: str, type_: Any, gradient: Any) -> array:
    """A gradient given for an array, checked."""
    kernel = binding.compiled.kernel
    found = as_array(kernel, f"{label} (its gradient)", type_, gradient)
    shape = binding.arrays[label].shape
    if found.shape != shape:
        raise LaunchError(
            f"kernel {kernel.name}, parameter {label}: its gradient has shape {found.shape}, the array {shape}"
        )
    return found


def _struct_gradients(binding: Binding, name: str, type_: Any, gradient: Any) -> list[tuple[str, array]]:
    """The arrays in a struct of gradients, by label."""
    kernel = binding.compiled.kernel
    if indexed_elements(type_) is not None:  # given as an indexed array, or as the gradient of the data
        gradient = SimpleNamespace(data=getattr(gradient, "data", gradient), **dict.fromkeys(list(type_.fields)[1:]))
    found = []
    for leaf in leaves(type_):
        if isinstance(leaf.type, ArrayRef):
            member = gradient
            for step in leaf.path:
                if not hasattr(member, step):
                    raise LaunchError(
                        f"kernel {kernel.name}, parameter {name}: its gradient must be a struct of type "
                        f"{type_.__name__}, not {type(gradient).__name__}"
                    )
                member = getattr(member, step)
            if member is not None:
                label = leaf_label(name, leaf.path)
                own = binding.arrays[label]
                found.append((label, _given_gradient(binding, label, array_type(own.dtype, own.ndim), member)))
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
            f"kernel {compiled.kernel.name}: the gradient needs the values that its atomics returned, "
            "which only a launch recorded by a Tape keeps"
        )
    reached = arrays_in_elements(binding, adjoint)
    needed = [(label, arrays[label]) for label in sorted(adjoint.needed)]
    needed += [(f"in an element of {label}", a) for label, a in reached if label in adjoint.members]
    written = [arrays[label] for label in compiled.written]
    written += [a for label, a in reached if compiled.changes_members(label)]
    refuse_written_members(binding, reached, adjoint.needed_after)
    for name, read in needed:
        if any(overlaps(read, a) for a in written):
            raise OverwriteError(
                f"kernel {compiled.kernel.name} overwrites array {name}, whose former contents the gradient needs: "
                "record the launch with a Tape, which keeps them, or write to another array"
            )


def arrays_in_elements(binding: Binding, adjoint: Optional[Adjoint]) -> list[tuple[str, array]]:
    """The arrays that a kernel, or its adjoint, can find in the elements of others now, with the labels of these."""
    labels = set(binding.compiled.members)
    if adjoint is not None:
        labels |= adjoint.members | adjoint.members_after
    return [(label, a) for label in sorted(labels) for a in members.arrays_in(binding.arrays[label])]


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
        DerivativeError: the kernel has no adjoint for these gradients; or the gradient of an array that it writes
            has several elements in one place.
    """
    compiled = binding.compiled
    executable = compiled.adjoint_executable(request)
    if needed_after := compiled.adjoint(request).needed_after:
        _check_written_once(binding, needed_after)
    values = list(binding.values)
    for label in compiled.array_labels:
        if label in request.active:
            gradient = gradients[label]
            if not gradient.is_contiguous and label in compiled.written:
                _refuse_repeated(binding, label, gradient)
            values += gradient._descriptor
    for label in compiled.array_labels if request.retained else ():
        if label in request.retained:
            values += retained[label]._descriptor
    return executable, values


def _refuse_repeated(binding: Binding, label: str, gradient: array) -> None:
    if any(step == 0 and extent > 1 for step, extent in zip(gradient.strides, gradient.shape)):
        raise DerivativeError(
            f"kernel {binding.compiled.kernel.name} writes {label}, whose gradient has several elements in one place "
            "(a stride of 0): what one of them consumes would be lost to the others; give it a contiguous gradient"
        )


def _check_written_once(binding: Binding, labels: Collection[str]) -> None:
    """Refuse an adjoint that reads what arrays hold after the launch, if they are written in more than one way.

    It would not tell which value won an atomic minimum or maximum, and not be what a derivative of the user's own
    expects of an array that is only read.

    Raises:
        DerivativeError: another parameter to which the kernel writes is the same memory.
    """
    arrays, written = binding.arrays, binding.compiled.written
    for label in sorted(labels):
        for other in sorted(written):
            if other != label and overlaps(arrays[label], arrays[other]):
                raise _written_twice(binding, label, other)


def refuse_written_members(binding: Binding, reached: Sequence[tuple[str, array]], labels: Collection[str]) -> None:
    """The same, for writes to arrays that are members of structs: ``reached``, see ``arrays_in_elements``.

    Raises:
        DerivativeError: one that is written shares memory with one of those labelled.
    """
    for holder, a in reached:
        for label in sorted(labels) if binding.compiled.changes_members(holder) else ():
            if overlaps(binding.arrays[label], a):
                raise _written_twice(binding, label, f"an array in an element of {holder}")


def _written_twice(binding: Binding, label: str, other: str) -> DerivativeError:
    return DerivativeError(
        f"kernel {binding.compiled.kernel.name}: the gradient of an atomic minimum or maximum in {label} or of a "
        "user-written derivative that reads it is not supported, since the kernel also writes to that memory as "
        f"{other}"
    )


class Command:
    """A launch with its arguments checked and packed, to be run many times by ``launch()``.

    ``gradients``: what was given for an adjoint launch, else None. While a tape records, a command is recorded like
    any launch, unless ``record_tape`` is false.
    """

    def __init__(
        self,
        kernel: Any,
        extents: tuple[int, ...],
        arguments: list[Any],
        gradients: Optional[_Given] = None,
        record_tape: bool = True,
    ) -> None:
        self.kernel = kernel
        self._given = gradients
        self._records = record_tape and gradients is None
        self._bind(arguments, extents)

    def _bind(self, arguments: list[Any], extents: tuple[int, ...]) -> None:
        """Take new arguments; nothing changes if they do not fit."""
        binding = bind(self.kernel, arguments, extents)
        adjoint = None if self._given is None else _adjoint_of(binding, self._given)
        if adjoint is None:
            executable, values = binding.compiled.forward, binding.values
        else:
            executable, values = adjoint.executable, adjoint.values
        self._packed = executable.packer.pack(extents, values)
        self._total = math.prod(extents)
        self._executable, self._arguments, self._extents = executable, arguments, extents
        # The packed arguments refer to the memory of these arrays.
        self._binding, self._adjoint = binding, adjoint

    def set_dim(self, dim: Any) -> None:
        """Change the number of threads."""
        self._bind(self._arguments, launch_extents(dim))

    def set_param_at_index(self, index: int, value: Any) -> None:
        """Change one argument, by position.

        Raises:
            LaunchError: the kernel has no such parameter, or the value does not fit it.
        """
        if not 0 <= index < len(self._arguments):
            raise LaunchError(f"kernel {self.kernel.name} has {len(self._arguments)} parameters, none at index {index}")
        self._bind([*self._arguments[:index], value, *self._arguments[index + 1 :]], self._extents)

    def set_param_by_name(self, name: str, value: Any) -> None:
        """Change one argument, by name.

        Raises:
            LaunchError: the kernel has no such parameter, or the value does not fit it.
        """
        names = list(self.kernel.parameter_names)
        if name not in names:
            raise LaunchError(f"kernel {self.kernel.name} has no parameter {name}; it has {', '.join(names)}")
        self.set_param_at_index(names.index(name), value)

    def set_params(self, values: Sequence[Any]) -> None:
        """Change the arguments from the first on.

        Raises:
            LaunchError: a value does not fit, or there are more than parameters.
        """
        self._bind([*values, *self._arguments[len(values) :]], self._extents)

    def launch(self, stream: Any = None) -> None:
        """Run the command."""
        recorder = active.recorder
        if recorder is not None and self._records:
            recorder.record_binding(self._binding, self._extents, self._arguments, ()).run_forward()
            return
        if not self._total:
            return
        if self._adjoint is not None:
            self._adjoint.prepare()
        elif watch.is_wanted:
            announce_writes(self._binding.compiled, self._binding.arrays)
        if capturing.active.capture is None:
            run_packed(self._executable, self.kernel, self._packed, self._total)
        else:
            step = partial(run_packed, self._executable, self.kernel, self._packed, self._total)
            capturing.perform(step, (self._binding, self._adjoint))
