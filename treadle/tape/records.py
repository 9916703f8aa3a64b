"""What a tape holds: one record for each operation, which knows how to run it backwards."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

from treadle.errors import OverwriteError
from treadle.runtime.array import array
from treadle.runtime.binding import Binding
from treadle.runtime.execution import run
from treadle.runtime.launch import adjoint_call, own_gradients
from treadle.tape.versions import Need


class Record(ABC):
    """One recorded operation. ``arrays`` are those it touches, ``written`` those it writes."""

    arrays: Sequence[array]
    written: Sequence[array]

    @abstractmethod
    def backward(self) -> None:
        """Pass the gradients of what the operation wrote on to what it read."""


@dataclass
class LaunchRecord(Record):
    """A launch of a kernel."""

    binding: Binding
    extents: tuple[int, ...]
    inputs: Sequence[Any]
    outputs: Sequence[Any]
    active: frozenset[str]
    """The arrays that had a gradient when the launch was recorded, by label."""
    needs: dict[str, Need]
    hazards: list[str] = field(default_factory=list)
    """Arrays whose contents the adjoint needs as they were in the middle of the launch."""
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

    def backward(self) -> None:
        binding = self.binding
        gradients = own_gradients(binding.arrays)
        if not gradients:
            return
        self._check(frozenset(gradients))
        executable, values = adjoint_call(binding, gradients)
        for label, need in self.needs.items():
            if need.saved is not None:
                start, length = binding.positions[label]
                values[start : start + length] = need.saved._descriptor
        run(executable, self.kernel, self.extents, values)

    def _check(self, active: frozenset[str]) -> None:
        """Refuse where a needed value is not to be had any more."""
        if self.hazards:
            raise OverwriteError(
                f"kernel {self.kernel.key} reads array{'s' if len(self.hazards) > 1 else ''} {', '.join(self.hazards)} "
                f"after writing to the same memory, and the gradient needs the values that it read: "
                f"write the results to another array"
            )


@dataclass
class CopyRecord(Record):
    """A copy of the elements of one array, or view, to another."""

    dest: array
    src: array

    def __post_init__(self) -> None:
        self.arrays = (self.dest, self.src)
        self.written = (self.dest,)

    def backward(self) -> None:
        gradient = self.dest.grad
        if gradient is None:
            return
        if self.src.grad is not None:
            self.src.grad.accumulate(gradient)
        gradient.zero_()


@dataclass
class FillRecord(Record):
    """A fill with a constant: what was there before has no influence any more."""

    dest: array

    def __post_init__(self) -> None:
        self.arrays = self.written = (self.dest,)

    def backward(self) -> None:
        if self.dest.grad is not None:
            self.dest.grad.zero_()


@dataclass
class FunctionRecord(Record):
    """A Python callable that runs in the backward pass only."""

    function: Callable[[], None]
    arrays: Sequence[array]
    written: Sequence[array] = ()

    def backward(self) -> None:
        self.function()
