"""Launches inside PyTorch's autograd: functions and operators written by hand, and gradients that come late."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
import pytest

import treadle as wp

torch = pytest.importorskip("torch")
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

f64 = torch.float64


@wp.kernel
def rosenbrock(x: wp.array(dtype=wp.vec2d), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    one, hundred = wp.float64(1.0), wp.float64(100.0)
    y[i] = (one - x[i][0]) * (one - x[i][0]) + hundred * (x[i][1] - x[i][0] * x[i][0]) * (x[i][1] - x[i][0] * x[i][0])


@wp.kernel
def add_one(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] + 1.0


@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


def reference(x: Any) -> Any:
    return (1 - x[:, 0]) ** 2 + 100 * (x[:, 1] - x[:, 0] ** 2) ** 2


class ByAdjointLaunch(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.x = wp.from_torch(x, dtype=wp.vec2d)
        ctx.y = wp.zeros(len(x), wp.float64, requires_grad=True)
        wp.launch(rosenbrock, len(x), [ctx.x], [ctx.y])
        return wp.to_torch(ctx.y, requires_grad=False)

    @staticmethod
    def backward(ctx: Any, incoming: Any) -> Any:
        result = torch.zeros(len(incoming), 2, dtype=f64)
        x = wp.from_torch(wp.to_torch(ctx.x, requires_grad=False), dtype=wp.vec2d, grad=result)
        wp.launch(
            rosenbrock,
            len(incoming),
            [x],
            [ctx.y],
            adj_outputs=[wp.from_torch(incoming)],
            adjoint=True,
        )
        return result


class ByTape(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.x = wp.from_torch(x.detach(), dtype=wp.vec2d, requires_grad=True)
        ctx.y = wp.zeros(len(x), wp.float64, requires_grad=True)
        with wp.Tape() as ctx.tape:
            wp.launch(rosenbrock, len(x), [ctx.x], [ctx.y])
        return wp.to_torch(ctx.y, requires_grad=False)

    @staticmethod
    def backward(ctx: Any, incoming: Any) -> Any:
        ctx.tape.zero()
        ctx.tape.backward(grads={ctx.y: wp.from_torch(incoming)})
        return wp.to_torch(ctx.x.grad).clone()


@pytest.mark.parametrize("function", [ByAdjointLaunch, ByTape])
def test_functions_written_by_hand(function: Any) -> None:
    x = torch.randn(5, 2, dtype=f64, requires_grad=True)
    torch.testing.assert_close(function.apply(x), reference(x))
    assert torch.autograd.gradcheck(function.apply, (x,))
    y, expected = function.apply(x), reference(x)
    wide = torch.randn(5, 4, dtype=f64)
    before = wide.clone()
    for column in (0, 2, 2):
        (got,) = torch.autograd.grad(y, x, wide[:, column], retain_graph=True)
        (want,) = torch.autograd.grad(expected, x, wide[:, column], retain_graph=True)
        torch.testing.assert_close(got, want)
    assert torch.equal(wide, before)


def test_incoming_gradients_are_only_read() -> None:
    x, y = wp.full(3, 2.0), wp.zeros(3)
    incoming, read_only = torch.arange(3.0), np.ones(3, np.float32)
    read_only.flags.writeable = False
    results = wp.zeros(3)
    gradients = {"adj_inputs": [results], "adj_outputs": [incoming], "adjoint": True}
    wp.launch(square, 3, [x], [y], **gradients)
    command = wp.launch(square, 3, [x], [y], **gradients, record_cmd=True)
    for times in (2, 3):
        command.launch()
        assert results.list() == [0, 4 * times, 8 * times]
    with wp.ScopedCapture() as capture:
        wp.launch(square, 3, [x], [y], **gradients)
        command.launch()
    wp.capture_launch(capture.graph)
    assert results.list() == [0, 20, 40] and incoming.tolist() == [0, 1, 2]
    wp.launch(square, 3, [x], [y], adj_inputs=[results], adj_outputs=[read_only], adjoint=True)
    assert results.list() == [4, 24, 44] and read_only.tolist() == [1, 1, 1]


@torch.library.custom_op("treadle_tests::rosenbrock", mutates_args=())
def operator(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty(len(x), dtype=x.dtype)
    wp.launch(rosenbrock, len(x), [x], [y])
    return y


@torch.library.custom_op("treadle_tests::rosenbrock_backward", mutates_args=())
def operator_backward(x: torch.Tensor, incoming: torch.Tensor) -> torch.Tensor:
    result = torch.zeros_like(x)
    y = wp.empty(len(x), wp.float64)
    a = wp.from_torch(x, dtype=wp.vec2d, grad=result)
    wp.launch(rosenbrock, len(x), [a], [y], adj_outputs=[wp.from_torch(incoming)], adjoint=True)
    return result


operator.register_fake(lambda x: torch.empty(len(x), dtype=x.dtype))
operator_backward.register_fake(lambda x, incoming: torch.empty_like(x))
operator.register_autograd(
    lambda ctx, incoming: operator_backward(*ctx.saved_tensors, incoming),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
)


def test_operators_written_by_hand_are_compiled_whole() -> None:
    x = torch.randn(5, 2, dtype=f64, requires_grad=True)
    compiled = torch.compile(lambda v: operator(v * 2).sum(), fullgraph=True, backend="aot_eager")
    for f in (lambda v: operator(v * 2).sum(), compiled):
        (got,) = torch.autograd.grad(f(x), x)
        torch.testing.assert_close(got, torch.autograd.grad(reference(x * 2).sum(), x)[0])
    assert torch.autograd.gradcheck(operator, (x,))


# -- Gradients that PyTorch allocates late


class Operations(TorchDispatchMode):
    """Notes every operation of PyTorch that runs."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, function: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
        self.names.append(str(function))
        return function(*arguments, **(keywords or {}))


