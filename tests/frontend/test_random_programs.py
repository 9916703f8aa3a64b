"""Random functions with nested loops, branches and exits: the IR, and Python, must give the same."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.frontend.running import OPTIONS
from tests.ir.interpreter import run_function
from treadle import frontend
from treadle.ir.verifier import verify
from treadle.passes import finish, prepare
from treadle.types import float64, int32

VARIABLES = ("a", "b", "c", "x", "y")
"""The first three are integers, the others floats that start as literals."""


class Program:
    """Writes a random function. Integers stay small and not negative, so that Python and C agree on ``%``."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.counter = 0
        self.emit(0, "@wp.func")
        self.emit(0, "def f(n: int, m: int, z: wp.float64):")
        for name, start in (("a", "n"), ("b", "1"), ("c", "m * 2 % 7"), ("x", "0.5"), ("y", "0")):
            self.emit(1, f"{name} = {start}")
        self.block(1, 3, False, 6)
        self.emit(1, "return a + 10 * b + 100 * c, x * z, y + z")

    @property
    def text(self) -> str:
        return "from tests.frontend import names as wp\n\n\n" + "\n".join(self.lines) + "\n"

    def emit(self, level: int, line: str) -> None:
        self.lines.append("    " * level + line)

    def block(self, level: int, depth: int, in_loop: bool, most: int) -> None:
        for _ in range(self.random.randint(1, most)):
            self.statement(level, depth, in_loop)

    def statement(self, level: int, depth: int, in_loop: bool) -> None:
        choices = ["int", "float", "int", "float", "temporary", "pair"]
        if depth:
            choices += ["if", "if", "if", "for", "while", "forever"]
        if in_loop:
            choices += ["break", "continue"]
        if level > 1:
            choices += ["return"]
        getattr(self, "make_" + self.random.choice(choices))(level, depth, in_loop)

    def integer(self) -> str:
        r = self.random
        return r.choice(["a", "b", "c", "n", "m", str(r.randint(0, 9))])

    def number(self) -> str:
        r = self.random
        return r.choice(["x", "y", "z", "x * 0.5", "y - 1", str(r.randint(0, 3)), f"{r.randint(0, 9)}.25"])

    def condition(self) -> str:
        r = self.random
        simple = f"{self.integer()} {r.choice(['<', '>', '==', '!=', '<='])} {self.integer()}"
        if r.random() < 0.2:
            simple = f"{self.number()} < {self.number()}"
        if r.random() < 0.1:
            simple = f"{self.integer()} < {self.integer()} <= {self.integer()}"
        roll = r.random()
        if roll < 0.15:
            return f"not ({self.condition()})"
        if roll < 0.35:
            return f"({simple} {r.choice(['and', 'or'])} {self.condition()})"
        return simple

    def make_int(self, level: int, depth: int, in_loop: bool) -> None:
        target = self.random.choice("abc")
        value = f"({self.integer()} * {self.random.randint(1, 5)} + {self.integer()}) % {self.random.randint(5, 97)}"
        if self.random.random() < 0.2:
            value = f"({value} if {self.condition()} else {self.integer()})"
        if self.random.random() < 0.2:
            value = str(self.random.randint(0, 5))
        self.emit(level, f"{target} = {value}")

    def make_float(self, level: int, depth: int, in_loop: bool) -> None:
        target = self.random.choice("xy")
        op = self.random.choice(["=", "=", "+=", "-=", "*="])
        value = f"{self.number()} * 0.5 - {self.number()} * 0.25" if op != "*=" else "0.75"
        if self.random.random() < 0.3 and op == "=":
            value = self.number()
        self.emit(level, f"{target} {op} {value}")

    def make_temporary(self, level: int, depth: int, in_loop: bool) -> None:
        name = self.random.choice("tu")
        self.emit(level, f"{name} = {self.integer()} + 1")
        self.emit(level, f"a = (a + {name}) % 53")

    def make_pair(self, level: int, depth: int, in_loop: bool) -> None:
        self.emit(level, self.random.choice(["a, b = b, a", "x, y = y, x", "c, b = b, c", "b = c = a"]))

    def make_if(self, level: int, depth: int, in_loop: bool) -> None:
        self.emit(level, f"if {self.condition()}:")
        self.block(level + 1, depth - 1, in_loop, 3)
        if self.random.random() < 0.4:
            self.emit(level, f"elif {self.condition()}:")
            self.block(level + 1, depth - 1, in_loop, 2)
        if self.random.random() < 0.5:
            self.emit(level, "else:")
            self.block(level + 1, depth - 1, in_loop, 3)

    def make_for(self, level: int, depth: int, in_loop: bool) -> None:
        self.counter += 1
        i = f"i{self.counter}"
        bounds = self.random.choice(["n", "3", "1, m", "n, 0, -1", "0, 9, 4", "m, n", "b % 5"])
        self.emit(level, f"for {i} in range({bounds}):")
        if self.random.random() < 0.7:
            self.emit(level + 1, f"{self.random.choice('abc')} = ({i} + {self.integer()}) % 31")
        self.block(level + 1, depth - 1, True, 3)
        self.orelse(level, depth, in_loop)

    def make_while(self, level: int, depth: int, in_loop: bool) -> None:
        self.counter += 1
        w = f"w{self.counter}"
        self.emit(level, f"{w} = 0")
        self.emit(level, f"while {w} < {self.random.randint(1, 5)} and {self.condition()}:")
        self.emit(level + 1, f"{w} += 1")
        self.block(level + 1, depth - 1, True, 3)
        self.orelse(level, depth, in_loop)

    def make_forever(self, level: int, depth: int, in_loop: bool) -> None:
        self.counter += 1
        w = f"w{self.counter}"
        self.emit(level, f"{w} = 0")
        self.emit(level, "while True:")
        self.emit(level + 1, f"{w} += 1")
        self.emit(level + 1, f"if {w} > {self.random.randint(1, 5)}:")
        self.emit(level + 2, "break")
        self.block(level + 1, depth - 1, True, 3)

    def orelse(self, level: int, depth: int, in_loop: bool) -> None:
        if self.random.random() < 0.2:
            self.emit(level, "else:")
            self.block(level + 1, depth - 1, in_loop, 2)

    def make_break(self, level: int, depth: int, in_loop: bool) -> None:
        self.emit(level, "break")

    def make_continue(self, level: int, depth: int, in_loop: bool) -> None:
        self.emit(level, "continue")

    def make_return(self, level: int, depth: int, in_loop: bool) -> None:
        self.emit(level, "return a, x * z, y * z")


def load(folder: Path, name: str, text: str) -> Any:
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


CASES = [(0, 0, 1.5), (1, 3, -0.5), (4, 2, 2.0), (7, 5, 0.25)]


def check(folder: Path, seed: int) -> None:
    text = Program(seed).text
    function = load(folder, f"random_program_{seed}", text).f
    built = frontend.build_function(function, [int32, int32, float64]).function
    verify(built)
    optimised = finish(prepare(built, OPTIONS), OPTIONS)
    for case in CASES:
        expected = list(function(*case))
        assert run_function(built, case).results == pytest.approx(expected), text
        assert run_function(optimised, case).results == pytest.approx(expected), text


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(tmp_path: Path, seed: int) -> None:
    check(tmp_path, seed)
