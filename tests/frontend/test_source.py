"""Where sources come from: files, notebooks, indented definitions, odd layouts."""

from __future__ import annotations

import importlib.util
import linecache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.frontend import names as wp
from tests.frontend.running import build, evaluate, launch
from treadle.frontend.source import source_of
from treadle.language import SourceError


def test_a_cell_of_a_notebook() -> None:
    text = "@wp.func\ndef cell_function(x: wp.float64):\n    return x * 2.0\n"
    name = "<ipython-input-1-abcdef>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, Any] = {"wp": wp}
    exec(compile(text, name, "exec"), names)
    assert evaluate(names["cell_function"], 3.0) == 6.0
    assert source_of(names["cell_function"].bodies[0]).file == name


class Holder:
    @staticmethod
    def make() -> Any:
        if True:

            @wp.func  # a comment
            def odd(
                x: wp.float64,
                y: wp.float64 = (
                    2.0
                ),
            ):
                """A docstring
at the margin."""
                a = [
                    x,
                ] if False else (
                    x
                    + y
                )
# a comment at the margin
                if a > 1.0:
                    return (
                        a *
                        2.0
                    )

                return a

        return odd


def test_odd_layouts() -> None:
    odd = Holder.make()
    assert evaluate(odd, 3.0, 2.0) == 10.0
    assert source_of(odd.bodies[0]).lines[-1].strip() == "return a"


@wp.func
def one_line(x: wp.float64): return x + 1.0  # noqa: E704


def test_one_line() -> None:
    assert evaluate(one_line, 1.0) == 2.0


def imported(path: Path, name: str) -> Any:
    """The module in a file, with the loader that files usually have."""
    spec: Any = importlib.util.spec_from_file_location(name, path, loader=SourceFileLoader(name, str(path)))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MODULE = """from tests.frontend import names as wp

@wp.kernel
def k(a: wp.array(dtype=wp.float64)):
    a[0] = f(1.0)

@wp.func
def f(x: wp.float64):
    return x + 1.0

def make(y):
    factor = y
    @wp.kernel
    def made(a: wp.array(dtype=wp.float64)):
        i = wp.tid()
        a[i] = a[i] + 1.0 * factor
        assert i == 0
    return made
"""


@pytest.mark.parametrize("change", [("1.0", "100.0"), ("import names", "import names\n\n\n"), (MODULE, "")])
def test_a_file_that_changes_after_the_import(change: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "changing_source.py"
    path.write_text(MODULE)
    module = imported(path, "changing_source")
    made = module.make(3.0)
    path.write_text(MODULE.replace(*change))
    for kernel, expected in ((module.k, 2.0), (made, 3.0)):
        a = np.zeros(1)
        launch(kernel, 1, a)
        assert a[0] == expected


@pytest.mark.parametrize("change", [("1.0", "100.0"), ("import names", "import names\n\n\n"), (MODULE, "")])
def test_a_kernel_that_is_defined_after_the_file_changed(change: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "changing_source.py"
    path.write_text(MODULE)
    module = imported(path, "changing_source")
    path.write_text(MODULE.replace(*change))
    with pytest.raises(SourceError, match="has changed since it was imported|cannot be read"):
        build(module.make(3.0))


def test_a_kernel_that_is_defined_later_in_a_file_that_did_not_change(tmp_path: Path) -> None:
    path = tmp_path / "changing_source.py"
    path.write_text(MODULE.replace("from tests.frontend import names as wp", "import tests.frontend.names as wp"))
    module = imported(path, "changing_source")
    a = np.zeros(1)
    launch(module.make(3.0), 1, a)
    assert a[0] == 3.0


def test_a_reloaded_file(tmp_path: Path) -> None:
    path = tmp_path / "changing_source.py"
    path.write_text(MODULE)
    first = imported(path, "changing_source")
    path.write_text(MODULE.replace("1.0", "100.0"))
    second = imported(path, "changing_source")
    for module, expected in ((first, 2.0), (second, 200.0)):
        a = np.zeros(1)
        launch(module.k, 1, a)
        assert a[0] == expected


def test_functions_of_a_file_share_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "changing_source.py"
    path.write_text(MODULE)
    module = imported(path, "changing_source")
    assert module.k.body.lines is module.f.bodies[0].lines is module.make(1.0).body.lines


def test_functions_without_a_file_can_be_decorated() -> None:
    names: dict[str, Any] = {"wp": wp}
    exec("@wp.kernel\ndef k(n: int):\n    pass\n\n@wp.func\ndef f(x: float):\n    return x + 1.0\n", names)
    assert names["f"](2.0) == 3.0
    assert names["k"].name == "k"
