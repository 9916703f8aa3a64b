"""What bad input gets: an error that names the place, the expression, what was expected and what was found."""

import inspect
from typing import Any

import numpy as np
import pytest

import treadle as wp
from treadle.ad import DerivativeError
from treadle.errors import KernelError, LaunchError, TreadleError

V3 = wp.vec3


@wp.struct
class Particle:
    position: wp.vec3
    mass: float


def _place(kernel: Any) -> str:
    """``file:line`` of the line of a kernel, or of a function next to it, that is marked with "# here"."""
    lines, first = inspect.getsourcelines(getattr(kernel, "func", kernel))
    (marked,) = [k for k, line in enumerate(lines) if "# here" in line]
    return f"{__file__}:{first + marked}"


def _compile_error(factory: Any, *mentioned: str, arguments: Any = None) -> str:
    """Launch the kernel that ``factory`` makes: a compile-time error that names the marked line and more."""
    out = wp.zeros(4, dtype=float)
    with pytest.raises(wp.CompileError) as caught:
        wp.launch(factory(), dim=4, inputs=[out] if arguments is None else arguments)
    text = str(caught.value)
    assert _place(factory) in text, text
    # The frames of the compiler do not push the text out of sight.
    assert caught.traceback[-1].path.name == "binding.py"
    for part in mentioned:
        assert part in text, f"{part!r} is not in: {text}"
    return text


# Names.


def test_unknown_name():
    def make():
        @wp.kernel
        def kernel(out: wp.array(dtype=float)):
            i = wp.tid()
            out[i] = undefined_thing + 1.0  # here  # noqa: F821

        return kernel

    _compile_error(make, "undefined_thing")


def test_unknown_builtin():
    def make():
        @wp.kernel
        def kernel(out: wp.array(dtype=float)):
            i = wp.tid()
            out[i] = wp.squareroot(out[i])  # here

        return kernel

    _compile_error(make, "squareroot")


def test_unknown_member_of_a_struct():
    def make():
        @wp.kernel
        def kernel(out: wp.array(dtype=float)):
            p = Particle()
            out[wp.tid()] = p.weight  # here

        return kernel

    _compile_error(make, "weight", "mass", "position")


def test_unknown_component():
    def make():
        @wp.kernel
        def kernel(out: wp.array(dtype=float)):
            v = wp.vec2(1.0, 2.0)
            out[wp.tid()] = v.z  # here

        return kernel

    _compile_error(make, "z", "vec2")


def test_variable_without_a_value():
    def make():
        @wp.kernel
        def kernel(out: wp.array(dtype=float)):
            out[wp.tid()] = later  # here  # noqa: F821
            later = 1.0  # noqa: F841

        return kernel

    _compile_error(make, "later")


# Calls.


def test_wrong_number_of_arguments_for_a_builtin():
    def make():
        @wp.kernel
        def kernel(out: wp.array(dtype=float)):
            i = wp.tid()
            out[i] = wp.atan2(out[i])  # here

        return kernel

    _compile_error(make, "atan2(out[i])", "atan2(y: Float, x: Float)")


def test_wrong_type_of_argument_for_a_builtin():
    def make():
        @wp.kernel
        def kernel(out: wp.array(dtype=float)):
            i = wp.tid()
            out[i] = wp.dot(out[i], wp.vec3(1.0, 2.0, 3.0))  # here

        return kernel

    _compile_error(make, "dot(float32, vec3f)", "dot(a: vec<Any, Scalar>, b: vec<Any, Scalar>)", "dot(a: quat<Float>")


def test_wrong_number_of_arguments_for_a_function():
    @wp.func
    def helper(x: float, y: float) -> float:
        return x + y

    def make():
        @wp.kernel
        def kernel(out: wp.array(dtype=float)):
            i = wp.tid()
            out[i] = helper(out[i])  # here

        return kernel

    _compile_error(make, "helper(out[i])", "helper(x: float32, y: float32)")


