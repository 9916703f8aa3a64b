"""Adam: steps of a size that the averages of the gradient and of its square decide on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treadle.language import BUILTINS, kernel
from treadle.optim.optimizer import Optimizer
from treadle.runtime.array import array
from treadle.runtime.launch import launch
from treadle.types import Float, array_type

_tid, _sqrt = BUILTINS["tid"], BUILTINS["sqrt"]


@kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def _adam_step(
    param: array_type(Any),  # type: ignore[valid-type]
    grad: array_type(Any),  # type: ignore[valid-type]
    mean: array_type(Any),  # type: ignore[valid-type]
    square: array_type(Any),  # type: ignore[valid-type]
    rate: Float,  # type: ignore[valid-type]
    beta1: Float,  # type: ignore[valid-type]
    beta2: Float,  # type: ignore[valid-type]
    scale: Float,  # type: ignore[valid-type]
    eps: Float,  # type: ignore[valid-type]
) -> None:
    i = _tid()
    g = mean.dtype(grad[i])
    m = beta1 * mean[i] + (1.0 - beta1) * g
    s = beta2 * square[i] + (1.0 - beta2) * g * g
    mean[i] = m
    square[i] = s
    param[i] = param.dtype(mean.dtype(param[i]) - rate * m / (_sqrt(s * scale) + eps))


class Adam(Optimizer):
    """Adam with bias correction (Kingma and Ba, 2015)."""

    def __init__(
        self,
        params: Sequence[array] | None = None,
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        super().__init__(params, 2)
        self.lr = lr
        self.beta1, self.beta2 = betas
        self.eps = eps

    def _move(self, param: array, grad: array, state: list[array]) -> None:
        number = state[0].dtype
        rate = self.lr / (1.0 - self.beta1**self.steps)
        scale = 1.0 / (1.0 - self.beta2**self.steps)
        numbers = [number(x) for x in (rate, self.beta1, self.beta2, scale, self.eps)]
        launch(_adam_step, param.size, [param, grad, *state, *numbers])
