"""The kernel cache under several processes and with damaged or unusable folders: results are right every time."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import treadle as wp

SCRIPT = """
import sys
import treadle as wp

wp.config.kernel_cache_dir = sys.argv[1]


@wp.func
def helper(x: float) -> float:
    return wp.sin(x) * x


@wp.kernel
def kernel(x: wp.array(dtype=float), n: int, y: wp.array(dtype=float)):
    i = wp.tid()
    s = x[i]
    for k in range(n):
        s = s * FACTOR + helper(x[i])
    assert s < 1000.0, "too large"
    y[i] = s


x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
y = wp.zeros(2, dtype=float, requires_grad=True)
with wp.Tape() as tape:
    wp.launch(kernel, dim=2, inputs=[x, 3], outputs=[y])
tape.backward(grads={y: wp.ones(2, dtype=float)})
print(*y.numpy(), *x.grad.numpy())
"""


def _start(script: Path, cache: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(wp.__file__).parents[1])}
    command = [sys.executable, str(script), str(cache)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _finish(process: subprocess.Popen[str], factor: float = 0.5) -> None:
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert [float(word) for word in output.split()] == pytest.approx(_expected(factor), rel=1.0e-5)


def _expected(factor: float) -> list[float]:
    from math import cos, sin

    values, gradients = [], []
    for x in (1.0, 2.0):
        s, ds = x, 1.0
        for _ in range(3):
            s, ds = s * factor + sin(x) * x, ds * factor + cos(x) * x + sin(x)
        values.append(s)
        gradients.append(ds)
    return values + gradients


def _run(script: Path, cache: Path, factor: float = 0.5) -> None:
    _finish(_start(script, cache), factor)


def _files(cache: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(cache.rglob("*")) if path.is_file()}


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT.replace("FACTOR", "0.5"))
    return path


def test_two_processes_fill_an_empty_cache(script: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    running = [_start(script, cache), _start(script, cache)]
    for process in running:
        _finish(process)
    before = _files(cache)
    assert before
    _run(script, cache)
    assert _files(cache) == before  # a third process has found everything, and nothing was left half done


def test_files_are_for_the_owner_alone(script: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    _run(script, cache)
    for path in _files(cache):
        assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("length", [0, 1, 40, -1])
def test_truncated_files(script: Path, tmp_path: Path, length: int) -> None:
    cache = tmp_path / "cache"
    _run(script, cache)
    good = _files(cache)
    for path, contents in good.items():
        path.write_bytes(contents[:length])
    _run(script, cache)
    assert _files(cache) == good  # written anew


@pytest.mark.parametrize("where", [0.0, 0.5, 0.999])
def test_corrupted_files(script: Path, tmp_path: Path, where: float) -> None:
    cache = tmp_path / "cache"
    _run(script, cache)
    good = _files(cache)
    for path, contents in good.items():
        damaged = bytearray(contents)
        damaged[int(where * len(contents))] ^= 0x55
        path.write_bytes(damaged)
    _run(script, cache)
    assert _files(cache) == good


def test_files_of_other_entries(script: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    _run(script, cache)
    good = _files(cache)
    assert len(good) >= 2
    for path, contents in zip(good, [*list(good.values())[1:], next(iter(good.values()))]):
        path.write_bytes(contents)
    _run(script, cache)


def test_folder_that_cannot_be_made(script: Path, tmp_path: Path) -> None:
    occupied = tmp_path / "occupied"
    occupied.write_text("a file")
    _run(script, occupied)
    _run(script, occupied / "below")
    assert occupied.read_text() == "a file"


def test_folder_that_cannot_be_written(script: Path) -> None:
    if not Path("/proc/self").exists():
        pytest.skip("needs a folder in which not even root can make files")
    _run(script, Path("/proc/self/cache"))
    _run(script, Path("/proc"))


def test_changed_source_is_compiled_anew(script: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    _run(script, cache)
    script.write_text(SCRIPT.replace("FACTOR", "0.25"))
    _run(script, cache, factor=0.25)
    script.write_text(SCRIPT.replace("FACTOR", "0.25").replace("wp.sin(x) * x", "x * wp.sin(x)"))
    _run(script, cache, factor=0.25)


# Kernels of the same text that mean different things.


def _with_constant(value: float) -> Any:
    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = value

    return kernel


def _with_constant_in_function(value: float) -> Any:
    @wp.func
    def helper() -> float:
        return value

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = helper()

    return kernel


def _with_function(value: float) -> Any:
    def double(x: float) -> float:
        return x + x

    def triple(x: float) -> float:
        return x + x + x

    function = wp.func(double if value == 2.0 else triple)

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = function(1.0)

    return kernel


def _with_static(value: float) -> Any:
    table = {"value": value}

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = wp.static(table["value"])

    return kernel


def _with_default(value: float) -> Any:
    @wp.func
    def helper(x: float = value) -> float:
        return x

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = helper()

    return kernel


def _with_attribute(value: float) -> Any:
    class Settings:
        amount = value

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = Settings.amount

    return kernel


def _with_vector(value: float) -> Any:
    vector = wp.constant(wp.vec2(value, 1.0))

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = vector[0]

    return kernel


def _with_type(value: float) -> Any:
    integer = wp.int32 if value == 2.0 else wp.uint8

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = 2.0
        if integer(-1) > integer(0):
            out[0] = 3.0

    return kernel


def _with_struct(value: float) -> Any:
    member = wp.float32 if value == 3.0 else wp.int32

    @wp.struct
    class Struct:
        x: member

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        s = Struct()
        s.x = type(s.x)(2.5)
        out[0] = 2.0 * float(s.x) - 2.0

    return kernel


def _with_derivative(value: float) -> Any:
    @wp.func
    def helper(x: float) -> float:
        return x

    @wp.func_grad(helper)
    def adj_helper(x: float, adj_ret: float):
        wp.adjoint[x] += adj_ret * value

    @wp.kernel
    def kernel(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        y[0] = helper(x[0])

    return kernel


FACTORIES = [
    _with_constant,
    _with_constant_in_function,
    _with_function,
    _with_static,
    _with_default,
    _with_attribute,
    _with_vector,
    _with_type,
    _with_struct,
]


@pytest.mark.parametrize("factory", FACTORIES)
def test_what_a_kernel_captures_is_part_of_its_key(factory: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path))
    for value in (2.0, 3.0, 2.0):
        out = wp.zeros(1, dtype=float)
        wp.launch(factory(value), dim=1, inputs=[out])
        assert out.numpy()[0] == value


def test_derivatives_by_the_user_are_part_of_the_key(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path))
    for value in (2.0, 3.0, 2.0):
        x, y = (wp.ones(1, dtype=float, requires_grad=True) for _ in range(2))
        with wp.Tape() as tape:
            wp.launch(_with_derivative(value), dim=1, inputs=[x], outputs=[y])
        tape.backward(y)
        assert x.grad.numpy()[0] == value


def test_equal_kernels_share_an_entry(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path))
    out = wp.zeros(1, dtype=float)
    for _ in range(3):
        wp.launch(_with_constant_in_function(5.0), dim=1, inputs=[out])
    assert len(_files(tmp_path)) == 1