def test_nothing_is_allocated_or_copied_unasked() -> None:
    t = torch.ones(1000, requires_grad=True)
    buffer, detached = torch.zeros(1000), t.detach()
    with Operations() as operations:
        arrays = [
            wp.from_torch(t, requires_grad=False),
            wp.from_torch(detached),
            wp.from_torch(t, grad=buffer),
            wp.from_torch(t, grad=wp.from_torch(buffer)),
            wp.from_torch(t, requires_grad=False, return_ctype=True),
        ]
        wp.launch(add_one, 1000, [t], [buffer])
    assert operations.names == []
    assert t.grad is None and all(a.ptr == t.data_ptr() for a in arrays)
    assert [a.grad is None for a in arrays] == [True, True, False, False, True]
    assert all(a.grad.ptr == buffer.data_ptr() for a in arrays[2:4])
    with Operations() as operations:
        wp.from_torch(t)
    assert t.grad is not None and len(operations.names) > 0, "this is what the three ways avoid"


def test_a_gradient_that_autograd_makes_later() -> None:
    """An array made early takes part later, once its tensor has got its gradient."""
    t = torch.ones(3, requires_grad=True)
    early = wp.from_torch(t, requires_grad=False)
    (t * 2).sum().backward()
    early.grad = wp.from_torch(t.grad)
    wp.launch(add_one, 3, [early], [wp.zeros(3)], adjoint=True, adj_outputs=[wp.ones(3)])
    assert t.grad.tolist() == [3, 3, 3]


# -- Memory


def resident() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_conversions_leak_no_memory() -> None:
    t, leaf = torch.zeros(1000), torch.zeros(1000, requires_grad=True)
    a, b = wp.zeros(1000), wp.zeros(1000, requires_grad=True)
    leaf.grad = torch.zeros(1000)

    def convert(count: int) -> None:
        for _ in range(count):
            wp.from_torch(t)
            wp.from_torch(leaf)
            wp.from_torch(t, return_ctype=True)
            wp.to_torch(a)
            wp.to_torch(b)
            wp.launch(add_one, 1000, [t], [a])

    convert(1000)
    gc.collect()
    before = resident()
    convert(5000)
    gc.collect()
    assert resident() - before < 1_000_000
    assert sys.getrefcount(a.allocation) <= 3
