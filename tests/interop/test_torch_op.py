"""Kernels as operators of PyTorch: values, gradients, compilation, batching and refusals."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

import treadle as wp

torch = pytest.importorskip("torch")
from treadle.interop.torch import torch_op  # noqa: E402

f64 = torch.float64


@wp.kernel
def rosenbrock(x: wp.array(dtype=wp.vec2d), b: wp.float64, y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    one = wp.float64(1.0)
    y[i] = (one - x[i][0]) * (one - x[i][0]) + b * (x[i][1] - x[i][0] * x[i][0]) * (x[i][1] - x[i][0] * x[i][0])


@wp.kernel
def two_outputs(x: wp.array(dtype=wp.float64), w: wp.array(dtype=wp.float64), s: wp.array(dtype=wp.float64),
                p: wp.array(dtype=wp.float64)):  # fmt: skip
    i = wp.tid()
    s[i] = x[i] + wp.sin(w[i])
    p[i] = x[i] * w[i]


@wp.kernel
def update(x: wp.array(dtype=wp.float64), z: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    z[i] = z[i] * x[i]
    y[i] = z[i] * z[i]


@wp.kernel
def total(x: wp.array(dtype=wp.float64, ndim=2), y: wp.array(dtype=wp.float64)):
    i, j = wp.tid()
    wp.atomic_add(y, 0, x[i, j] * x[i, j])


@wp.kernel
def in_order(x: wp.array(dtype=wp.float64), tickets: wp.array(dtype=int), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    ticket = wp.atomic_add(tickets, 0, 1)
    y[i] = x[i] * wp.float64(ticket + 1)


@wp.kernel
def turn(x: wp.array(dtype=wp.vec3), m: wp.mat33, offset: wp.vec3, y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    y[i] = m * x[i] + offset


@wp.kernel
def scalars(x: wp.array(dtype=float), n: int, flag: bool, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * float(n)
    if flag:
        y[i] = -y[i]


@wp.kernel
def ramp(step: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = step * float(i)


@wp.kernel
def keeps_reading(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    for _ in range(3):
        y[i] = y[i] + x[i]
        y[i] = y[i] * y[i]


rosen = torch_op(rosenbrock)


def reference(x: Any, b: float) -> Any:
    return (1 - x[..., 0]) ** 2 + b * (x[..., 1] - x[..., 0] ** 2) ** 2


@pytest.fixture
def x() -> Any:
    torch.manual_seed(0)
    return torch.randn(5, 2, dtype=f64, requires_grad=True)


# -- Values and gradients


def test_value_and_gradient(x: Any) -> None:
    y = rosen(x, 100.0)
    torch.testing.assert_close(y, reference(x, 100.0))
    (gradient,) = torch.autograd.grad(y.sum(), x)
    (expected,) = torch.autograd.grad(reference(x, 100.0).sum(), x)
    torch.testing.assert_close(gradient, expected)
    assert rosen.__name__ == "rosenbrock"


def test_checks_of_pytorch(x: Any) -> None:
    assert torch.autograd.gradcheck(lambda v: rosen(v, 3.0), (x,))
    torch.library.opcheck(rosen._op, (x, 3.0, [5], [5], 0))


def test_layouts() -> None:
    wide = torch.randn(2, 10, dtype=f64)
    for t in (wide.T[:, :2], wide.T[::2, :2], wide[:, :4].reshape(4, 2)[:0], torch.randn(2, dtype=f64).expand(4, 2)):
        v = t.detach().clone().requires_grad_()
        strided = torch.as_strided(v, t.shape, v.stride())
        torch.testing.assert_close(rosen(t, 2.0), reference(t, 2.0))
        torch.testing.assert_close(rosen(strided, 2.0), reference(strided, 2.0))


def test_repeated_backward_with_strided_gradients_that_stay_untouched(x: Any) -> None:
    y = rosen(x, 2.0)
    wide = torch.randn(5, 3, dtype=f64)
    before = wide.clone()
    results = [torch.autograd.grad(y, x, wide[:, 1], retain_graph=True)[0] for _ in range(3)]
    (ones,) = torch.autograd.grad(y, x, torch.ones((), dtype=f64).expand(5))
    (expected,) = torch.autograd.grad(reference(x, 2.0), x, wide[:, 1])
    assert torch.equal(wide, before)
    for result in results:
        torch.testing.assert_close(result, expected)
    torch.testing.assert_close(ones, torch.autograd.grad(reference(x, 2.0).sum(), x)[0])


def test_several_outputs_and_unused_ones() -> None:
    op = torch_op(two_outputs, num_outputs=2)
    a, b = (torch.randn(4, dtype=f64, requires_grad=True) for _ in range(2))
    s, p = op(a, b)
    torch.testing.assert_close((s, p), (a + b.sin(), a * b))
    assert torch.autograd.gradcheck(op, (a, b))
    assert torch.autograd.gradcheck(lambda u, v: op(u, v)[1], (a, b))
    assert torch.autograd.gradcheck(lambda v: op(a.detach(), v), (b,))
    assert not op(a.detach(), b.detach())[0].requires_grad


def test_updated_arrays() -> None:
    op = torch_op(update, num_outputs=2, in_out_argnames=["z"])
    a, z = (torch.randn(4, dtype=f64, requires_grad=True) for _ in range(2))
    before = z.detach().clone()
    new, y = op(a, z)
    torch.testing.assert_close((new, y), (z * a, (z * a) ** 2))
    assert torch.equal(z, before)
    assert torch.autograd.gradcheck(op, (a, z))
    assert torch.autograd.gradcheck(lambda u: op(u, z.detach()), (a,))


def test_a_kernel_that_reads_what_it_wrote() -> None:
    op = torch_op(keeps_reading)
    a = torch.rand(4, dtype=f64, requires_grad=True)
    assert torch.autograd.gradcheck(op, (a,))


def test_a_kernel_with_a_counter() -> None:
    op = torch_op(in_order, num_outputs=2, in_out_argnames=("tickets",))
    a = torch.rand(4, dtype=f64, requires_grad=True)
    tickets, y = op(a, torch.zeros(1, dtype=torch.int32))
    assert tickets.tolist() == [4]
    torch.testing.assert_close(y, a * torch.arange(1, 5))
    (gradient,) = torch.autograd.grad(y.sum(), a)
    assert gradient.tolist() == [1, 2, 3, 4]


def test_reductions_start_from_zero() -> None:
    op = torch_op(total, output_dims=1)
    a = torch.rand(3, 4, dtype=f64, requires_grad=True)
    for _ in range(2):
        torch.testing.assert_close(op(a), (a * a).sum().reshape(1))
    assert torch.autograd.gradcheck(op, (a,))


def test_vectors_and_numbers_by_value() -> None:
    a = torch.rand(4, 3, requires_grad=True)
    m, offset = torch.rand(3, 3), torch.rand(3)
    op = torch_op(turn)
    expected = a @ m.T + offset
    for given in ((m.tolist(), offset.tolist()), (wp.mat33(*m.flatten().tolist()), wp.vec3(*offset.tolist()))):
        y = op(a, *given)
        torch.testing.assert_close(y, expected)
    torch.testing.assert_close(torch.autograd.grad(y.sum(), a)[0], torch.autograd.grad(expected.sum(), a)[0])
    numbers = torch_op(scalars)
    assert numbers(torch.ones(2), 3, True).tolist() == [-3, -3]
    assert numbers(torch.ones(2), 3, False).tolist() == [3, 3]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_small_floats(dtype: Any) -> None:
    language = wp.dtype_from_torch(dtype)

    @wp.kernel
    def square(x: wp.array(dtype=language), y: wp.array(dtype=language)):
        i = wp.tid()
        y[i] = x[i] * x[i]

    a = torch.tensor([1.0, 2.0], dtype=dtype, requires_grad=True)
    y = torch_op(square)(a)
    y.sum().backward()
    assert y.tolist() == [1, 4] and a.grad.tolist() == [2, 4]


# -- Dimensions


def test_dimensions_given() -> None:
    op = torch_op(ramp, launch_dims=3)
    assert op(2.0).tolist() == [0, 2, 4]
    assert op(2.0, launch_dims=(2,)).tolist() == [0, 2]
    assert op(2.0, output_dims=5).tolist() == [0, 2, 4, 0, 0]
    assert torch_op(ramp)(2.0, output_dims={"y": 2}).tolist() == [0, 2]
    vectors = torch_op(turn, output_dims=(6, 3), launch_dims=2)
    y = vectors(torch.ones(4, 3), [1.0] * 9, [0.0] * 3)
    assert y.shape == (6, 3) and y.sum() == 18
    assert vectors(torch.ones(4, 3), [1.0] * 9, [0.0] * 3, output_dims=2).shape == (2, 3)


def test_what_does_not_fit(x: Any) -> None:
    for use, message in [
        (lambda: torch_op(rosen), "expected a kernel"),
        (lambda: torch_op(rosenbrock, num_outputs=0), "at least one output"),
        (lambda: torch_op(rosenbrock, num_outputs=4), "num_outputs is 4"),
        (lambda: torch_op(rosenbrock, num_outputs=2), "parameter b: an output must be an array"),
        (lambda: torch_op(rosenbrock, in_out_argnames=["q"]), "'q'"),
        (lambda: torch_op(update, num_outputs=2, in_out_argnames="y"), "before the outputs"),
        (lambda: rosen(x), "takes 2 inputs"),
        (lambda: rosen([1.0], 2.0), "expected a tensor, got list"),
        (lambda: rosen(x[:, 0], 2.0), r"components \(2,\), got one of shape \(5,\)"),
        (lambda: rosen(x.float(), 2.0), "parameter x"),
        (lambda: rosen(x, 2.0, output_dims={"z": 3}), "output_dims names z"),
        (lambda: rosen(x, 2.0, output_dims=(2, 3)), "output_dims of y"),
        (lambda: torch_op(ramp)(2.0), "is not known"),
        (lambda: torch_op(update)(x[:, 0], x[:, 1]), "parameter z: the kernel writes to it"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            use()


def test_types_that_are_refused() -> None:
    @wp.struct
    class S:
        a: float

    @wp.kernel
    def takes_struct(s: S, y: wp.array(dtype=float)):
        y[wp.tid()] = s.a

    @wp.kernel
    def takes_structs(s: wp.array(dtype=S), y: wp.array(dtype=float)):
        y[wp.tid()] = s[0].a

    @wp.kernel
    def is_open(x: wp.array(dtype=Any), y: wp.array(dtype=Any)):
        y[wp.tid()] = x[wp.tid()]

    for kernel, message in [(takes_struct, "cannot be"), (takes_structs, "structs"), (is_open, "must be known")]:
        with pytest.raises(TypeError, match=message):
            torch_op(kernel)


def test_no_second_derivative(x: Any) -> None:
    (gradient,) = torch.autograd.grad(rosen(x, 2.0).sum(), x, create_graph=True)
    with pytest.raises(wp.DerivativeError, match="second derivative"):
        gradient.sum().backward()
    with pytest.raises(wp.DerivativeError, match="second derivative"):
        torch.func.jacrev(torch.func.grad(lambda v: rosen(v, 2.0).sum()))(x.detach())


def test_names_in_the_registry(x: Any) -> None:
    first, second = torch_op(rosenbrock), torch_op(rosenbrock)
    assert first.name != second.name
    torch_op(rosenbrock, name="treadle_tests::named")
    assert torch.ops.treadle_tests.named(x, 2.0, [5], [5], 0).shape == (5,)


# -- torch.func


def test_batches(x: Any) -> None:
    b = torch.randn(3, 5, 2, dtype=f64)
    torch.testing.assert_close(torch.func.vmap(lambda v: rosen(v, 2.0))(b), reference(b, 2.0))
    torch.testing.assert_close(
        torch.func.vmap(lambda v: rosen(v, 2.0), in_dims=1, out_dims=1)(b), reference(b, 2.0)
    )
    nested = torch.func.vmap(torch.func.vmap(lambda v: rosen(v, 2.0)))
    c = torch.randn(2, 3, 5, 2, dtype=f64)
    torch.testing.assert_close(nested(c), reference(c, 2.0))
    two = torch_op(two_outputs, num_outputs=2)
    a, w = torch.randn(3, 4, dtype=f64), torch.randn(4, dtype=f64)
    s, p = torch.func.vmap(two, in_dims=(0, None))(a, w)
    torch.testing.assert_close((s, p), (a + w.sin(), a * w))
    fixed = torch.func.vmap(lambda v: torch_op(total, output_dims=1)(v, launch_dims=(2, 2)))
    grids = torch.rand(3, 4, 4, dtype=f64)
    torch.testing.assert_close(fixed(grids), (grids[:, :2, :2] ** 2).sum((1, 2))[:, None])


def test_gradients_of_batches() -> None:
    b = torch.randn(3, 5, 2, dtype=f64, requires_grad=True)
    y = torch.func.vmap(lambda v: rosen(v, 2.0))(b)
    (gradient,) = torch.autograd.grad(y.sum(), b)
    torch.testing.assert_close(gradient, torch.autograd.grad(reference(b, 2.0).sum(), b)[0])
    two = torch_op(two_outputs, num_outputs=2)
    a, w = torch.randn(3, 4, dtype=f64, requires_grad=True), torch.randn(4, dtype=f64, requires_grad=True)
    assert torch.autograd.gradcheck(torch.func.vmap(two, in_dims=(0, None)), (a, w))
    updating = torch_op(update, num_outputs=2, in_out_argnames="z")
    assert torch.autograd.gradcheck(torch.func.vmap(updating, in_dims=(0, None)), (a, w))


def test_transformations() -> None:
    b = torch.randn(3, 5, 2, dtype=f64)
    per_sample = torch.func.vmap(torch.func.grad(lambda v: rosen(v, 2.0).sum()))(b)
    torch.testing.assert_close(per_sample, torch.func.vmap(torch.func.grad(lambda v: reference(v, 2.0).sum()))(b))
    for transform in (torch.func.jacrev, lambda f: lambda v: torch.func.vjp(f, v)[1](torch.ones(5, dtype=f64))[0]):
        got, expected = (transform(lambda v, f=f: f(v, 2.0))(b[0]) for f in (rosen, reference))
        torch.testing.assert_close(got, expected)
    two = torch_op(two_outputs, num_outputs=2)
    a, w = torch.randn(3, 4, dtype=f64), torch.randn(4, dtype=f64)
    both = torch.func.grad(lambda u, v: two(u, v)[1].sum(), argnums=(0, 1))
    gradients = torch.func.vmap(both, in_dims=(0, None))(a, w)
    torch.testing.assert_close(gradients, (w.expand(3, 4), a))


# -- torch.compile


@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled_whole(dynamic: bool) -> None:
    updating = torch_op(update, num_outputs=2, in_out_argnames=["z"])

    def f(v: Any, z: Any) -> Any:
        new, y = updating(rosen(v * 2, 3.0), z)
        return (new * y).sum()

    compiled = torch.compile(f, fullgraph=True, dynamic=dynamic, backend="aot_eager")
    for n in (5, 7, 7):
        v, z = torch.randn(n, 2, dtype=f64, requires_grad=True), torch.randn(n, dtype=f64, requires_grad=True)
        expected, got = f(v, z), compiled(v, z)
        torch.testing.assert_close(got, expected)
        for left, right in zip(torch.autograd.grad(got, (v, z)), torch.autograd.grad(expected, (v, z))):
            torch.testing.assert_close(left, right)


@pytest.mark.skipif(shutil.which("g++") is None, reason="PyTorch's own compiler needs a compiler for C++")
def test_compiled_by_inductor(x: Any) -> None:
    compiled = torch.compile(lambda v: rosen(v + 1, 3.0).sum(), fullgraph=True)
    value = compiled(x)
    torch.testing.assert_close(value, reference(x + 1, 3.0).sum())
    (gradient,) = torch.autograd.grad(value, x)
    torch.testing.assert_close(gradient, torch.autograd.grad(reference(x + 1, 3.0).sum(), x)[0])
