"""What kernels tell Python: failed assertions and printed text."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from tests.codegen.running import Kernel, array_of
from treadle.codegen.worker import Worker, failure_text, print_callback
from treadle.ir import Location
from treadle.types.scalars import SCALARS, bfloat16, bool_, float16, float32, float64, int32, uint64
from treadle.types.storage import Aggregate


def asserting() -> Kernel:
    k = Kernel(array_of(int32), int32, array_of(int32))
    x, bound, out = k.parameters
    i = k.thread()
    value = k.load(x, i, type=int32)
    k.location = Location("user.py", 12)
    k.op("assert", (k.emit("lt", value, bound), value, bound), attributes={"message": "{0} is not below {1}"})
    k.store(out, i, k.index(1))
    return k


def test_the_first_failure_is_kept_and_the_rest_does_not_run():
    kernel, worker = asserting().compile(), Worker()
    x, out = np.array([1, 5, 9, 1], np.int32), np.zeros(4, np.int32)
    kernel(4, x, 3, out, worker=worker)
    assert list(out) == [1, 0, 0, 0]
    kernel(4, x, 3, out, worker=worker, begin=2)  # the same worker takes another range: nothing runs
    assert list(out) == [1, 0, 0, 0]
    failure = worker.take_failure()
    assert failure.thread == 1 and failure.values(kernel.emitted.messages[failure.message]) == (5, 3)
    assert failure_text(failure, kernel.emitted.messages) == "user.py:12: 5 is not below 3"
    assert worker.take_failure() is None
    kernel(4, x, 10, out, worker=worker)
    assert worker.take_failure() is None and list(out) == [1] * 4


def test_the_values_of_every_type():
    for values in (SCALARS[:8], SCALARS[8:]):
        k = Kernel(*values)
        k.op("assert", (k.constant(bool_, False), *k.parameters), attributes={"message": "no"})
        kernel = k.compile()
        numbers = [True if t is bool_ else 2**64 - 1 if t is uint64 else -1.5 if t.is_float else 100 for t in values]
        worker = kernel(1, *numbers)
        message = kernel.emitted.messages[0]
        assert message.types == tuple(t.short for t in values)
        assert worker.take_failure().values(message) == tuple(numbers)


def test_only_the_first_eight_values_are_kept():
    k = Kernel()
    values = [k.index(n) for n in range(12)]
    k.op("assert", (k.constant(bool_, False), *values), attributes={"message": "no"})
    kernel = k.compile()
    assert kernel(1).take_failure().values(kernel.emitted.messages[0]) == tuple(range(8))


def test_assertions_in_loops_and_branches_have_their_own_messages():
    k = Kernel(int32)
    (n,) = k.parameters

    def check(text, limit):
        return lambda i: k.op("assert", (k.emit("ne", i, k.index(limit)), i), attributes={"message": text}) and []

    k.for_(n, [], check("first {0}", 7))
    k.if_(k.emit("gt", n, k.index(3)), lambda: k.for_(n, [], check("second {0}", 4)) and ())
    kernel = k.compile()
    texts = []
    for n_ in (3, 5, 8):
        failure = kernel(1, n_).take_failure()
        texts.append(failure and failure_text(failure, kernel.emitted.messages))
    assert texts == [None, "second 4", "first 7"]


def printed(k: Kernel, *arguments, threads: int = 1) -> list[str]:
    texts: list[str] = []
    k.compile()(threads, *arguments, worker=Worker(print_callback(texts.append)))
    return texts


def test_printing_goes_to_stdout(capsys):
    k = Kernel(int32)
    k.op("print", k.parameters, attributes={"pieces": ["n = ", "\n"]})
    k.compile()(2, 7)
    assert capsys.readouterr().out == "n = 7\nn = 7\n"


@pytest.mark.parametrize(
    ("scalar", "value", "text"),
    [
        (bool_, True, "True"), (int32, -7, "-7"), (uint64, 2**64 - 1, str(2**64 - 1)), (float64, 0.1, "0.1"),
        (float32, 0.1, "0.1"), (float16, 0.1, "0.1"), (bfloat16, 0.5, "0.5"), (float64, 1e300, "1e+300"),
        (float64, 100000.0, "100000.0"), (float32, float("nan"), "nan"), (float32, float("-inf"), "-inf"),
    ],
)  # fmt: skip
def test_numbers_print_as_in_python(scalar, value, text):
    k = Kernel(scalar)
    k.op("print", k.parameters, attributes={"pieces": ["", ""]})
    assert printed(k, value) == [text]


def test_many_values_text_of_any_kind_and_formats():
    k = Kernel(int32, float32, bool_)
    pieces = ['"quoted" \\ é\n', " and ", ", ", "!"]
    k.op("print", k.parameters, attributes={"pieces": pieces, "formats": [None, "%.3f", None]})
    assert printed(k, 3, 0.5, False) == ['"quoted" \\ é\n3 and 0.500, False!']


def test_aggregates_and_nothing():
    k = Kernel(Aggregate(int32, 40))
    k.op("print", k.parameters, attributes={"pieces": ["", ""]})
    k.op("print", (), attributes={"pieces": ["end"]})
    assert printed(k, np.arange(40)) == [str(list(range(40))), "end"]


def test_lines_of_several_threads_stay_whole():
    k = Kernel()
    i = k.thread()
    k.op("print", (i, i), attributes={"pieces": ["a", "b", "\n"]})
    kernel, texts = k.compile(), []
    callback = print_callback(texts.append)
    threads = [threading.Thread(target=lambda: kernel(50, worker=Worker(callback))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(texts) == sorted([f"a{n}b{n}\n" for n in range(50)] * 4)
