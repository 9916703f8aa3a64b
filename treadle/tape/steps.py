"""The records of what is no launch: copies, fills, other writes, and functions that run in the backward pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from treadle.errors import TreadleError
from treadle.runtime.array import array, clone
from treadle.runtime.indexed import indexedarray
from treadle.runtime.launch import overlaps
from treadle.tape.accumulation import accumulate
from treadle.tape.records import BackwardPass, Record
from treadle.tape.sharing import Use


class StepRecord(Record):
    """An operation that is no launch. ``label`` is what it is called in messages."""

    label: str
    _active: list[bool]

    def uses(self) -> list[Use]:
        return [Use(a, a in self.written, None, self.label) for a in self.arrays]

    def note_gradients(self) -> None:
        """Remember which of its arrays have a gradient, when it is recorded."""
        self._active = [a.grad is not None for a in self.arrays]

    def check_gradients(self, state: BackwardPass) -> None:
        """Look again for arrays that share memory if others have a gradient now."""
        if self._active != [a.grad is not None for a in self.arrays]:
            state.check_sharing()


@dataclass
class CopyRecord(StepRecord):
    """A copy of the elements of one array, or view, to another."""

    dest: array
    src: array
    label = "a copy"

    def __post_init__(self) -> None:
        self.arrays = (self.dest, self.src)
        self.written = (self.dest,)
        self.note_gradients()

    def backward(self, state: BackwardPass) -> None:
        self.check_gradients(state)
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
class FillRecord(StepRecord):
    """A fill with a constant: what was there before has no influence any more."""

    dest: array
    label = "a fill"

    def __post_init__(self) -> None:
        self.arrays = self.written = (self.dest,)
        self.note_gradients()

    def backward(self, state: BackwardPass) -> None:
        self.check_gradients(state)
        if self.dest.grad is not None:
            state.retained.keep(self.dest)
            self.dest.grad.zero_()


@dataclass
class WriteRecord(StepRecord):
    """A write that is no kernel, copy or fill. ``label`` says what it is.

    ``is_marked``: by the user, who sees to the gradient; else it has no derivative.
    """

    dest: array
    label: str
    is_marked: bool

    def __post_init__(self) -> None:
        self.arrays = self.written = (self.dest,)
        self.note_gradients()

    def backward(self, state: BackwardPass) -> None:
        self.check_gradients(state)
        if self.dest.grad is not None and not self.is_marked:
            raise TreadleError(
                f"{self.label} has no derivative, and the array that it wrote to has a gradient: use a kernel, or "
                "detach the array by taking its gradient away"
            )


@dataclass
class FunctionRecord(StepRecord):
    """A Python callable that runs in the backward pass only."""

    function: Callable[[], None]
    arrays: Sequence[array]
    written: Sequence[array] = ()
    label = "a step recorded by record_func"

    def __post_init__(self) -> None:
        self.note_gradients()

    def uses(self) -> list[Use]:
        # An indexed array has the memory of another.
        arrays = [a.data if isinstance(a, indexedarray) else a for a in self.arrays]
        return [Use(a, False, None, self.label) for a in arrays]

    def backward(self, state: BackwardPass) -> None:
        self.check_gradients(state)
        self.function()
