"""What kernels print: format specifications, ``sep`` and ``end`` as in Python, or an error that names them."""

from __future__ import annotations

from typing import Any

import pytest

import treadle as wp
from treadle.language.errors import TypeMismatchError, UnsupportedError


@wp.struct
class Ball:
    radius: float
    centre: wp.vec2


def launched(kernel: Any, capsys: pytest.CaptureFixture[str], x: float = 3.14159, n: int = 42) -> str:
    wp.launch(kernel, dim=1, inputs=[x, n])
    return capsys.readouterr().out


@wp.kernel
def specifications(x: float, n: int):
    print(f"{x:.3f}|{x:8.3f}|{x:<8.2f}|{x:+.1e}|{x:08.2f}|{x:g}|{x:10}")
    print(f"{n:5d}|{n:05d}|{n:x}|{n:#b}|{n:,}|{n:>4}|{n:.1f}")
    print(f"{x > 1.0:d}|{x!s:}|{n!r:>4}|{x=}|{n=:4d}|{{}}")


def test_specifications(capsys):
    x, n = 3.14159, 1042
    expected = (
        f"{x:.3f}|{x:8.3f}|{x:<8.2f}|{x:+.1e}|{x:08.2f}|{x:g}|   3.14159\n"
        f"{n:5d}|{n:05d}|{n:x}|{n:#b}|{n:,}|{n:>4}|{n:.1f}\n"
        f"1|3.14159|1042|x=3.14159|n=1042|{{}}\n"
    )
    printed = launched(specifications, capsys, x, n)
    assert printed.splitlines()[1:] == expected.splitlines()[1:]
    assert printed.splitlines()[0].startswith(expected.splitlines()[0].rpartition("|")[0])


WIDTH = 6


@wp.kernel
def known_values(x: float, n: int):
    print(f"{x:{WIDTH}.{2}f}|{'ab':>{WIDTH}}|{'ab'!r}|{wp.static('cd')}")
    v = wp.vec2(1.0, 2.0)
    m = wp.mat22(1.0, 2.0, 3.0, 4.0)
    print(f"{v}|{v!r}|{m!r}|{Ball()}|{(n,)}")


def test_values_known_at_compile_time(capsys):
    assert launched(known_values, capsys).splitlines() == [
        "  3.14|    ab|'ab'|cd",
        "[1.0, 2.0]|vec2f(1.0, 2.0)|mat22f([[1.0, 2.0], [3.0, 4.0]])|Ball(radius=0.0, centre=[0.0, 0.0])|(42,)",
    ]


@pytest.mark.parametrize("dtype", [wp.float16, wp.bfloat16, wp.float64])
def test_other_floats(dtype, capsys):
    @wp.kernel
    def show(x: dtype):
        print(f"{x:.2f}|{x:8.1e}")

    wp.launch(show, dim=1, inputs=[1.5])
    assert capsys.readouterr().out == "1.50| 1.5e+00\n"


@wp.kernel
def separated(x: float, n: int):
    print(n, x, "a", sep=", ", end="!")
    print(n, n, sep="")
    print(n, sep=None, end=None)
    print(end="-\n")


def test_separators(capsys):
    assert launched(separated, capsys, 1.5) == "42, 1.5, a!4242\n42\n-\n"


@wp.kernel
def asserted(x: float, n: int):
    v = wp.vec2(x, 2.0)
    assert x < 1.0, f"{x:.2f} and {v} {{}} {n:05d}"


def test_the_message_of_an_assertion():
    with pytest.raises(wp.KernelError, match=r"x < 1.0: 3.14 and \[3.14\d*, 2.0\] \{\} 00042"):
        wp.launch(asserted, dim=1, inputs=[3.14159, 42])


SOURCE = """
import treadle as wp

@wp.kernel
def show(x: float, n: int):
    {statement}
"""


@pytest.mark.parametrize(
    ("statement", "kind", "text"),
    [
        ('print(f"{x:d}")', UnsupportedError, "'d' is not for float32"),
        ('print(f"{n:.2q}")', UnsupportedError, "'.2q' is not for int32"),
        ('print(f"{wp.vec2(x):.2f}")', UnsupportedError, "'.2f' is for scalars, not for vec2f"),
        ('print(f"{(n, n):5}")', UnsupportedError, "'5' is for scalars"),
        ('print(f"{x:{n}}")', UnsupportedError, "must be known at compile time"),
        ("print(x, flush=True)", UnsupportedError, "not the parameter flush"),
        ("print(x, sep=x)", TypeMismatchError, "sep of print() must be a text known at compile time"),
        ('assert x < 0.0, f"{x:d}"', UnsupportedError, "'d' is not for float32"),
        ('assert x < 0.0, f"{wp.mat33(x)}"', UnsupportedError, "can hold 8 numbers, not 9"),
        (r'wp.printf("%s\n", n)', UnsupportedError, "there is no conversion %s"),
        (r'wp.printf("%*d\n", n, n)', UnsupportedError, "there is no conversion %*"),
        (r'wp.printf("%d\n", n, end=n)', TypeMismatchError, "takes a text, which comes first"),
    ],
)
def test_what_is_not_supported_is_an_error(statement, kind, text, tmp_path):
    path = tmp_path / "kernel_that_prints.py"
    path.write_text(SOURCE.format(statement=statement))
    namespace = {"__name__": "kernel_that_prints"}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    with pytest.raises(kind) as caught:
        wp.launch(namespace["show"], dim=1, inputs=[1.0, 1])
    assert text in str(caught.value)
