"""PyTorch owns the points, a Treadle kernel the loss: PyTorch's Adam moves a cloud of points onto a circle.

The arrays wrap the tensors' memory, and the tensors' gradients too: what ``tape.backward`` adds to the
gradient of the array is what Adam finds in ``points.grad``. The launch is recorded once; each backward
pass uses the points as they are by then.
"""

import sys

import torch

import treadle as wp


@wp.kernel
def distance_from_circle(points: wp.array2d(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    radius = wp.sqrt(points[i, 0] ** 2.0 + points[i, 1] ** 2.0)
    wp.atomic_add(loss, 0, (radius - 1.0) ** 2.0)


def main() -> None:
    torch.manual_seed(0)
    points = torch.randn(1000, 2, requires_grad=True)
    loss = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.Adam([points], lr=0.05)

    wp_points, wp_loss = wp.from_torch(points), wp.from_torch(loss)
    tape = wp.Tape()
    with tape:
        wp.launch(distance_from_circle, dim=len(points), inputs=[wp_points], outputs=[wp_loss])
    print(f"step   0  loss {loss.item():.6f}")

    for step in range(1, 301):
        tape.zero()
        tape.backward(loss=wp_loss)
        optimizer.step()
        if step % 50 == 0:
            wp_loss.zero_()
            wp.launch(distance_from_circle, dim=len(points), inputs=[wp_points], outputs=[wp_loss])
            print(f"step {step:3d}  loss {loss.item():.6f}")

    radii = points.detach().norm(dim=1)
    print(f"radii from {radii.min():.4f} to {radii.max():.4f}")
    if not torch.allclose(radii, torch.ones_like(radii), atol=1e-2):
        sys.exit("the points are not on the circle")


if __name__ == "__main__":
    main()
