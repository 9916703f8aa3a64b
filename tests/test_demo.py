"""The demo finds the throws, and its pieces do what they say."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from treadle.demo import Settings, run
from treadle.demo.picture import trajectories
from treadle.demo.progress import Progress
from treadle.demo.scene import random_throws, wheel
from treadle.demo.training import Simulation, check_gradient


def test_a_small_run_lowers_the_loss_and_has_the_right_gradient(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = run(Settings(balls=50, iterations=100, picture=None))
    assert outcome.passed
    assert outcome.last_loss < outcome.first_loss / 1000
    assert outcome.hits > 0.9
    printed = capsys.readouterr().out
    assert "100/100" in printed and "central differences" in printed


@pytest.mark.parametrize("ball", range(0, 40, 5))
def test_gradients_agree_with_central_differences(ball: int) -> None:
    assert check_gradient(random_throws(40, 1)[ball], wheel(40)[ball]).error < 1e-6


def test_a_trajectory_ends_where_the_ball_of_the_simulation_rests() -> None:
    throws, targets = random_throws(8, 2), wheel(8)
    simulation = Simulation.of(throws, targets)
    simulation.run()
    ends = np.array([path[-1] for path in trajectories(throws)])
    np.testing.assert_allclose(np.linalg.norm(ends[:, :2] - targets, axis=1), simulation.distances())
    assert all((path[:, 2] >= 0.0).all() for path in trajectories(throws))


def test_progress_writes_plain_lines_where_there_is_no_terminal() -> None:
    stream = io.StringIO()
    progress = Progress(60, stream)
    for i in range(1, 61):
        progress.update(i, "note")
    lines = stream.getvalue().splitlines()
    assert len(lines) == 7 and all("note" in line and "\r" not in line for line in lines)


def test_progress_redraws_one_line_in_a_terminal() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    progress = Progress(4, stream)
    for i in range(1, 5):
        progress.update(i, "note")
    text = stream.getvalue()
    assert text.count("\r") == 4 and text.count("\n") == 1 and text.endswith("\n")


def test_the_command_line_writes_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    arguments = ["demo", "--balls", "20", "--iterations", "5", "--picture", str(tmp_path / "b.png")]
    done = subprocess.run([sys.executable, "-m", "treadle", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "b.png").read_bytes().startswith(b"\x89PNG")
