# ruff: noqa: F821, F841, E731, C416, UP037
"""What bad input gets: an error that names file, line and expression, and says what there is instead."""

from __future__ import annotations

import inspect
import linecache
from typing import Any

import numpy as np
import pytest

from tests.frontend import names as wp
from tests.frontend.running import build
from treadle import frontend
from treadle.errors import TreadleError
from treadle.language import CompileError, SourceError, TypeMismatchError, UnknownNameError, UnsupportedError

floats, doubles, ints = wp.array(dtype=float), wp.array(dtype=wp.float64), wp.array(dtype=int)


@wp.func
def known(x: float, n: int = 1):
    return x


@wp.struct
class Pair:
    left: float
    right: float


@wp.func
def recursive(n: int):
    if n < 1:
        return 0
    return recursive(n - 1) + 1


@wp.func
def ping(n: int):
    return pong(n)


@wp.func
def pong(n: int):
    return ping(n)


def python_function(x: float) -> float:
    return x


@wp.kernel
def another(a: floats):
    pass


def unknown_name(a: floats):
    a[0] = nonsense + 1.0  #! there is no name 'nonsense'


def misspelt_name(a: floats):
    a[0] = knwon(1.0)  #! did you mean 'known'


def misspelt_builtin(a: floats):
    a[0] = wp.sqrtt(1.0)  #! has no attribute 'sqrtt'; did you mean 'sqrt'


def used_before_assigned(a: floats):
    a[0] = later  #! 'later' is used before it is assigned
    later = 1.0


def misspelt_component(v: wp.vec3, a: floats):
    a[0] = v.q  #! vec3f has no attribute 'q'


def misspelt_member(p: Pair, a: floats):
    a[0] = p.lefd  #! did you mean 'left'


def too_many_arguments(a: floats):
    a[0] = known(1.0, 2, 3)  #! takes 2 arguments, got 3 ... known(x: float32, n: int32 = 1)


def missing_argument(a: floats):
    a[0] = known()  #! needs an argument for 'x' ... known(x: float32


def unknown_keyword(a: floats):
    a[0] = known(1.0, m=2)  #! no parameter 'm'


def wrong_argument_type(d: doubles, a: floats):
    a[0] = known(d[0])  #! the argument 'x' must be float32, not float64 ... known(x: float32


def wrong_builtin_argument(a: floats, n: int):
    a[0] = wp.sin(n)  #! cannot call sin(int32) ... sin(x: Float) -> Float


def mixed_types(a: floats, d: doubles):
    a[0] = a[0] + d[0]  #! + of float32 and float64 ... float64(...)


def mixed_int_and_float(a: floats, n: int):
    a[0] = a[0] * n  #! * of float32 and int32 ... float32(...)


def float_literal_with_int(a: ints, n: int):
    a[0] = n * 2.5  #! the literal 2.5 ... int32


def wrong_store(a: ints, x: float):
    a[0] = x  #! what is assigned to a[0] must be int32, not float32; convert it: int32(...)


def wrong_vectors(v: wp.vec3, w: wp.vec2, a: floats):
    u = v + w  #! there is no vec3f + vec2f
    a[0] = u[0]


def product_of_vectors(v: wp.vec3, a: floats):
    u = v * v  #! cw_mul(a, b) works by component ... dot(a, b)
    a[0] = u[0]


def bits_of_floats(a: floats):
    a[0] = a[0] & a[1]  #! there is no & for float32


def float_index(a: floats, x: float):
    a[x] = 1.0  #! an index must be an integer, not float32; convert it: int(...)


def too_many_indices(a: floats):
    a[0, 1] = 1.0  #! 2 indices for a, which has 1 dimension


def negative_index(a: floats):
    a[-1] = 1.0  #! index -1 is out of range


def store_to_view(a: wp.array(dtype=float, ndim=2)):
    a[0] = 1.0  #! is an array of 1 dimension(s), not an element


