"""Imports between rooms point one way: downwards in the list of docs/architecture.md."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "treadle"

# From the lowest room to the highest. A file in the package's own folder is a room as well.
ROOMS = [
    "version",
    "config",
    "errors",
    "types",
    "ir",
    "primitives",
    "language",
    "frontend",
    "passes",
    "ad",
    "codegen",
    "runtime",
    "tape",
    "libraries",
    "interop",
    "__init__",
    "demo",
    "__main__",
]
LIBRARIES = {"autograd", "optim", "sparse", "geometry", "utils"}


def room_of(parts: tuple[str, ...]) -> str:
    """The room of a module, given its path below the package."""
    name = parts[0] if parts else "__init__"
    return "libraries" if name in LIBRARIES else name


def is_type_checking(node: ast.AST) -> bool:
    """Whether a node is ``if TYPE_CHECKING:``, whose imports never run."""
    return isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Everything below ``node`` that can run."""
    below = node.orelse if isinstance(node, ast.If) and is_type_checking(node) else ast.iter_child_nodes(node)
    for child in below:
        yield child
        yield from statements(child)


def imports(tree: ast.AST, package: tuple[str, ...]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Line and dotted name of every import in a module of ``package``, those inside functions included."""
    for node in statements(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, tuple(alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            module = above + (tuple(node.module.split(".")) if node.module else ())
            for alias in node.names:
                yield node.lineno, (*module, alias.name)


def resolve(name: tuple[str, ...]) -> str | None:
    """The room of an imported dotted name, or None if it is outside the package."""
    if name[0] != "treadle":
        return None
    below = name[1:]
    if below and not (PACKAGE / below[0]).is_dir() and not (PACKAGE / f"{below[0]}.py").is_file():
        below = ()  # a public name of the package itself
    return room_of(below)


def source_files() -> list[Path]:
    """Every source file of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def violations(path: Path) -> list[str]:
    """The imports of a file that point upwards, each with its place."""
    relative = path.relative_to(PACKAGE).with_suffix("")
    here = room_of(relative.parts)
    package = ("treadle", *relative.parts[:-1])
    found = []
    for line, name in imports(ast.parse(path.read_text()), package):
        there = resolve(name)
        if there is not None and ROOMS.index(there) > ROOMS.index(here):
            found.append(f"{path.relative_to(ROOT)}:{line}: {here} imports {'.'.join(name)} from {there}")
    return found


@pytest.mark.parametrize("path", source_files(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_downwards(path: Path) -> None:
    assert violations(path) == []


def test_every_folder_and_file_is_a_room() -> None:
    names = {room_of(p.relative_to(PACKAGE).with_suffix("").parts) for p in source_files()}
    assert names <= set(ROOMS)


def test_the_page_lists_the_rooms_in_the_same_order() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| `treadle/(\w+)[/.`]", page, re.M)
    listed = [room for room in (room_of((row,)) for row in reversed(rows)) if room in ROOMS]
    assert listed == [room for room in ROOMS if room in listed]
    assert {p.name for p in PACKAGE.iterdir() if p.is_dir() and list(p.glob("*.py"))} - LIBRARIES <= set(listed)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from treadle.runtime import array", ["runtime"]),
        ("import treadle.runtime.launch", ["runtime"]),
        ("from ..runtime import array", ["runtime"]),
        ("def f():\n    from treadle import tape", ["tape"]),
        ("import treadle as wp", ["__init__"]),
        ("if TYPE_CHECKING:\n    from treadle.runtime import array\nelse:\n    import treadle.ir", ["ir"]),
        ("import numpy", [None]),
    ],
)
def test_imports_are_found(source: str, expected: list[str | None]) -> None:
    assert [resolve(name) for _, name in imports(ast.parse(source), ("treadle", "ad"))] == expected
