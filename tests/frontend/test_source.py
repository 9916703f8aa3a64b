"""Where sources come from: files, notebooks, indented definitions, odd layouts."""

from __future__ import annotations

import importlib
import linecache
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.frontend import names as wp
from tests.frontend.running import build, evaluate
from treadle.frontend.source import source_of
from treadle.language import SourceError


def test_a_cell_of_a_notebook() -> None:
    text = "@wp.func\ndef cell_function(x: wp.float64):\n    return x * 2.0\n"
    name = "<ipython-input-1-abcdef>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, Any] = {"wp": wp}
    exec(compile(text, name, "exec"), names)
    assert evaluate(names["cell_function"], 3.0) == 6.0
    assert source_of(names["cell_function"].bodies[0].python).file == name


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
    assert source_of(odd.bodies[0].python).lines[-1].strip() == "return a"


@wp.func
def one_line(x: wp.float64): return x + 1.0  # noqa: E704


def test_one_line() -> None:
    assert evaluate(one_line, 1.0) == 2.0


def test_a_source_that_changed_since_it_was_imported(tmp_path: Path) -> None:
    path = tmp_path / "changing_source.py"
    path.write_text("from tests.frontend import names as wp\n\n@wp.kernel\ndef k(n: int):\n    pass\n")
    sys.path.insert(0, str(tmp_path))
    try:
        module = importlib.import_module("changing_source")
    finally:
        sys.path.remove(str(tmp_path))
    path.write_text("from tests.frontend import names as wp\n\n\n\n@wp.kernel\ndef k(m: float):\n    pass\n")
    with pytest.raises(SourceError, match="has changed since it was imported"):
        build(module.k)


def test_the_decorator_reads_nothing() -> None:
    names: dict[str, Any] = {"wp": wp}
    exec("@wp.kernel\ndef k(n: int):\n    pass\n\n@wp.func\ndef f(x: float):\n    return x + 1.0\n", names)
    assert names["f"](2.0) == 3.0
    assert names["k"].name == "k"