def component_out_of_range(v: wp.vec3, a: floats):
    a[0] = v[3]  #! index 3 is out of range for vec3f


def kernel_returns(a: floats):
    return a[0]  #! a kernel returns no value


def wrong_unpacking(v: wp.vec3, a: floats):
    x, y = v  #! 3 values cannot be unpacked into 2
    a[0] = x + y


def type_changes_in_loop(a: floats, d: doubles, n: int):
    x = a[0]
    for i in range(n):  #! 'x' is float32 before this loop and float64 after an iteration
        x = d[i]
    a[0] = x


def type_differs_by_branch(a: floats, d: doubles, n: int):
    if n > 0:
        x = a[0]
    else:
        x = d[0]
    a[0] = x  #! 'x' cannot be used here: it is float32 on one path and float64 on the other


def conditional_of_two_types(a: floats, d: doubles, n: int):
    a[0] = a[0] if n > 0 else d[0]  #! the two values must have one type, not float32 and float64


def a_list(a: floats):
    x = [1.0, 2.0]  #! kernels have no lists
    a[0] = x[0]


def a_dictionary(a: floats):
    x = {"a": 1.0}  #! kernels have no dictionaries
    a[0] = x["a"]


def a_lambda(a: floats):
    f = lambda x: x  #! kernels have no lambdas
    a[0] = f(1.0)


def a_comprehension(a: floats):
    a[0] = sum(x for x in range(3))  #! kernels have no generator expressions


def a_list_comprehension(a: floats):
    x = [i for i in range(3)]  #! kernels have no list comprehensions
    a[0] = float(x[0])


def an_exception(a: floats):
    try:  #! kernels have no exceptions
        a[0] = 1.0
    except ValueError:
        pass


def raising(a: floats):
    raise ValueError("no")  #! kernels have no exceptions


def a_with(a: floats):
    with a:  #! kernels have no with statements
        pass


def a_yield(a: floats):
    yield a[0]  #! kernels have no yield


def a_deletion(a: floats):
    x = 1
    del x  #! kernels have no del


def a_global(a: floats):
    global floats  #! kernels have no global variables
    floats = 1


def an_import(a: floats):
    import math  #! kernels have no imports

    a[0] = math.pi


def a_class(a: floats):
    class C:  #! kernels have no class definitions
        pass


def a_nested_function(a: floats):
    def f(x):  #! kernels have no nested functions
        return x

    a[0] = f(1.0)


def a_walrus(a: floats):
    a[0] = (x := 1.0) + x  #! kernels have no assignment expressions


def a_starred(a: floats):
    x, *y = 1, 2, 3  #! kernels have no starred
    a[0] = float(x)


def an_f_string(a: floats):
    x = f"{a[0]}"  #! kernels have no f-strings
    print(x)


def text_arithmetic(a: floats):
    x = "a" + "b"  #! kernels cannot compute with texts
    print(x)


def an_empty_tuple_method(a: floats):
    a[0] = a.sum()  #! array(dtype=float32, ndim=1) has no attribute 'sum'


def recursion(a: ints):
    a[0] = recursive(3)  #! kernels have no recursion, and recursive calls itself


def mutual_recursion(a: ints):
    a[0] = ping(3)  #! kernels have no recursion


def calls_python(a: floats):
    a[0] = python_function(1.0)  #! is a Python function, which kernels cannot call; decorate it with @func


def calls_python_builtin(a: floats):
    a[0] = float(sorted(a))  #! kernels cannot call Python's sorted()


def calls_kernel(a: floats):
    another(a)  #! a kernel cannot call a kernel


def calls_number(a: floats):
    x = 1.0
    a[0] = x(2.0)  #! cannot be called


def static_of_variable(a: floats, n: int):
    a[0] = wp.static(n * 2.0)  #! static() cannot use the variable 'n'


