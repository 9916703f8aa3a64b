"""Several devices of one process, and several processes: each in programs of their own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

jax = pytest.importorskip("jax")

SCRIPTS = Path(__file__).parent / "scripts"
ROOT = Path(__file__).parents[3]
TIMEOUT = 240


def environment() -> dict[str, str]:
    """That of this process, with the project on the path and one thread a process."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}


def run(*command: str) -> str:
    finished = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, env=environment(), check=False)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.mark.skipif(not hasattr(jax, "shard_map"), reason="this version of JAX has no jax.shard_map")
def test_shard_map_over_two_devices() -> None:
    assert "all right" in run(sys.executable, str(SCRIPTS / "sharded.py"))


def test_two_processes() -> None:
    address = f"127.0.0.1:{free_port()}"
    processes = [
        subprocess.Popen(
            [sys.executable, str(SCRIPTS / "processes.py"), address, "2", str(number)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment(),
        )
        for number in range(2)
    ]
    try:
        outputs = [process.communicate(timeout=TIMEOUT)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    for number, (process, output) in enumerate(zip(processes, outputs)):
        assert process.returncode == 0, output
        assert f"process {number} of 2: all right" in output


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="mpirun is not installed")
def test_two_processes_started_by_mpirun() -> None:
    options = ["--oversubscribe"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.append("--allow-run-as-root")
    output = run("mpirun", "-n", "2", *options, sys.executable, str(SCRIPTS / "processes.py"))
    assert all(f"process {number} of 2: all right" in output for number in range(2))
