"""Processes that are forked while kernels are compiled, by another thread or by the one that forks, can compile."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import treadle as wp

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")

HEAD = """
import os, signal, sys, threading, time
import treadle as wp

wp.config.kernel_cache_dir = sys.argv[1]


def make(c):
    @wp.kernel
    def k(out: wp.array(dtype=float)):
        out[0] = c

    return k


def run(c):
    out = wp.zeros(1, dtype=float)
    wp.launch(make(c), dim=1, inputs=[out])
    assert out.list() == [c], out
"""

OTHER_THREAD = """
stop = []


def background():
    c = 0.0
    while not stop:
        c += 0.25
        run(c)


thread = threading.Thread(target=background)
thread.start()
for k in range(12):
    time.sleep(0.013)
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        run(1000.0 + k)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
stop.append(True)
thread.join()
run(0.5)
"""

SAME_THREAD = """
children = []


def fork():
    children.append(os.fork())
    if children[-1] == 0:
        signal.alarm(30)
    return 1.0 if children[-1] else 2.0


@wp.kernel
def k(out: wp.array(dtype=float)):
    out[0] = wp.static(fork())


out = wp.zeros(1, dtype=float)
wp.launch(k, dim=1, inputs=[out])
is_parent = 0 not in children
assert out.list() == [1.0 if children[-1] else 2.0]
run(3.0)
if not is_parent:
    os._exit(0)
assert children
for child in children:
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.parametrize("program", [OTHER_THREAD, SAME_THREAD], ids=["other thread", "same thread"])
def test_a_child_can_compile(tmp_path: Path, program: str) -> None:
    script = tmp_path / "forks.py"
    script.write_text(HEAD + program)
    environment = {**os.environ, "PYTHONPATH": str(Path(wp.__file__).parents[1])}
    command = [sys.executable, "-W", "ignore::DeprecationWarning", str(script), str(tmp_path / "cache")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
