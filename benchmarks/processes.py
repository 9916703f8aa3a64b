"""Runs the scripts of this package in fresh processes, with a kernel cache that is empty at first."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REPEATS = 5


@contextmanager
def empty_cache() -> Iterator[str]:
    """A folder for compiled kernels that goes away afterwards."""
    with tempfile.TemporaryDirectory(prefix="treadle-benchmark-") as folder:
        yield folder


def run_script(name: str, *arguments: str) -> float:
    """The number that ``benchmarks/scripts/<name>.py`` prints. Raises CalledProcessError if it fails."""
    command = [sys.executable, "-m", f"benchmarks.scripts.{name}", *arguments]
    # Byte code is kept, as it is for an installed package.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return float(done.stdout)


def median_with_empty_caches(name: str, *arguments: str, repeats: int = REPEATS) -> float:
    """The median over fresh processes, each with an empty cache, whose folder is the script's first argument."""
    values = []
    for _ in range(repeats):
        with empty_cache() as folder:
            values.append(run_script(name, folder, *arguments))
    return statistics.median(values)


def median_with_one_cache(name: str, *arguments: str, repeats: int = REPEATS) -> float:
    """The median over fresh processes that find in the cache what a process before them has compiled."""
    with empty_cache() as folder:
        run_script(name, folder, *arguments)
        return statistics.median(run_script(name, folder, *arguments) for _ in range(repeats))
