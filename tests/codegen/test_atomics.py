"""Atomic operations of every kind on every type, from one thread and from several."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from tests.codegen.running import Compiled, Kernel, array_of, bfloat16_array, from_bfloat16
from treadle.codegen import Options, cpu, emit_kernel
from treadle.ir import IRError
from treadle.types.scalars import SCALARS, bfloat16, bool_, float16, float32, float64, int32, uint8
from treadle.types.storage import Aggregate, ArrayRef

NUMBERS = [t for t in SCALARS if t is not bool_]
FUNCTIONS = {"add": np.add, "sub": np.subtract, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
             "or": np.bitwise_or, "xor": np.bitwise_xor, "exch": lambda old, new: new}  # fmt: skip


def atomic_kernel(kind: str, scalar) -> Compiled:
    """Thread i applies ``kind`` to target[i] and writes the old value."""
    k = Kernel(*[array_of(scalar)] * (4 if kind == "cas" else 3))
    target, *values, old = k.parameters
    i = k.thread()
    operands = [k.load(v, i, type=scalar) for v in values]
    k.store(old, i, k.emit("atomic", target, i, *operands, kind=kind, offset=0))
    return k.compile()


def sample(scalar, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if scalar is bool_:
        return rng.integers(0, 2, 16).astype(bool)
    if scalar is bfloat16:
        return bfloat16_array(rng.integers(-8, 8, 16) / 4)
    if scalar.is_float:
        return (rng.integers(-8, 8, 16) / 4).astype(scalar.numpy)
    info = np.iinfo(scalar.numpy)
    return rng.integers(info.min, info.max, 16, dtype=scalar.numpy, endpoint=True)


@pytest.mark.parametrize("scalar", SCALARS, ids=str)
@pytest.mark.parametrize("kind", FUNCTIONS)
def test_kinds(kind, scalar):
    if scalar.is_float and kind in ("and", "or", "xor") or scalar is bool_ and kind in ("add", "sub", "min", "max"):
        pytest.skip("not defined")
    before, values, old = sample(scalar, 0), sample(scalar, 1), np.zeros(16, scalar.numpy)
    target = before.copy()
    atomic_kernel(kind, scalar)(16, target, values, old)
    with np.errstate(over="ignore"):
        if scalar is bfloat16 and kind != "exch":
            expected = bfloat16_array(FUNCTIONS[kind](from_bfloat16(before), from_bfloat16(values)))
        else:
            expected = FUNCTIONS[kind](before, values)
    np.testing.assert_array_equal(target, expected)
    np.testing.assert_array_equal(old, before)


@pytest.mark.parametrize("scalar", SCALARS, ids=str)
def test_compare_and_exchange(scalar):
    before, new, old = sample(scalar, 0), sample(scalar, 1), np.zeros(16, scalar.numpy)
    compare = before.copy()
    compare[::2] = sample(scalar, 2)[::2]
    target = before.copy()
    atomic_kernel("cas", scalar)(16, target, compare, new, old)
    np.testing.assert_array_equal(target, np.where(compare == before, new, before))
    np.testing.assert_array_equal(old, before)


@pytest.mark.parametrize("kind", ["min", "max"])
def test_minima_treat_nan_as_the_primitive_does(kind):
    target = np.array([np.nan, 1, np.nan, 0.0], np.float32)
    values, old = np.array([1, np.nan, np.nan, -0.0], np.float32), np.zeros(4, np.float32)
    k = Kernel(*[array_of(float32)] * 3)
    x, y, out = k.parameters
    i = k.thread()
    k.store(out, i, k.emit(kind, k.load(x, i, type=float32), k.load(y, i, type=float32)))
    expected = np.zeros(4, np.float32)
    k.compile()(4, target, values, expected)
    atomic_kernel(kind, float32)(4, target, values, old)
    np.testing.assert_array_equal(target.view(np.int32), expected.view(np.int32))


@pytest.mark.parametrize("scalar", [int32, uint8, float16, bfloat16, float32, float64], ids=str)
def test_several_threads_add_to_one_element(scalar):
    k = Kernel(array_of(scalar))
    k.emit("atomic", k.parameters[0], k.index(0), k.constant(scalar, 1), kind="add", offset=0)
    kernel, total = k.compile(), np.zeros(2, scalar.numpy)
    count = 60 if scalar in (uint8, bfloat16) else 500  # bfloat16 counts to 256, float16 to 2048
    threads = [threading.Thread(target=kernel, args=(count, total)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (from_bfloat16(total) if scalar is bfloat16 else total)[0] == 4 * count
    assert total[1] == 0


@pytest.mark.parametrize("kind", ["add", "sub", "max"])
@pytest.mark.parametrize("scalar", [float32, bfloat16, int32], ids=str)
def test_aggregates_component_by_component(kind, scalar):
    type_ = Aggregate(scalar, 40)
    array = ArrayRef(1, type_.size, True)
    k = Kernel(array, array, array)
    target, values, old = k.parameters
    zero = k.index(0)
    before = k.emit("atomic", target, zero, k.load(values, k.thread(), type=type_), kind=kind, offset=0)
    k.store(old, zero, before)
    numbers = np.arange(40)
    column = bfloat16_array(numbers) if scalar is bfloat16 else numbers.astype(scalar.numpy)
    x, y, z = column[None].copy(), column[None][:, ::-1].copy(), np.zeros((1, 40), scalar.numpy)
    k.compile()(1, x[:, 0], y[:, 0], z[:, 0])
    expected = FUNCTIONS[kind](numbers, numbers[::-1])
    np.testing.assert_array_equal(from_bfloat16(x[0]) if scalar is bfloat16 else x[0], expected)
    np.testing.assert_array_equal(z[0], column)


def test_offsets_within_an_element():
    k = Kernel(ArrayRef(1, 12, True))
    k.emit("atomic", k.parameters[0], k.thread(), k.constant(float32, 2), kind="add", offset=8)
    x = np.ones((3, 3), np.float32)
    k.compile()(3, x[:, 0])
    np.testing.assert_array_equal(x, [[1, 1, 3]] * 3)


@pytest.mark.parametrize("kind", ["and", "cas"])
def test_what_cannot_be_done_is_refused(kind):
    type_ = float32 if kind == "and" else Aggregate(float32, 40)
    k = Kernel(ArrayRef(1, type_.size, True))
    value = k.zero(type_)
    k.emit("atomic", k.parameters[0], k.index(0), *[value] * (2 if kind == "cas" else 1), kind=kind, offset=0)
    with pytest.raises(IRError):
        emit_kernel(k.function, "k", 1, cpu.target())


@pytest.mark.parametrize("scalar", NUMBERS, ids=repr)
@pytest.mark.parametrize("kind", FUNCTIONS)
def test_kernels_that_run_alone_do_without_atomics(kind, scalar):
    """All threads update one element, each with a number of its own: the results are those of plain Python."""
    if scalar.is_float and kind in ("and", "or", "xor"):
        pytest.skip("not defined")
    k = Kernel(*[array_of(scalar)] * 3)
    target, values, old = k.parameters
    i = k.thread()
    k.store(old, i, k.emit("atomic", target, k.index(0), k.load(values, i, type=scalar), kind=kind, offset=0))
    alone = k.compile(1, Options(is_alone=True))
    assert "atomicrmw" not in alone.emitted.text and "cmpxchg" not in alone.emitted.text
    count = 13
    results = []
    for kernel in (alone, Compiled(k.function)):
        numbers = [(7 * n + 3) % 11 for n in range(count)]
        arrays = [np.array(part, np.float32) for part in ([5], numbers, [0] * count)]
        if scalar is bfloat16:
            arrays = [bfloat16_array(a) for a in arrays]
        else:
            arrays = [a.astype(scalar.numpy) for a in arrays]
        kernel(count, *arrays)
        results.append(arrays)
    for got, expected in zip(*results):
        np.testing.assert_array_equal(got, expected)