def test_wrong_type_of_argument_for_a_function():
    @wp.func
    def helper(v: wp.vec3) -> float:
        return v[0]

    def make():
        @wp.kernel
        def kernel(out: wp.array(dtype=float)):
            i = wp.tid()
            out[i] = helper(out[i])  # here

        return kernel

    _compile_error(make, "helper", "float32", "vec3")


def test_unknown_keyword_argument():
    @wp.func
    def helper(x: float) -> float:
        return x

    def make():
        @wp.kernel
        def kernel(out: wp.array(dtype=float)):
            out[wp.tid()] = helper(z=1.0)  # here

        return kernel

    _compile_error(make, "helper", "z", "x: float32")


def test_call_of_a_python_function():
    def plain(x):
        return x

    def make():
        @wp.kernel
        def kernel(out: wp.array(dtype=float)):
            out[wp.tid()] = plain(1.0)  # here

        return kernel

    _compile_error(make, "plain", "func")


def test_error_inside_a_function_names_both_places():
    @wp.func
    def broken(x: float):
        return wp.dot(x, x)

    def make():
        @wp.kernel
        def kernel(out: wp.array(dtype=float)):
            i = wp.tid()
            out[i] = broken(out[i])  # here

        return kernel

    text = _compile_error(make, "dot", "broken")
    assert f"{__file__}:{broken.bodies[0].python.__code__.co_firstlineno + 2}" in text


def test_recursion():
    @wp.func
    def endless(n: int) -> int:
        return endless(n - 1)

    def make():
        @wp.kernel
        def kernel(out: wp.array(dtype=float)):
            i = wp.tid()
            out[i] = float(endless(i))  # here

        return kernel

    _compile_error(make, "recursi", "endless")


# Types.


def test_variables_of_different_types_do_not_mix():
    def make():
        @wp.kernel
        def kernel(out: wp.array(dtype=float)):
            i = wp.tid()
            x = out[i]
            out[i] = x * i  # here

        return kernel

    _compile_error(make, "x * i", "float32 and int32", "float32(")


def test_floats_of_different_widths_do_not_mix():
    def make():
        @wp.kernel
        def kernel(out: wp.array(dtype=float)):
            i = wp.tid()
            y = wp.float64(2.0)
            out[i] = out[i] + y  # here

        return kernel

    _compile_error(make, "out[i] + y", "float32", "float64")


def test_store_of_another_type():
    def make():
        @wp.kernel
        def kernel(out: wp.array(dtype=float)):
            i = wp.tid()
            out[i] = i  # here

        return kernel

    _compile_error(make, "int32", "float32")


def test_variable_that_changes_its_type_in_a_loop():
    def make():
        @wp.kernel
        def kernel(out: wp.array(dtype=float)):
            i = wp.tid()
            s = int(0)
            for j in range(3):  # here
                s = out[j]
            out[i] = s

        return kernel

    _compile_error(make, "s", "int32", "float32")


def test_results_of_different_types():
    @wp.func
    def undecided(x: float):
        if x > 0.0:
            return x
        return wp.vec3(x, x, x)

    def make():
        @wp.kernel
        def kernel(out: wp.array(dtype=float)):
            i = wp.tid()
            out[i] = undecided(out[i])  # here

        return kernel

    _compile_error(make, "results of undecided", "float32", "vec3")


def test_result_that_is_not_what_the_annotation_says():
    @wp.func
    def annotated(x: float) -> int:
        return x

    def make():
        @wp.kernel
        def kernel(out: wp.array(dtype=float)):
            i = wp.tid()
            out[i] = float(annotated(out[i]))  # here

        return kernel

    _compile_error(make, "annotated", "int32", "float32")


def test_wrong_number_of_indices():
    def make():
        @wp.kernel
        def kernel(out: wp.array(dtype=float)):
            i = wp.tid()
            out[i, i] = 1.0  # here

        return kernel

    _compile_error(make, "out[i, i]", "1", "2")


