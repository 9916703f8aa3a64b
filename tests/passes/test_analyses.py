"""The access analysis and the analysis of thread indices."""

from __future__ import annotations

from textwrap import dedent

import pytest

import treadle.primitives  # noqa: F401  (fills the table of ops)
from treadle.ir import Function, Value
from treadle.ir.parser import from_text
from treadle.ir.verifier import verify
from treadle.passes.access import Access, Origins, analyse, loads_of
from treadle.passes.order import read_after_write
from treadle.passes.pipeline import dump, dump_text
from treadle.passes.shared import shared_work
from treadle.passes.uniform import is_thread_distinct, is_uniform, thread_key


def parse(text: str) -> Function:
    function = from_text(dedent(text))
    verify(function)
    return function


HEADER = "kernel @f(%b b: bool, %i i: i32, %x x: array<1, 4>, %y y: array<1, 4>, %z z: array<2, 4>) {\n"


def access(body: str) -> dict[str, Access]:
    found = analyse(parse(HEADER + dedent(body) + "\n}"))
    assert set(found) == {"x", "y", "z"}
    return {label: a for label, a in found.items() if a != Access()}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("%1: f32 = load %x, %i {type=f32, offset=0}", {"x": Access(read=True)}),
        ("store %x, %i, %i {offset=0}", {"x": Access(written=True)}),
        ("%1: i32 = atomic %x, %i, %i {kind=\"add\", offset=0}", {"x": Access(accumulated=True)}),
        ("%1: i32 = atomic %x, %i, %i {kind=\"max\", offset=0}", {"x": Access(atomic=True)}),
        ("%1: i32 = atomic %x, %i, %i {kind=\"sub\", offset=0}\n store %y, %1, %i {offset=0}",
         {"x": Access(atomic=True), "y": Access(written=True)}),
        ("%1: array<1, 4> = view %z, %i\n store %1, %i, %i {offset=0}", {"z": Access(written=True)}),
        ("%1: array<1, 4> = slice %x, %i, %i, %i {axis=0}\n store %1, %i, %i {offset=0}", {"x": Access(written=True)}),
        ("%1: array<1, 4> = if %b {\n yield %x\n } else {\n yield %y\n }\n store %1, %i, %i {offset=0}",
         {"x": Access(written=True), "y": Access(written=True)}),
        ("%1: array<1, 4> = select %b, %x, %y\n store %1, %i, %i {offset=0}",
         {"x": Access(written=True), "y": Access(written=True)}),
        ("""
         %1: array<1, 4> = for %k: i32 in %i (%h: array<1, 4> = %x) {
           store %h, %i, %i {offset=0}
           yield %y
         }""", {"x": Access(written=True), "y": Access(written=True)}),
        ("""
         %1: array<1, 4> = while (%h: array<1, 4> = %x) {
           %2: i32 = load %h, %i {type=i32, offset=0}
           yield %b
         } do (%g: array<1, 4>) {
           %3: array<1, 4> = view %z, %i
           yield %3
         }""", {"x": Access(read=True), "z": Access(read=True)}),
    ],
)  # fmt: skip
def test_access(body: str, expected: dict[str, Access]) -> None:
    assert access(body) == expected


def test_an_array_within_an_array() -> None:
    function = parse("""\
        kernel @f(%s s: array<1, 80>, %i i: i32) {
          %1: array<1, 4> = load %s, %i {type=array<1, 4>, offset=0}
          store %1, %i, %i {offset=0}
        }
        """)
    found = analyse(function)
    assert found == {"s": Access(read=True, members=Access(written=True))}
    assert not found["s"].changes and found["s"].members.changes
    assert Access.from_dict(found["s"].as_dict()) == found["s"]
    assert Origins(function).of(function.body.ops[0].result) == {"s"}


def test_an_array_that_is_read_from_memory_may_be_one_that_was_written_there() -> None:
    function = parse("""\
        kernel @f(%s s: array<1, 80>, %t t: array<1, 80>, %b b: array<1, 4>, %i i: i32) {
          store %s, %i, %b {offset=0}
          %1: array<1, 4> = load %t, %i {type=array<1, 4>, offset=0}
          %2: i32 = load %1, %i {type=i32, offset=0}
        }
        """)
    assert analyse(function) == {
        "s": Access(written=True), "t": Access(read=True, members=Access(read=True)), "b": Access(read=True)
    }  # fmt: skip
    assert loads_of(function) == {"t", "b"} and loads_of(function, members=True) == {"t"}


def test_an_array_that_a_call_returns_may_come_from_an_element() -> None:
    function = parse("""\
        function @g(%a a: array<1, 80>, %i i: i32) {
          %1: array<1, 4> = load %a, %i {type=array<1, 4>, offset=0}
          yield %1
        }

        kernel @f(%s s: array<1, 80>, %i i: i32) {
          %1: array<1, 4> = call %s, %i {callee=@g}
          store %1, %i, %i {offset=0}
        }
        """)
    assert analyse(function) == {"s": Access(read=True, written=True, members=Access(written=True))}


