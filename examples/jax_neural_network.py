"""The same small network, trained by JAX and by PyTorch: one Treadle kernel is its layer in both.

The kernel computes ``tanh(x @ w + b)`` for a batch. JAX gets it by ``jax_kernel``, with gradients; PyTorch by an
autograd function that launches the kernel and its adjoint. Both start from the same weights and see the same data, so
that the losses agree, step by step.
"""

import sys

import numpy as np

import treadle as wp

STEPS, RATE = 200, 0.3


@wp.kernel
def layer(x: wp.array2d(dtype=float), w: wp.array2d(dtype=float), b: wp.array(dtype=float), y: wp.array2d(dtype=float)):
    i, j = wp.tid()
    total = b[j]
    for k in range(x.shape[1]):
        total += x[i, k] * w[k, j]
    y[i, j] = wp.tanh(total)


def data_and_weights() -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Points of a plane, a curved function of them, and the weights to start from."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (256, 2)).astype(np.float32)
    target = (np.sin(3 * x[:, :1]) * x[:, 1:]).astype(np.float32)
    sizes = [2, 24, 1]
    weights = []
    for fan_in, fan_out in zip(sizes, sizes[1:]):
        weights.append(rng.normal(0, 1 / np.sqrt(fan_in), (fan_in, fan_out)).astype(np.float32))
        weights.append(np.zeros(fan_out, np.float32))
    return x, target, weights


def train_in_jax() -> list[float]:
    import jax
    import jax.numpy as jnp

    jax_layer = wp.jax_kernel(layer, enable_backward=True)
    x, target, weights = data_and_weights()

    def apply(v, w, b):
        (y,) = jax_layer(v, w, b, launch_dims=(v.shape[0], w.shape[1]))
        return y

    def loss(weights):
        w1, b1, w2, b2 = weights
        return jnp.mean((apply(apply(x, w1, b1), w2, b2) - target) ** 2)

    @jax.jit
    def step(weights):
        value, gradient = jax.value_and_grad(loss)(weights)
        return value, [w - RATE * g for w, g in zip(weights, gradient)]

    losses = []
    for _ in range(STEPS):
        value, weights = step(weights)
        losses.append(float(value))
    return losses


def train_in_torch() -> list[float]:
    import torch

    class Layer(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w, b):
            y = torch.empty(x.shape[0], w.shape[1])
            ctx.save_for_backward(x, w, b, y)
            wp.launch(layer, dim=y.shape, inputs=[x, w, b], outputs=[y])
            return y

        @staticmethod
        def backward(ctx, grad_y):
            x, w, b, y = ctx.saved_tensors
            gradients = [torch.zeros_like(t) for t in (x, w, b)]
            wp.launch(
                layer,
                dim=y.shape,
                inputs=[x.detach(), w.detach(), b.detach()],
                outputs=[y.detach()],
                adj_inputs=gradients,
                adj_outputs=[grad_y.clone()],
                adjoint=True,
            )
            return tuple(gradients)

    x, target, start = data_and_weights()
    x, target = torch.tensor(x), torch.tensor(target)
    weights = [torch.tensor(w, requires_grad=True) for w in start]
    optimizer = torch.optim.SGD(weights, lr=RATE)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        w1, b1, w2, b2 = weights
        value = torch.mean((Layer.apply(Layer.apply(x, w1, b1), w2, b2) - target) ** 2)
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses


def main() -> None:
    losses = {}
    for name, train in (("JAX", train_in_jax), ("PyTorch", train_in_torch)):
        try:
            losses[name] = train()
        except ImportError as error:
            print(f"{name} is not installed ({error}): left out")
            continue
        first, last = losses[name][0], losses[name][-1]
        print(f"{name:8s} loss {first:.6f} -> {last:.6f}")
        if not last < 0.5 * first:
            sys.exit(f"{name} did not learn")
    if len(losses) == 2:
        difference = np.max(np.abs(np.subtract(losses["JAX"], losses["PyTorch"])))
        print(f"largest difference of the losses of a step: {difference:.1e}")
        if difference > 1e-4:
            sys.exit("the losses differ")


if __name__ == "__main__":
    main()
