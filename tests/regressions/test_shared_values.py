"""Long chains of values that are the same in all threads compile: LLVM once took exponential time over them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

STEPS = {
    "extrema": "s = wp.min(s, wp.sin(s))",
    "products": "s = s * s * 0.25 + s * 0.5",
    "choices": "s = wp.where(s > 0.5, s * 0.5, s + 0.125)",
}
USES = {
    "added": "y[i] += s * x[i]",
    "stored": "y[i] = s * x[i]",
    "summed": "wp.atomic_add(y, 0, s * x[i])",
    "scattered": "wp.atomic_add(y, order[i], s * x[i])",
}
PROGRAM = """
import tempfile
import numpy as np
import treadle as wp
wp.config.kernel_cache_dir = tempfile.mkdtemp()

doubles, ints = wp.array(dtype=wp.float64), wp.array(dtype=int)

@wp.kernel
def shared(w: doubles, x: doubles, order: ints, y: doubles):
    i = wp.tid()
    s = w[order[0]]
    for _ in range(40):
        STEP
    USE

@wp.kernel
def shared_in_rows(w: doubles, x: doubles, order: ints, y: doubles):
    row, i = wp.tid()
    s = w[row]
    for _ in range(40):
        STEP
    USE

w, x, y = (wp.array(np.full(64, 0.75), dtype=wp.float64, requires_grad=True) for _ in range(3))
order = wp.array(np.arange(64), dtype=int)
with wp.Tape() as tape:
    wp.launch(shared, dim=64, inputs=[w, x, order, y])
    wp.launch(shared_in_rows, dim=(1, 64), inputs=[w, x, order, y])
tape.backward(grads={y: wp.ones(64, dtype=wp.float64)})
assert np.isfinite(w.grad.numpy()).all() and w.grad.numpy()[0] != 0.0 and not w.grad.numpy()[1:].any()
"""


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("step", STEPS)
def test_chains_compile(step: str, use: str, tmp_path: Path) -> None:
    script = tmp_path / "chain.py"
    script.write_text(PROGRAM.replace("STEP", STEPS[step]).replace("USE", USES[use]))
    subprocess.run([sys.executable, str(script)], check=True, timeout=120)
