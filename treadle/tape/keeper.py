"""Sees to it that the backward pass finds in memory what it needs, or that an error says why it would not."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any, Optional

from treadle import config
from treadle.errors import OverwriteError, TreadleError
from treadle.runtime import capturing
from treadle.runtime.array import array
from treadle.runtime.compiler import Adjoint
from treadle.runtime.launch import arrays_in_elements, overlaps, refuse_written_members
from treadle.tape.records import LaunchRecord
from treadle.tape.sharing import Sharing, Use
from treadle.tape.steps import StepRecord
from treadle.tape.verification import Verifier
from treadle.tape.versions import Need, Snapshot, Versions, merged_extents, save, user_of


class Keeper:
    """What a tape knows of memory. ``overwrites``: see ``Tape``.

    It is told of every operation before that is done.
    """

    def __init__(self, overwrites: str) -> None:
        self._overwrites = overwrites
        self._versions = Versions()
        self._verifier = Verifier()
        self._sharing = Sharing(overwrites == "ignore")

    def launch(self, record: LaunchRecord) -> None:
        """Find out what a launch and its adjoint do with memory, and save what the launch will overwrite.

        Raises:
            TreadleError: a gradient would be wrong.
        """
        try:
            self._launch(record)
        except Exception:
            self._versions.withdraw([*record.needs.values(), *record.member_needs])
            raise
        adjoint = record.adjoint
        if adjoint is not None and (adjoint.needed_after or adjoint.members_after):
            # What the launch leaves there must be kept from now on; nothing overwrites it before it has run.
            self._enter_needs(record, adjoint.needed_after - record.needs.keys(), adjoint.members_after)

    def step(self, record: StepRecord) -> None:
        """The same for a step that is no launch."""
        self._sharing.note(record.uses())
        for target in record.written:
            if config.verify_autograd_array_access:
                self._verifier.write(target, record.label)
            if self._overwrites != "ignore":
                self._keep(self._versions.overwritten(target), None, record.label)

    def read(self, source: array, step: str) -> None:
        """A step of the user's own has read an array."""
        self._sharing.note([Use(source, False, None, step)])
        if config.verify_autograd_array_access:
            self._verifier.read(source, step)
        if self._overwrites == "error":
            self._versions.need(Need(source, None, step))

    def forget(self, target: array) -> None:
        """Earlier reads of an array do not matter any more."""
        self._versions.overwritten(target)
        self._verifier.forget(target)

    def _launch(self, record: LaunchRecord) -> None:
        compiled, arrays = record.binding.compiled, record.binding.arrays
        if record.request.active:
            record.adjoint = compiled.adjoint(record.request)
        adjoint = record.adjoint
        record.members = _members(record, adjoint)
        if not self._is_noted(record):
            self._sharing.note(record.uses())
        if adjoint is not None:
            if (compiled.hazards or record.members) and self._overwrites != "ignore":
                adjoint = self._check_order(record, adjoint)
            needed = adjoint.needed - record.request.unrepeatable if record.scratch else adjoint.needed
            self._enter_needs(record, needed, adjoint.members)
        if config.verify_autograd_array_access:
            self._verifier.launch(record)
        if self._overwrites != "ignore":
            for label in compiled.written:
                needs = self._versions.overwritten(arrays[label])
                if needs:
                    self._keep(needs, compiled.kernel, label)
            for label, member in record.written_members if record.members else ():
                self._keep(self._versions.overwritten(member), compiled.kernel, label, is_member=True)

    def _is_noted(self, record: LaunchRecord) -> bool:
        """Whether it is known that the launch may use its arrays together with all others on the tape."""
        sharing, written, active = self._sharing, record.binding.compiled.written, record.request.active
        for label, a in record.binding.arrays.items():
            if label in active:
                known = sharing.written if label in written else sharing.entered
            elif label in written:
                known = sharing.separate
            else:
                continue
            if id(a) not in known:
                return False
        return not record.members

    def _enter_needs(self, record: LaunchRecord, labels: frozenset[str], members: frozenset[str]) -> None:
        """Note that an adjoint needs what arrays hold now: those labelled, and those in elements of ``members``."""
        binding = record.binding
        kernel, arrays = binding.compiled.kernel, binding.arrays
        for label in labels:
            need = record.needs[label] = Need(arrays[label], kernel, label)
            self._versions.need(need)
        if members:
            found = [Need(a, kernel, label, is_member=True) for label, a in record.members if label in members]
            record.member_needs = [*record.member_needs, *found]
            for need in found:
                self._versions.need(need)

    def _keep(self, needs: list[Need], kernel: Any, label: str, is_member: bool = False) -> None:
        """Save what these needs need; a kernel, or the step that ``label`` describes, is about to overwrite it.

        Raises:
            OverwriteError: it cannot be saved, or is not to be.
        """
        lost = needs if self._overwrites == "error" else [need for need in needs if need.is_member]
        if lost:
            for need in needs:  # nothing will be overwritten
                self._versions.need(need)
            advice = (
                "; it was found there as a member of a struct in an array, where a copy cannot take its place: make it "
                "a parameter of that kernel, or write to another array"
            )
            raise OverwriteError(
                f"{user_of(kernel, label, is_member)} overwrites memory that the gradient needs: it was read by "
                f"{lost[0].reader}{advice if lost[0].is_member else ''}"
            )
        save(needs)

    # Kernels that read what they have written.

    def _check_order(self, record: LaunchRecord, adjoint: Adjoint) -> Adjoint:
        """Keep what is in memory now that the kernel will write to and then read, or refuse it.

        Returns the adjoint that finds it there.
        """
        compiled, arrays = record.binding.compiled, record.binding.arrays
        hazards = {read for read, written in compiled.hazards if overlaps(arrays[read], arrays[written])}
        hazardous = hazards & adjoint.needed
        if hazardous and self._overwrites == "error":
            raise OverwriteError(
                f"kernel {compiled.kernel.name} reads {', '.join(sorted(hazardous))} after writing to the same memory, "
                "and the gradient needs what it read"
            )
        if hazardous:
            _refuse_members(record, hazardous & {label for label, _ in record.members})
            adjoint = _prepare_scratch(record, hazards, hazardous)
        if record.members:
            _check_members(record, adjoint)
        return adjoint


