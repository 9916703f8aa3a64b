"""Loops, early exits, recursion-free functions, launches in three and four dimensions."""

# ruff: noqa: E741
import treadle as wp


@wp.func
def collatz(n: int):
    steps = int(0)
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@wp.func
def find(a: wp.array(dtype=int), v: int) -> int:
    for i in range(a.shape[0]):
        if a[i] == v:
            return i
    return -1


@wp.kernel
def k(a: wp.array(dtype=int), out: wp.array(dtype=int), fo: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = collatz(i + 1)
    s = int(0)
    for j in range(10, 0, -3):
        s += j
    for j in range(2, i):
        if j == 5:
            break
        if j % 2 == 0:
            continue
        s += j * 100
    a0 = find(a, i)
    fo[i] = float(s) if a0 < 0 else float(a0)
    x = 5 if i > 3 else 7
    if 2 < i <= 4 and not (i == 3):
        x += 1000
    fo[i] += float(x)
    fo[i] += (
        float(-7 // 2)
        + float(-7 % 3)
        + float(-7 / 2)
        + float(7 >> 1)
        + float(1 << 3)
        + float(6 & 3)
        + float(6 | 3)
        + float(6 ^ 3)
        + float(~6)
    )
    y = 2.0**3.0
    fo[i] += y + wp.float32(int(3.9)) + float(int(-3.9))
    assert i >= 0, "bad"


a = wp.array([5, 3, 8, 1, 2], dtype=int)
out = wp.zeros(8, dtype=int)
fo = wp.zeros(8, dtype=float)
wp.launch(k, 8, [a, out, fo])
print(out.numpy().tolist(), fo.numpy().tolist())


@wp.kernel
def grid(o: wp.array(dtype=int, ndim=3)):
    i, j, k = wp.tid()
    o[i, j, k] = i * 100 + j * 10 + k


o = wp.zeros((2, 3, 4), dtype=int)
wp.launch(grid, dim=o.shape, inputs=[o])
print(o.numpy().ravel().tolist())


@wp.kernel
def grid4(o: wp.array4d(dtype=int)):
    i, j, k, l = wp.tid()
    row = o[i, j]
    row[k, l] = i + j + k + l


o = wp.zeros((2, 2, 2, 2), dtype=int)
wp.launch(grid4, dim=(2, 2, 2, 2), inputs=[o])
print(o.numpy().ravel().tolist())