def static_that_fails(a: floats):
    a[0] = wp.static(1.0 / 0.0)  #! static(1.0 / 0.0) fails: ZeroDivisionError


def loop_over_number(a: floats, n: int):
    for x in n:  #! a for loop cannot go over int32
        a[0] = 1.0


def range_of_float(a: floats, x: float):
    for i in range(x):  #! range() takes integers, not float32
        a[i] = 1.0


def condition_is_vector(v: wp.vec3, a: floats):
    if v:  #! vec3f is no condition
        a[0] = 1.0


def wrong_atomic(a: floats):
    wp.atomic_add(a, 0, 0, 1.0)  #! the call must have the form atomic_add(array, i, value)


def wrong_constructor(a: floats):
    v = wp.vec3(1.0, 2.0)  #! vec3f takes 3 components
    a[0] = v[0]


def huge_literal(a: ints):
    a[0] = 99999999999  #! does not fit in int32


def wrong_printf(a: floats):
    wp.printf("%d\n", a[0])  #! printf(): %d is not for float32


def assigns_to_call(a: floats):
    known(1.0).x = 2.0  #! float32 has no attribute 'x'


def starred_assignment(a: floats):
    x, *rest = (1.0, 2.0, 3.0)  #! kernels have no starred assignments


def starred_target(a: floats):
    for x, *rest in ((1.0, 2.0), (3.0, 4.0)):  #! kernels have no starred assignments
        a[0] = x


def reversed_range(a: floats):
    for i in reversed(range(3)):  #! kernels cannot call Python's reversed(); count down with range(n - 1, -1, -1)
        a[i] = 1.0


def enumerated(a: floats):
    for i, x in enumerate((1.0, 2.0)):  #! cannot call Python's enumerate(); go over range(...) and index
        a[i] = x


def member_of_range(a: floats, n: int):
    if n in range(5):  #! range() can only be what a for loop goes over
        a[0] = 1.0


def exits(a: floats):
    exit()  #! kernels cannot call Python's exit()


def value_of_or(a: floats, n: int):
    a[0] = n or 7.0  #! not the literal True; and, or, not and comparisons give truth values; convert it: float32(...)


def value_of_comparison(a: floats):
    a[1] = a[0] > 1.0  #! must be float32, not bool; and, or, not and comparisons give truth values


def small_integer(a: floats, n: wp.uint8):
    x = n + 256  #! the literal does not fit; convert the other operand to a wider type, for example with int64(...)


def text_in_printf(a: floats):
    wp.printf("%s\n", a[0])  #! there is no conversion %s: values are numbers


captured_double = np.float64(1.5)


def captured_number(a: floats):
    a[0] = captured_double  #! must be float32, not ... convert it: float32(...)


BAD = [f for f in list(globals().values()) if inspect.isfunction(f) and "#!" in inspect.getsource(f)]


@pytest.mark.parametrize("function", BAD, ids=lambda f: f.__name__)
def test_error(function: Any) -> None:
    lines, first = inspect.getsourcelines(function)
    offset, line = next((k, line) for k, line in enumerate(lines) if "#!" in line)
    kernel = wp.kernel(function)
    with pytest.raises(CompileError) as caught:
        build(kernel)
    text = str(caught.value)
    for part in line.partition("#!")[2].split("..."):
        assert part.strip() in text, text
    assert f"{__file__}:{first + offset}" in text, text
    assert "    " + line.strip() in text, text
    assert "^" in text
    assert isinstance(caught.value, TreadleError)


def test_the_expression_is_underlined() -> None:
    with pytest.raises(TypeMismatchError) as caught:
        build(wp.kernel(mixed_types))
    lines = str(caught.value).split("\n")
    marked = lines[1][lines[2].index("^") : lines[2].rindex("^") + 1]
    assert marked == "a[0] + d[0]"