def test_index_that_is_no_integer():
    def make():
        @wp.kernel
        def kernel(out: wp.array(dtype=float)):
            i = wp.tid()
            out[i] = out[out[i]]  # here

        return kernel

    _compile_error(make, "out[out[i]]", "float32")


def test_constant_index_of_a_vector_out_of_range():
    def make():
        @wp.kernel
        def kernel(out: wp.array(dtype=float)):
            v = wp.vec3(1.0, 2.0, 3.0)
            out[wp.tid()] = v[3]  # here

        return kernel

    _compile_error(make, "v[3]", "3")


def test_matrix_times_vector_of_the_wrong_length():
    def make():
        @wp.kernel
        def kernel(out: wp.array(dtype=float)):
            m = wp.identity(n=2, dtype=float)
            v = m * wp.vec3(1.0, 2.0, 3.0)  # here
            out[wp.tid()] = v[0]

        return kernel

    _compile_error(make, "mat22", "vec3")


def test_unpacking_of_the_wrong_number_of_values():
    @wp.func
    def pair(x: float):
        return x, x

    def make():
        @wp.kernel
        def kernel(out: wp.array(dtype=float)):
            i = wp.tid()
            a, b, c = pair(out[i])  # here
            out[i] = a + b + c

        return kernel

    _compile_error(make, "3", "2")


def test_parameter_without_annotation():
    @wp.kernel
    def kernel(out):
        out[wp.tid()] = 1.0

    with pytest.raises(TreadleError, match="out.*kernel.*annotation"):
        wp.launch(kernel, dim=4, inputs=[wp.zeros(4, dtype=float)])


# Features of Python that kernels do not have.


def _with_list():
    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        values = [1.0, 2.0]  # here
        out[0] = values[0]

    return kernel


def _with_lambda():
    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        f = lambda x: x  # here  # noqa: E731
        out[0] = f(1.0)

    return kernel


def _with_try():
    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        try:  # here
            out[0] = 1.0
        except ValueError:
            out[0] = 2.0

    return kernel


def _with_raise():
    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        raise ValueError("no")  # here

    return kernel


def _with_with():
    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        with open("x"):  # here
            out[0] = 1.0

    return kernel


def _with_dict():
    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        values = {"a": 1.0}  # here
        out[0] = values["a"]

    return kernel


def _with_comprehension():
    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = sum([out[k] for k in range(4)])  # here

    return kernel


def _with_import():
    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        import math  # here

        out[0] = math.pi

    return kernel


def _with_global():
    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        global V3  # here
        out[0] = 1.0

    return kernel


def _with_class():
    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        class Inner:  # here
            pass

        out[0] = 1.0

    return kernel


def _with_yield():
    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        yield out[0]  # here

    return kernel


def _with_delete():
    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        x = 1.0
        del x  # here

    return kernel


@pytest.mark.parametrize(
    ("factory", "feature"),
    [
        (_with_list, "list"),
        (_with_lambda, "lambda"),
        (_with_try, "try"),
        (_with_raise, "raise"),
        (_with_with, "with"),
        (_with_dict, "dict"),
        (_with_comprehension, "comprehension"),
        (_with_import, "import"),
        (_with_global, "global"),
        (_with_class, "class"),
        (_with_yield, "yield"),
        (_with_delete, "del"),
    ],
)
def test_feature_that_kernels_do_not_have(factory, feature):
    _compile_error(factory, feature)


def test_source_that_cannot_be_read():
    namespace = {"wp": wp}
    exec(
        "@wp.kernel\ndef typed_at_a_prompt(out: wp.array(dtype=float)):\n    out[wp.tid()] = 1.0\n",
        namespace,
    )
    with pytest.raises(TreadleError, match="typed_at_a_prompt.*source|source.*typed_at_a_prompt"):
        wp.launch(namespace["typed_at_a_prompt"], dim=1, inputs=[wp.zeros(1, dtype=float)])


# Launches.


@wp.kernel
def add_to(x: wp.array(dtype=float), amount: float, grid: wp.array2d(dtype=float)):
    i = wp.tid()
    x[i] = x[i] + amount + grid[0, 0]


