"""Mistakes that are to be errors."""

# ruff: noqa: F821
import treadle as wp


def attempt(f):
    try:
        f()
        print("ok")
    except Exception:
        print("error")


@wp.kernel
def k(a: wp.array(dtype=float), n: int):
    a[wp.tid()] = float(n)


a = wp.zeros(3, dtype=float)
attempt(lambda: wp.launch(k, 3, [a]))
attempt(lambda: wp.launch(k, 3, [wp.zeros(3, dtype=int), 1]))
attempt(lambda: wp.launch(k, 3, [wp.zeros((3, 3), dtype=float), 1]))
attempt(lambda: wp.launch(k, 3, [a, 1.0]))
attempt(lambda: wp.launch(k, 3, [a, "1"]))
attempt(lambda: wp.launch(k, 3, [[1.0], 1]))
attempt(lambda: wp.launch(lambda x: x, 3, []))
attempt(lambda: k(a, 1))


@wp.kernel
def mixed(a: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = a[i] + i


attempt(lambda: wp.launch(mixed, 3, [a]))


@wp.kernel
def undefined(a: wp.array(dtype=float)):
    a[0] = foo


attempt(lambda: wp.launch(undefined, 1, [a]))


@wp.kernel
def lst(a: wp.array(dtype=float)):
    x = [1.0, 2.0]
    a[0] = x[0]


attempt(lambda: wp.launch(lst, 1, [a]))
attempt(lambda: wp.array([1, 2], dtype=str))
attempt(lambda: a.reshape((2, 2)))
attempt(lambda: wp.copy(wp.zeros(2, dtype=float), a))
attempt(lambda: wp.array([[1, 2], [3]], dtype=float))
with wp.Tape():
    attempt(lambda: wp.Tape().__enter__())