def test_kinds_of_errors() -> None:
    for function, kind in (
        (unknown_name, UnknownNameError),
        (wrong_store, TypeMismatchError),
        (a_list, UnsupportedError),
    ):
        with pytest.raises(kind):
            build(wp.kernel(function))


def test_an_error_in_a_function_tells_who_called_it() -> None:
    @wp.func
    def inner(x: float):
        return x + undefined_here

    @wp.func
    def outer(x: float):
        return inner(x)

    @wp.kernel
    def k(a: floats):
        a[0] = outer(1.0)

    with pytest.raises(UnknownNameError) as caught:
        build(k)
    text = str(caught.value)
    assert text.index("undefined_here") < text.index("in inner, called at") < text.index("in outer, called at")
    assert "return inner(x)" in text and "a[0] = outer(1.0)" in text


def test_a_function_that_may_end_without_a_result() -> None:
    @wp.func
    def f(x: float):
        if x > 0.0:
            return 1.0
        elif x < -1.0:
            return 2.0

    with pytest.raises(TypeMismatchError, match="can end without returning a value"):
        frontend.build_function(f, [wp.float32])


def test_results_of_different_types() -> None:
    @wp.func
    def f(x: float, y: wp.float64):
        if x > 0.0:
            return x
        return y

    with pytest.raises(TypeMismatchError, match="the results of f differ"):
        frontend.build_function(f, [wp.float32, wp.float64])


def test_a_result_that_is_not_as_declared() -> None:
    @wp.func
    def f(x: float) -> int:
        return x

    with pytest.raises(TypeMismatchError, match="the result must be int32, not float32"):
        frontend.build_function(f, [wp.float32])


def test_a_parameter_without_annotation() -> None:
    @wp.kernel
    def k(a):
        pass

    with pytest.raises(CompileError, match="the parameter 'a' of kernel k needs a type annotation"):
        build(k)


def test_an_annotation_that_is_no_type() -> None:
    @wp.kernel
    def k(a: "3"):  # noqa: F722
        pass

    with pytest.raises(CompileError, match="the annotation '3' of the parameter 'a' of k is no type"):
        build(k)


def test_a_source_that_cannot_be_read() -> None:
    names: dict[str, Any] = {"wp": wp}
    exec("@wp.kernel\ndef k(n: int):\n    pass\n", names)
    with pytest.raises(SourceError, match="a notebook or IPython"):
        build(names["k"])
    # From Python 3.13 on, there can be lines of another text that was given to exec(), or to python -c.
    linecache.cache["<string>"] = (3, None, ["a = 1\n", "b = 2\n", "c = 3\n"], "<string>")
    try:
        exec("@wp.kernel\ndef k2(n: int):\n    pass\n", names)
        with pytest.raises(SourceError, match="a notebook or IPython"):
            build(names["k2"])
    finally:
        del linecache.cache["<string>"]
    with pytest.raises(SourceError, match="a lambda cannot be compiled"):
        frontend.build_function(wp.func(lambda x: x), [wp.float32])


def test_async_functions_are_refused() -> None:
    @wp.kernel
    async def k(x: wp.array(dtype=float)):
        x[0] = 1.0

    @wp.kernel
    async def generator(x: wp.array(dtype=float)):
        yield x[0]

    for kernel in (k, generator):
        with pytest.raises(SourceError, match=f"{kernel.name} is async, which kernels and functions cannot be"):
            build(kernel)


def test_the_wrong_number_of_types() -> None:
    with pytest.raises(TypeMismatchError, match="has 1 parameters, got 0 types"):
        build(another, [])


def test_options_are_checked() -> None:
    with pytest.raises(TypeError, match="there is no option 'enable_forward'"):
        wp.kernel(enable_forward=True)
    with pytest.raises(TypeError, match="must be of type bool"):
        wp.kernel(enable_backward=1)


def test_a_kernel_cannot_be_called() -> None:
    with pytest.raises(TreadleError, match="use launch"):
        another(1)
