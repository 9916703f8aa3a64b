"""What a tape holds: one record for each operation, which knows how to run it backwards."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Optional

from treadle.errors import OverwriteError, TreadleError
from treadle.runtime.array import array, clone
from treadle.runtime.binding import Binding
from treadle.runtime.compiler import Adjoint, Request
from treadle.runtime.execution import LaunchLog, run, run_logging
from treadle.runtime.launch import adjoint_call, adjoint_request, overlaps, own_gradients
from treadle.tape.accumulation import accumulate
from treadle.tape.retained import Retained
from treadle.tape.versions import Need, Snapshot


@dataclass
class BackwardPass:
    """What a record may ask while the tape is played backwards.

    ``position``: that of the record among ``records``, those of the whole tape.
    """

    records: Sequence[Record]
    position: int = 0
    retained: Retained = field(default_factory=Retained)

    def written_since(self) -> list[array]:
        """The arrays that the record itself and those after it have written."""
        return [a for record in self.records[self.position :] for a in record.written]


class Record(ABC):
    """One recorded operation. ``arrays`` are those it touches, ``written`` those it writes."""

    __slots__ = ()
    arrays: Sequence[array]
    written: Sequence[array]

    @abstractmethod
    def backward(self, state: BackwardPass) -> None:
        """Pass the gradients of what the operation wrote on to what it read."""


@dataclass(slots=True)
class LaunchRecord(Record):
    """A launch of a kernel.

    ``request``: the adjoint that was wanted when it was recorded. ``needs``: the arrays whose
    contents that adjoint reads, by label. ``scratch``: what was, before the launch, in memory that
    the kernel reads after writing to it. ``log``: the values that its atomics returned. ``failed``: an
    assertion stopped it.
    """

    binding: Binding
    extents: tuple[int, ...]
    inputs: Sequence[Any]
    outputs: Sequence[Any]
    request: Request
    adjoint: Optional[Adjoint]
    needs: dict[str, Need]
    scratch: Sequence[Snapshot] = ()
    log: Optional[LaunchLog] = None
    failed: bool = False
    metadata: Optional[dict[str, Any]] = None

    @property
    def kernel(self) -> Any:
        return self.binding.compiled.kernel

    @property
    def arrays(self) -> Sequence[array]:  # type: ignore[override]
        return list(self.binding.arrays.values())

    @property
    def written(self) -> Sequence[array]:  # type: ignore[override]
        return [self.binding.arrays[k] for k in self.binding.compiled.written]

    def run_forward(self) -> None:
        """Run the kernel, keeping what its atomics return if the adjoint reads it."""
        compiled = self.binding.compiled
        self.failed = True  # until it has run
        if self.adjoint is not None and self.adjoint.reads_log:
            values = self.binding.values
            self.log = run_logging(compiled.logged_forward(), self.kernel, self.extents, values, self.binding)
        else:
            run(compiled.forward, self.kernel, self.extents, self.binding.values, None, self.binding)
        self.failed = False

    def backward(self, state: BackwardPass) -> None:
        gradients = own_gradients(self.binding.arrays)
        if not gradients:
            return
        if self.failed:
            raise TreadleError(
                f"kernel {self.kernel.name} failed when its launch was recorded, so that it has no gradient; "
                "reset the tape and record again"
            )
        request = adjoint_request(self.binding, gradients)
        if not request.active <= self.request.active:
            self._check_late(request, state)
        if self.scratch:
            request = replace(request, unrepeatable=self.request.unrepeatable, repeated=self.request.repeated)
        kept = self._retained(gradients, state.retained)
        if kept:
            request = replace(request, retained=frozenset(kept))
        executable, values = adjoint_call(self.binding, request, gradients, kept)
        copies = [snapshot.copy() for snapshot in self.scratch]
        for label, descriptor in self._saved_descriptors(request, copies).items():
            start, length = self.binding.positions[label]
            values[start : start + length] = descriptor
        run(executable, self.kernel, self.extents, values, self.log, (self, gradients, kept, copies))

    def _check_late(self, request: Request, state: BackwardPass) -> None:
        """Arrays have a gradient now that had none when the launch was recorded, so what they held was not kept.

        Raises:
            OverwriteError: it is needed, and was overwritten.
        """
        adjoint = self.binding.compiled.adjoint(request)
        needed = (adjoint.needed | adjoint.needed_after) - self.needs.keys()
        if adjoint.reads_log and self.log is None:
            raise OverwriteError(
                f"kernel {self.kernel.name}: what its atomics returned was not kept, as no gradient was asked for when "
                "the launch was recorded; set requires_grad before"
            )
        for label in sorted(needed):
            source = self.binding.arrays[label]
            if any(overlaps(source, written) for written in state.written_since()):
                raise OverwriteError(
                    f"kernel {self.kernel.name}, parameter {label}: its contents are needed for a gradient that was "
                    "asked for only after the launch had been recorded, and they have been overwritten since; "
                    "set requires_grad before"
                )

    def _retained(self, gradients: Mapping[str, array], retained: Retained) -> dict[str, array]:
        """Where to keep the gradients that the launch consumes, by label."""
        found = {}
        for label in self.binding.compiled.written:
            if label in gradients and self.binding.arrays[label].retain_grad:
                keeper = retained.of(self.binding.arrays[label])
                if keeper is not None:
                    found[label] = keeper
        return found

    def _saved_descriptors(self, request: Request, copies: list[Snapshot]) -> dict[str, tuple[int, ...]]:
        """Descriptors to use in place of those of the arrays: of snapshots and of scratch copies."""
        arrays = self.binding.arrays
        found = {label: n.saved.descriptor(n.array) for label, n in self.needs.items() if n.saved is not None}
        for label in request.unrepeatable | request.repeated:
            for copy in copies:
                if copy.holds(arrays[label]):
                    found[label] = copy.descriptor(arrays[label])
        return found


@dataclass
class CopyRecord(Record):
    """A copy of the elements of one array, or view, to another."""

    dest: array
    src: array

    def __post_init__(self) -> None:
        self.arrays = (self.dest, self.src)
        self.written = (self.dest,)

    def backward(self, state: BackwardPass) -> None:
        gradient = self.dest.grad
        if gradient is None:
            return
        state.retained.keep(self.dest)
        target = self.src.grad
        if target is not None and overlaps(target, gradient):
            # A copy within one array: what was overwritten loses its gradient before what was read gains any.
            incoming = clone(gradient, requires_grad=False)
            gradient.zero_()
            accumulate(target, incoming)
            return
        if target is not None:
            accumulate(target, gradient)
        gradient.zero_()


@dataclass
class FillRecord(Record):
    """A fill with a constant: what was there before has no influence any more."""

    dest: array

    def __post_init__(self) -> None:
        self.arrays = self.written = (self.dest,)

    def backward(self, state: BackwardPass) -> None:
        if self.dest.grad is not None:
            state.retained.keep(self.dest)
            self.dest.grad.zero_()


@dataclass
class FunctionRecord(Record):
    """A Python callable that runs in the backward pass only."""

    function: Callable[[], None]
    arrays: Sequence[array]
    written: Sequence[array] = ()

    def backward(self, state: BackwardPass) -> None:
        self.function()
