"""What a tape holds: one record for each operation, which knows how to run it backwards. Those of launches are here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Optional

from treadle.errors import OverwriteError, TreadleError
from treadle.runtime.array import array
from treadle.runtime.binding import Binding
from treadle.runtime.compiler import Adjoint, Request
from treadle.runtime.execution import LaunchLog, run, run_logging
from treadle.runtime.launch import (
    adjoint_call,
    adjoint_request,
    announce_writes,
    arrays_in_elements,
    overlaps,
    own_gradients,
)
from treadle.runtime.writes import watch
from treadle.tape.retained import Retained
from treadle.tape.sharing import Sharing, Use
from treadle.tape.versions import Need, Snapshot


@dataclass
class BackwardPass:
    """What a record may ask while the tape is played backwards.

    ``position``: that of the record among ``records``, those of the whole tape. ``allows_overwrites``: see ``Sharing``.
    """

    records: Sequence[Record]
    allows_overwrites: bool
    retained: Retained
    position: int = 0
    _knows_sharing: bool = False

    def written_since(self) -> list[array]:
        """The arrays that the records after this one have written."""
        return [a for record in self.records[self.position + 1 :] for a in record.written]

    def check_sharing(self) -> None:
        """Other arrays have a gradient than when the tape was recorded: look again for some that share memory.

        Raises:
            TreadleError: see ``Sharing.note``.
        """
        if not self._knows_sharing:
            sharing = Sharing(self.allows_overwrites)
            for record in self.records:
                sharing.note(record.uses())
            self._knows_sharing = True


class Record(ABC):
    """One recorded operation. ``arrays`` are those it touches, ``written`` those it writes."""

    __slots__ = ()
    arrays: Sequence[array]
    written: Sequence[array]

    @abstractmethod
    def uses(self) -> list[Use]:
        """What it does with arrays."""

    @abstractmethod
    def backward(self, state: BackwardPass) -> None:
        """Pass the gradients of what the operation wrote on to what it read."""


@dataclass(slots=True)
class LaunchRecord(Record):
    """A launch of a kernel.

    ``request``: the adjoint that was wanted when it was recorded. ``needs``: the arrays whose
    contents that adjoint reads, by label. ``members``: the arrays that kernel and adjoint could find in the elements of
    others, with the labels of these; ``member_needs``: those of them whose contents that adjoint reads. ``scratch``:
    what was, before the launch, in memory that the kernel reads after writing to it. ``log``: the values that its
    atomics returned. ``failed``: an assertion stopped it.
    """

    binding: Binding
    extents: tuple[int, ...]
    inputs: Sequence[Any]
    outputs: Sequence[Any]
    request: Request
    adjoint: Optional[Adjoint]
    needs: dict[str, Need]
    members: Sequence[tuple[str, array]] = ()
    member_needs: Sequence[Need] = ()
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
        return [self.binding.arrays[k] for k in self.binding.compiled.written] + [a for _, a in self.written_members]

    @property
    def written_members(self) -> list[tuple[str, array]]:
        """Those of ``members`` that the kernel may write to."""
        return [(label, a) for label, a in self.members if self.binding.compiled.changes_members(label)]

    def uses(self) -> list[Use]:
        compiled = self.binding.compiled
        found = [Use(a, label in compiled.written, self.kernel, label) for label, a in self.binding.arrays.items()]
        return found + [Use(a, True, self.kernel, label, is_member=True) for label, a in self.written_members]

    def run_forward(self) -> None:
        """Run the kernel, keeping what its atomics return if the adjoint reads it."""
        compiled = self.binding.compiled
        self.failed = True  # until it has run
        if watch.is_wanted:
            announce_writes(compiled, self.binding.arrays)
        if self.adjoint is not None and self.adjoint.reads_log:
            values = self.binding.values
            self.log = run_logging(compiled.logged_forward(), self.kernel, self.extents, values, self.binding)
        else:
            run(compiled.forward, self.kernel, self.extents, self.binding.values, None, self.binding)
        self.failed = False

    def backward(self, state: BackwardPass) -> None:
        gradients = own_gradients(self.binding.arrays)
        request = adjoint_request(self.binding, gradients)
        if request is not self.request and request.active != self.request.active:
            state.check_sharing()
        if not gradients:
            return
        if self.failed:
            raise TreadleError(
                f"kernel {self.kernel.name} failed when its launch was recorded, so that it has no gradient; "
                "reset the tape and record again"
            )
        if self.scratch:
            request = replace(request, unrepeatable=self.request.unrepeatable, repeated=self.request.repeated)
        if not request.active <= self.request.active:
            self._check_late(request, state)
        kept = self._retained(gradients, state.retained) if watch.is_wanted else {}
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
        adjoint, kept = self.binding.compiled.adjoint(request), self.adjoint or Adjoint()
        if adjoint.reads_log and self.log is None:
            raise OverwriteError(
                f"kernel {self.kernel.name}: what its atomics returned was not kept, as no gradient was asked for when "
                "the launch was recorded; set requires_grad before"
            )
        later = state.written_since()
        own = list(self.written)
        arrays = self.binding.arrays
        # What the kernel does not write is the same before the launch and after it.
        same = {label for label in kept.needed | kept.needed_after if not _overlap(arrays[label], own)}
        for label in sorted(adjoint.needed - kept.needed - (kept.needed_after & same)):
            self._refuse_late(label, arrays[label], [*own, *later])
        for label in sorted(adjoint.needed_after - kept.needed_after - (kept.needed & same)):
            is_saved = label in self.needs  # as it was before the launch
            self._refuse_late(label, arrays[label], [*own, *later] if is_saved else later)
        for label, member in self._members_of(adjoint):
            if label in adjoint.members - kept.members:
                self._refuse_late(label, member, [*own, *later])
            elif label in adjoint.members_after - kept.members_after:
                self._refuse_late(label, member, later)

    def _members_of(self, adjoint: Adjoint) -> list[tuple[str, array]]:
        """``members``, and those that another adjoint than the one that was wanted finds besides."""
        known = {label for label, _ in self.members}
        return [*self.members, *(m for m in arrays_in_elements(self.binding, adjoint) if m[0] not in known)]

    def _refuse_late(self, label: str, source: array, written: Sequence[array]) -> None:
        if _overlap(source, written):
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


def _overlap(a: array, others: Sequence[array]) -> bool:
    return any(overlaps(a, other) for other in others)
