"""A kernel and its adjoint as operators of PyTorch, written out, under ``torch.compile(fullgraph=True)``.

The kernel and its adjoint are registered with ``torch.library.custom_op``; ``register_fake`` tells the compiler the
shapes, ``register_autograd`` ties the two together. 1,000 points descend the Rosenbrock function, in one graph.
``rosenbrock_torch_op.py`` does the same in one line.
"""

import importlib.util
import shutil
import sys

if importlib.util.find_spec("torch") is None:
    print("skipped: PyTorch is not installed")
    sys.exit(0)

import torch

import treadle as wp

POINTS = 1000
STEPS = 500


@wp.func
def rosenbrock(p: wp.vec2) -> float:
    return (1.0 - p[0]) ** 2.0 + 100.0 * (p[1] - p[0] ** 2.0) ** 2.0


@wp.kernel
def evaluate(points: wp.array(dtype=wp.vec2), values: wp.array(dtype=float)):
    i = wp.tid()
    values[i] = rosenbrock(points[i])


@torch.library.custom_op("examples::rosenbrock", mutates_args=())
def operator(points: torch.Tensor) -> torch.Tensor:
    values = torch.empty(len(points))
    wp.launch(evaluate, dim=len(points), inputs=[points], outputs=[values])
    return values


@torch.library.custom_op("examples::rosenbrock_backward", mutates_args=())
def backward(points: torch.Tensor, grad_values: torch.Tensor) -> torch.Tensor:
    grad_points = torch.zeros_like(points, memory_format=torch.contiguous_format)
    wp.launch(
        evaluate,
        dim=len(points),
        inputs=[points],
        outputs=[torch.empty(len(points))],
        adj_inputs=[grad_points],
        adj_outputs=[grad_values],
        adjoint=True,
    )
    return grad_points


@operator.register_fake
def _(points):
    return points.new_empty(len(points))


@backward.register_fake
def _(points, grad_values):
    return torch.empty_like(points, memory_format=torch.contiguous_format)


operator.register_autograd(
    lambda ctx, grad_values: backward(ctx.saved_tensors[0], grad_values),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
)


def loss(points: torch.Tensor) -> torch.Tensor:
    return operator(points).sum()


def main() -> None:
    torch.manual_seed(0)
    points = (4.0 * torch.rand(POINTS, 2) - torch.tensor([2.0, 1.0])).requires_grad_()
    # PyTorch's own compiler needs one for C++; without it the graph is traced whole all the same.
    backend = "inductor" if shutil.which("g++") or shutil.which("clang++") else "aot_eager"
    compiled = torch.compile(loss, fullgraph=True, backend=backend)
    optimizer = torch.optim.Adam([points], lr=0.05, betas=(0.9, 0.95))
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    for step in range(STEPS):
        optimizer.zero_grad()
        value = compiled(points)
        value.backward()
        optimizer.step()
        schedule.step()
        if step % 100 == 0 or step == STEPS - 1:
            print(f"step {step + 1:3d}  mean value {value.item() / POINTS:.3e}")
    distances = (points.detach() - 1.0).norm(dim=1)
    print(f"distances from (1, 1): median {distances.median():.1e}, worst {distances.max():.1e}")
    if distances.median() > 1e-2:
        sys.exit("the points have not reached the minimum")


if __name__ == "__main__":
    main()
