"""Static expressions, also over the variable of a loop."""

import treadle as wp


def compute(n):
    return float(sum(range(n)))


@wp.func
def fa(x: float):
    return x + 1.0


@wp.func
def fb(x: float):
    return x * 3.0


funcs = {"a": fa, "b": fb}
fl = [fa, fb]
table = wp.types.vector(length=4, dtype=float)(1.0, 2.0, 4.0, 8.0)


def make(name, flag):
    @wp.kernel(module="unique")
    def k(x: wp.array(dtype=float)):
        i = wp.tid()
        f = wp.static(funcs[name])
        x[i] = f(x[i]) + wp.static(compute(5)) + wp.static(table)[i]
        if wp.static(flag):
            x[i] += 1000.0
        for j in range(wp.static(len(fl))):
            x[i] = wp.static(fl[j])(x[i])

    return k


for n, fl_ in (("a", True), ("b", False)):
    x = wp.ones(4, dtype=float)
    wp.launch(make(n, fl_), 4, [x])
    print(x.numpy().tolist())
