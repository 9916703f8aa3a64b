"""Programs such as users of kernels write: each prints the numbers that it printed when it was checked by hand.

``programs/NAME.py`` is the program, ``programs/NAME.txt`` what it prints; numbers may differ in the last digits.
Run this file to print anew: ``python tests/compatibility/test_programs.py NAME``.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "programs"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|inf|nan)")


def printed(name: str) -> str:
    """What a program prints."""
    spec = importlib.util.spec_from_file_location(f"programs_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        spec.loader.exec_module(module)
    return output.getvalue()


def split(text: str) -> tuple[str, list[float]]:
    """The text without its numbers, spaces and brackets; and the numbers."""
    rest = NUMBER.sub("#", text)
    return re.sub(r"[\s\[\](),]+", "", rest), [float(number) for number in NUMBER.findall(text)]


@pytest.mark.parametrize("name", NAMES)
def test_program(name: str) -> None:
    expected = split((FOLDER / f"{name}.txt").read_text())
    found = split(printed(name))
    assert found[0] == expected[0]
    assert found[1] == pytest.approx(expected[1], rel=2e-4, abs=2e-4, nan_ok=True)


if __name__ == "__main__":
    for name in sys.argv[1:] or NAMES:
        (FOLDER / f"{name}.txt").write_text(printed(name))
