"""``func_native``: bodies and derivatives in C++."""

from __future__ import annotations

import shutil
import subprocess
import sys

import numpy as np
import pytest

import treadle as wp
from treadle.runtime.native import NativeError

needs_compiler = pytest.mark.skipif(
    not (shutil.which("c++") or shutil.which("clang++")), reason="there is no C++ compiler"
)


@wp.func_native(
    "return a * sin(x) + n;",
    adj_snippet="adj_a += sin(x) * adj_ret; adj_x += a * cos(x) * adj_ret;",
)
def wave(a: float, x: float, n: int) -> float: ...


@wp.func_native("out[i] = a * x[i] + out[i];")
def saxpy(a: float, x: wp.array(dtype=float), out: wp.array(dtype=float), i: int): ...


@wp.func_native(
    "atomicAdd(&out[0], x[i] * x[i]);",
    adj_snippet="atomicAdd(&adj_x[i], 2.0f * x[i] * adj_out[0]);",
)
def sum_of_squares(x: wp.array(dtype=float), out: wp.array(dtype=float), i: int): ...


@wp.func_native(
    """
    Vector<3, double> r;
    for (int k = 0; k < 3; ++k) r[k] = m(k, 0) * v[0] + m(k, 1) * v[1] + m(k, 2) * v[2];
    return r;
    """,
    adj_snippet="""
    for (int k = 0; k < 3; ++k)
        for (int j = 0; j < 3; ++j) {
            adj_m(k, j) += adj_ret[k] * v[j];
            adj_v[j] += adj_ret[k] * m(k, j);
        }
    """,
)
def product(m: wp.mat33d, v: wp.vec3d) -> wp.vec3d: ...


@wp.func_native(
    "int slot = atomicAdd(&counter[0], 1); slots[i] = slot; return slot;", replay_snippet="return slots[i];"
)
def reserve(counter: wp.array(dtype=int), slots: wp.array(dtype=int), i: int) -> int: ...


@wp.func_native("return a(i, j) + b(0, i, j);")
def from_two_arrays(a: wp.array2d(dtype=float), b: wp.array3d(dtype=float), i: int, j: int) -> float: ...


@wp.func_native("this is not C++")
def broken(x: float) -> float: ...


@wp.kernel
def waves(x: wp.array(dtype=float), y: wp.array(dtype=float), steps: int):
    i = wp.tid()
    s = float(0.0)
    for k in range(steps):
        s += wave(x[i] * x[i], x[i] + s, k)
    y[i] = s


