"""Kernels and lambdas that a program makes in a loop leave nothing behind once they are gone."""

from __future__ import annotations

import gc
import linecache
import weakref

import treadle as wp
from treadle.frontend import source


def make(value: float):
    @wp.func
    def scaled(x: float):
        return x * value

    @wp.kernel
    def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        y[0] = scaled(x[0])

    return k


def test_machine_code_goes_with_its_kernel():
    linked, kernels = [], []
    x, y = (wp.ones(1, dtype=float, requires_grad=True) for _ in range(2))
    for k in range(3):
        kernel = make(float(k))
        with wp.Tape() as tape:
            wp.launch(kernel, dim=1, inputs=[x, y])
        tape.backward(grads={y: wp.ones(1, dtype=float)})
        for compiled in kernel.runtime.variants.values():
            linked.append(weakref.ref(compiled.forward.linked.tracker))
        kernels.append(weakref.ref(kernel))
    del kernel, compiled, tape
    gc.collect()
    assert len(linked) == 3
    assert [r() for r in kernels + linked] == [None] * 6


def test_a_command_keeps_its_code():
    out = wp.zeros(1, dtype=float)
    command = wp.launch(make(3.0), dim=1, inputs=[wp.ones(1, dtype=float), out], record_cmd=True)
    with wp.ScopedCapture() as capture:
        wp.launch(make(4.0), dim=1, inputs=[out, out])
    gc.collect()
    for k in range(40):
        wp.launch(make(float(k)), dim=1, inputs=[out, wp.zeros(1, dtype=float)])
    gc.collect()
    command.launch()
    wp.capture_launch(capture.graph)
    assert out.list() == [12.0]


def test_the_text_of_a_lambda_is_kept_once():
    def mapped(value: float):
        return lambda x: x * value

    x = wp.array([1.0, 2.0], dtype=float)
    assert wp.map(mapped(2.0), x).list() == [2.0, 4.0]
    kept = len(source._CACHE), len(linecache.cache)
    for k in range(5):
        assert wp.map(mapped(3.0 + k), x).list() == [3.0 + k, 6.0 + 2.0 * k]
    assert (len(source._CACHE), len(linecache.cache)) == kept
