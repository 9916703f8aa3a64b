"""Paddle's Adam on memory that a kernel differentiates: a curve is fitted to points.

The coefficients are a tensor of Paddle. The array made of it shares its memory and its gradient, so that the tape
leaves the gradient where the optimiser looks for it.
"""

import importlib.util
import sys

if importlib.util.find_spec("paddle") is None:
    print("skipped: Paddle is not installed")
    sys.exit(0)

import numpy as np
import paddle

import treadle as wp

POINTS = 1000
STEPS = 400
TRUE = [0.5, -1.0, 2.0, 0.75]


@wp.kernel
def squared_error(
    coefficients: wp.array(dtype=float), x: wp.array(dtype=float), y: wp.array(dtype=float), loss: wp.array(dtype=float)
):
    i = wp.tid()
    value = float(0.0)
    for k in range(coefficients.shape[0]):
        value = value * x[i] + coefficients[k]
    wp.atomic_add(loss, 0, (value - y[i]) ** 2.0 / float(x.shape[0]))


def main() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1.0, 1.0, POINTS).astype(np.float32)
    y = np.polyval(TRUE, x).astype(np.float32)

    coefficients = paddle.zeros([len(TRUE)])
    coefficients.stop_gradient = False
    shared = wp.from_paddle(coefficients)
    optimizer = paddle.optimizer.Adam(learning_rate=0.1, parameters=[coefficients])
    loss = wp.zeros(1, dtype=float, requires_grad=True)

    for step in range(STEPS):
        loss.zero_()
        with wp.Tape() as tape:
            wp.launch(squared_error, dim=POINTS, inputs=[shared, x, y], outputs=[loss])
        tape.backward(loss)
        optimizer.step()
        optimizer.clear_grad()  # sets the shared gradient to zero
        if step % 100 == 0 or step == STEPS - 1:
            print(f"step {step + 1:3d}  loss {loss[0]:.3e}")
        loss.grad.zero_()

    found = coefficients.numpy()
    print(f"found {found.round(3).tolist()}, true {TRUE}")
    if np.abs(found - TRUE).max() > 1e-2:
        sys.exit("the coefficients were not found")


if __name__ == "__main__":
    main()
