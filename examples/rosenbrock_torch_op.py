"""A kernel as an operator of PyTorch in one line: differentiated, compiled, and batched with ``torch.func``.

1,000 points descend the Rosenbrock function in a compiled graph; then ``vmap`` and ``grad`` give the gradient for a
batch of functions, those of other constants.
"""

import importlib.util
import shutil
import sys

if importlib.util.find_spec("torch") is None:
    print("skipped: PyTorch is not installed")
    sys.exit(0)

import torch

import treadle as wp
from treadle.interop.torch import torch_op

POINTS = 1000
STEPS = 500


@wp.kernel
def rosenbrock(points: wp.array(dtype=wp.vec2), b: wp.array(dtype=float), values: wp.array(dtype=float)):
    i = wp.tid()
    p = points[i]
    values[i] = (1.0 - p[0]) ** 2.0 + b[0] * (p[1] - p[0] ** 2.0) ** 2.0


operator = torch_op(rosenbrock)


def loss(points: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return operator(points, b).sum()


def reference(points: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    x, y = points[..., 0], points[..., 1]
    return ((1.0 - x) ** 2 + b * (y - x**2) ** 2).sum()


def descend() -> torch.Tensor:
    """Minimise from points all over the plane; returns where they end."""
    points = (4.0 * torch.rand(POINTS, 2) - torch.tensor([2.0, 1.0])).requires_grad_()
    # PyTorch's own compiler needs one for C++; without it the graph is traced whole all the same.
    backend = "inductor" if shutil.which("g++") or shutil.which("clang++") else "aot_eager"
    compiled = torch.compile(loss, fullgraph=True, backend=backend)
    optimizer = torch.optim.Adam([points], lr=0.05, betas=(0.9, 0.95))
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    for step in range(STEPS):
        optimizer.zero_grad()
        value = compiled(points, torch.tensor([100.0]))
        value.backward()
        optimizer.step()
        schedule.step()
        if step % 100 == 0 or step == STEPS - 1:
            print(f"step {step + 1:3d}  mean value {value.item() / POINTS:.3e}")
    return points.detach()


def main() -> None:
    torch.manual_seed(0)
    distances = (descend() - 1.0).norm(dim=1)
    print(f"distances from (1, 1): median {distances.median():.1e}, worst {distances.max():.1e}")
    if distances.median() > 1e-2:
        sys.exit("the points have not reached the minimum")

    points, constants = torch.rand(8, 2), torch.tensor([[1.0], [10.0], [100.0]])
    gradients = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(points, constants)
    expected = torch.func.vmap(torch.func.grad(reference), in_dims=(None, 0))(points, constants)
    error = (gradients - expected).abs().max().item()
    print(f"gradients of {len(constants)} functions at {len(points)} points: largest difference {error:.1e}")
    if error > 1e-3:
        sys.exit("the gradients differ from PyTorch's own")


if __name__ == "__main__":
    main()