def _launch_error(arguments, *mentioned, dim=3, **options):
    x = arguments[0] if arguments and isinstance(arguments[0], wp.array) else None
    before = x.numpy().copy() if x is not None else None
    with pytest.raises(LaunchError) as caught:
        wp.launch(add_to, dim=dim, inputs=arguments, **options)
    for part in ("add_to", *mentioned) if not options and dim == 3 else mentioned:
        assert part in str(caught.value), f"{part!r} is not in: {caught.value}"
    if x is not None:
        np.testing.assert_array_equal(x.numpy(), before)  # nothing has run


def _arguments():
    return [wp.zeros(3, dtype=float), 1.0, wp.zeros((1, 1), dtype=float)]


def test_launch_with_the_wrong_number_of_arguments():
    _launch_error(_arguments()[:2], "3", "2", "grid")
    _launch_error([*_arguments(), 1.0], "3", "4")


def test_launch_with_an_array_of_another_type():
    x, amount, grid = _arguments()
    _launch_error([wp.zeros(3, dtype=wp.float64), amount, grid], "x", "float32", "float64")
    _launch_error([wp.zeros(3, dtype=wp.vec3), amount, grid], "x", "float32", "vec3")


def test_launch_with_an_array_of_another_dimension():
    x, amount, grid = _arguments()
    _launch_error([x, amount, wp.zeros(3, dtype=float)], "grid", "2", "1")


def test_launch_with_something_that_is_no_array():
    x, amount, grid = _arguments()
    _launch_error([x, amount, 5.0], "grid", "float")
    _launch_error(["text", amount, grid], "x", "str")


def test_launch_with_something_that_is_no_number():
    x, amount, grid = _arguments()
    _launch_error([x, "text", grid], "amount", "str")
    _launch_error([x, x, grid], "amount", "array")
    _launch_error([x, wp.vec3(1.0, 2.0, 3.0), grid], "amount", "vec3")


@wp.kernel
def takes_integers(out: wp.array(dtype=float), n: int, k: wp.uint8):
    out[0] = float(n)


def test_launch_with_numbers_that_do_not_fit():
    out = wp.zeros(1, dtype=float)
    for arguments, name in [([out, 2**40, 1], "n"), ([out, 1, 256], "k"), ([out, 1, -1], "k"), ([out, 1.5, 1], "n")]:
        with pytest.raises(LaunchError, match=f"takes_integers.*{name}"):
            wp.launch(takes_integers, dim=1, inputs=arguments)
    assert out.numpy()[0] == 0.0


def test_launch_with_a_bad_dimension():
    for dim in (-1, (2, -3), (1, 2, 3, 4, 5), 1.5, "3", 2**31):
        _launch_error(_arguments(), "dim", dim=dim)


def test_launch_on_a_device_that_does_not_exist():
    with pytest.raises(RuntimeError, match="cuda:7"):
        wp.launch(add_to, dim=3, inputs=_arguments(), device="cuda:7")


def test_launch_of_something_that_is_no_kernel():
    with pytest.raises(LaunchError, match="kernel"):
        wp.launch(lambda: None, dim=1, inputs=[])

    @wp.func
    def helper(x: float) -> float:
        return x

    with pytest.raises(LaunchError, match="kernel"):
        wp.launch(helper, dim=1, inputs=[1.0])


def test_call_of_a_kernel():
    with pytest.raises(TreadleError, match="launch"):
        add_to(*_arguments())


def test_launch_that_writes_read_only_memory():
    host = np.zeros(3, np.float32)
    host.flags.writeable = False
    _launch_error([wp.array(host, dtype=float, copy=False), 1.0, wp.zeros((1, 1), dtype=float)], "x", "read-only")


# While a kernel runs.