@wp.kernel
def saxpys(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    saxpy(3.0, x, y, wp.tid())


@wp.kernel
def sums(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    sum_of_squares(x, y, wp.tid())


@wp.kernel
def products(m: wp.array(dtype=wp.mat33d), v: wp.array(dtype=wp.vec3d), y: wp.array(dtype=wp.vec3d)):
    i = wp.tid()
    y[i] = product(m[i], v[i])


@wp.kernel
def compacted(x: wp.array(dtype=float), c: wp.array(dtype=int), s: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    y[reserve(c, s, i)] = x[i] * x[i]


@wp.kernel
def gathered(a: wp.array2d(dtype=float), b: wp.array3d(dtype=float), y: wp.array2d(dtype=float)):
    i, j = wp.tid()
    y[i, j] = from_two_arrays(a, b, i, j)


@wp.kernel
def uses_broken(y: wp.array(dtype=float)):
    y[0] = broken(1.0)


def floats(*values: float) -> wp.array:
    return wp.array(values, dtype=float, requires_grad=True)


@needs_compiler
def test_values_and_gradient_in_a_loop() -> None:
    def reference(x: np.ndarray) -> np.ndarray:
        s = np.zeros_like(x)
        for k in range(3):
            s = s + x * x * np.sin(x + s) + k
        return s

    x, y = floats(0.5, 1.2), floats(0.0, 0.0)
    with wp.Tape() as tape:
        wp.launch(waves, 2, [x, y, 3])
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    values = np.array([0.5, 1.2])
    np.testing.assert_allclose(y.numpy(), reference(values), rtol=1e-5)
    h = 1e-6
    np.testing.assert_allclose(x.grad.numpy(), (reference(values + h) - reference(values - h)) / (2 * h), rtol=1e-4)


@needs_compiler
def test_arrays_and_atomics() -> None:
    x, y = floats(1.0, 2.0), floats(10.0, 20.0)
    wp.launch(saxpys, 2, [x, y])
    np.testing.assert_array_equal(y.numpy(), [13.0, 26.0])
    total = floats(0.0)
    with wp.Tape() as tape:
        wp.launch(sums, 2, [x, total])
        x.fill_(7.0)  # the tape keeps what the adjoint reads
    tape.backward(total)
    assert total.numpy()[0] == 5.0
    # The fill came last, so the gradient of what was there before went through the sum alone.
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 4.0])


@needs_compiler
def test_composites_agree_with_the_language() -> None:
    rng = np.random.default_rng(0)
    m = wp.array(rng.normal(size=(4, 3, 3)), dtype=wp.mat33d, requires_grad=True)
    v = wp.array(rng.normal(size=(4, 3)), dtype=wp.vec3d, requires_grad=True)
    y = wp.zeros(4, dtype=wp.vec3d, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(products, 4, [m, v, y])
    g = rng.normal(size=(4, 3))
    tape.backward(grads={y: wp.array(g, dtype=wp.vec3d)})
    np.testing.assert_allclose(y.numpy(), np.einsum("nij,nj->ni", m.numpy(), v.numpy()))
    np.testing.assert_allclose(m.grad.numpy(), np.einsum("ni,nj->nij", g, v.numpy()))
    np.testing.assert_allclose(v.grad.numpy(), np.einsum("nij,ni->nj", m.numpy(), g))


@needs_compiler
def test_a_replay_snippet_reads_what_the_launch_left() -> None:
    x, y = floats(*range(1, 9)), floats(*[0.0] * 8)
    counter, slots = wp.zeros(1, dtype=int), wp.zeros(8, dtype=int)
    with wp.Tape() as tape:
        wp.launch(compacted, 8, [x, counter, slots, y])
    tape.backward(grads={y: wp.ones(8, dtype=float)})
    np.testing.assert_array_equal(x.grad.numpy(), 2 * x.numpy())
    assert counter.numpy()[0] == 8


@needs_compiler
def test_arrays_with_strides() -> None:
    a = np.arange(12, dtype=np.float32).reshape(3, 4)[:, ::2]
    b = np.arange(24, dtype=np.float32).reshape(2, 3, 4)[:, :, 1::2]
    y = wp.zeros((3, 2), dtype=float)
    wp.launch(gathered, (3, 2), [a, b, y])
    np.testing.assert_array_equal(y.numpy(), a + b[0])


@needs_compiler
def test_a_gradient_without_adj_snippet_is_refused() -> None:
    x, y = floats(1.0, 2.0), floats(10.0, 20.0)
    with wp.Tape() as tape:
        wp.launch(saxpys, 2, [x, y])
    with pytest.raises(wp.DerivativeError, match="no adj_snippet"):
        tape.backward(grads={y: wp.ones(2, dtype=float)})


@needs_compiler
def test_the_compiler_is_quoted() -> None:
    with pytest.raises(NativeError, match="does not compile"):
        wp.launch(uses_broken, 1, [wp.zeros(1, dtype=float)])


def test_without_a_compiler_the_error_says_how_to_get_one() -> None:
    script = (
        "import os, sys; os.environ['PATH'] = '/nowhere'; os.environ.pop('CXX', None); sys.modules['ziglang'] = None\n"
        "from treadle.runtime import native\n"
        "try: native.compiler()\n"
        "except native.NativeError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "CXX" in done.stdout and "treadle[native]" in done.stdout


@wp.func_native(
    "return x * x * a[i] * table[i];",
    adj_snippet="adj_x += 2.0f * x * a[i] * table[i] * adj_ret; atomicAdd(&adj_a[i], x * x * table[i] * adj_ret);",
)
def weighted_square(x: float, a: wp.array(dtype=float), table: wp.array(dtype=int), i: int) -> float: ...


@wp.kernel
def weighted_squares(
    x: wp.array(dtype=float), a: wp.array(dtype=float), t: wp.array(dtype=int), o: wp.array(dtype=float)
):
    i = wp.tid()
    o[i] = weighted_square(x[i], a, t, i)


@wp.kernel
def slope_of_weighted_square(
    x: wp.array(dtype=float), a: wp.array(dtype=float), t: wp.array(dtype=int), o: wp.array(dtype=float)
):
    i = wp.tid()
    o[i] = wp.grad(weighted_square)(x[i], a, t, i)


@needs_compiler
def test_a_gradient_that_the_snippet_writes_to_must_be_there() -> None:
    x, o, table = floats(1.0, 2.0), floats(0.0, 0.0), wp.array([1, 3], dtype=int)
    without = wp.array([3.0, 4.0], dtype=float)
    with wp.Tape() as tape:
        wp.launch(weighted_squares, 2, [x, without, table, o])
    with pytest.raises(wp.DerivativeError, match="weighted_square .* uses the gradient of an array that has none here"):
        tape.backward(grads={o: wp.ones(2, dtype=float)})
    with pytest.raises(wp.DerivativeError, match="uses the gradient of an array that has none here"):
        wp.launch(slope_of_weighted_square, 2, [x, without, table, o])

    a = floats(3.0, 4.0)
    with wp.Tape() as tape:
        wp.launch(weighted_squares, 2, [x, a, table, o])
    tape.backward(grads={o: wp.ones(2, dtype=float)})
    assert x.grad.numpy().tolist() == [6.0, 48.0]
    assert a.grad.numpy().tolist() == [1.0, 12.0]
