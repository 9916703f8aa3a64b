"""Treadle owns the points and the loss: PyTorch's Adam moves a cloud of points onto a torus.

``wp.to_torch`` gives tensors that share the memory of the arrays and of their gradients, so that
Adam reads what ``tape.backward`` wrote, and changes the points in place.
"""

import sys

import numpy as np
import torch

import treadle as wp

RING = wp.constant(2.0)
TUBE = wp.constant(0.7)


@wp.func
def torus_distance(p: wp.vec3) -> float:
    """How far a point is from the surface of the torus, negative inside."""
    from_ring = wp.length(wp.vec2(p[0], p[1])) - RING
    return wp.length(wp.vec2(from_ring, p[2])) - TUBE


@wp.kernel
def squared_distances(points: wp.array(dtype=wp.vec3), loss: wp.array(dtype=float)):
    i = wp.tid()
    distance = torus_distance(points[i])
    wp.atomic_add(loss, 0, distance * distance)


def main() -> None:
    start = np.random.default_rng(0).uniform(-3.0, 3.0, (1000, 3))
    points = wp.array(start, dtype=wp.vec3, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)

    torch_points = wp.to_torch(points)
    optimizer = torch.optim.Adam([torch_points], lr=0.05)

    for step in range(301):
        loss.zero_()
        tape = wp.Tape()
        with tape:
            wp.launch(squared_distances, dim=len(points), inputs=[points], outputs=[loss])
        if step % 50 == 0:
            print(f"step {step:3d}  loss {loss.numpy()[0]:.6f}")
        tape.backward(loss=loss)
        optimizer.step()
        tape.zero()

    x, y, z = points.numpy().T
    distances = np.hypot(np.hypot(x, y) - 2.0, z) - 0.7
    print(f"distances from the torus up to {np.abs(distances).max():.4f}")
    if np.abs(distances).max() > 1e-2:
        sys.exit("the points are not on the torus")


if __name__ == "__main__":
    main()
