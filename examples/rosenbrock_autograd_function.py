"""A kernel and its adjoint inside a ``torch.autograd.Function``: 1,500 points descend the Rosenbrock function.

The backward pass launches the kernel with ``adjoint=True`` on PyTorch's own gradient buffers. With
matplotlib installed, the paths of some points are drawn into ``rosenbrock.png``.
"""

import importlib.util
import sys

import numpy as np
import torch

import treadle as wp

POINTS = 1500
STEPS = 1000


@wp.func
def rosenbrock(p: wp.vec2) -> float:
    return (1.0 - p[0]) ** 2.0 + 100.0 * (p[1] - p[0] ** 2.0) ** 2.0


@wp.kernel
def evaluate(points: wp.array(dtype=wp.vec2), values: wp.array(dtype=float)):
    i = wp.tid()
    values[i] = rosenbrock(points[i])


class Rosenbrock(torch.autograd.Function):
    """From points (n, 2) to values (n), both float32."""

    @staticmethod
    def forward(ctx, points):
        values = torch.empty(len(points))
        ctx.points = wp.from_torch(points.detach(), dtype=wp.vec2)
        ctx.values = wp.from_torch(values)
        wp.launch(evaluate, dim=len(points), inputs=[ctx.points], outputs=[ctx.values])
        return values

    @staticmethod
    def backward(ctx, grad_values):
        grad_points = torch.zeros(len(ctx.points), 2)
        wp.launch(
            evaluate,
            dim=len(ctx.points),
            inputs=[ctx.points],
            outputs=[ctx.values],
            adj_inputs=[wp.from_torch(grad_points, dtype=wp.vec2)],
            adj_outputs=[wp.from_torch(grad_values.contiguous())],
            adjoint=True,
        )
        return grad_points


def descend() -> np.ndarray:
    """Minimise from points all over the plane; returns their paths, shape (STEPS + 1, POINTS, 2)."""
    torch.manual_seed(0)
    points = (torch.rand(POINTS, 2) * torch.tensor([4.0, 4.0]) - torch.tensor([2.0, 1.0])).requires_grad_()
    optimizer = torch.optim.Adam([points], lr=0.05, betas=(0.9, 0.95))
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    paths = [points.detach().numpy().copy()]
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = Rosenbrock.apply(points).sum()
        loss.backward()
        optimizer.step()
        schedule.step()
        paths.append(points.detach().numpy().copy())
        if step % 200 == 0 or step == STEPS - 1:
            print(f"step {step + 1:4d}  mean value {loss.item() / POINTS:.3e}")
    return np.array(paths)


def draw(paths: np.ndarray, name: str) -> None:
    """Draw some paths over contours of the function."""
    from matplotlib.figure import Figure

    x, y = np.meshgrid(np.linspace(-2.2, 2.2, 300), np.linspace(-1.2, 3.2, 300))
    figure = Figure(figsize=(7.0, 6.0), layout="constrained")
    axes = figure.subplots()
    levels = np.logspace(-1.0, 3.5, 16)
    axes.contourf(x, y, (1.0 - x) ** 2 + 100.0 * (y - x**2) ** 2, levels, norm="log", cmap="Blues_r", extend="both")
    for i in range(0, POINTS, 50):
        axes.plot(*paths[:, i].T, color="tab:orange", linewidth=0.8)
        axes.plot(*paths[0, i], "o", color="tab:orange", markersize=3.0)
    axes.plot(1.0, 1.0, "*", color="tab:red", markersize=14.0, label="minimum (1, 1)")
    axes.set(xlabel="x", ylabel="y", title="Descent of the Rosenbrock function", xlim=(-2.2, 2.2), ylim=(-1.2, 3.2))
    axes.legend(loc="lower right")
    figure.savefig(name, dpi=120)
    print(f"drawn into {name}")


def main() -> None:
    paths = descend()
    distances = np.linalg.norm(paths[-1] - 1.0, axis=1)
    print(f"distances from (1, 1): median {np.median(distances):.1e}, worst {distances.max():.1e}")
    if importlib.util.find_spec("matplotlib") is not None:
        draw(paths, "rosenbrock.png")
    if distances.max() > 1e-2:
        sys.exit("not all points have reached the minimum")


if __name__ == "__main__":
    main()
