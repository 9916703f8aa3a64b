"""What the optimisers share: parameters as arrays of scalars, their state, and the loop over both."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from treadle.errors import ArrayError
from treadle.runtime.array import array
from treadle.runtime.creation import zeros
from treadle.types import float16, float32, scalars


class Optimizer(ABC):
    """Moves ``params``, contiguous arrays of floats or of vectors and matrices of floats, in place."""

    def __init__(self, params: Sequence[array] | None, states: int) -> None:
        """``states``: how many numbers are remembered for every scalar, in arrays that start at zero."""
        self._count = states
        self.steps = 0
        self.params: list[array] = []
        self._states: list[list[array]] = []
        self.set_params(params)

    def set_params(self, params: Sequence[array] | None) -> None:
        """Optimise other arrays, from a fresh state.

        Raises:
            ArrayError: one is not contiguous, or not made of floats.
        """
        arrays = list(params or ())
        flat = [a.components() for a in arrays]
        for a in flat:
            if a.dtype not in scalars.FLOATS:
                raise ArrayError(f"optimisers are for arrays of floats, not of {a.dtype!r}")
        self.params, self._flat = arrays, flat
        self._states = [
            [zeros(a.shape, dtype=float32 if a.dtype is float16 else a.dtype) for _ in range(self._count)] for a in flat
        ]
        self.steps = 0

    def reset_internal_state(self) -> None:
        """Forget all steps."""
        for state in self._states:
            for a in state:
                a.zero_()
        self.steps = 0

    def step(self, grads: Sequence[array | None] | None = None) -> None:
        """One step against ``grads``, by default the gradient of each parameter; None leaves a parameter as it is.

        Raises:
            ArrayError: the number of gradients, or the size or dtype of one, is not that of the parameters.
        """
        given = [a.grad for a in self.params] if grads is None else list(grads)
        if len(given) != len(self.params):
            raise ArrayError(f"there are {len(self.params)} parameters, but {len(given)} gradients")
        for a, grad in zip(self.params, given):
            if grad is not None and (grad.shape != a.shape or grad.dtype is not a.dtype):
                raise ArrayError(f"the gradient of {a.dtype!r} {a.shape} cannot be {grad.dtype!r} {grad.shape}")
        self.steps += 1
        for flat, grad, state in zip(self._flat, given, self._states):
            if grad is not None:
                self._move(flat, grad.contiguous().components(), state)

    @abstractmethod
    def _move(self, param: array, grad: array, state: list[array]) -> None:
        """One step of one parameter, all arrays of scalars."""