@wp.kernel
def reads_beyond(x: wp.array2d(dtype=float), k: int, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = x[i, k]  # here


@pytest.fixture
def debug(monkeypatch):
    monkeypatch.setattr(wp.config, "mode", "debug")


def test_index_out_of_range_in_debug_mode(debug):
    x, out = wp.ones((2, 3), dtype=float), wp.zeros(2, dtype=float)
    wp.launch(reads_beyond, dim=2, inputs=[x, 2], outputs=[out])
    for k in (3, -1, 1000000):
        with pytest.raises(KernelError) as caught:
            wp.launch(reads_beyond, dim=2, inputs=[x, k], outputs=[out])
        for part in (_place(reads_beyond), "reads_beyond", "x", str(k), "(2, 3)"):
            assert part in str(caught.value)


def test_store_out_of_range_in_debug_mode(debug):
    x, out = wp.ones((4, 3), dtype=float), wp.zeros(2, dtype=float)
    with pytest.raises(KernelError) as caught:
        wp.launch(reads_beyond, dim=4, inputs=[x, 0], outputs=[out])
    for part in (_place(reads_beyond), "reads_beyond", "out", "(2,)"):
        assert part in str(caught.value)


@wp.kernel
def asserts(x: wp.array(dtype=float), limit: float):
    i = wp.tid()
    assert x[i] < limit, "too large"  # here
    x[i] = 0.0


@pytest.mark.parametrize("mode", ["release", "debug"])
def test_assertion_that_fails(mode, monkeypatch):
    monkeypatch.setattr(wp.config, "mode", mode)
    x = wp.array([1.0, 2.0, 30.0], dtype=float)
    with pytest.raises(KernelError) as caught:
        wp.launch(asserts, dim=3, inputs=[x, 10.0])
    for part in (_place(asserts), "asserts", "too large", "x[i] < limit"):
        assert part in str(caught.value)
    assert x.numpy()[2] == 30.0
    wp.launch(asserts, dim=3, inputs=[x, 100.0])  # the next launch is not affected
    np.testing.assert_array_equal(x.numpy(), 0.0)


@wp.kernel
def divides(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 1.0 / x[i]  # here


def test_infinity_and_nan_with_verify_fp(monkeypatch):
    monkeypatch.setattr(wp.config, "verify_fp", True)
    y = wp.zeros(2, dtype=float)
    wp.launch(divides, dim=2, inputs=[wp.array([1.0, 2.0], dtype=float)], outputs=[y])
    for bad in (0.0, float("nan")):
        with pytest.raises(KernelError) as caught:
            wp.launch(divides, dim=2, inputs=[wp.array([1.0, bad], dtype=float)], outputs=[y])
        for part in (_place(divides), "divides"):
            assert part in str(caught.value)


# Derivatives.


def test_gradient_function_with_the_wrong_parameters():
    @wp.func
    def primal(x: float, y: float) -> float:
        return x * y

    @wp.func_grad(primal)
    def adj_primal(x: float, adj_ret: float):
        wp.adjoint[x] += adj_ret

    @wp.kernel
    def kernel(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = primal(x[i], 2.0)

    x, y = (wp.ones(2, dtype=float, requires_grad=True) for _ in range(2))
    with pytest.raises(wp.CompileError) as caught:
        with wp.Tape() as tape:
            wp.launch(kernel, dim=2, inputs=[x], outputs=[y])
        tape.backward(grads={y: x})
    text = str(caught.value)
    assert "primal(x: float32, y: float32)" in text
    assert "adj_primal(x: float32, adj_ret: float32)" in text


@wp.kernel
def returned_sum(x: wp.array(dtype=float), total: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.atomic_add(total, 0, x[i])  # here


def test_gradient_that_does_not_exist():
    arrays = [wp.ones(n, dtype=float, requires_grad=True) for n in (2, 1, 2)]
    with wp.Tape() as tape:
        wp.launch(returned_sum, dim=2, inputs=arrays[:2], outputs=arrays[2:])
    with pytest.raises(DerivativeError) as caught:
        tape.backward(grads={arrays[2]: wp.ones(2, dtype=float)})
    assert _place(returned_sum) in str(caught.value)
    assert "atomic_add" in str(caught.value)
