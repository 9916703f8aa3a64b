"""The Python code on every page of the documentation runs, from top to bottom of the page."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.S | re.M)


def program(text: str) -> str:
    """The code blocks of a page, on the lines where they stand in it."""
    lines = [""] * text.count("\n")
    for block in BLOCK.finditer(text):
        first = text.count("\n", 0, block.start(1))
        code = block[1].splitlines()
        lines[first : first + len(code)] = code
    return "\n".join(lines) + "\n"


def pages() -> list[Path]:
    """The pages that contain Python code."""
    candidates = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [page for page in candidates if BLOCK.search(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", pages(), ids=lambda p: p.stem)
def test_code_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = page.read_text(encoding="utf-8")
    for framework in ("torch", "jax"):
        if f"import {framework}" in text:
            pytest.importorskip(framework)
    name = f"page_{page.stem}"
    file = tmp_path / f"{name}.py"
    file.write_text(program(text), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.chdir(tmp_path)
    spec.loader.exec_module(module)


def test_blocks_keep_their_lines() -> None:
    assert program("text\n```python\na = 1\n```\ntext\n```python\nb = 2\n```\n").split("\n")[:7] == [
        "", "", "a = 1", "", "", "", "b = 2",
    ]  # fmt: skip
