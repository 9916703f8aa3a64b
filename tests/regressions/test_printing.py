"""What printing in a kernel raises comes out of the launch, as it comes out of Python's ``print``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import treadle as wp


@wp.kernel
def prints(n: int):
    print(wp.tid() + n)


@wp.kernel
def prints_and_fails(n: int):
    print(n)
    assert n < 0, "too large"


class Broken:
    def __init__(self, error: type[BaseException], after: int = 0) -> None:
        self.error = error
        self.left = after
        self.text = ""

    def write(self, text: str) -> None:
        if not self.left:
            raise self.error("broken")
        self.left -= 1
        self.text += text


@pytest.mark.parametrize("error", [BrokenPipeError, ValueError, KeyboardInterrupt])
def test_an_error_of_the_output(monkeypatch, capfd, error):
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", output := Broken(error, after=2))
        with pytest.raises(error, match="broken"):
            wp.launch(prints, dim=5, inputs=[10])
        assert output.text == "10\n11\n"
        with pytest.raises(error, match="broken"):
            wp.launch(prints, dim=1, inputs=[0], record_cmd=True).launch()
    assert capfd.readouterr().err == ""
    wp.launch(prints, dim=1, inputs=[7])
    sys.stdout.flush()


def test_the_first_failure_counts(monkeypatch):
    with pytest.raises(wp.KernelError, match="too large"):
        wp.launch(prints_and_fails, dim=1, inputs=[1])
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", Broken(ValueError))
        with pytest.raises(ValueError, match="broken"):
            wp.launch(prints_and_fails, dim=1, inputs=[1])
    with pytest.raises(wp.KernelError, match="too large"):
        wp.launch(prints_and_fails, dim=1, inputs=[1])


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_a_closed_pipe_ends_the_program(tmp_path):
    script = tmp_path / "prints.py"
    script.write_text(
        "import treadle as wp\n\n\n@wp.kernel\ndef prints():\n    print(wp.tid())\n\n\n"
        "wp.launch(prints, dim=100000)\nprint('not reached', flush=True)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(wp.__file__).parents[1])}
    read, write = os.pipe()
    with subprocess.Popen(
        [sys.executable, str(script)], env=environment, stdout=write, stderr=subprocess.PIPE, text=True
    ) as process:
        os.close(write)
        os.read(read, 1)
        os.close(read)
        errors = process.stderr.read()
    assert process.returncode != 0
    assert errors.count("BrokenPipeError") <= 2  # Python tells once more when it flushes the output at the end
    assert "ctypes" not in errors
