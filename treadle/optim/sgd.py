"""Gradient descent, plain or with momentum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treadle.language import BUILTINS, kernel
from treadle.optim.optimizer import Optimizer
from treadle.runtime.array import array
from treadle.runtime.launch import launch
from treadle.types import Float, array_type

_tid = BUILTINS["tid"]


@kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def _sgd_step(
    param: array_type(Any),  # type: ignore[valid-type]
    grad: array_type(Any),  # type: ignore[valid-type]
    velocity: array_type(Any),  # type: ignore[valid-type]
    rate: Float,  # type: ignore[valid-type]
    momentum: Float,  # type: ignore[valid-type]
    fresh: Float,  # type: ignore[valid-type]
    decay: Float,  # type: ignore[valid-type]
    nesterov: bool,
) -> None:
    i = _tid()
    old = velocity.dtype(param[i])
    g = velocity.dtype(grad[i]) + decay * old
    v = momentum * velocity[i] + fresh * g
    velocity[i] = v
    if nesterov:
        v = g + momentum * v
    param[i] = param.dtype(old - rate * v)


class SGD(Optimizer):
    """Gradient descent with the options of PyTorch's: momentum, dampening, weight decay, Nesterov's form."""

    def __init__(
        self,
        params: Sequence[array] | None = None,
        lr: float = 0.001,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        super().__init__(params, 1)
        self.lr = lr
        self.momentum = momentum
        self.dampening = dampening
        self.weight_decay = weight_decay
        self.nesterov = nesterov

    def _move(self, param: array, grad: array, state: list[array]) -> None:
        number = state[0].dtype
        fresh = 1.0 if self.steps == 1 else 1.0 - self.dampening
        numbers = [number(x) for x in (self.lr, self.momentum, fresh, self.weight_decay)]
        launch(_sgd_step, param.size, [param, grad, *state, *numbers, self.nesterov and self.momentum != 0.0])