def _members(record: LaunchRecord, adjoint: Optional[Adjoint]) -> tuple[tuple[str, array], ...]:
    """See ``LaunchRecord.members``.

    Raises:
        TreadleError: a graph is being captured, so that what it writes is not in memory yet.
    """
    if not record.binding.compiled.members and (adjoint is None or not (adjoint.members or adjoint.members_after)):
        return ()
    if capturing.active.capture is not None:
        raise TreadleError(
            f"kernel {record.kernel.name} uses arrays that are members of structs in an array: a tape cannot record "
            "its launch while a graph is captured, since what the graph puts there is not known yet"
        )
    return tuple(arrays_in_elements(record.binding, adjoint))


def _prepare_scratch(record: LaunchRecord, hazards: set[str], hazardous: set[str]) -> Adjoint:
    """Copy memory, so that the adjoint, which is returned, can repeat the launch there.

    ``hazards``: the labels of what the kernel reads after writing to it; ``hazardous``: those that are needed.
    """
    compiled, arrays = record.binding.compiled, record.binding.arrays
    adjoint: Adjoint
    more: frozenset[str] | set[str] = hazardous
    while more:  # what is stored again may have been made from what the kernel read after writing to other memory
        hazardous = hazardous | more
        repeated = {w for w in compiled.written if any(overlaps(arrays[w], arrays[r]) for r in hazardous)}
        record.request = replace(record.request, unrepeatable=frozenset(hazardous), repeated=frozenset(repeated))
        adjoint = record.adjoint = compiled.adjoint(record.request)
        more = (hazards & adjoint.needed) - hazardous
    touched = [arrays[label] for label in hazardous | repeated]
    record.scratch = [Snapshot.of(start, end) for start, end in merged_extents(touched)]
    record.members = _members(record, adjoint)
    return adjoint


def _check_members(record: LaunchRecord, adjoint: Adjoint) -> None:
    """Refuse a launch that overwrites, as a member of a struct in an array, what its own gradient needs of others.

    Raises:
        OverwriteError: it reads memory after writing to it in this way, or would have to be repeated.
        DerivativeError: what the launch leaves there is needed.
    """
    compiled, arrays = record.binding.compiled, record.binding.arrays
    refuse_written_members(record.binding, record.members, adjoint.needed_after)
    lost = record.request.repeated & {label for label, _ in record.written_members}
    for read, holder in compiled.member_hazards:
        if read in adjoint.needed:
            if any(label == holder and overlaps(arrays[read], a) for label, a in record.members):
                lost |= {read}
    _refuse_members(record, lost)


def _refuse_members(record: LaunchRecord, labels: Collection[str]) -> None:
    if labels:
        raise OverwriteError(
            f"kernel {record.kernel.name} reads {', '.join(sorted(labels))} after writing to the same memory, or to "
            "arrays that are members of structs in it; the gradient needs what it read, and this cannot be kept: make "
            "the members parameters of their own"
        )
