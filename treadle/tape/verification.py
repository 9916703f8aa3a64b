"""``config.verify_autograd_array_access``: reports arrays that are written after a recorded kernel has read them.

By default such writes are harmless, since the tape keeps what it needs. The report is for users
who want to know where memory goes into snapshots, or who record with ``overwrites="ignore"``.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass

from treadle.ir.core import Location
from treadle.runtime.array import array
from treadle.runtime.compiler import CompiledKernel
from treadle.tape.records import LaunchRecord
from treadle.tape.versions import Need, Versions, user_of


class OverwriteWarning(UserWarning):
    """An array was written after a recorded kernel had read it."""


@dataclass(frozen=True)
class _Access:
    """A kernel's access to a parameter, for the report."""

    who: str
    place: Location | None = None

    def __str__(self) -> str:
        return f"{self.who} ({self.place})" if self.place else self.who


def _access(compiled: CompiledKernel, label: str, written: bool, is_member: bool = False) -> _Access:
    return _Access(user_of(compiled.kernel, label, is_member), compiled.place(label, written))


def _user_level() -> int:
    """The ``stacklevel``, seen from the caller, of the first frame outside this package."""
    package, level = __name__.partition(".")[0], 1
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    return level


class Verifier:
    """What recorded kernels have read so far on one tape."""

    def __init__(self) -> None:
        self._reads = Versions()
        self._readers: dict[int, _Access] = {}
        self._reported: set[tuple[_Access, str]] = set()

    def launch(self, record: LaunchRecord) -> None:
        """A launch is recorded: report what it overwrites, and note what it reads."""
        compiled, arrays = record.binding.compiled, record.binding.arrays
        for label in sorted(compiled.written):
            self.write(arrays[label], str(_access(compiled, label, written=True)))
        for label, member in record.written_members:
            self.write(member, str(_access(compiled, label, written=True, is_member=True)))
        for label, access in compiled.access.items():
            if access.read:
                self._note(compiled, label, arrays[label])
        for label, member in record.members:
            if label in compiled.members and compiled.members[label].read:
                self._note(compiled, label, member, is_member=True)
        # What the kernel itself overwrites although its gradient needs it.
        for label in sorted(compiled.written & record.needs.keys()):
            self.write(arrays[label], str(_access(compiled, label, written=True)))

    def _note(self, compiled: CompiledKernel, label: str, source: array, is_member: bool = False) -> None:
        """A kernel reads an array; what has no gradient does not matter."""
        if source.requires_grad:
            need = Need(source, compiled.kernel, label)
            self._readers[id(need)] = _access(compiled, label, False, is_member)
            self._reads.need(need)

    def write(self, target: array, writer: str) -> None:
        """Memory is about to be written: report who has read it."""
        for need in self._reads.overwritten(target):
            reader = self._readers.pop(id(need))
            if (reader, writer) not in self._reported:
                self._reported.add((reader, writer))
                text = f"{writer} overwrites an array that was read by {reader}"
                warnings.warn(text, OverwriteWarning, stacklevel=_user_level())

    def forget(self, target: array) -> None:
        """Earlier reads of an array do not matter any more."""
        for need in self._reads.overwritten(target):
            self._readers.pop(id(need), None)

    def read(self, source: array, reader: str) -> None:
        """A step that is not a kernel has read an array."""
        need = Need(source, None, reader)
        self._readers[id(need)] = _Access(reader)
        self._reads.need(need)
