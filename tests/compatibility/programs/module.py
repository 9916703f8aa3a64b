"""Attributes of kernels, functions and modules; options."""

import treadle as wp


@wp.kernel
def named(a: wp.array(dtype=float)):
    """doc"""
    a[wp.tid()] = 1.0


@wp.func
def g(x: float):
    return x


print(
    named.key,
    named.func.__name__,
    named.module is wp.get_module(__name__),
    named.module.name,
    g.key,
    g.func.__name__,
    named.__doc__,
)

wp.set_module_options({"enable_backward": False})
print(wp.get_module_options()["enable_backward"])
wp.load_module()
wp.load_module(device="cpu")
wp.load_module(__name__)
m = wp.get_module(__name__)
m.load("cpu")


@wp.kernel(enable_backward=False)
def nb(a: wp.array(dtype=float)):
    a[wp.tid()] = 2.0


@wp.kernel(module="unique", enable_backward=True)
def un(a: wp.array(dtype=float)):
    a[wp.tid()] = 3.0


@wp.kernel
def mm(a: wp.array(dtype=float)):
    a[wp.tid()] = 4.0


@wp.kernel(launch_bounds=256)
def lb(a: wp.array(dtype=float)):
    a[wp.tid()] = 5.0


a = wp.zeros(2, dtype=float)
for k in (named, nb, un, mm, lb):
    wp.launch(k, 2, [a])
    print(a)
print(isinstance(named, wp.Kernel), isinstance(g, wp.Function), g(2.0))
wp.Kernel(func=named.func, key="other", module=m)


def raw(a: wp.array(dtype=float)):
    a[wp.tid()] = 6.0


k = wp.Kernel(func=raw, key="other_raw", module=m)
wp.launch(k, 2, [a])
print(a, k.key)
k = wp.kernel(raw)
wp.launch(k, 2, [a])


def rawf(x: float):
    return x * 2.0


f = wp.func(rawf)
print(f(3.0))
