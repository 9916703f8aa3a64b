"""Prints the seconds that a kernel of 1,000 generated lines and its adjoint take to compile."""

import importlib.util
import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import treadle as wp
from benchmarks.scripts.compiling import seconds

LINES = 1000
HEADER = """import treadle as wp

@wp.kernel
def generated(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    v0 = x[i]
    v1 = x[i] + 1.0
    v2 = x[i] + 2.0
"""
FORMS = (
    "0.5 * {a} + 0.25 * {b} - {c}",
    "wp.sin({a}) * {b}",
    "{a} * {b} / (1.0 + {c} * {c})",
    "wp.tanh({a} - {b}) + {c}",
    "wp.where({a} > {b}, {a}, {c})",
)


def source() -> str:
    """A kernel in which every line uses three of the last eight values."""
    rng = random.Random(0)
    lines = []
    for n in range(3, LINES):
        recent = range(max(0, n - 8), n)
        a, b, c = (f"v{rng.choice(recent)}" for _ in range(3))
        lines.append(f"    v{n} = {rng.choice(FORMS).format(a=a, b=b, c=c)}\n")
    return HEADER + "".join(lines) + f"    wp.atomic_add(loss, 0, v{LINES - 1} + v{LINES - 2})\n"


def load(folder: str) -> Any:
    """The kernel, from a file in ``folder``."""
    path = Path(folder) / "generated_kernel.py"
    path.write_text(source())
    spec = importlib.util.spec_from_file_location("generated_kernel", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.generated


with tempfile.TemporaryDirectory() as folder:
    x = wp.array(np.array([0.3], dtype=np.float32), dtype=float, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    print(seconds(load(folder), [x], loss))
    assert np.isfinite(x.grad.numpy()).all()
