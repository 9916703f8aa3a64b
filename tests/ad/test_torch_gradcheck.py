"""PyTorch's ``gradcheck`` and ``gradgradcheck`` on functions made of tapes, adjoint launches and nested ``grad``."""

from __future__ import annotations

from typing import Any

import pytest

import treadle as wp

torch = pytest.importorskip("torch")


@wp.kernel
def iterated(x: wp.array(dtype=wp.float64), w: wp.array(dtype=wp.float64), n: int, y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    s = x[i]
    for k in range(n):
        if s > wp.float64(0.5):
            s = s * wp.cos(w[k])
        else:
            s = s + w[k] * wp.sin(s)
    y[i] = s * s


@wp.kernel
def squared_in_place(y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    y[i] = y[i] * y[i] * wp.float64(0.5)


class ByTape(torch.autograd.Function):
    """Two launches, one of which overwrites what the other left, on a tape."""

    @staticmethod
    def forward(ctx: Any, x: Any, w: Any) -> Any:
        ctx.x = wp.from_torch(x.detach(), requires_grad=True)
        ctx.w = wp.from_torch(w.detach(), requires_grad=True)
        ctx.y = wp.zeros(x.shape[0], dtype=wp.float64, requires_grad=True)
        with wp.Tape() as ctx.tape:
            wp.launch(iterated, x.shape[0], [ctx.x, ctx.w, w.shape[0]], [ctx.y])
            wp.launch(squared_in_place, x.shape[0], [ctx.y])
        return wp.to_torch(ctx.y).detach().clone()

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        before = grad_output.clone()
        ctx.tape.zero()
        ctx.tape.backward(grads={ctx.y: wp.from_torch(grad_output.detach(), requires_grad=False)})
        assert torch.equal(grad_output, before), "the incoming gradient is not ours to write"
        return wp.to_torch(ctx.x.grad).clone(), wp.to_torch(ctx.w.grad).clone()


class ByAdjointLaunch(torch.autograd.Function):
    """One launch, and its adjoint on given buffers."""

    @staticmethod
    def forward(ctx: Any, x: Any, w: Any) -> Any:
        y = torch.zeros_like(x)
        wp.launch(iterated, x.shape[0], [wp.from_torch(x.detach()), wp.from_torch(w.detach()), w.shape[0]], [y])
        ctx.save_for_backward(x, w, y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        x, w, y = (wp.from_torch(t.detach()) for t in ctx.saved_tensors)
        gradients = [wp.zeros_like(a) for a in (x, w)]
        incoming = wp.from_torch(grad_output.detach().clone())
        wp.launch(
            iterated,
            x.shape[0],
            [x, w, w.shape[0]],
            [y],
            adj_inputs=[*gradients, None],
            adj_outputs=[incoming],
            adjoint=True,
        )
        return tuple(wp.to_torch(g) for g in gradients)


@pytest.mark.parametrize("function", [ByTape, ByAdjointLaunch])
def test_gradcheck(function: Any) -> None:
    x = torch.tensor([0.3, 0.8, -0.4, 1.2], dtype=torch.float64, requires_grad=True)
    w = torch.tensor([0.7, -0.2, 0.4], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(function.apply, (x, w))


def test_gradcheck_with_a_strided_incoming_gradient() -> None:
    x = torch.tensor([0.3, 0.8, -0.4, 1.2], dtype=torch.float64, requires_grad=True)
    w = torch.tensor([0.7, -0.2, 0.4], dtype=torch.float64, requires_grad=True)

    def every_second(x: Any, w: Any) -> Any:
        wide = torch.zeros(8, dtype=torch.float64)
        return wide.index_add(0, torch.arange(0, 8, 2), ByTape.apply(x, w)).reshape(4, 2)[:, 0]

    assert torch.autograd.gradcheck(every_second, (x, w))


@wp.func
def potential(x: wp.float64, y: wp.float64):
    s = x
    for _ in range(3):
        s = s * wp.sin(s * y) + y * y
    return s * wp.exp(x * y)


@wp.func
def potential_x(x: wp.float64, y: wp.float64):
    dx, dy = wp.grad(potential)(x, y)
    return dx


@wp.func
def potential_y(x: wp.float64, y: wp.float64):
    dx, dy = wp.grad(potential)(x, y)
    return dy


@wp.kernel
def values(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64), f: wp.array(dtype=wp.float64)):
    i = wp.tid()
    f[i] = potential(x[i], y[i])


@wp.kernel
def gradients(
    x: wp.array(dtype=wp.float64),
    y: wp.array(dtype=wp.float64),
    g: wp.array(dtype=wp.float64),
    gx: wp.array(dtype=wp.float64),
    gy: wp.array(dtype=wp.float64),
):
    i = wp.tid()
    dx, dy = wp.grad(potential)(x[i], y[i])
    gx[i] = g[i] * dx
    gy[i] = g[i] * dy


@wp.kernel
def second_gradients(
    x: wp.array(dtype=wp.float64),
    y: wp.array(dtype=wp.float64),
    g: wp.array(dtype=wp.float64),
    vx: wp.array(dtype=wp.float64),
    vy: wp.array(dtype=wp.float64),
    gx: wp.array(dtype=wp.float64),
    gy: wp.array(dtype=wp.float64),
    gg: wp.array(dtype=wp.float64),
):
    i = wp.tid()
    xx, xy = wp.grad(potential_x)(x[i], y[i])
    yx, yy = wp.grad(potential_y)(x[i], y[i])
    dx, dy = wp.grad(potential)(x[i], y[i])
    gx[i] = g[i] * (vx[i] * xx + vy[i] * yx)
    gy[i] = g[i] * (vx[i] * xy + vy[i] * yy)
    gg[i] = vx[i] * dx + vy[i] * dy


def run(kernel: Any, *inputs: Any, outputs: int) -> tuple[Any, ...]:
    results = tuple(torch.zeros_like(inputs[0]) for _ in range(outputs))
    wp.launch(kernel, inputs[0].shape[0], [t.detach().contiguous() for t in inputs], list(results))
    return results


class Gradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, y: Any, g: Any) -> Any:
        ctx.save_for_backward(x, y, g)
        return run(gradients, x, y, g, outputs=2)

    @staticmethod
    def backward(ctx: Any, vx: Any, vy: Any) -> Any:
        return run(second_gradients, *ctx.saved_tensors, vx, vy, outputs=3)


class Value(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x, y)
        return run(values, x, y, outputs=1)[0]

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return Gradient.apply(*ctx.saved_tensors, g)


def test_gradgradcheck_of_nested_grad() -> None:
    x = torch.tensor([0.3, 0.8, -0.4], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([0.5, -0.2, 0.9], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(Value.apply, (x, y))
    assert torch.autograd.gradgradcheck(Value.apply, (x, y))


@wp.func
def rosenbrock(v: wp.vec2d):
    return (wp.float64(1.0) - v.x) ** 2 + wp.float64(100.0) * (v.y - v.x * v.x) ** 2


@wp.func
def rosenbrock_x(v: wp.vec2d):
    return wp.grad(rosenbrock)(v).x


@wp.func
def rosenbrock_y(v: wp.vec2d):
    return wp.grad(rosenbrock)(v).y


@wp.kernel
def hessians(v: wp.array(dtype=wp.vec2d), h: wp.array(dtype=wp.mat22d)):
    i = wp.tid()
    row_x = wp.grad(rosenbrock_x)(v[i])
    row_y = wp.grad(rosenbrock_y)(v[i])
    h[i] = wp.mat22d(row_x.x, row_x.y, row_y.x, row_y.y)


def test_hessian_of_rosenbrock_is_the_analytic_one() -> None:
    points = torch.tensor([[0.3, 0.8], [-1.2, 1.0], [1.0, 1.0]], dtype=torch.float64)
    h = wp.zeros(3, dtype=wp.mat22d)
    wp.launch(hessians, 3, [wp.from_torch(points, dtype=wp.vec2d)], [h])
    x, y = points.unbind(1)
    expected = torch.stack([2 - 400 * (y - 3 * x * x), -400 * x, -400 * x, torch.full_like(x, 200.0)], 1).reshape(
        3, 2, 2
    )
    torch.testing.assert_close(wp.to_torch(h), expected)