def test_reads_after_writes_to_arrays_in_elements() -> None:
    function = parse("""\
        kernel @f(%s s: array<1, 80>, %b b: array<1, 4>, %i i: i32) {
          %1: array<1, 4> = load %s, %i {type=array<1, 4>, offset=0}
          store %1, %i, %i {offset=0}
          %2: i32 = load %b, %i {type=i32, offset=0}
          %3: i32 = load %1, %i {type=i32, offset=0}
        }
        """)
    assert read_after_write(function) == set()
    assert read_after_write(function, members=True) == {("b", "s")}


def test_members_of_a_struct_share_a_label_and_calls_are_followed() -> None:
    function = parse("""\
        function @g(%a a: array<1, 4>, %b b: array<1, 4>, %i i: i32) {
          %1: i32 = load %a, %i {type=i32, offset=0}
          store %b, %i, %1 {offset=0}
        }

        kernel @f(%0 s: array<1, 4>, %1 s: array<1, 4>, %2 t: array<1, 4>, %i i: i32) {
          call %0, %2, %i {callee=@g}
          call %1, %1, %i {callee=@g}
        }
        """)
    assert analyse(function) == {"s": Access(read=True, written=True), "t": Access(written=True)}
    assert loads_of(function) == {"s"}


THREADS = """\
kernel @f(%n n: i32, %x x: array<2, 4>) {
  %0: i32 = thread_index {axis=0, rank=2}
  %1: i32 = thread_index {axis=1, rank=2}
  %flat: i32 = thread_index {axis=0, rank=1}
  %long: i64 = cast %flat {type=i64}
  %narrow: i16 = cast %flat {type=i16}
  %one: i32 = constant {value=1}
  %shifted: i32 = add %n, %0
  %twice: i32 = mul %flat, %n
  %m: i32 = shape %x {axis=0}
  %reversed: i32 = sub %m, %flat
  %back: i32 = sub %flat, %m
  %sum: i32 = add %0, %1
  %loaded: i32 = load %x, %n, %n {type=i32, offset=0}
  for %k: i32 in %n () {
    %moving: i32 = add %flat, %k
  }
}
"""


@pytest.mark.parametrize(
    ("names", "ndim", "distinct"),
    [
        ("flat", 1, True), ("flat", 3, True), ("n flat", 2, True), ("long", 1, True), ("back", 1, True),
        ("narrow", 1, False), ("twice", 1, False), ("reversed", 1, False), ("sum", 1, False), ("moving", 1, False),
        ("0 1", 2, True), ("1 n 0", 2, True), ("shifted 1", 2, True), ("0", 2, False), ("0 0", 2, False),
        ("0", 1, True), ("1", 1, False), ("0 1", 3, False), ("n one", 1, False), ("loaded", 1, False),
    ],
)  # fmt: skip
def test_thread_indices(names: str, ndim: int, distinct: bool) -> None:
    function, values = _threads()
    assert is_thread_distinct(function, [values[name] for name in names.split()], ndim) == distinct


def test_keys_tell_accesses_apart_that_collide() -> None:
    function, values = _threads()

    def key(*names: str) -> object:
        return thread_key(function, [values[name] for name in names], 2)

    assert key("flat") == key("long")
    assert key("flat") != key("back")
    assert key("0", "1") == key("0", "1", "n")
    assert key("0", "1") != key("shifted", "1")
    assert key("0", "1") != key("1", "0")


def test_uniform_values() -> None:
    function, values = _threads()
    uniform = {name for name, value in values.items() if is_uniform(function, value)}
    assert uniform == {"n", "x", "one", "m"}


def _threads() -> tuple[Function, dict[str, Value]]:
    function = parse(THREADS)
    values = {p.name: p for p in function.parameters}
    for op in function.body.walk():
        values.update((r.name, r) for r in op.results)
    first, second = (op.results[0] for op in function.body.ops[:2])
    return function, {**values, "0": first, "1": second}


def test_dump_prints_the_stages_asked_for(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    function = parse("kernel @k() {\n}\n")
    monkeypatch.setenv("TREADLE_DUMP", "ir,llvm")
    dump("ir", "k", function)
    dump("ad", "k", function)
    dump_text("llvm", "k", "define")
    assert capsys.readouterr().err == "; ir of k\nkernel @k() {\n}\n\n; llvm of k\ndefine\n"


def test_work_on_values_that_threads_share() -> None:
    function = from_text(
        """
        kernel @k(%a: array<1, 4, contiguous>, %p: f32, %y: array<2, 4, contiguous>) {
          %row: i32 = thread_index {axis=0, rank=2}
          %column: i32 = thread_index {axis=1, rank=2}
          %free: f32 = mul %p, %p
          %shared: f32 = load %a, %row {type=f32, offset=0}
          %own: f32 = load %a, %column {type=f32, offset=0}
          %count: i32 = constant {value=20}
          %end: f32 = for %k: i32 in %count (%s: f32 = %shared) {
            %next: f32 = mul %s, %s
            yield %next
          }
          %product: f32 = mul %own, %end
          store %y, %row, %column, %product {offset=0}
        }
        """
    )
    assert shared_work(function, 2) == 20
    assert shared_work(function, 1) == 0
